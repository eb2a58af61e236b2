//! The confinement of a program, and a program that runs under it.

use tokio::process::Child;
use wardian_process::Guarded;

use crate::SupervisionHandle;
use crate::landlock::LandlockRules;
use crate::level::ConfinementLevel;
use crate::supervision::{NamespaceOptions, NamespaceRole, SupervisorOptions};

/// The confinement of a program.
#[derive(Clone)]
pub struct Confinement {
    pub rules: LandlockRules,
    /// The supervision of sockets, programs and other system calls; `None` if only the rules apply.
    pub supervision: Option<SupervisorOptions>,
    /// The namespaces of a supervised program; `None` if it runs in those of the host.
    pub namespaces: Option<NamespaceOptions>,
    /// Maximum number of bytes of private writable memory of each process.
    pub max_memory: Option<u64>,
    /// Maximum number of bytes of each file that the program writes.
    pub max_file_size: Option<u64>,
}

impl Confinement {
    /// Returns the level of the confinement.
    pub fn level(&self) -> ConfinementLevel {
        let Some(_) = &self.supervision else { return ConfinementLevel::FilesAndPorts };
        match self.namespaces.as_ref().map(|namespaces| &namespaces.role) {
            None => ConfinementLevel::Filtered,
            Some(NamespaceRole::Additional) => ConfinementLevel::Full,
            Some(NamespaceRole::Alone { .. }) => ConfinementLevel::Namespaced,
        }
    }
}

/// A confined process and its supervision.
pub struct ConfinedChild {
    pub child: Child,
    /// The process and its descendants, which are killed when the host ends.
    pub guarded: Guarded,
    /// The supervision ends when this value is dropped, or when the last process has ended.
    pub supervision: Option<SupervisionHandle>,
}
