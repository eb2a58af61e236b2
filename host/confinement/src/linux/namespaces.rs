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
//! There is no namespace for processes: the program's processes cannot leave their group, which a
//! guard kills, and cannot signal others.

use std::ffi::{CString, OsString};
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::RawFd;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use rustix::process::{getegid, geteuid};
use tempfile::TempDir;

use crate::linux::namespace_calls as calls;
use crate::linux::views;
use crate::view::DirectoryView;

/// The address at which the host answers queries for names.
pub(crate) const NAME_SERVER: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 53);
pub(crate) const NAME_SERVER_FILE: &str = "/etc/resolv.conf";

/// Namespaces that are ready to be entered by one process.
pub(crate) struct Namespaces {
    users: UserNamespace,
    mounts: Vec<BindMount>,
    /// The files and directories that are mounted, and the mount points in them.
    files: TempDir,
    /// The mounted files and directories that the program may read.
    readable: Vec<PathBuf>,
}

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
        // With its privileges, a process of root needs no namespace for users, in which it could not read
        // the files of others.
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

/// A file or directory that is mounted at another path.
pub(crate) struct BindMount {
    source: CString,
    target: CString,
}

impl BindMount {
    /// # Errors
    /// Returns an error if a path contains a zero.
    pub(crate) fn new(source: &Path, target: &Path) -> io::Result<Self> {
        Ok(Self { source: c_string(source.into())?, target: c_string(target.into())? })
    }
}

pub(crate) fn c_string(text: OsString) -> io::Result<CString> {
    CString::new(text.into_vec()).map_err(|_| io::ErrorKind::InvalidInput.into())
}

impl Namespaces {
    /// Prepares the namespaces, with views of these directories.
    ///
    /// # Errors
    /// Returns an error if the files that will be mounted cannot be created.
    pub(crate) fn prepare(directories: &[DirectoryView]) -> io::Result<Self> {
        let files = tempfile::Builder::new().prefix("wardian-mounts-").tempdir()?;
        let base = files.path().canonicalize()?;
        let mut mounts = Vec::new();
        let mut readable = Vec::new();
        // Without the file, resolvers use the same address.
        if let Ok(target) = Path::new(NAME_SERVER_FILE).canonicalize() {
            let file = base.join("resolv.conf");
            std::fs::write(&file, format!("nameserver {}\n", NAME_SERVER.ip()))?;
            mounts.push(BindMount::new(&file, &target)?);
            readable.push(file);
        }
        let (mut entries, mut covers) = (Vec::new(), Vec::new());
        views::prepare(directories, &base, &mut entries, &mut covers)?;
        for (source, target) in &entries {
            mounts.push(BindMount::new(source, target)?);
        }
        for (hidden, visible) in covers {
            mounts.push(BindMount::new(&visible, &hidden)?);
            readable.push(visible);
        }
        Ok(Self { users: UserNamespace::new(), mounts, files, readable })
    }

    /// Returns the files and directories that a program needs to be able to read in its namespaces.
    pub(crate) fn readable(&self) -> &[PathBuf] {
        &self.readable
    }

    /// Splits off the files, which must exist as long as the program.
    pub(crate) fn into_parts(self) -> (EnteredNamespaces, TempDir) {
        let Self { users, mounts, files, .. } = self;
        (EnteredNamespaces { users, mounts }, files)
    }
}

/// The system calls with which a process enters its namespaces.
pub(crate) struct EnteredNamespaces {
    users: UserNamespace,
    mounts: Vec<BindMount>,
}

impl EnteredNamespaces {
    /// Moves the calling process into its namespaces, and returns the socket at which the host must
    /// answer queries for names. Async-signal-safe.
    ///
    /// # Errors
    /// Returns an error if the system does not allow it.
    pub(crate) fn enter(&self) -> io::Result<RawFd> {
        self.users.enter(calls::NAMESPACES)?;
        for BindMount { source, target } in &self.mounts {
            calls::bind_mount(source, target)?;
        }
        calls::activate_loopback()?;
        calls::bind_datagrams(NAME_SERVER)
    }
}
