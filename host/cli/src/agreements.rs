//! The file that says which declarations of plugins were agreed to, and the check before
//! a run that the plugins are those.
//!
//! Not looked at are
//! - embedded plugins: they are exchanged with the program alone, and what they are
//!   granted the program itself says;
//! - plugins under development: their code is another one with each build;
//! - plugins that declare nothing: there is nothing to agree to;
//! - native plugins: nothing that they declared would hold.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use wardian_address::ProviderAddress;
use wardian_declaration::{Agreements, Inspected, inspect};
use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_install::package::{ComponentArtifact, PluginArtifact, PluginOrigin};
use wardian_policy::AGREEMENTS_FILE_NAME;

use crate::failure::{Failure, Outcome};
use crate::replacement;
use crate::session::Session;

/// The largest file that is read.
const MOST_BYTES: u64 = 1 << 20;

/// All that was agreed to in the root module's directory.
///
/// # Errors
/// Where the file is there and cannot be read or understood.
pub(crate) fn load(session: &Session) -> Outcome<Agreements> {
    match read_text(Path::new(AGREEMENTS_FILE_NAME)) {
        Ok(None) => Ok(Agreements::default()),
        Ok(Some(text)) => Ok(Agreements::parse(&text, &session.directory)?),
        Err(error) => Err(Failure::error(
            "Agreements cannot be read",
            format!("The file {AGREEMENTS_FILE_NAME} cannot be read: {error}."),
        )),
    }
}

/// Replaces the file.
///
/// # Errors
/// Where it cannot be written; the old one is then untouched.
pub(crate) fn save(agreements: &Agreements) -> Outcome<()> {
    replacement::write(Path::new(AGREEMENTS_FILE_NAME), agreements.render().as_bytes()).map_err(|error| {
        Failure::error(
            "Agreements cannot be written",
            format!("The file {AGREEMENTS_FILE_NAME} cannot be written: {error}."),
        )
    })
}

/// A file's text; [`None`] where there is no file.
pub(crate) fn read_text(path: &Path) -> io::Result<Option<String>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut text = String::new();
    file.take(MOST_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MOST_BYTES {
        return Err(io::Error::other("it is too large"));
    }
    Ok(Some(text))
}

/// What a component declares, where that agrees with what it imports.
///
/// # Errors
/// Where it cannot be understood, or does not agree.
pub(crate) fn inspected(component: &ComponentArtifact, root_module: &Path) -> Result<Inspected, Diagnostic> {
    let cannot = |why: String| {
        let name = named(component);
        let detail = format!("{name} cannot be loaded: {why}.\n\nIts file comes from {}.", component.origin);
        Diagnostic::error("Plugin cannot be loaded", detail)
    };
    let inspected = inspect(component.bytes(), root_module).map_err(|error| cannot(error.to_string()))?;
    let honesty = inspected.check();
    if let Some(undeclared) = honesty.undeclared.first() {
        return Err(cannot(format!("{undeclared}. Its author has to declare it, with the reason")));
    }
    Ok(inspected)
}

/// `acme/dns v1.0.0`
pub(crate) fn named(component: &ComponentArtifact) -> String {
    let address = component.address.for_display();
    component.version.as_ref().map_or_else(|| address.to_string(), |version| format!("{address} v{version}"))
}

/// Holds the plugins of a run against what was agreed to.
///
/// # Errors
/// All that declare something else than they import, or than was agreed to.
pub(crate) fn check(artifacts: &BTreeMap<ProviderAddress, PluginArtifact>, session: &Session) -> Outcome<()> {
    let mut problems = Diagnostics::new();
    let mut agreements = None;
    for (address, artifact) in artifacts {
        let PluginArtifact::Component(component) = artifact else { continue };
        if matches!(component.origin, PluginOrigin::Embedded) {
            continue;
        }
        let found = match inspected(component, &session.directory) {
            Ok(found) => found,
            Err(problem) => {
                problems.push(problem);
                continue;
            }
        };
        let is_agreed_to = found.declaration.asked.is_empty()
            || matches!(component.origin, PluginOrigin::DevelopmentOverride(_));
        if is_agreed_to {
            continue;
        }
        let known = match &mut agreements {
            Some(known) => known,
            none => none.insert(load(session)?),
        };
        let agreed = known.plugins.get(address);
        if agreed.is_some_and(|agreed| agreed.sha256 == component.sha256.to_string()) {
            continue;
        }
        let why = match agreed {
            Some(agreed) => format!("is about other code, of v{}", agreed.version),
            None => "does not mention it".to_owned(),
        };
        let detail = format!(
            "{} declares what it needs, and nobody has agreed to that here: {AGREEMENTS_FILE_NAME} {why}. Run \
             `wardian init`, which shows what it asks for.",
            named(component)
        );
        problems.push(Diagnostic::error("Plugin's declaration was not agreed to", detail));
    }
    Ok(problems.into_result(())?)
}
