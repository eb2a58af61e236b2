//! The consent lock file, and the check before each run that the user has consented to the plugins.
//!
//! The check does not apply to
//! - embedded plugins, because they change only with Wardian, which defines their grants;
//! - plugins with a development override, because their code changes with each build;
//! - plugins that declare no capabilities, because there is nothing to approve;
//! - native plugins, because nothing would enforce their declaration.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use wardian_address::ProviderAddress;
use wardian_declaration::{ApprovedCapabilities, Inspected, UndeclaredCapability, inspect};
use wardian_diagnostic::{Diagnostic, Diagnostics, system_reason};
use wardian_files::read_regular;
use wardian_install::package::{ComponentArtifact, PluginArtifact, PluginOrigin};
use wardian_policy::CONSENT_LOCK_FILE_NAME;

use crate::atomic_write;
use crate::error::AppError;
use crate::plugin_name::plugin_name;

/// Maximum size of the file.
const MAX_BYTES: u64 = 1 << 20;

/// Reads the consent lock file of the root module.
///
/// # Errors
/// Returns an error if the file exists but cannot be read or parsed.
pub fn load(root_module: &Path) -> Result<ApprovedCapabilities, AppError> {
    match read_text(Path::new(CONSENT_LOCK_FILE_NAME)) {
        Ok(None) => Ok(ApprovedCapabilities::default()),
        Ok(Some(text)) => Ok(ApprovedCapabilities::parse(&text, root_module)?),
        Err(error) => Err(AppError::new(
            "Consent lock file cannot be read",
            format!("The file {CONSENT_LOCK_FILE_NAME} cannot be read: {}.", system_reason(&error)),
        )),
    }
}

/// Replaces the consent lock file.
///
/// # Errors
/// Returns an error if the file cannot be written. In this case, the old file is unchanged.
pub fn save(agreements: &ApprovedCapabilities) -> Result<(), AppError> {
    atomic_write::write(Path::new(CONSENT_LOCK_FILE_NAME), agreements.render().as_bytes()).map_err(|error| {
        AppError::new(
            "Consent lock file cannot be written",
            format!("The file {CONSENT_LOCK_FILE_NAME} cannot be written: {}.", system_reason(&error)),
        )
    })
}

/// Returns a file's content, or [`None`] if the file does not exist.
pub fn read_text(path: &Path) -> io::Result<Option<String>> {
    match read_regular(path, MAX_BYTES) {
        Ok(bytes) => match String::from_utf8(bytes) {
            Ok(text) => Ok(Some(text)),
            Err(error) => Err(io::Error::new(io::ErrorKind::InvalidData, error.utf8_error())),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns a component's declaration and imports.
///
/// # Errors
/// Returns an error if the declaration or the imports cannot be read, or if the component imports
/// an interface whose capability it does not declare.
pub fn inspect_component(component: &ComponentArtifact, root_module: &Path) -> Result<Inspected, Diagnostic> {
    let cannot = |why: String| {
        let name = component_name(component);
        let detail = format!("{name} cannot be loaded: {why}.\n\nThe file is from {}.", component.origin);
        Diagnostic::error("Plugin cannot be loaded", detail)
    };
    let inspected = inspect(component.bytes(), root_module).map_err(|error| cannot(error.to_string()))?;
    let verification = inspected.verify_imports();
    let refused = |undeclared: &&UndeclaredCapability| !inspected.is_denied_without_declaration(undeclared);
    if let Some(undeclared) = verification.undeclared.iter().find(refused) {
        return Err(cannot(format!(
            "{undeclared}. The plugin's author must declare the capability, with a reason"
        )));
    }
    Ok(inspected)
}

/// Returns a component's name and version, for messages.
pub fn component_name(component: &ComponentArtifact) -> String {
    plugin_name(&component.address, component.version.as_ref())
}

/// Checks the plugins of a run against the consent lock file.
///
/// # Errors
/// Returns an error for each plugin that imports an interface whose capability it does not declare,
/// or that the user has not consented to.
pub fn check(
    artifacts: &BTreeMap<ProviderAddress, PluginArtifact>,
    root_module: &Path,
) -> Result<(), AppError> {
    let mut problems = Diagnostics::new();
    let mut agreements = None;
    for (address, artifact) in artifacts {
        let PluginArtifact::Component(component) = artifact else { continue };
        if matches!(component.origin, PluginOrigin::Embedded) {
            continue;
        }
        let found = match inspect_component(component, root_module) {
            Ok(found) => found,
            Err(problem) => {
                problems.push(problem);
                continue;
            }
        };
        let is_agreed_to = found.declaration.requests.is_empty()
            || matches!(component.origin, PluginOrigin::DevelopmentOverride(_));
        if is_agreed_to {
            continue;
        }
        let known = match &mut agreements {
            Some(known) => known,
            none => none.insert(load(root_module)?),
        };
        let agreed = known.plugins.get(address);
        if agreed.is_some_and(|agreed| agreed.sha256 == component.sha256.to_string()) {
            continue;
        }
        let why = match agreed {
            Some(agreed) => format!("records the approval of different code, v{}", agreed.version),
            None => "does not contain the plugin".to_owned(),
        };
        let detail = format!(
            "{} declares capability requests that have not been approved: {CONSENT_LOCK_FILE_NAME} {why}. \
             Run `wardian init`, which shows the requests.",
            component_name(component)
        );
        problems.push(Diagnostic::error("Plugin's declaration was not approved", detail));
    }
    Ok(problems.into_result(())?)
}
