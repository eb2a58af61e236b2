//! What a component declares, held against what it imports.
//!
//! | capability | told by the import of |
//! |---|---|
//! | network | `wasi:http`, `wasi:sockets`, but for interfaces of types alone |
//! | process | `wardian:plugin/process` |
//! | communicator | `wardian:plugin/communicator` |
//! | filesystem, environment | nothing: the standard libraries import both, needed or not |
//!
//! A provisioner's one export takes what it may use of the second and third from the host
//! at each call, so that it imports both whether it needs them or not: there they tell
//! nothing either.

use std::fmt;

use crate::component::Inspected;

/// Interfaces without which nothing of the capability can be had: path, or its beginning
/// where it ends in `/`, and capability.
const TELLING: [(&str, &str); 4] = [
    ("wasi:http/", "network"),
    ("wasi:sockets/", "network"),
    ("wardian:plugin/process", "process"),
    ("wardian:plugin/communicator", "communicator"),
];

/// Interfaces that by themselves send nothing.
const PASSIVE: [&str; 3] = ["wasi:http/types", "wasi:sockets/network", "wasi:sockets/instance-network"];

/// What comes of holding one against the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Honesty {
    /// What is used and not declared.
    pub undeclared: Vec<Undeclared>,
    /// Capabilities that are declared and cannot be used.
    pub unused: Vec<&'static str>,
}

/// A capability that is imported and not declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undeclared {
    /// Which.
    pub capability: &'static str,
    /// The imports that tell.
    pub imports: Vec<Box<str>>,
}

impl fmt::Display for Undeclared {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let imports = self.imports.join(", ");
        write!(formatter, "it imports {imports}, and does not declare that it needs {}", self.capability)
    }
}

impl Inspected {
    /// Holds what is declared against what is imported.
    pub fn check(&self) -> Honesty {
        let mut honesty = Honesty::default();
        for capability in ["network", "process", "communicator"] {
            let imports: Vec<Box<str>> =
                self.imports.iter().filter(|import| told_by(import) == Some(capability)).cloned().collect();
            let is_declared = self.declaration.asked.iter().any(|asked| asked.capability() == capability);
            if self.is_provisioner() && capability != "network" {
                continue;
            }
            match (imports.is_empty(), is_declared) {
                (true, true) => honesty.unused.push(capability),
                (false, false) => honesty.undeclared.push(Undeclared { capability, imports }),
                (true, false) | (false, true) => {}
            }
        }
        honesty
    }

    /// Whether it offers what makes a component a provisioner.
    pub fn is_provisioner(&self) -> bool {
        self.exports.iter().any(|export| export.split('@').next() == Some("wardian:plugin/provisioner"))
    }
}

/// The capability that an import is of, where that is told by it.
fn told_by(import: &str) -> Option<&'static str> {
    let path = import.split('@').next().unwrap_or(import);
    if PASSIVE.contains(&path) {
        return None;
    }
    let is_of = |telling: &str| path == telling || telling.ends_with('/') && path.starts_with(telling);
    TELLING.iter().find(|(telling, _)| is_of(telling)).map(|(_, capability)| *capability)
}
