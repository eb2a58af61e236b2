//! Reports values for undeclared variables.

use std::collections::BTreeMap;

use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_value::Str;

use super::{InputValue, Origin};
use crate::content::did_you_mean;
use crate::module::Module;

/// Maximum number of warnings that contain the name of a variable. All other variables are only
/// counted.
const NAMED: usize = 2;

pub(super) fn check(module: &Module, given: &BTreeMap<Str, InputValue>, problems: &mut Diagnostics) {
    let mut in_files = 0usize;
    for (name, given) in given.iter().filter(|(name, _)| !module.variables.contains_key(*name)) {
        let advice = did_you_mean(name, module.variables.keys().map(|declared| &**declared));
        match &given.origin {
            Origin::Environment(_) => {}
            Origin::CommandLine(_) => {
                let detail = format!(
                    "The root module declares no variable \"{name}\", but the command line sets it.{advice} To use \
                     it, add a variable block."
                );
                problems.push(Diagnostic::error("Value for undeclared variable", detail));
            }
            Origin::File(file) => {
                in_files += 1;
                if in_files > NAMED {
                    continue;
                }
                let detail = format!(
                    "The root module declares no variable \"{name}\", but the file {file} sets it.{advice} To use \
                     it, add a variable block; values that several configurations share can come from TF_VAR_... \
                     environment variables instead."
                );
                let warning = Diagnostic::warning("Value for undeclared variable", detail);
                problems.push(match &given.span {
                    Some(span) => warning.at(span.clone()),
                    None => warning,
                });
            }
        }
    }
    if in_files > NAMED {
        let rest = in_files - NAMED;
        let detail = format!("{rest} more variables are set in files without being declared.");
        problems.push(Diagnostic::warning("Values for undeclared variables", detail));
    }
}
