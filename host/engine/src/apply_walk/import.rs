//! Records imported objects in the state.
//!
//! The plan and its state contain the imported objects. The imports are recorded before any change,
//! so later operations find the objects in the state.

use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_plugin::ImportTarget;

use super::ApplyWalk;
use crate::context::EngineContext;
use crate::events::Event;
use crate::operation::import::shown;
use crate::plan::{Action, Importing, Plan};

/// Returns errors for changes of objects whose configuration the plan generated. The configuration
/// in the plan does not contain the generated blocks, so such an object can be imported only if it
/// does not change.
pub(super) fn incomplete(context: &EngineContext, plan: &Plan) -> Diagnostics {
    let mut problems = Diagnostics::new();
    for change in plan.changes.iter().filter(|change| change.generated_config.is_some()) {
        if change.action != Action::NoOp && context.configuration.resource(&change.address.config()).is_none()
        {
            let detail = format!(
                "The plan generated a configuration for {} that would change the object, and that \
                 configuration is not part of the planned configuration yet. Review the generated \
                 file and plan again.",
                change.address
            );
            let problem = Diagnostic::error("Resource has no configuration", detail);
            problems.push(problem.for_address(change.address.to_string()));
        }
    }
    problems
}

impl ApplyWalk<'_> {
    /// Records all objects that the plan imports.
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
            self.context.events.event(&Event::Importing { address, id: &id });
            if !self.store(address, &change.provider, instance) {
                return;
            }
            self.applied.counts.import += 1;
            self.context.events.event(&Event::Imported { address, id: &id });
        }
    }
}
