//! Compares a component's declaration with its imports.
//!
//! | capability | implied by an import of |
//! |---|---|
//! | network | `wasi:http`, `wasi:sockets`, except for interfaces that define only types; `wardian:plugin/http` |
//! | process | `wardian:plugin/process` |
//! | communicator | `wardian:plugin/communicator` |
//! | filesystem, environment | none: the standard libraries always import both |
//!
//! A provisioner's export receives process and communicator resources from the host with each call,
//! so every provisioner imports both interfaces, whether it needs them or not. Therefore, these
//! imports do not imply a capability for provisioners.
//!
//! The runtimes of some languages always import `wasi:sockets` or `wasi:http`. A provider that imports
//! them without a declaration is loaded, and the host denies each use.

use std::fmt;

use crate::component::Inspected;

/// Interfaces that require a capability: the path (a prefix if it ends in `/`) and the capability.
const CAPABILITY_IMPORTS: [(&str, &str); 5] = [
    ("wardian:plugin/http", "network"),
    ("wasi:http/", "network"),
    ("wasi:sockets/", "network"),
    ("wardian:plugin/process", "process"),
    ("wardian:plugin/communicator", "communicator"),
];

/// Interfaces that define only types and therefore cannot send data.
const TYPE_ONLY_INTERFACES: [&str; 3] =
    ["wasi:http/types", "wasi:sockets/network", "wasi:sockets/instance-network"];

/// The result of comparing a component's declaration with its imports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportVerification {
    /// Capabilities that are imported but not declared.
    pub undeclared: Vec<UndeclaredCapability>,
    /// Capabilities that are declared but not imported.
    pub unused: Vec<&'static str>,
}

/// A capability that is imported but not declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndeclaredCapability {
    pub capability: &'static str,
    /// The imports that imply the capability.
    pub imports: Vec<Box<str>>,
}

impl fmt::Display for UndeclaredCapability {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let imports = self.imports.join(", ");
        write!(formatter, "it imports {imports}, but does not declare the capability {}", self.capability)
    }
}

impl Inspected {
    /// Whether the component is loaded although it imports an undeclared capability, because the host
    /// denies each use of it.
    pub fn is_denied_without_declaration(&self, undeclared: &UndeclaredCapability) -> bool {
        undeclared.capability == "network" && !self.is_provisioner()
    }

    /// Whether the component declares a capability.
    pub fn declares(&self, capability: &str) -> bool {
        self.declaration.requests.iter().any(|request| request.capability() == capability)
    }

    /// Compares the declaration with the imports.
    pub fn verify_imports(&self) -> ImportVerification {
        let mut verification = ImportVerification::default();
        for capability in ["network", "process", "communicator"] {
            let imports: Vec<Box<str>> = self
                .imports
                .iter()
                .filter(|import| implied_capability(import) == Some(capability))
                .cloned()
                .collect();
            let is_declared = self.declares(capability);
            if self.is_provisioner() && capability != "network" {
                continue;
            }
            match (imports.is_empty(), is_declared) {
                (true, true) => verification.unused.push(capability),
                (false, false) => verification.undeclared.push(UndeclaredCapability { capability, imports }),
                (true, false) | (false, true) => {}
            }
        }
        verification
    }

    /// Whether the component exports the provisioner interface.
    pub fn is_provisioner(&self) -> bool {
        self.exports.iter().any(|export| export.split('@').next() == Some("wardian:plugin/provisioner"))
    }
}

/// Returns the capability that an import implies.
fn implied_capability(import: &str) -> Option<&'static str> {
    let path = import.split('@').next().unwrap_or(import);
    if TYPE_ONLY_INTERFACES.contains(&path) {
        return None;
    }
    let matches =
        |interface: &str| path == interface || interface.ends_with('/') && path.starts_with(interface);
    CAPABILITY_IMPORTS.iter().find(|(interface, _)| matches(interface)).map(|(_, capability)| *capability)
}
