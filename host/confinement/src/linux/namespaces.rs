//! The namespaces of a confined program, which the program enters before its other restrictions.
//!
//! - The network namespace has only a loopback interface. The host answers queries for names at its
//!   port 53, so that resolvers which insist on the address of the response work. Connections are
//!   opened by the supervisor, outside of the namespace.
//! - The mount namespace shows the allowed entries of directories that are granted in part, and names
//!   the name server of the namespace.
//! - The IPC namespace has no shared memory, semaphores and queues of other programs.
//! - A user namespace gives an unprivileged process the right to create the others. It maps only the
//!   user and the group of the host.
//!
//! There is no PID namespace: the program's processes cannot leave their group, which a
//! guard kills, and cannot signal others.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::RawFd;
use std::path::{Path, PathBuf};

use rustix::process::{getegid, geteuid};
use tempfile::TempDir;

use crate::linux::mounts::Mount;
use crate::linux::namespace_calls as calls;
use crate::linux::views::{PreparedViews, VisibleDirectory};
use crate::view::DirectoryView;

/// The address at which the host answers queries for names.
pub(crate) const NAME_SERVER: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 53);
pub(crate) const NAME_SERVER_FILE: &str = "/etc/resolv.conf";

/// The user and the group that a user namespace maps to themselves.
pub(crate) struct UserNamespace {
    user_map: Vec<u8>,
    group_map: Vec<u8>,
}

impl UserNamespace {
    pub(crate) fn new() -> Self {
        let (user, group) = (geteuid().as_raw(), getegid().as_raw());
        Self {
            user_map: format!("{user} {user} 1\n").into_bytes(),
            group_map: format!("{group} {group} 1\n").into_bytes(),
        }
    }

    /// Moves the process into new namespaces, whose mounts no other namespace sees, and into a user
    /// namespace if it is necessary for that. Async-signal-safe.
    ///
    /// # Errors
    /// Returns an error if the system does not allow it.
    pub(crate) fn enter(&self, namespaces: libc::c_int) -> io::Result<()> {
        // A root process needs no user namespace, in which it could not read the files of other
        // users.
        match calls::unshare(namespaces) {
            Err(error) if error.raw_os_error() == Some(libc::EPERM) => {
                calls::unshare(namespaces | libc::CLONE_NEWUSER)?;
                calls::write_file(c"/proc/self/setgroups", b"deny")?;
                calls::write_file(c"/proc/self/uid_map", &self.user_map)?;
                calls::write_file(c"/proc/self/gid_map", &self.group_map)?;
            }
            result => result?,
        }
        calls::make_mounts_private()
    }
}

/// Writes the file that names the server, and returns its path.
///
/// # Errors
/// Returns an error if the file cannot be written.
pub(crate) fn write_name_server_file(directory: &Path) -> io::Result<PathBuf> {
    let file = directory.join("resolv.conf");
    std::fs::write(&file, format!("nameserver {}\n", NAME_SERVER.ip()))?;
    Ok(file)
}

/// Namespaces that are ready to be entered by one process.
pub(crate) struct Namespaces {
    users: UserNamespace,
    mounts: Vec<Mount>,
}

/// The files and directories that are mounted in a program's namespaces, and the mount points in them.
/// They must exist as long as the program.
pub(crate) struct MountedFiles {
    pub(crate) directory: TempDir,
    /// Those that the program must be able to read.
    pub(crate) readable: Vec<PathBuf>,
}

impl Namespaces {
    /// Prepares the namespaces, with views of these directories.
    ///
    /// # Errors
    /// Returns an error if the files that will be mounted cannot be created.
    pub(crate) fn prepare(directories: &[DirectoryView]) -> io::Result<(Self, MountedFiles)> {
        let directory = tempfile::Builder::new().prefix("wardian-mounts-").tempdir()?;
        let base = directory.path().canonicalize()?;
        let mut mounts = Vec::new();
        let mut readable = Vec::new();
        // Without the file, resolvers use the same address.
        if let Ok(target) = Path::new(NAME_SERVER_FILE).canonicalize() {
            let file = write_name_server_file(&base)?;
            mounts.push(Mount::new(&file, &target)?);
            readable.push(file);
        }
        let views = PreparedViews::create(directories, &base)?;
        mounts.extend(views.entries);
        for VisibleDirectory { visible, hidden } in views.directories {
            mounts.push(Mount::new(&visible, &hidden)?);
            readable.push(visible);
        }
        Ok((Self { users: UserNamespace::new(), mounts }, MountedFiles { directory, readable }))
    }

    /// Moves the calling process into its namespaces, and returns the socket at which the host must
    /// answer queries for names. Async-signal-safe.
    ///
    /// # Errors
    /// Returns an error if the system does not allow it.
    pub(crate) fn enter(&self) -> io::Result<RawFd> {
        self.users.enter(calls::NAMESPACES)?;
        self.mounts.iter().try_for_each(Mount::perform)?;
        calls::activate_loopback()?;
        calls::bind_datagrams(NAME_SERVER)
    }
}
