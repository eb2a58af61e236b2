//! The reason why a plugin cannot be loaded or started.

use std::fmt;

use crate::compiler::CompileError;

#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The bytes have a different format.
    #[error("{plugin} is not a WebAssembly component: {found}")]
    NotAComponent {
        plugin: String,
        /// The format of the bytes.
        found: String,
    },
    /// The bytes begin like a component but are invalid.
    #[error("{plugin} is not a valid WebAssembly component: {reason}")]
    Invalid {
        plugin: String,
        /// The chain of causes.
        reason: String,
    },
    /// The component was built for asynchronous calls or for WASI 0.3.
    #[error(
        "{plugin} was built for the asynchronous calls of WASI 0.3, which this version of Wardian does not \
         support: {reason}. Build it for WASI 0.2 with synchronous exports: for Rust, for the target \
         wasm32-wasip2; for JavaScript, with `componentize-qjs --sync`; for other languages, without \
         `async` in the bindings"
    )]
    Asynchronous {
        plugin: String,
        /// The instruction or type that the validator rejects.
        reason: String,
    },
    /// The expanded component exceeds a limit.
    #[error("{plugin} exceeds the limits of components: {reason}")]
    TooLarge {
        plugin: String,
        /// The name of the count, the measured value and the limit.
        reason: String,
    },
    /// The component cannot be compiled, or not within the limits.
    #[error("{plugin} cannot be compiled: {reason}")]
    Compile { plugin: String, reason: CompileError },
    /// The component imports interfaces that its world does not allow.
    #[error("{plugin} imports interfaces that it is not allowed to use:\n{}", lines(.imports))]
    Imports {
        plugin: String,
        /// All imports that are not allowed.
        imports: Vec<SurplusImport>,
    },
    /// The component does not export the interface of the intended world.
    #[error(
        "{plugin} is not a {noun}: it does not export {missing}{}. Build it for the world \"{noun}-plugin\" of \
         wardian:plugin, for example with `wardian_sdk::export_{noun}!`",
        exports_instead(.found)
    )]
    Exports {
        plugin: String,
        /// The expected kind of plugin: `provider`, `provisioner`.
        noun: &'static str,
        missing: String,
        /// The interfaces that the component exports.
        found: Vec<String>,
    },
    /// An interface of the component has a different type than this host's interface of the same name.
    #[error("{plugin} was built against interfaces that differ from this host's: {reason}")]
    Mismatch {
        plugin: String,
        /// The chain of causes.
        reason: String,
    },
}

impl LoadError {
    /// Returns the error for a component that the validator rejects. The reasons of components for newer
    /// versions of WASI are explained.
    pub(crate) fn invalid(plugin: String, reason: String) -> Self {
        if reason.contains("requires the component model async") || reason.contains("component model async`")
        {
            return Self::Asynchronous { plugin, reason };
        }
        Self::Invalid { plugin, reason }
    }
}

/// An import that a plugin must not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SurplusImport {
    /// The import's name as in the component.
    pub name: String,
    /// The change that would make the component acceptable.
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
        return ", and exports nothing else".into();
    }
    format!(" (it exports {})", found.join(", "))
}

/// The WebAssembly engine could not be set up.
#[derive(Debug, thiserror::Error)]
#[error("the WebAssembly engine could not be set up: {0}")]
pub struct SandboxError(pub(crate) String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn asynchronous_components_have_a_remedy() {
        for reason in [
            "`task.cancel` requires the component model async feature (at offset 0x13)",
            "async canonical option requires the component model async feature",
        ] {
            let text = LoadError::invalid("acme/x".to_owned(), reason.to_owned()).to_string();
            for part in [
                "acme/x was built for the asynchronous calls",
                reason,
                "wasm32-wasip2",
                "componentize-qjs --sync",
            ] {
                assert!(text.contains(part), "{part}: {text}");
            }
        }
        let other = LoadError::invalid("acme/x".to_owned(), "unexpected end".to_owned()).to_string();
        assert_eq!(other, "acme/x is not a valid WebAssembly component: unexpected end");
    }
}
