//! Attempts to execute programs.

use std::ffi::CStr;
use std::fs;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::outcome::{Arguments, During as _, Failure, Outcome, first_success};
use crate::sys::{c_string, check, own, system_call, wait_status};

/// The argument with which this program only ends with [`EXECUTED`].
pub(crate) const END: &str = "end-with-42";

/// The status that shows that a program has run.
pub(crate) const EXECUTED: i32 = 42;

const END_ARGUMENT: &CStr = c"end-with-42";

/// Runs a call in a forked process that should replace the process's program.
fn executes(replace: impl FnOnce() -> Failure) -> Outcome {
    // SAFETY: this program has no other thread.
    let child = check("fork", unsafe { libc::fork() })?;
    if child == 0 {
        let status = replace().errno().unwrap_or(libc::EIO);
        // Values of `errno` are below 128, except for a few that no execution returns. The bit
        // distinguishes them from the program's status.
        // SAFETY: the call ends the process.
        unsafe { libc::_exit(128 | status) };
    }
    let status = wait_status(child as libc::pid_t)?;
    if libc::WIFSIGNALED(status) {
        let signal = libc::WTERMSIG(status);
        return Err(Failure::Signal { signal, detail: "the signal ended the process".to_owned() });
    }
    match libc::WEXITSTATUS(status) {
        EXECUTED => Ok("the program ran".to_owned()),
        status if status >= 128 => Err(Failure::Error { errno: status & 127, detail: "execve".to_owned() }),
        status => Err(Failure::NoEffect(format!("the program ended with {status}"))),
    }
}

/// Executes a path with arguments and without an environment.
fn execute(path: &CStr, arguments: &[&CStr]) -> Failure {
    let mut pointers: Vec<_> = arguments.iter().map(|argument| argument.as_ptr()).collect();
    pointers.push(std::ptr::null());
    let environment = [std::ptr::null()];
    // SAFETY: strings and lists live until the call returns, and the lists end with null.
    unsafe { libc::execve(path.as_ptr(), pointers.as_ptr(), environment.as_ptr()) };
    Failure::last("execve")
}

/// Returns the smallest program: it ends with [`EXECUTED`], without a C library.
fn smallest_program() -> Result<Vec<u8>, Failure> {
    let (machine, code): (u16, &[u8]) = if cfg!(target_arch = "x86_64") {
        // mov edi, 42; mov eax, 60 (exit); syscall
        (62, &[0xbf, 42, 0, 0, 0, 0xb8, 60, 0, 0, 0, 0x0f, 0x05])
    } else if cfg!(target_arch = "aarch64") {
        // mov x0, #42; mov x8, #93 (exit); svc #0
        (183, &[0x40, 0x05, 0x80, 0xd2, 0xa8, 0x0b, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4])
    } else {
        return Err(Failure::Unavailable("no program for this processor".to_owned()));
    };
    let base: u64 = 0x0040_0000;
    let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    file.extend(2_u16.to_le_bytes());
    file.extend(machine.to_le_bytes());
    file.extend(1_u32.to_le_bytes());
    // The entry point, the offset of the program headers, and the offset of the section headers (none).
    file.extend((base + 120).to_le_bytes());
    file.extend(64_u64.to_le_bytes());
    file.extend(0_u64.to_le_bytes());
    file.extend(0_u32.to_le_bytes());
    for size in [64_u16, 56, 1, 0, 0, 0] {
        file.extend(size.to_le_bytes());
    }
    // One loadable segment, readable and executable.
    let length = 120 + code.len() as u64;
    file.extend(1_u32.to_le_bytes());
    file.extend(5_u32.to_le_bytes());
    for value in [0, base, base, length, length, 4096] {
        file.extend(value.to_le_bytes());
    }
    file.extend(code);
    Ok(file)
}

pub(crate) fn execute_shell(_: &Arguments) -> Outcome {
    executes(|| execute(c"/bin/sh", &[c"sh", c"-c", c"exit 42"]))
}

