//! Changes the mode and the times of files on behalf of a confined program.
//!
//! Landlock does not restrict these calls, not even for files that the program cannot open. Here they
//! count as writing: the host opens the file without access to its content, checks its real path, and
//! changes the file that was checked. No kernel rule applies to the host's operations for the program,
//! so nothing is done before the check.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, Timespec, Timestamps, UTIME_NOW, chmodat, open, utimensat};

use crate::linux::connect::{open_as, path_of, real_path_of};
use crate::linux::kernel::{self, Answer, Notification};
use crate::linux::program_memory::Thread;
use crate::linux::supervisor::Supervisor;

const MODE_BITS: u32 = 0o7777;
/// The set-user-ID and set-group-ID bits.
const SET_ID_BITS: u32 = 0o6000;

/// The file of a call.
enum Target {
    /// An open descriptor.
    Descriptor(i32),
    Path {
        /// The descriptor of the directory to which the path is relative.
        directory: i32,
        /// The position of the path in memory.
        path: u64,
        follow: bool,
    },
}

enum Change {
    Mode(u32),
    Times(Timestamps),
}

/// Performs a call if policy allows writing the file.
pub(crate) fn change(supervisor: &Supervisor, name: &'static str, call: Notification) -> Answer {
    match perform(supervisor, name, call) {
        Ok(()) => Answer::Value(0),
        Err(error) => Answer::Error(error.raw_os_error().unwrap_or(libc::EACCES)),
    }
}

fn perform(supervisor: &Supervisor, name: &'static str, call: Notification) -> io::Result<()> {
    let thread = Thread(call.thread);
    let (target, change) = read_call(name, call)?;
    let file = open_target(thread, &target)?;
    // After this check, the arguments are known to belong to the waiting call.
    if !kernel::is_waiting(supervisor.listener(), call.id) {
        return Err(io::Error::from_raw_os_error(libc::ESRCH));
    }
    let real = real_path_of(&file)?;
    if !supervisor.is_own_path(&real) && supervisor.authority().may_change_attributes(&real).is_err() {
        return Err(io::Error::from_raw_os_error(libc::EACCES));
    }
    let link = path_of(&file);
    match change {
        Change::Mode(mode) if mode & SET_ID_BITS != 0 => {
            return Err(io::Error::from_raw_os_error(libc::EPERM));
        }
        Change::Mode(mode) => chmodat(CWD, &link, Mode::from_raw_mode(mode), AtFlags::empty())?,
        Change::Times(times) => utimensat(CWD, &link, &times, AtFlags::empty())?,
    }
    Ok(())
}

fn read_call(name: &str, call: Notification) -> io::Result<(Target, Change)> {
    let thread = Thread(call.thread);
    let [first, second, third, ..] = call.arguments;
    let directory = call.signed(0);
    let at = |flags: u32| Target::Path {
        directory,
        path: second,
        follow: flags & libc::AT_SYMLINK_NOFOLLOW.cast_unsigned() == 0,
    };
    let path = Target::Path { directory: libc::AT_FDCWD, path: first, follow: true };
    let mode = |index: usize| Change::Mode(call.unsigned(index) & MODE_BITS);
    Ok(match name {
        "chmod" => (path, mode(1)),
        "fchmod" => (Target::Descriptor(directory), mode(1)),
        "fchmodat" => (at(0), mode(2)),
        "fchmodat2" => (at(call.unsigned(3)), mode(2)),
        "utime" => (path, Change::Times(read_times(thread, second, Unit::Seconds)?)),
        "utimes" => (path, Change::Times(read_times(thread, second, Unit::Microseconds)?)),
        "futimesat" => (at(0), Change::Times(read_times(thread, third, Unit::Microseconds)?)),
        _ => {
            let target = if second == 0 { Target::Descriptor(directory) } else { at(call.unsigned(3)) };
            (target, Change::Times(read_times(thread, third, Unit::Nanoseconds)?))
        }
    })
}

/// The unit of the second field of a time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    /// There is no second field.
    Seconds,
    Microseconds,
    Nanoseconds,
}

/// Reads the times of access and modification. Without a pointer, both are the current time.
fn read_times(thread: Thread, pointer: u64, unit: Unit) -> io::Result<Timestamps> {
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    if pointer == 0 {
        return Ok(Timestamps { last_access: now, last_modification: now });
    }
    let mut fields = [0i64; 4];
    let count = if unit == Unit::Seconds { 2 } else { 4 };
    for (index, field) in fields.iter_mut().take(count).enumerate() {
        let mut bytes = [0; 8];
        let at = pointer.checked_add(8 * index as u64).ok_or(io::ErrorKind::InvalidInput)?;
        thread.read(at, &mut bytes)?;
        *field = i64::from_ne_bytes(bytes);
    }
    let [first, second, third, fourth] = fields;
    let time = |tv_sec, tv_nsec| Timespec { tv_sec, tv_nsec };
    let (last_access, last_modification) = match unit {
        Unit::Seconds => (time(first, 0), time(second, 0)),
        Unit::Microseconds => {
            (time(first, second.saturating_mul(1_000)), time(third, fourth.saturating_mul(1_000)))
        }
        Unit::Nanoseconds => (time(first, second), time(third, fourth)),
    };
    Ok(Timestamps { last_access, last_modification })
}

/// Opens the file of a call, as seen by the thread, without access to its content.
fn open_target(thread: Thread, target: &Target) -> io::Result<OwnedFd> {
    match *target {
        Target::Descriptor(number) => {
            let flags = OFlags::PATH | OFlags::CLOEXEC;
            Ok(open(thread.descriptor_path(number), flags, Mode::empty())?)
        }
        Target::Path { directory, path, follow } => {
            let base = match directory {
                libc::AT_FDCWD => thread.working_directory(),
                number => thread.descriptor_path(number),
            };
            open_as(thread, &base, Path::new(&thread.read_string(path)?), follow)
        }
    }
}
