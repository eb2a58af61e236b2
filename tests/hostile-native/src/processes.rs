//! Attacks on other processes, especially on the host, and escapes from its supervision.

use std::fs;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::time::Duration;

use crate::files::first_mapping;
use crate::outcome::{Arguments, During as _, Failure, Outcome, first_success};
use crate::sys::{
    address_of, address_of_mut, check, in_child, own, readable, system_call, wait, wait_status,
};

fn parent(arguments: &Arguments) -> Result<libc::pid_t, Failure> {
    arguments.number("parent")
}

fn process_descriptor(process: libc::pid_t) -> Result<OwnedFd, Failure> {
    // SAFETY: the call takes no pointers.
    let descriptor = unsafe { system_call("pidfd_open", libc::SYS_pidfd_open, &[process as usize, 0])? };
    own("pidfd_open", descriptor as i64)
}

/// Detaches from the process and lets it run.
fn release(process: libc::pid_t) -> Result<(), Failure> {
    let nothing = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: the address and the data are null.
    check("ptrace", unsafe { libc::ptrace(libc::PTRACE_DETACH, process, nothing, nothing) }).map(drop)
}

pub(crate) fn ptrace_attach(arguments: &Arguments) -> Outcome {
    let parent = parent(arguments)?;
    let nothing = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: the address and the data are null.
    first_success(&[
        ("PTRACE_ATTACH", &|| {
            check("ptrace", unsafe { libc::ptrace(libc::PTRACE_ATTACH, parent, nothing, nothing) })?;
            wait_status(parent)?;
            release(parent)?;
            Ok(format!("attached to {parent}"))
        }),
        ("PTRACE_SEIZE", &|| {
            check("ptrace", unsafe { libc::ptrace(libc::PTRACE_SEIZE, parent, nothing, nothing) })?;
            check("ptrace", unsafe { libc::ptrace(libc::PTRACE_INTERRUPT, parent, nothing, nothing) })?;
            wait_status(parent)?;
            release(parent)?;
            Ok(format!("seized {parent}"))
        }),
    ])
}

pub(crate) fn process_vm_read(arguments: &Arguments) -> Outcome {
    let parent = parent(arguments)?;
    let mut bytes = [0_u8; 16];
    // Without the parent's map, an address that is valid here. An error other than EFAULT then
    // means that the memory is out of reach.
    let known = first_mapping(parent).ok();
    let remote = known.map_or_else(|| address_of(&bytes), |address| address as usize);
    let here = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    let there = libc::iovec { iov_base: remote as *mut libc::c_void, iov_len: bytes.len() };
    // SAFETY: the call writes to the local bytes only.
    let read = unsafe { libc::process_vm_readv(parent, &raw const here, 1, &raw const there, 1, 0) };
    match check("process_vm_readv", read as i64) {
        Ok(read) => Ok(format!("read {read} bytes of memory")),
        Err(failure) if known.is_none() && failure.errno() == Some(libc::EFAULT) => {
            Ok("reached the memory, at a wrong address".to_owned())
        }
        Err(failure) => Err(failure),
    }
}

pub(crate) fn pidfd_getfd(arguments: &Arguments) -> Outcome {
    let process = process_descriptor(parent(arguments)?)?;
    let mut last = Failure::NoEffect("no descriptors".to_owned());
    for number in 0..64 {
        let arguments = [process.as_raw_fd() as usize, number, 0];
        // SAFETY: the call takes no pointers.
        match unsafe { system_call("pidfd_getfd", libc::SYS_pidfd_getfd, &arguments) } {
            Ok(_) => return Ok(format!("took the descriptor {number}")),
            Err(failure) => last = failure,
        }
        if last.errno() != Some(libc::EBADF) {
            break;
        }
    }
    Err(last)
}

pub(crate) fn signal_parent(arguments: &Arguments) -> Outcome {
    let parent = parent(arguments)?;
    // SAFETY: the only pointer is null.
    first_success(&[
        ("kill 0", &|| check("kill", unsafe { libc::kill(parent, 0) }).map(|_| "delivered".to_owned())),
        ("kill STOP", &|| {
            check("kill", unsafe { libc::kill(parent, libc::SIGSTOP) })?;
            check("kill", unsafe { libc::kill(parent, libc::SIGCONT) })?;
            Ok("stopped and continued".to_owned())
        }),
        ("tgkill", &|| {
            let arguments = [parent as usize, parent as usize, libc::SIGCONT as usize];
            unsafe { system_call("tgkill", libc::SYS_tgkill, &arguments)? };
            Ok("delivered".to_owned())
        }),
        ("pidfd_send_signal", &|| {
            let process = process_descriptor(parent)?;
            let arguments = [process.as_raw_fd() as usize, libc::SIGCONT as usize, 0, 0];
            unsafe { system_call("pidfd_send_signal", libc::SYS_pidfd_send_signal, &arguments)? };
            Ok("delivered".to_owned())
        }),
    ])
}

