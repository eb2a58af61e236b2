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
    let is_local = source.starts_with("./") || source.starts_with("../");
    if !is_local {
        let summary = if may_be_remote(&source) {
            "Unsupported module source"
        } else {
            "Invalid module source address"
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

/// Whether a source can be an absolute path, a URL, an address in a registry, or a path on a host.
fn may_be_remote(source: &str) -> bool {
    let segments: Vec<&str> = source.split('/').collect();
    let has_host = segments.first().is_some_and(|first| {
        first.starts_with(|character: char| character.is_alphanumeric()) && first.contains('.')
    });
    source.contains(':') || source.starts_with('/') || segments.len() > 2 || (segments.len() > 1 && has_host)
}
