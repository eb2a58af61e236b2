//! Checks that ephemeral values occur only in write-only attributes, because all other attributes
//! of an object are stored.

use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_plugin::Block;
use wardian_value::{Path, PathStep, Value};

use super::replace_paths::is_write_only;

/// Returns an error for each ephemeral value of a configuration that would be stored.
pub fn stored_ephemeral(block: &Block, config: &Value) -> Diagnostics {
    let error = |path: Path| {
        let name = match path.steps().first() {
            Some(PathStep::Attribute(name)) => format!("\"{name}\""),
            _ => "this".to_owned(),
        };
        let detail = format!(
            "Ephemeral values must not be stored, and {name} is stored: only a write-only argument accepts \
             an ephemeral value."
        );
        Diagnostic::error("Invalid use of ephemeral value", detail).for_attribute(path)
    };
    stored_ephemeral_paths(block, config).into_iter().map(error).collect()
}

/// Returns the paths of ephemeral values that would be stored.
fn stored_ephemeral_paths(block: &Block, config: &Value) -> Vec<Path> {
    if !config.inside_marks().is_ephemeral() {
        return Vec::new();
    }
    config
        .mark_paths()
        .into_iter()
        .filter(|(path, marks)| marks.is_ephemeral() && !is_write_only(block, path))
        .map(|(path, _)| path)
        .collect()
}
