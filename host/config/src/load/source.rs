//! Resolves the source addresses of modules.

use std::path::{Path, PathBuf};

use wardian_diagnostic::{Diagnostic, Diagnostics};

use crate::blocks::ModuleCall;
use crate::path::lexically_normalize;

/// Returns the directory of a module whose source is a local path, and rejects other sources.
pub(super) fn local_directory(
    from: &Path,
    call: &ModuleCall,
    problems: &mut Diagnostics,
) -> Result<PathBuf, Diagnostic> {
    let source = call.source.replace('\\', "/");
    let refuse = |summary: &str, detail: String| {
        Diagnostic::error(summary, detail)
            .at(call.source_span.clone())
            .in_block(format!("module \"{}\"", call.name))
    };
    let is_local = source.starts_with("./") || source.starts_with("../") || source == "." || source == "..";
    if !is_local {
        let is_word = !source.contains(['/', ':', '.']);
        let summary = if source.is_empty() || is_word {
            "Invalid module source address"
        } else {
            "Unsupported module source"
        };
        let detail = if Path::new(&source).is_absolute() {
            format!(
                "\"{source}\" is an absolute path. Write a path that begins with \"./\" or \"../\" instead."
            )
        } else if source.is_empty() {
            "The source is empty. Write a path that begins with \"./\" or \"../\".".to_owned()
        } else {
            format!(
                "Only modules in local directories are supported, and \"{source}\" is not a local path. If \
                 it is a directory, write \"./{source}\"."
            )
        };
        return Err(refuse(summary, detail));
    }
    if call.version.is_some() {
        let detail = "Only modules from a registry have versions; a module in a local directory has none. \
            Remove the argument version.";
        problems.push(refuse("Invalid registry module source address", detail.to_owned()));
    }
    Ok(lexically_normalize(&from.join(source)))
}
