//! Parses the source addresses of module calls.

use std::path::{Path, PathBuf};

use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_module_source::{ModuleSource, ModuleSourceError, RegistryModuleSource};

use crate::blocks::ModuleCall;

/// Parses the source of a module call. A version in a call of a local module is a problem, but the
/// module can be read despite it.
pub(super) fn parse(call: &ModuleCall, problems: &mut Diagnostics) -> Result<ModuleSource, Diagnostic> {
    let has_version = call.version.is_some();
    let refuse = |detail: String| {
        Diagnostic::error(ModuleSourceError::summary(has_version), detail)
            .at(call.source_span.clone())
            .in_block(format!("module \"{}\"", call.name))
    };
    let source = ModuleSource::parse(&call.source).map_err(|error| refuse(sentence(&error.to_string())))?;
    match &source {
        ModuleSource::Local(_) if has_version => {
            let detail = "Only modules from a registry have versions; a module in a local directory has \
                          none. Remove the \"version\" argument.";
            problems.push(refuse(detail.to_owned()));
        }
        ModuleSource::Remote(_) if has_version => {
            let error = RegistryModuleSource::parse(&call.source).err();
            let reason = error.map_or_else(String::new, |error| sentence(&error.to_string()));
            return Err(refuse(format!(
                "{reason} Only modules from a registry have versions. Remove the \"version\" argument, or \
                 select a version in the source, such as with ?ref=TAG for a Git repository."
            )));
        }
        _ => {}
    }
    Ok(source)
}

/// Returns the root directory of the package in which a module is installed: the ancestor that is
/// named after the module's key, since the module can be in a subdirectory of its package.
pub(super) fn package_directory(module: &Path, key: &str) -> PathBuf {
    let named = module.ancestors().find(|directory| directory.file_name().is_some_and(|name| name == key));
    named.unwrap_or(module).to_owned()
}

/// Reports a local path that leads out of the package of the calling module.
pub(super) fn escapes(call: &ModuleCall, package: &Path) -> Diagnostic {
    let detail = format!(
        "The path \"{}\" points outside the package in {}, to which the calling module belongs. A path in \
         an installed module must stay within its package.",
        call.source,
        package.display()
    );
    Diagnostic::error("Local module path escapes module package", detail)
        .at(call.source_span.clone())
        .in_block(format!("module \"{}\"", call.name))
}

fn sentence(reason: &str) -> String {
    let mut characters = reason.chars();
    let first = characters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", characters.as_str())
}
