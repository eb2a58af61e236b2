//! The levels of confinement, and which of them this machine supports.

use std::fmt;

/// The strength of the confinement of a native program, from the weakest to the strongest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConfinementLevel {
    /// Nothing is enforced.
    None,
    /// Files, and the ports of ordinary TCP connections. Other kinds of sockets are not restricted.
    FilesAndPorts,
    /// Files, host names, and dangerous system calls, in namespaces without a supervisor. Connections to
    /// ports that are not granted leave no record, and neither do files and programs.
    Namespaced,
    /// Files, sockets, host names, programs and dangerous system calls.
    Filtered,
    /// Like `Filtered`, in mount, network and IPC namespaces: directories can be granted in part,
    /// and resolvers of all C libraries work.
    Full,
}

impl ConfinementLevel {
    /// Returns the name in records and messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::FilesAndPorts => "files and ports",
            Self::Namespaced => "namespaced",
            Self::Filtered => "filtered",
            Self::Full => "full",
        }
    }
}

impl fmt::Display for ConfinementLevel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// The highest level that a machine supports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SupportedLevel {
    pub level: ConfinementLevel,
    /// A clause that names what the next level lacks; `None` at the highest level.
    pub missing: Option<String>,
}