pub(crate) fn stop_parent(arguments: &Arguments) -> Outcome {
    let parent = parent(arguments)?;
    // SAFETY: the call takes no pointers.
    check("kill", unsafe { libc::kill(parent, libc::SIGSTOP) })?;
    check("kill", unsafe { libc::kill(parent, libc::SIGCONT) })?;
    Ok("stopped and continued".to_owned())
}

pub(crate) fn set_parent_limits(arguments: &Arguments) -> Outcome {
    let parent = parent(arguments)?;
    // The current value and the highest.
    let mut limit = [0_u64; 2];
    let resource = libc::RLIMIT_CORE as usize;
    // SAFETY: the calls read or write one limit.
    unsafe {
        let read = [parent as usize, resource, 0, address_of_mut(&mut limit)];
        system_call("prlimit64", libc::SYS_prlimit64, &read)?;
        let write = [parent as usize, resource, address_of(&limit), 0];
        system_call("prlimit64", libc::SYS_prlimit64, &write)?;
    }
    Ok(format!("set the limit on core files of {parent} to {}, as before", limit[0]))
}

pub(crate) fn set_parent_priority(arguments: &Arguments) -> Outcome {
    let parent = parent(arguments)?;
    // Each call sets the value that it has read: an unprivileged process could not undo a change.
    // SAFETY: the calls read or write one mask, which is long enough.
    first_success(&[
        ("setpriority", &|| unsafe {
            let priority = libc::getpriority(libc::PRIO_PROCESS as _, parent as libc::id_t);
            let result = libc::setpriority(libc::PRIO_PROCESS as _, parent as libc::id_t, priority);
            check("setpriority", result)?;
            Ok(format!("priority {priority}, as before"))
        }),
        ("sched_setaffinity", &|| unsafe {
            let mut processors = [0_u64; 128];
            let size = size_of_val(&processors);
            let arguments = [parent as usize, size, address_of_mut(&mut processors)];
            let size = system_call("sched_getaffinity", libc::SYS_sched_getaffinity, &arguments)?;
            let arguments = [parent as usize, size, address_of(&processors)];
            system_call("sched_setaffinity", libc::SYS_sched_setaffinity, &arguments)?;
            Ok("the same processors".to_owned())
        }),
        ("ioprio_set", &|| unsafe {
            let priority = system_call("ioprio_get", libc::SYS_ioprio_get, &[1, parent as usize])?;
            system_call("ioprio_set", libc::SYS_ioprio_set, &[1, parent as usize, priority])?;
            Ok("the same priority of input and output".to_owned())
        }),
    ])
}

pub(crate) fn perf_event(arguments: &Arguments) -> Outcome {
    let process = arguments.number_or("parent", 0_i32)?;
    // A counter of the program's page faults: type, size, configuration, flags.
    let mut attributes = [0_u64; 14];
    attributes[0] = (112 << 32) | 1;
    attributes[1] = 2;
    attributes[5] = (1 << 5) | (1 << 6);
    let any = -1_isize as usize;
    let arguments = [address_of(&attributes), process as usize, any, any, 0];
    // SAFETY: the attributes live until the call returns.
    unsafe {
        let counter = system_call("perf_event_open", libc::SYS_perf_event_open, &arguments)?;
        let mut value = 0_u64;
        (crate::sys::page()? as *mut u8).write_volatile(1);
        check("read", libc::read(counter as _, (&raw mut value).cast(), 8) as i64)?;
        Ok(format!("the counter is at {value}"))
    }
}

pub(crate) fn kcmp(arguments: &Arguments) -> Outcome {
    let parent = parent(arguments)? as usize;
    // SAFETY: the call takes no pointers.
    let order = unsafe { system_call("kcmp", libc::SYS_kcmp, &[parent, libc::getpid() as usize, 1, 0, 0])? };
    Ok(format!("the memory compares as {order}"))
}

pub(crate) fn process_madvise(arguments: &Arguments) -> Outcome {
    let advise = |process: libc::pid_t, address: usize| {
        let descriptor = process_descriptor(process)?;
        let part = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: 4096 };
        let cold = 20;
        let arguments = [descriptor.as_raw_fd() as usize, address_of(&part), 1, cold, 0];
        // SAFETY: the advice does not change the content of memory.
        let advised = unsafe { system_call("process_madvise", libc::SYS_process_madvise, &arguments)? };
        Ok(format!("advice on {advised} bytes"))
    };
    first_success(&[
        ("of the parent", &|| {
            let parent = parent(arguments)?;
            let address = first_mapping(parent).unwrap_or(0x0040_0000);
            advise(parent, address as usize)
        }),
        // SAFETY: the call takes no pointers.
        ("of itself", &|| advise(unsafe { libc::getpid() }, crate::sys::page()?)),
    ])
}

