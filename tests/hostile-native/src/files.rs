//! Attacks on files and directories that policy does not grant.

use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use crate::outcome::{Arguments, During as _, Failure, Outcome, first_success};
use crate::sys::{address_of, address_of_mut, c_string, check, system_call};

fn read(path: impl AsRef<Path>) -> Outcome {
    let mut bytes = Vec::new();
    File::open(path).during("open")?.read_to_end(&mut bytes).during("read")?;
    Ok(format!("read {} bytes", bytes.len()))
}

/// Returns an unused path in the granted directory.
fn fresh(arguments: &Arguments, name: &str) -> Result<PathBuf, Failure> {
    let path = Path::new(arguments.text("directory")?).join(format!("{name}-{}", std::process::id()));
    // An earlier process with the same ID may have left this file.
    let _ = fs::remove_file(&path);
    Ok(path)
}

pub(crate) fn read_file(arguments: &Arguments) -> Outcome {
    read(arguments.text("path")?)
}

pub(crate) fn read_through_root(arguments: &Arguments) -> Outcome {
    read(format!("/proc/self/root/../..{}", arguments.text("path")?))
}

pub(crate) fn read_through_working_directory(arguments: &Arguments) -> Outcome {
    let upwards = "../".repeat(40);
    read(format!("/proc/self/cwd/{upwards}{}", arguments.text("path")?))
}

pub(crate) fn list_directory(arguments: &Arguments) -> Outcome {
    let entries = fs::read_dir(arguments.text("directory")?).during("open")?;
    Ok(format!("{} entries", entries.count()))
}

/// Creates or empties the file at the path.
pub(crate) fn create(arguments: &Arguments) -> Result<File, Failure> {
    File::create(arguments.text("path")?).during("open")
}

pub(crate) fn write_file(arguments: &Arguments) -> Outcome {
    let mut file = create(arguments)?;
    file.write_all(crate::sys::MARK).during("write")?;
    Ok("written".to_owned())
}

pub(crate) fn truncate_file(arguments: &Arguments) -> Outcome {
    let path = c_string(arguments.text("path")?)?;
    // SAFETY: the path lives until the call returns.
    check("truncate", unsafe { libc::truncate(path.as_ptr(), 0) })?;
    Ok("truncated".to_owned())
}

pub(crate) fn remove_file(arguments: &Arguments) -> Outcome {
    fs::remove_file(arguments.text("path")?).during("unlink")?;
    Ok("removed".to_owned())
}

pub(crate) fn make_directory(arguments: &Arguments) -> Outcome {
    fs::create_dir(arguments.text("path")?).during("mkdir")?;
    Ok("made".to_owned())
}

pub(crate) fn watch_file(arguments: &Arguments) -> Outcome {
    let path = c_string(arguments.text("path")?)?;
    // SAFETY: the path lives until the call returns.
    let watch = unsafe {
        let queue = crate::sys::own("inotify_init1", libc::inotify_init1(libc::IN_CLOEXEC))?;
        check(
            "inotify_add_watch",
            libc::inotify_add_watch(queue.as_raw_fd(), path.as_ptr(), libc::IN_ALL_EVENTS),
        )?
    };
    Ok(format!("watch {watch}"))
}

pub(crate) fn open_by_handle(arguments: &Arguments) -> Outcome {
    let path = c_string(arguments.text("path")?)?;
    let directory = File::open("/").or_else(|_| File::open(".")).during("open")?;
    // A handle: the length of its bytes, its type, the bytes.
    let mut handle = [0_u32; 34];
    handle[0] = 128;
    let mut mount: i32 = 0;
    let here = libc::AT_FDCWD as usize;
    // SAFETY: handle, mount and path live until the calls return; the handle has 128 bytes.
    let descriptor = unsafe {
        system_call(
            "name_to_handle_at",
            libc::SYS_name_to_handle_at,
            &[here, path.as_ptr() as usize, address_of_mut(&mut handle), address_of_mut(&mut mount), 0],
        )?;
        let arguments = [directory.as_raw_fd() as usize, address_of(&handle), libc::O_RDONLY as usize];
        system_call("open_by_handle_at", libc::SYS_open_by_handle_at, &arguments)?
    };
    read(format!("/proc/self/fd/{descriptor}"))
}

/// Returns the address of the first readable mapping of a process.
pub(crate) fn first_mapping(process: i32) -> Result<u64, Failure> {
    let maps = fs::read_to_string(format!("/proc/{process}/maps")).during("open maps")?;
    maps.lines()
        .filter(|line| line.split(' ').nth(1).is_some_and(|rights| rights.starts_with('r')))
        .find_map(|line| u64::from_str_radix(line.split('-').next()?, 16).ok())
        .ok_or_else(|| Failure::NoEffect("no readable memory".to_owned()))
}

