//! The outputs of the root module in the state after a run.

use wardian_address::{ModuleInstance, ResourceMode};
use wardian_config::Configuration;
use wardian_state::{OutputValue, State};
use wardian_value::Str;

use super::ApplyWalk;
use crate::plan::{Action, Mode, Plan};

/// Sets the declared outputs whose planned values are known. Outputs that are not in the plan, or
/// are known only after the apply, keep their values.
pub(super) fn planned_outputs(state: &mut State, plan: &Plan, configuration: &Configuration) {
    let declared = &configuration.root().module.outputs;
    for (name, output) in &plan.outputs {
        let Some(declared) = declared.get(name) else { continue };
        if output.after.is_null() {
            state.outputs.remove(name);
        } else if output.after.is_wholly_known() && !declared.ephemeral {
            let value = OutputValue { value: output.after.clone(), sensitive: declared.sensitive };
            state.outputs.insert(name.clone(), value);
        }
    }
}

impl ApplyWalk<'_> {
    /// Sets outputs to their current values. An output that could not be evaluated is set to its
    /// planned value, or else keeps its value.
    pub(super) fn set_outputs(&mut self) {
        if self.plan.mode == Mode::Destroy {
            if self.applied.diagnostics.has_errors() {
                return;
            }
            let planned = &self.plan.outputs;
            let goes = |name: &Str| planned.get(name).is_some_and(|o| o.action == Action::Delete);
            self.applied.state.outputs.retain(|name, _| !goes(name));
            if !self.plan.is_partial() {
                self.drop_data_sources();
            }
            return;
        }
        let declared = &self.context.configuration.root().module.outputs;
        let evaluated = self.evaluator.values.module(&ModuleInstance::root());
        self.applied.state.outputs = declared
            .iter()
            .filter_map(|(name, output)| {
                let value = evaluated.and_then(|root| root.output(name));
                match value {
                    _ if output.ephemeral => None,
                    Some(value) if value.is_wholly_known() && self.is_planned(name) => (!value.is_null())
                        .then(|| {
                            let stored =
                                OutputValue { value: value.unmark_deep(), sensitive: output.sensitive };
                            (name.clone(), stored)
                        }),
                    _ => self.applied.state.outputs.get(name).map(|old| (name.clone(), old.clone())),
                }
            })
            .collect();
    }

    /// Whether the plan includes an output; other outputs keep their values.
    fn is_planned(&self, name: &Str) -> bool {
        !self.plan.is_partial()
            || self.plan.outputs.get(name).is_some_and(|output| output.action != Action::NoOp)
    }

    /// Removes data sources after all objects are destroyed.
    fn drop_data_sources(&mut self) {
        let data: Vec<_> = self
            .applied
            .state
            .resources()
            .filter(|(address, _)| address.mode == ResourceMode::Data)
            .map(|(address, _)| address.clone())
            .collect();
        for address in data {
            self.applied.state.remove_resource(&address);
        }
    }
}