/// Leaves a grandchild in a separate session, which writes to the file for 30 s.
pub(crate) fn double_fork(arguments: &Arguments) -> Outcome {
    let file = arguments.text("file")?;
    let seconds: u64 = arguments.number_or("seconds", 30)?;
    let (reader, writer) = std::io::pipe().during("pipe")?;
    // SAFETY: this program has no other thread.
    let child = check("fork", unsafe { libc::fork() })?;
    if child == 0 {
        // SAFETY: as above; the standard streams belong to the reader of the report.
        unsafe {
            libc::setsid();
            if libc::fork() != 0 {
                libc::_exit(0);
            }
            for stream in 0..3 {
                libc::close(stream);
            }
        }
        let process = unsafe { libc::getpid() };
        for tick in 0..seconds * 20 {
            let result = fs::write(file, format!("{process} {tick}\n"));
            if tick == 0 {
                let report = match result {
                    Ok(()) => process,
                    Err(error) => -error.raw_os_error().unwrap_or(libc::EIO),
                };
                let bytes = report.to_ne_bytes();
                // SAFETY: the bytes live until the call returns.
                unsafe { libc::write(writer.as_raw_fd(), bytes.as_ptr().cast(), bytes.len()) };
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        // SAFETY: the call ends the process.
        unsafe { libc::_exit(0) };
    }
    drop(writer);
    wait(child as libc::pid_t)?;
    let mut bytes = [0; 4];
    std::io::Read::read_exact(&mut &reader, &mut bytes).during("read")?;
    match i32::from_ne_bytes(bytes) {
        error if error < 0 => {
            Err(Failure::Error { errno: -error, detail: "open by the grandchild".to_owned() })
        }
        process => Ok(format!("process {process} writes the file")),
    }
}

pub(crate) fn setsid(_: &Arguments) -> Outcome {
    in_child(|| {
        // SAFETY: the call takes no pointers.
        check("setsid", unsafe { libc::setsid() }).map(|session| format!("session {session}"))
    })
}

pub(crate) fn leave_process_group(_: &Arguments) -> Outcome {
    in_child(|| {
        // SAFETY: the call takes no pointers.
        unsafe {
            let before = libc::getpgrp();
            check("setpgid", libc::setpgid(0, 0))?;
            Ok(format!("from group {before} to {}", libc::getpgrp()))
        }
    })
}

pub(crate) fn clear_death_signal(_: &Arguments) -> Outcome {
    let mut signal: libc::c_int = 0;
    // SAFETY: the call writes one number.
    unsafe {
        check("prctl", libc::prctl(libc::PR_GET_PDEATHSIG, &raw mut signal))?;
        let before = signal;
        check("prctl", libc::prctl(libc::PR_SET_PDEATHSIG, 0))?;
        check("prctl", libc::prctl(libc::PR_GET_PDEATHSIG, &raw mut signal))?;
        if signal == 0 {
            Ok(format!("the signal was {before}"))
        } else {
            Err(Failure::NoEffect(format!("the signal is still {signal}")))
        }
    }
}

/// Creates a sibling: a child of the host that the host has not started.
pub(crate) fn clone_parent(_: &Arguments) -> Outcome {
    let (reader, writer) = std::io::pipe().during("pipe")?;
    let flags = (libc::CLONE_PARENT | libc::SIGCHLD) as usize;
    // SAFETY: the child is a separate process with a copy of the memory.
    let child = unsafe { system_call("clone", libc::SYS_clone, &[flags])? };
    if child == 0 {
        // SAFETY: the bytes live until the call returns.
        unsafe {
            let bytes = libc::getppid().to_ne_bytes();
            libc::write(writer.as_raw_fd(), bytes.as_ptr().cast(), bytes.len());
            libc::_exit(0);
        }
    }
    if !readable(reader.as_raw_fd(), Duration::from_secs(5))? {
        return Err(Failure::NoEffect("no report from the sibling".to_owned()));
    }
    let mut bytes = [0; 4];
    std::io::Read::read_exact(&mut &reader, &mut bytes).during("read")?;
    let found = i32::from_ne_bytes(bytes);
    // SAFETY: the call takes no pointers.
    if found == unsafe { libc::getppid() } {
        Ok(format!("process {child} is a child of {found}"))
    } else {
        Err(Failure::NoEffect(format!("the parent is {found}")))
    }
}

/// Stops the process until another process continues it.
pub(crate) fn stop_self(arguments: &Arguments) -> Outcome {
    let seconds: u64 = arguments.number_or("seconds", 0)?;
    // SAFETY: the call takes no pointers.
    unsafe {
        let itself = libc::getpid();
        // A child without the streams continues the process, if that is wanted.
        if seconds > 0 && libc::fork() == 0 {
            for stream in 0..3 {
                libc::close(stream);
            }
            std::thread::sleep(Duration::from_secs(seconds));
            libc::kill(itself, libc::SIGCONT);
            libc::_exit(0);
        }
        check("kill", libc::kill(itself, libc::SIGSTOP))?;
    }
    Ok("stopped and continued".to_owned())
}
