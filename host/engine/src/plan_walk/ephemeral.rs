//! Ephemeral resources are opened where all that they are made from is known, and
//! their values are not known before the apply elsewhere.

use wardian_address::ResourceInstanceAddress;
use wardian_diagnostic::Diagnostics;

use super::{Outcome, PlanWalk};
use crate::located::{in_resource, resource_of};
use crate::operation::Subject;
use crate::operation::ephemeral::{self, Lease, Opened};
use crate::scheduler::{Start, Walked};
use crate::values::RepetitionData;

impl PlanWalk<'_> {
    pub(super) fn start_open(
        &mut self,
        address: ResourceInstanceAddress,
        repetition: &RepetitionData,
    ) -> Start<Outcome> {
        let Some((resource, subject, config)) = self.prepare(address, repetition) else {
            return Start::Failed;
        };
        let is_ready = config.is_wholly_known() && !self.waits_for_changes(resource, &subject.address);
        let expired = self.evaluator.expired.clone();
        Start::running(subject.address.to_string(), async move {
            let result = if is_ready {
                ephemeral::open(&subject, &config, &expired).await
            } else {
                ephemeral::defer(&subject, &config).await
            };
            Outcome::Opened { subject, result: Box::new(result) }
        })
    }

    pub(super) fn opened(&mut self, subject: &Subject, result: Result<Opened, Diagnostics>) -> bool {
        let address = &subject.address;
        let Opened { value, lease, diagnostics } = match result {
            Ok(opened) => opened,
            Err(found) => return self.failed(address, found),
        };
        if let Some(lease) = lease {
            self.ephemerals.opened(lease);
        }
        self.diagnostics.extend(in_resource(&self.run.configuration, address, diagnostics));
        self.evaluator.values.set_instance(address, value.clone());
        resource_of(&self.run.configuration, address)
            .is_none_or(|resource| self.postconditions_hold(resource, address, value))
    }

    pub(super) fn closed(&mut self, address: &ResourceInstanceAddress, diagnostics: Diagnostics) -> bool {
        let failed = diagnostics.has_errors();
        self.diagnostics.extend(in_resource(&self.run.configuration, address, diagnostics));
        !failed
    }

    /// Closes what is still open when the walk has ended.
    pub(super) async fn close_all(&mut self, walked: Walked) {
        for (address, diagnostics) in self.ephemerals.close_all(walked).await {
            self.closed(&address, diagnostics);
        }
    }
}

/// Closes what nobody needs any more.
pub(super) fn start_close(lease: Box<Lease>) -> Start<Outcome> {
    let address = lease.subject().address.clone();
    Start::running(address.to_string(), async move {
        let diagnostics = lease.close().await;
        Outcome::Closed { address, diagnostics }
    })
}