pub(crate) fn parent_memory(arguments: &Arguments) -> Outcome {
    let parent = arguments.number("parent")?;
    let address = first_mapping(parent);
    let memory = File::open(format!("/proc/{parent}/mem")).during("open mem")?;
    let mut bytes = [0; 16];
    let length = memory.read_at(&mut bytes, address?).during("read mem")?;
    Ok(format!("read {length} bytes of memory"))
}

pub(crate) fn parent_maps(arguments: &Arguments) -> Outcome {
    first_mapping(arguments.number("parent")?).map(|address| format!("memory begins at {address:#x}"))
}

pub(crate) fn parent_environment(arguments: &Arguments) -> Outcome {
    read(format!("/proc/{}/environ", arguments.number::<i32>("parent")?))
}

pub(crate) fn parent_descriptors(arguments: &Arguments) -> Outcome {
    let directory = format!("/proc/{}/fd", arguments.number::<i32>("parent")?);
    let entries = fs::read_dir(directory).during("open")?;
    Ok(format!("{} descriptors", entries.count()))
}

pub(crate) fn proc_environment(arguments: &Arguments) -> Outcome {
    read(format!("/proc/{}/environ", arguments.optional("process").unwrap_or("1")))
}

pub(crate) fn symbolic_link(arguments: &Arguments) -> Outcome {
    let link = fresh(arguments, "symbolic-link")?;
    std::os::unix::fs::symlink(arguments.text("path")?, &link).during("symlink")?;
    let outcome = read(&link);
    let _ = fs::remove_file(link);
    outcome
}

pub(crate) fn hard_link(arguments: &Arguments) -> Outcome {
    let link = fresh(arguments, "hard-link")?;
    fs::hard_link(arguments.text("path")?, &link).during("link")?;
    let outcome = read(&link);
    let _ = fs::remove_file(link);
    outcome
}

pub(crate) fn rename_out(arguments: &Arguments) -> Outcome {
    let source = fresh(arguments, "rename-out")?;
    fs::write(&source, crate::sys::MARK).during("open")?;
    let outcome = fs::rename(&source, arguments.text("path")?).during("rename");
    let _ = fs::remove_file(source);
    outcome.map(|()| "renamed".to_owned())
}

pub(crate) fn rename_in(arguments: &Arguments) -> Outcome {
    let (path, target) = (arguments.text("path")?, fresh(arguments, "rename-in")?);
    fs::rename(path, &target).during("rename")?;
    let outcome = read(&target);
    let _ = fs::rename(target, path);
    outcome
}

/// Returns the metadata of a file, which Landlock does not restrict.
fn metadata(path: &str) -> Result<fs::Metadata, Failure> {
    fs::metadata(path).during("stat")
}

/// Opens the file without any right to its content.
fn path_only(path: &str) -> Result<File, Failure> {
    OpenOptions::new().read(true).custom_flags(libc::O_PATH).open(path).during("open with O_PATH")
}

/// The number of `fchmodat2`, which exists since Linux 6.6 and has the same number on every processor.
const FCHMODAT2: libc::c_long = 452;

pub(crate) fn chmod_file(arguments: &Arguments) -> Outcome {
    let text = arguments.text("path")?;
    let path = c_string(text)?;
    let before = metadata(text)?.permissions().mode() & 0o7777;
    let mode = before ^ 0o002;
    let changed = || match metadata(text)?.permissions().mode() & 0o7777 {
        now if now == mode => Ok(format!("mode {now:o}")),
        now => Err(Failure::NoEffect(format!("mode {now:o}"))),
    };
    let here = libc::AT_FDCWD as usize;
    // SAFETY: the path lives until the calls return.
    first_success(&[
        ("chmod", &|| {
            check("chmod", unsafe { libc::chmod(path.as_ptr(), mode) })?;
            changed()
        }),
        ("fchmodat", &|| {
            check("fchmodat", unsafe { libc::fchmodat(libc::AT_FDCWD, path.as_ptr(), mode, 0) })?;
            changed()
        }),
        ("fchmodat2", &|| {
            let arguments = [here, path.as_ptr() as usize, mode as usize, 0];
            unsafe { system_call("fchmodat2", FCHMODAT2, &arguments)? };
            changed()
        }),
        ("fchmodat2 of O_PATH", &|| {
            let file = path_only(text)?;
            let arguments = [
                file.as_raw_fd() as usize,
                c"".as_ptr() as usize,
                mode as usize,
                libc::AT_EMPTY_PATH as usize,
            ];
            unsafe { system_call("fchmodat2", FCHMODAT2, &arguments)? };
            changed()
        }),
        ("chmod of /proc/self/fd", &|| {
            let file = path_only(text)?;
            let link = c_string(&format!("/proc/self/fd/{}", file.as_raw_fd()))?;
            check("chmod", unsafe { libc::chmod(link.as_ptr(), mode) })?;
            changed()
        }),
    ])
}

