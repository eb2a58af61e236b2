//! Reports values for undeclared variables.

use std::collections::BTreeMap;

use wardian_diagnostic::{Diagnostic, Diagnostics, did_you_mean};
use wardian_value::Str;

use super::input_values::{InputValue, Origin};
use crate::module::Module;

/// Maximum number of variables for which separate warnings are reported. One more warning lists all
/// other variables.
const NAMED: usize = 2;

/// Maximum number of names in that list.
const MAX_LISTED_NAMES: usize = 20;

pub(super) fn check(module: &Module, given: &BTreeMap<Str, InputValue>, problems: &mut Diagnostics) {
    let mut in_files = Vec::new();
    for (name, given) in given.iter().filter(|(name, _)| !module.variables.contains_key(*name)) {
        match &given.origin {
            Origin::Environment(_) => {}
            Origin::CommandLine(_) => {
                let advice = advice(module, name);
                let detail = format!(
                    "The root module declares no variable \"{name}\", but the command line sets it.{advice} To use \
                     it, add a variable block."
                );
                problems.push(Diagnostic::error("Value for undeclared variable", detail));
            }
            Origin::File(file) => in_files.push((file, name, given)),
        }
    }
    in_files.sort_by_key(|(file, _, given)| (*file, given.span.as_ref().map(|span| span.start)));
    for (file, name, given) in in_files.iter().take(NAMED) {
        let advice = advice(module, name);
        let detail = format!(
            "The root module declares no variable \"{name}\", but the file {file} sets it.{advice} To use it, add a \
             variable block; values that several configurations share can come from TF_VAR_... environment \
             variables instead."
        );
        let warning = Diagnostic::warning("Value for undeclared variable", detail);
        problems.push(match &given.span {
            Some(span) => warning.at(span.clone()),
            None => warning,
        });
    }
    let rest: Vec<&str> = in_files.iter().skip(NAMED).map(|(_, name, _)| &***name).collect();
    let detail = match &*rest {
        [] => return,
        [name] => format!("One more variable is set in a file without being declared: {name}."),
        names => {
            format!(
                "{} more variables are set in files without being declared: {}.",
                names.len(),
                some_of(names)
            )
        }
    };
    problems.push(Diagnostic::warning("Values for undeclared variables", detail));
}

fn advice(module: &Module, name: &str) -> String {
    did_you_mean(name, module.variables.keys().map(|declared| &**declared))
}

/// Lists names. If there are many, some of them are omitted.
fn some_of(names: &[&str]) -> String {
    let shown = names.iter().take(MAX_LISTED_NAMES).copied().collect::<Vec<_>>().join(", ");
    if names.len() > MAX_LISTED_NAMES { format!("{shown}, ...") } else { shown }
}
