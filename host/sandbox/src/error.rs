//! Why a plugin is not loaded, or not started.

use std::fmt;

use crate::output::printable;

/// Why bytes did not become a [`crate::LoadedPlugin`].
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The bytes are something else.
    #[error("{plugin} is not a WebAssembly component: {found}")]
    NotAComponent {
        /// The plugin.
        plugin: String,
        /// What the bytes are.
        found: String,
    },
    /// The bytes say that they are a component, and are not a valid one.
    #[error("{plugin} is not a valid WebAssembly component: {reason}")]
    Invalid {
        /// The plugin.
        plugin: String,
        /// The whole chain of causes.
        reason: String,
    },
    /// It imports what no plugin of its world may.
    #[error("{plugin} imports what it may not have:\n{}", lines(.imports))]
    Imports {
        /// The plugin.
        plugin: String,
        /// All such imports.
        imports: Vec<SurplusImport>,
    },
    /// It does not offer the interface of what it is to be.
    #[error("{plugin} is not a {noun}: it does not export {missing}{}", exports_instead(.found))]
    Exports {
        /// The plugin.
        plugin: String,
        /// What it is to be: `provider`, `provisioner`.
        noun: &'static str,
        /// The interface that is missing.
        missing: String,
        /// What it exports.
        found: Vec<String>,
    },
    /// An interface is there under the right name and has another shape.
    #[error("{plugin} was built against other interfaces than this host has: {reason}")]
    Mismatch {
        /// The plugin.
        plugin: String,
        /// The whole chain of causes.
        reason: String,
    },
}

/// An import that a plugin may not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SurplusImport {
    /// The import's name, as it is in the component.
    pub name: String,
    /// What would have to be otherwise.
    pub remedy: String,
}

impl fmt::Display for SurplusImport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  - {}: {}", self.name, self.remedy)
    }
}

fn lines(imports: &[SurplusImport]) -> String {
    imports.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn exports_instead(found: &[String]) -> String {
    if found.is_empty() {
        return ", and nothing else".into();
    }
    format!(" (it exports {})", found.join(", "))
}

/// Why the sandbox could not be made.
#[derive(Debug, thiserror::Error)]
#[error("could not set up the WebAssembly engine: {0}")]
pub struct SandboxError(pub(crate) String);

/// All causes of an error, the outermost first. Causes that only repeat what
/// stands before them are left out. They can quote the component.
pub(crate) fn chain(error: &wasmtime::Error) -> String {
    let mut text = String::new();
    for cause in error.chain() {
        let cause = cause.to_string();
        let cause = cause.trim();
        if cause.is_empty() || text.contains(cause) {
            continue;
        }
        if !text.is_empty() {
            text.push_str(": ");
        }
        text.push_str(cause);
    }
    printable(&text)
}