pub(crate) fn execute_self(_: &Arguments) -> Outcome {
    executes(|| execute(c"/proc/self/exe", &[c"self", END_ARGUMENT]))
}

pub(crate) fn execute_memfd(_: &Arguments) -> Outcome {
    let program = smallest_program()?;
    // SAFETY: the name lives until the call returns.
    let memory = own("memfd_create", unsafe { libc::memfd_create(c"attack".as_ptr(), 0) })?;
    let file = fs::File::from(memory);
    std::io::Write::write_all(&mut &file, &program).during("write")?;
    let link = c_string(&format!("/proc/self/fd/{}", file.as_raw_fd()))?;
    first_success(&[
        ("execveat", &|| {
            executes(|| {
                let arguments = [c"memory".as_ptr(), std::ptr::null()];
                let environment: [*const libc::c_char; 1] = [std::ptr::null()];
                let arguments = [
                    file.as_raw_fd() as usize,
                    c"".as_ptr() as usize,
                    arguments.as_ptr() as usize,
                    environment.as_ptr() as usize,
                    libc::AT_EMPTY_PATH as usize,
                ];
                // SAFETY: strings and lists live until the call returns.
                match unsafe { system_call("execveat", libc::SYS_execveat, &arguments) } {
                    Ok(_) => Failure::NoEffect("execveat returned".to_owned()),
                    Err(failure) => failure,
                }
            })
        }),
        ("execve of /proc/self/fd", &|| executes(|| execute(&link, &[c"memory"]))),
    ])
}

/// Executes the dynamic loader, which loads the program itself.
pub(crate) fn execute_through_loader(arguments: &Arguments) -> Outcome {
    let known = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1", "/lib/ld-musl-x86_64.so.1"];
    let loader = arguments
        .optional("loader")
        .or_else(|| known.into_iter().find(|path| Path::new(path).exists()))
        .ok_or_else(|| Failure::Unavailable("no dynamic loader".to_owned()))?;
    let itself = std::env::current_exe().during("readlink /proc/self/exe");
    let itself = itself.map_or_else(|_| "/proc/self/exe".to_owned(), |path| path.display().to_string());
    let (loader, itself) = (c_string(loader)?, c_string(&itself)?);
    executes(|| execute(&loader, &[&loader, &itself, END_ARGUMENT]))
}

pub(crate) fn execute_written_file(arguments: &Arguments) -> Outcome {
    let path = Path::new(arguments.text("directory")?).join(format!("program-{}", std::process::id()));
    fs::write(&path, smallest_program()?).during("open")?;
    let outcome = fs::set_permissions(&path, fs::Permissions::from_mode(0o755))
        .during("chmod")
        .and_then(|()| c_string(&path.to_string_lossy()))
        .and_then(|path| executes(|| execute(&path, &[&path])));
    let _ = fs::remove_file(path);
    outcome
}

/// Executes a given program.
pub(crate) fn execute_path(arguments: &Arguments) -> Outcome {
    let path = c_string(arguments.text("path")?)?;
    match executes(|| execute(&path, &[&path])) {
        // Any exit status of the program shows that it ran.
        Err(Failure::NoEffect(detail)) => Ok(detail),
        other => other,
    }
}

/// Maps a file as executable memory, which is how the loader executes without `execve`.
pub(crate) fn map_executable(arguments: &Arguments) -> Outcome {
    let file = fs::File::open(arguments.text("path")?).during("open")?;
    // SAFETY: the call creates a new mapping of a file, which nothing accesses.
    let memory = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            4096,
            libc::PROT_READ | libc::PROT_EXEC,
            libc::MAP_PRIVATE,
            file.as_raw_fd(),
            0,
        )
    };
    if memory == libc::MAP_FAILED { Err(Failure::last("mmap")) } else { Ok("mapped".to_owned()) }
}
