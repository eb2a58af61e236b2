//! Objects that come under management.
//!
//! The plan has found them, and its state holds them already. That they are managed
//! now is recorded before anything else is done, so that whatever is done to one of
//! them finds it there.

use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_plugin::ImportTarget;

use super::ApplyWalk;
use crate::events::Event;
use crate::operation::import::shown;
use crate::plan::{Action, Importing, Plan};
use crate::run::Run;

/// Changes of objects whose configuration was made by the plan: it is in no file of
/// the plan, so that nothing but taking them over can be done.
pub(super) fn incomplete(run: &Run, plan: &Plan) -> Diagnostics {
    let mut problems = Diagnostics::new();
    for change in plan.changes.iter().filter(|change| change.generated_config.is_some()) {
        if change.action != Action::NoOp && run.configuration.resource(&change.address.config()).is_none() {
            let detail = format!(
                "The plan made a configuration for {}, which would change the object, and this plan was made \
                 before that was part of the configuration. Look through the file that was written, and plan \
                 again.",
                change.address
            );
            let problem = Diagnostic::error("Resource has no configuration", detail);
            problems.push(problem.for_address(change.address.to_string()));
        }
    }
    problems
}

impl ApplyWalk<'_> {
    /// Takes over all that the plan imports.
    pub(super) fn import_all(&mut self) {
        let plan = self.plan;
        for change in &plan.changes {
            let Some(importing) = &change.importing else { continue };
            let Some(instance) = plan.prior_state.instance(&change.address).cloned() else { continue };
            let address = &change.address;
            let id = match importing {
                Importing::Id(id) => shown(&ImportTarget::Id(id.to_string())),
                Importing::Identity(identity) => shown(&ImportTarget::Identity(identity.clone())),
                Importing::Unknown => String::new(),
            };
            self.run.events.event(&Event::Importing { address, id: &id });
            if !self.store(address, &change.provider, instance) {
                return;
            }
            self.applied.counts.import += 1;
            self.run.events.event(&Event::Imported { address, id: &id });
        }
    }
}
