//! Rejects files that expose processes: the memory, environment and open files of this process and
//! of others, and the kernel's memory, which contains all of these.
//!
//! The check compares the file system type, not a path, since procfs or a subdirectory of it can be
//! mounted anywhere. Within it, the path relative to the root of procfs determines whether a file
//! describes a process. That path is derived from the mount and from the kernel's name for the open
//! file; if it cannot be determined, the file is rejected. All other files in procfs, such as
//! `/proc/cpuinfo`, are treated as ordinary files.

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod system {
    use std::ffi::OsStr;
    use std::fs::{File, Metadata, Permissions};
    use std::io;
    use std::os::fd::BorrowedFd;
    use std::os::unix::fs::PermissionsExt as _;

    use rustix::fs::Stat;

    use crate::error::FileAccessError;

    pub(crate) fn check_opened(_: BorrowedFd<'_>) -> Result<(), FileAccessError> {
        Ok(())
    }

    pub(crate) fn check_opened_with(_: BorrowedFd<'_>, _: &Metadata) -> Result<(), FileAccessError> {
        Ok(())
    }

    pub(crate) fn check_name(_: BorrowedFd<'_>, _: &OsStr, _: &Stat) -> Result<(), FileAccessError> {
        Ok(())
    }

    pub(crate) fn set_mode(file: &File, mode: u32) -> io::Result<()> {
        file.set_permissions(Permissions::from_mode(mode))
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
mod system {
    use std::ffi::OsStr;
    use std::fs::{File, Metadata, Permissions};
    use std::io;
    use std::os::fd::{AsRawFd as _, BorrowedFd};
    use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    use std::path::{Component, Path, PathBuf};

    use rustix::fs::{Mode, OFlags, PROC_SUPER_MAGIC, Stat, fstatfs, major};

    use crate::error::FileAccessError;

    /// The inode number of the root of each procfs.
    const TOP: u64 = 1;

    pub(crate) fn check_opened(opened: BorrowedFd<'_>) -> Result<(), FileAccessError> {
        if is_procfs(opened) { check_path(path_in_procfs(opened)) } else { Ok(()) }
    }

    /// The same as [`check_opened`], for a file whose metadata is known. Procfs is not on a disk,
    /// so the device number excludes most files without an additional system call.
    pub(crate) fn check_opened_with(
        opened: BorrowedFd<'_>,
        metadata: &Metadata,
    ) -> Result<(), FileAccessError> {
        if major(metadata.dev()) != 0 { Ok(()) } else { check_opened(opened) }
    }

    /// Checks a name in a directory before it is looked up.
    pub(crate) fn check_name(
        parent: BorrowedFd<'_>,
        name: &OsStr,
        metadata: &Stat,
    ) -> Result<(), FileAccessError> {
        #[allow(clippy::useless_conversion, reason = "the width of st_dev differs between platforms")]
        if major(u64::from(metadata.st_dev)) != 0 || !is_procfs(parent) {
            return Ok(());
        }
        check_path(path_in_procfs(parent).map(|path| path.join(name)))
    }

    fn is_procfs(file: BorrowedFd<'_>) -> bool {
        // A file system of unknown type is not trusted.
        fstatfs(file).map_or(true, |about| about.f_type == PROC_SUPER_MAGIC)
    }

    fn check_path(path: Option<PathBuf>) -> Result<(), FileAccessError> {
        match path {
            Some(path) if !concerns_process(&path) => Ok(()),
            _ => Err(FileAccessError::Process),
        }
    }

    /// Returns whether a path relative to the root of procfs belongs to a process or is the
    /// kernel's memory.
    pub(super) fn concerns_process(path: &Path) -> bool {
        let mut names = path.components().filter_map(|component| match component {
            Component::Normal(name) => Some(name.as_bytes()),
            _ => None,
        });
        names.next().is_some_and(|first| {
            first.iter().all(u8::is_ascii_digit)
                || matches!(first, b"self" | b"thread-self" | b"kcore" | b"vmcore" | b"kmem")
        })
    }

    /// Sets the mode of an open file. A handle that allows neither reading nor writing is opened
    /// again by its number, because the system does not accept the handle itself.
    pub(crate) fn set_mode(file: &File, mode: u32) -> io::Result<()> {
        let permissions = Permissions::from_mode(mode);
        match file.set_permissions(permissions.clone()) {
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::BADF.raw_os_error()) => {}
            set => return set,
        }
        if is_own_procfs_mounted() != Some(true) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        std::fs::set_permissions(format!("/proc/self/fd/{}", file.as_raw_fd()), permissions)
    }

    /// Returns whether `/proc` is a procfs, since another file system may be mounted there.
    fn is_own_procfs_mounted() -> Option<bool> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let top = rustix::fs::open("/proc", flags, Mode::empty()).ok()?;
        let is_top = rustix::fs::fstat(&top).ok()?.st_ino == TOP;
        Some(is_top && fstatfs(&top).ok()?.f_type == PROC_SUPER_MAGIC)
    }

    /// Returns a file's path relative to the root of procfs.
    fn path_in_procfs(file: BorrowedFd<'_>) -> Option<PathBuf> {
        if !is_own_procfs_mounted()? {
            return None;
        }
        let number = file.as_raw_fd();
        let path = std::fs::read_link(format!("/proc/self/fd/{number}")).ok()?;
        let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{number}")).ok()?;
        let mount = info.lines().find_map(|line| line.strip_prefix("mnt_id:"))?.trim();
        let mounts = std::fs::read("/proc/self/mountinfo").ok()?;
        let line = mounts.split(|byte| *byte == b'\n').find_map(|line| mount_with_id(line, mount))?;
        let rest = path.strip_prefix(&line.point).ok()?;
        Some(line.top.join(rest))
    }

    /// A line of `mountinfo`.
    #[derive(Debug, PartialEq, Eq)]
    pub(super) struct Mount {
        /// The directory of the file system that is mounted.
        pub(super) top: PathBuf,
        /// The path at which the file system is mounted.
        pub(super) point: PathBuf,
    }

    pub(super) fn mount_with_id(line: &[u8], id: &str) -> Option<Mount> {
        let mut fields = line.split(|byte| *byte == b' ');
        if fields.next()? != id.as_bytes() {
            return None;
        }
        let (top, point) = (fields.nth(2)?, fields.next()?);
        Some(Mount { top: unescape(top), point: unescape(point) })
    }

    /// Replaces octal escapes such as `\040`.
    fn unescape(field: &[u8]) -> PathBuf {
        let mut bytes = Vec::with_capacity(field.len());
        let mut rest = field;
        while let Some((first, after)) = rest.split_first() {
            let escaped = (*first == b'\\').then(|| after.get(..3)).flatten();
            let value =
                escaped.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
            rest = match value {
                Some(value) => {
                    bytes.push(value);
                    &after[3..]
                }
                None => {
                    bytes.push(*first);
                    after
                }
            };
        }
        std::ffi::OsString::from_vec(bytes).into()
    }
}

pub(crate) use system::{check_name, check_opened, check_opened_with, set_mode};

#[cfg(all(test, any(target_os = "linux", target_os = "android")))]
mod tests {
    use std::path::Path;

    use super::system::{Mount, concerns_process, mount_with_id};

    #[test]
    fn procfs_process_files_are_recognized() {
        for path in ["/1", "/4711/environ", "/self", "/thread-self/mem", "/kcore"] {
            assert!(concerns_process(Path::new(path)), "{path}");
        }
        for path in ["/", "/cpuinfo", "/sys/kernel/random/uuid", "/fs/1", "/1a"] {
            assert!(!concerns_process(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn mounts_are_parsed() {
        let line = b"36 35 0:21 /4711 /mnt/a\\040b rw,noatime master:1 - proc proc rw";
        let mount = Mount { top: "/4711".into(), point: "/mnt/a b".into() };
        assert_eq!(mount_with_id(line, "36"), Some(mount));
        assert_eq!(mount_with_id(line, "3"), None);
        assert_eq!(mount_with_id(b"", "36"), None);
    }
}
