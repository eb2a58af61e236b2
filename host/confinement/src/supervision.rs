//! The settings and authorities that a supervisor receives from its caller.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use wardian_access::NativeAuthority;
use wardian_network::Resolver;
use wardian_network::proxy::ProxySettings;
use wardian_process::Launcher;

use crate::view::DirectoryView;

/// The authority, the services and the limits of a supervisor.
#[derive(Clone)]
pub struct SupervisorOptions {
    pub authority: Arc<dyn NativeAuthority>,
    pub resolver: Arc<dyn Resolver>,
    /// The user's proxies.
    pub proxies: ProxySettings,
    /// A directory whose files and sockets belong to the program: its real path, which must also be in
    /// [`LandlockRules::real_write`](crate::LandlockRules::real_write).
    pub own_directory: PathBuf,
    /// Maximum number of concurrent connections, if policy sets one.
    pub max_connections: Option<usize>,
    /// The programs that the program may start; `None` if there are none.
    pub programs: Option<ProgramAccess>,
}

/// The programs that a confined program may start, and the settings for running them.
#[derive(Clone)]
pub struct ProgramAccess {
    /// Bare names or absolute paths.
    pub programs: Vec<String>,
    /// The host's program, which implements the mode of [`run_shim`](crate::run_shim).
    pub host_program: PathBuf,
    pub launcher: Arc<Launcher>,
    /// The environment of programs, before the variables that the confined program sets.
    pub environment: Vec<(OsString, OsString)>,
}

/// The namespaces of a confined program.
#[derive(Clone, Debug)]
pub struct NamespaceOptions {
    /// The directories of which the program sees a part.
    pub views: Vec<DirectoryView>,
    pub role: NamespaceRole,
}

/// The relation of the namespaces to the other restrictions.
#[derive(Clone, Debug)]
pub enum NamespaceRole {
    /// Landlock restricts files, and a supervisor decides on system calls.
    Additional,
    /// Neither is available.
    Alone {
        /// The TCP ports of servers to which connections may be granted.
        ports: Vec<u16>,
        working_directory: PathBuf,
    },
}
