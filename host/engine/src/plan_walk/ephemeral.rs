//! Ephemeral resources in a plan: they are opened if their configuration is known; otherwise their
//! values are unknown until the apply.

use wardian_address::ResourceInstanceAddress;

use super::{Outcome, PlanWalk};
use crate::operation::ephemeral;
use crate::scheduler::StartResult;
use crate::values::RepetitionData;
use crate::walk::SharedOutcome;

impl PlanWalk<'_> {
    pub(super) fn start_open(
        &mut self,
        address: ResourceInstanceAddress,
        repetition: &RepetitionData,
    ) -> StartResult<Outcome> {
        let Some((resource, subject, config)) = self.prepare(address, repetition) else {
            return StartResult::Failed;
        };
        let is_ready = config.is_wholly_known() && !self.waits_for_changes(resource, &subject.address);
        let expired = self.evaluator.expired.clone();
        StartResult::running(async move {
            let result = if is_ready {
                ephemeral::open(&subject, &config, &expired).await
            } else {
                ephemeral::defer(&subject, &config).await
            };
            SharedOutcome::Opened { subject, result: Box::new(result) }.into()
        })
    }
}
