//! Reports the files that a confined program opens.
//!
//! Landlock decides, and reports nothing to unprivileged processes. Therefore, the supervisor looks at
//! each attempt to open a file before the kernel executes it. A program that changes the path in the
//! meantime can falsify these reports, but it gains no access.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use wardian_access::{FileOperation, NativeAuthority};

use crate::landlock::LandlockRules;
use crate::linux::kernel::Notification;
use crate::linux::program_memory::Thread;
use crate::view::DirectoryView;

/// Maximum number of reported files of a program.
const MAX_REPORTS: usize = 1_000;

/// The files that were reported, and the directories that the kernel's rules allow.
pub(crate) struct OpenReports {
    readable: Vec<PathBuf>,
    writable: Vec<PathBuf>,
    views: Vec<DirectoryView>,
    reported: Mutex<HashSet<(PathBuf, FileOperation)>>,
}

impl OpenReports {
    pub(crate) fn new(rules: &LandlockRules, views: &[DirectoryView]) -> Self {
        let real = |paths: &[PathBuf]| -> Vec<PathBuf> {
            paths.iter().filter_map(|path| path.canonicalize().ok()).collect()
        };
        let writable = [real(&rules.write), real(&rules.real_write)].concat();
        let readable =
            [real(&rules.read), real(&rules.execute), real(&rules.real_read), writable.clone()].concat();
        let readable = [readable, views.iter().map(|view| view.directory.clone()).collect()].concat();
        Self { readable, writable, views: views.to_vec(), reported: Mutex::default() }
    }

    /// Reports the file of a call. A file that does not exist is reported only if it is to be created.
    pub(crate) fn report(&self, name: &str, call: Notification, authority: &dyn NativeAuthority) {
        // A call whose arguments cannot be read is not reported; the kernel decides on it regardless.
        let Ok(Some((path, operation))) = opened_file(name, call) else { return };
        let allowed = match operation {
            FileOperation::Write => &self.writable,
            _ => &self.readable,
        };
        let is_reachable = allowed.iter().any(|directory| path.starts_with(directory))
            && !self.views.iter().any(|view| view.hides(&path));
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        if reported.len() < MAX_REPORTS && reported.insert((path.clone(), operation)) {
            drop(reported);
            authority.opens(&path, operation, is_reachable);
        }
    }
}

/// Returns the real path of the file that a call opens, and the operation.
fn opened_file(name: &str, call: Notification) -> io::Result<Option<(PathBuf, FileOperation)>> {
    let thread = Thread(call.thread);
    let (directory, path, flags) = match name {
        "open" => (libc::AT_FDCWD, call.arguments[0], call.signed(1)),
        "creat" => (libc::AT_FDCWD, call.arguments[0], libc::O_WRONLY | libc::O_CREAT),
        "openat" => (call.signed(0), call.arguments[1], call.signed(2)),
        _ => {
            // The flags are the first field of a structure.
            let mut flags = [0; 8];
            thread.read(call.arguments[2], &mut flags)?;
            let [a, b, c, d, ..] = flags;
            (call.signed(0), call.arguments[1], i32::from_ne_bytes([a, b, c, d]))
        }
    };
    if flags & libc::O_PATH != 0 {
        return Ok(None);
    }
    let changes = libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC;
    let operation = if flags & changes == 0 { FileOperation::Read } else { FileOperation::Write };
    let path = PathBuf::from(thread.read_string(path)?);
    let base = match directory {
        _ if path.is_absolute() => PathBuf::from("/"),
        libc::AT_FDCWD => std::fs::read_link(thread.working_directory())?,
        number => std::fs::read_link(thread.descriptor_path(number))?,
    };
    // Not normalized: `..` after a link refers to the parent of its target.
    let path = base.join(path);
    let path = thread.own_path(&path).unwrap_or(path);
    let real = match path.canonicalize() {
        Ok(real) => real,
        Err(_) if operation == FileOperation::Write => match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) => parent.canonicalize()?.join(name),
            _ => return Ok(None),
        },
        Err(_) => return Ok(None),
    };
    // The procfs files of the process itself reveal nothing to it.
    Ok(Some((real, operation))
        .filter(|(real, _)| !real.starts_with(thread.directory()) && real != Path::new(HOSTS)))
}

/// The hosts file. Resolvers continue if they cannot open it, because the supervisor uses it to answer
/// lookups.
const HOSTS: &str = "/etc/hosts";

#[cfg(test)]
mod tests {
    use super::*;

    fn call(path: &std::ffi::CStr, flags: i32) -> Notification {
        let thread = rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned();
        let directory = u64::from(libc::AT_FDCWD.cast_unsigned());
        let arguments = [directory, path.as_ptr() as u64, u64::from(flags.cast_unsigned()), 0, 0, 0];
        Notification { id: 0, thread, number: 257, arguments }
    }

    #[test]
    fn real_path_and_operation_are_determined() {
        let found = |path: &std::ffi::CStr, flags| opened_file("openat", call(path, flags)).ok().flatten();
        let passwd = PathBuf::from("/etc/passwd");
        assert_eq!(found(c"/etc/../etc/passwd", 0), Some((passwd.clone(), FileOperation::Read)));
        assert_eq!(found(c"/proc/1/../../etc/passwd", libc::O_CLOEXEC), Some((passwd, FileOperation::Read)));
        let new = Some((PathBuf::from("/tmp/wardian-new-file"), FileOperation::Write));
        assert_eq!(found(c"/tmp/wardian-new-file", libc::O_CREAT | libc::O_WRONLY), new);
        assert_eq!(found(c"/tmp/wardian-new-file", 0), None);
        assert_eq!(found(c"/etc/passwd", libc::O_PATH), None);
        let program = std::env::current_exe().unwrap().canonicalize().unwrap();
        assert_eq!(found(c"/proc/self/exe", 0), Some((program, FileOperation::Read)));
        assert_eq!(found(c"/proc/self/root/etc/passwd", 0), found(c"/etc/passwd", 0));
        assert_eq!(found(c"/proc/self/status", 0), None);
        assert_eq!(found(c"/etc/hosts", 0), None);
        let relative = found(c"Cargo.toml", 0).unwrap().0;
        assert!(relative.is_absolute() && relative.ends_with("Cargo.toml"), "{relative:?}");
    }
}
