//! Creates the plan when a walk has finished.

use std::collections::HashSet;

use wardian_address::{InstanceKey, ResourceInstanceAddress};
use wardian_diagnostic::{Diagnosed, Diagnostic, Diagnostics, Severity, closest};

use super::{PlanWalk, is_preceded_by_plan};
use crate::evaluator::Evaluator;
use crate::object_secrets::ObjectSecrets;
use crate::plan::{Mode, Plan, ResourceChange, sort_invocations};
use crate::plan_secrets::withhold_from_plan;
use crate::refactoring::{self, Moves};
use crate::relevant_attributes;

impl PlanWalk<'_> {
    /// Checks the moves and returns the plan with the planned values.
    pub(super) fn into_plan(mut self, moves: &Moves) -> Diagnosed<(Plan, Evaluator)> {
        let options = self.options;
        if options.mode != Mode::Destroy || options.refresh {
            let found = moves.check(&self.evaluator, options.mode);
            // Only these errors are returned, because objects at wrong addresses cause many others.
            if found.has_errors() {
                return Diagnosed::failed(found);
            }
        }
        // If objects could not be read, it is unknown which objects can be destroyed.
        let errors = self.diagnostics.iter().filter(|problem| problem.severity == Severity::Error).count();
        let has_previous = self.previous.resources().len() > 0 || !self.previous.outputs.is_empty();
        if is_preceded_by_plan(options) && has_previous && errors > self.undestroyable.len() {
            return Diagnosed::failed(self.diagnostics);
        }
        if errors == 0 {
            self.diagnostics.extend(moves.blocked());
        }
        self.diagnostics.extend(refactoring::forgotten_warning(&self.changes));
        self.diagnostics.extend(unmatched_replacements(&options.replace, &self.changes));
        let outputs = self.outputs();
        let errored = self.diagnostics.has_errors();
        let checks = self.check_results();
        let mut changes = std::mem::take(&mut self.changes);
        if options.mode == Mode::Destroy && !self.undestroyable.is_empty() {
            let needed = self.needed_by_undestroyable();
            changes.retain(|change| !needed.contains(&change.address.config()));
        }
        changes = sorted_by_address(changes);
        sort_invocations(&mut self.invocations);
        if !options.invoke.is_empty() {
            changes.clear();
            self.drift.clear();
        }
        self.drift.sort_by(|a, b| a.address.cmp(&b.address));
        let planned = relevant_attributes::PlannedObjects {
            mode: options.mode,
            changes: &changes,
            state: &self.state,
            outputs: &outputs,
            values: &self.evaluator.values,
        };
        let relevant_attributes =
            relevant_attributes::attributes(&self.context.configuration, &self.evaluator.schemas, &planned);
        let timestamp = self.evaluator.timestamp.clone();
        let mut plan = Plan {
            mode: if options.invoke.is_empty() { options.mode } else { Mode::Normal },
            invocations: self.invocations,
            function_results: self.evaluator.function_results.recorded(),
            changes,
            // A destroy plan starts from the state after a refresh.
            drift: if options.mode == Mode::Destroy { Vec::new() } else { self.drift },
            outputs,
            checks,
            relevant_attributes,
            errored,
            ..self.variables.into_plan(options, self.previous, self.state, timestamp)
        };
        if self.context.secrets == ObjectSecrets::Withheld {
            withhold_from_plan(&mut plan, self.evaluator.values.withheld());
        }
        Diagnosed::with_diagnostics((plan, self.evaluator), self.diagnostics)
    }
}

/// Suggests the address of a planned change that is similar to an address without a change.
fn similar(address: &ResourceInstanceAddress, changes: &[ResourceChange]) -> String {
    let known: Vec<String> = changes.iter().map(|change| change.address.to_string()).collect();
    closest(&address.to_string(), known.iter().map(String::as_str)).map_or_else(
        || " `wardian state list` lists the existing instances.".to_owned(),
        |near| format!(" Did you mean {near}?"),
    )
}

/// Warns about `-replace` options without a matching object. This is not an error, since the object
/// may no longer exist.
fn unmatched_replacements(requested: &[ResourceInstanceAddress], changes: &[ResourceChange]) -> Diagnostics {
    let mut diagnostics = Diagnostics::new();
    if requested.is_empty() {
        return diagnostics;
    }
    let planned: HashSet<&ResourceInstanceAddress> = changes.iter().map(|change| &change.address).collect();
    for address in requested.iter().filter(|address| !planned.contains(address)) {
        let keyed: Vec<String> = changes
            .iter()
            .filter(|change| address.key == InstanceKey::None && change.address.config() == address.config())
            .map(|change| format!("\n  -replace='{}'", change.address))
            .take(10)
            .collect();
        diagnostics.push(if keyed.is_empty() {
            Diagnostic::warning(
                "No such resource instance to replace",
                format!(
                    "The plan has no {address}, so -replace has no effect on it.{}",
                    similar(address, changes)
                ),
            )
        } else {
            Diagnostic::warning(
                "Incompletely-matched force-replace resource instance",
                format!(
                    "{address} has several instances, and -replace selects one at a time:{}",
                    keyed.concat()
                ),
            )
        });
    }
    diagnostics
}

/// Sorts changes by address, then by deposed key. Changes are large, so their positions are sorted, and
/// each change is moved once.
fn sorted_by_address(changes: Vec<ResourceChange>) -> Vec<ResourceChange> {
    let mut positions: Vec<usize> = (0..changes.len()).collect();
    positions.sort_by(|&a, &b| {
        let (a, b) = (&changes[a], &changes[b]);
        (&a.address, &a.deposed).cmp(&(&b.address, &b.deposed))
    });
    let mut unsorted: Vec<Option<ResourceChange>> = changes.into_iter().map(Some).collect();
    positions.into_iter().filter_map(|position| unsorted[position].take()).collect()
}
