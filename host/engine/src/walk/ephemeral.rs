//! Opens and closes ephemeral resources.

use wardian_address::ResourceInstanceAddress;
use wardian_diagnostic::{Diagnosed, Diagnostics};

use super::{SharedOutcome, WalkParts};
use crate::diagnostic_spans::{in_resource, resource_of};
use crate::operation::Subject;
use crate::operation::ephemeral::{Lease, OpenedEphemeral};
use crate::scheduler::{StartResult, WalkEnd};

/// Starts to close an ephemeral resource that is no longer needed.
pub fn start_close<O>(lease: Box<Lease>) -> StartResult<O>
where
    O: From<SharedOutcome> + Send + 'static,
{
    let address = lease.subject().address.clone();
    StartResult::Closing(Box::pin(async move {
        let diagnostics = lease.close().await;
        SharedOutcome::Closed { address, diagnostics }.into()
    }))
}

impl WalkParts<'_> {
    pub(super) fn opened(&mut self, subject: &Subject, result: Diagnosed<OpenedEphemeral>) -> bool {
        let address = &subject.address;
        let Diagnosed { value: opened, diagnostics } = result;
        self.diagnostics.extend(in_resource(&self.context.configuration, address, diagnostics));
        let Some(OpenedEphemeral { value, lease }) = opened else { return false };
        if let Some(lease) = lease {
            self.ephemerals.opened(lease);
        }
        self.evaluator.values.set_instance(address, value.clone());
        resource_of(&self.context.configuration, address)
            .is_none_or(|resource| self.postconditions_hold(resource, address, value))
    }

    pub(super) fn closed(&mut self, address: &ResourceInstanceAddress, diagnostics: Diagnostics) -> bool {
        let failed = diagnostics.has_errors();
        self.diagnostics.extend(in_resource(&self.context.configuration, address, diagnostics));
        !failed
    }

    /// Closes all ephemeral resources that are open at the end of a walk.
    pub async fn close_all(&mut self, end: WalkEnd) {
        for (address, diagnostics) in self.ephemerals.close_all(end).await {
            self.closed(&address, diagnostics);
        }
    }
}