pub(crate) fn chown_file(arguments: &Arguments) -> Outcome {
    let text = arguments.text("path")?;
    let path = c_string(text)?;
    // An unprivileged owner may set only what is already set, which still changes the time of
    // the last change.
    let before = metadata(text)?;
    let (user, group) = (before.uid(), before.gid());
    let changed = || {
        let after = metadata(text)?;
        if (after.ctime(), after.ctime_nsec()) == (before.ctime(), before.ctime_nsec()) {
            return Err(Failure::NoEffect("the file has not changed".to_owned()));
        }
        Ok(format!("owner {user}:{group} set"))
    };
    // SAFETY: the path lives until the calls return.
    first_success(&[
        ("chown", &|| {
            check("chown", unsafe { libc::chown(path.as_ptr(), user, group) })?;
            changed()
        }),
        ("lchown", &|| {
            check("lchown", unsafe { libc::lchown(path.as_ptr(), user, group) })?;
            changed()
        }),
        ("fchownat of O_PATH", &|| {
            let file = path_only(text)?;
            let result =
                unsafe { libc::fchownat(file.as_raw_fd(), c"".as_ptr(), user, group, libc::AT_EMPTY_PATH) };
            check("fchownat", result)?;
            changed()
        }),
    ])
}

pub(crate) fn set_extended_attribute(arguments: &Arguments) -> Outcome {
    let path = c_string(arguments.text("path")?)?;
    let (name, value) = (c"user.attack", crate::sys::MARK);
    let changed = || {
        // SAFETY: path and name live until the call returns, which writes nothing.
        let length = unsafe { libc::getxattr(path.as_ptr(), name.as_ptr(), std::ptr::null_mut(), 0) };
        check("getxattr", length as i64).map(|length| format!("attribute of {length} bytes"))
    };
    // `setxattrat` since Linux 6.13, with a structure of pointer, length, flags.
    let value_arguments = [value.as_ptr() as u64, value.len() as u64];
    // SAFETY: path, name and value live until the calls return.
    first_success(&[
        ("setxattr", &|| {
            let result = unsafe {
                libc::setxattr(path.as_ptr(), name.as_ptr(), value.as_ptr().cast(), value.len(), 0)
            };
            check("setxattr", result)?;
            changed()
        }),
        ("lsetxattr", &|| {
            let result = unsafe {
                libc::lsetxattr(path.as_ptr(), name.as_ptr(), value.as_ptr().cast(), value.len(), 0)
            };
            check("lsetxattr", result)?;
            changed()
        }),
        ("setxattrat", &|| {
            let arguments = [
                libc::AT_FDCWD as usize,
                path.as_ptr() as usize,
                0,
                name.as_ptr() as usize,
                address_of(&value_arguments),
                16,
            ];
            unsafe { system_call("setxattrat", 463, &arguments)? };
            changed()
        }),
    ])
}

pub(crate) fn set_file_times(arguments: &Arguments) -> Outcome {
    let text = arguments.text("path")?;
    let path = c_string(text)?;
    let second = libc::timespec { tv_sec: 1, tv_nsec: 0 };
    let times = [second, second];
    let changed = || match metadata(text)?.mtime() {
        1 => Ok("the file appears to be of 1970".to_owned()),
        time => Err(Failure::NoEffect(format!("the time is {time}"))),
    };
    // SAFETY: path and times live until the calls return.
    first_success(&[
        ("utimensat", &|| {
            let result = unsafe { libc::utimensat(libc::AT_FDCWD, path.as_ptr(), times.as_ptr(), 0) };
            check("utimensat", result)?;
            changed()
        }),
        ("utimes", &|| {
            let second = libc::timeval { tv_sec: 1, tv_usec: 0 };
            let times = [second, second];
            check("utimes", unsafe { libc::utimes(path.as_ptr(), times.as_ptr()) })?;
            changed()
        }),
        ("utimensat of O_PATH", &|| {
            let file = path_only(text)?;
            let result = unsafe {
                libc::utimensat(file.as_raw_fd(), c"".as_ptr(), times.as_ptr(), libc::AT_EMPTY_PATH)
            };
            check("utimensat", result)?;
            changed()
        }),
    ])
}
