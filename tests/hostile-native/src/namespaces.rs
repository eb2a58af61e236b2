//! Attempts to enter other namespaces, and to change mounts.

use std::fs::File;
use std::os::fd::AsRawFd as _;

use crate::outcome::{Arguments, During as _, Outcome, first_success};
use crate::sys::{address_of, c_string, check, in_child, in_clone, in_process, own, system_call};

fn unshare(flags: i32) -> Outcome {
    in_child(|| {
        // SAFETY: the call takes no pointers.
        check("unshare", unsafe { libc::unshare(flags) }).map(|_| "a namespace".to_owned())
    })
}

pub(crate) fn unshare_user(_: &Arguments) -> Outcome {
    unshare(libc::CLONE_NEWUSER)
}

/// Creates a user namespace, in which the process may create the network namespace.
pub(crate) fn unshare_network(_: &Arguments) -> Outcome {
    unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNET)
}

pub(crate) fn unshare_mount(_: &Arguments) -> Outcome {
    unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS)
}

pub(crate) fn clone_user_namespace(_: &Arguments) -> Outcome {
    in_clone("clone", libc::CLONE_NEWUSER, || Ok("a process in a user namespace".to_owned()))
}

pub(crate) fn clone3_user_namespace(_: &Arguments) -> Outcome {
    let mut arguments = [0_u64; 11];
    arguments[0] = libc::CLONE_NEWUSER as u64;
    arguments[4] = libc::SIGCHLD as u64;
    let size = size_of_val(&arguments);
    // SAFETY: the child is a separate process with a copy of the memory.
    in_process(
        || unsafe { system_call("clone3", libc::SYS_clone3, &[address_of(&arguments), size]) },
        || Ok("a process in a user namespace".to_owned()),
    )
}

pub(crate) fn setns_parent(arguments: &Arguments) -> Outcome {
    let parent: i32 = arguments.number("parent")?;
    let enter = |name: &str| {
        let namespace = File::open(format!("/proc/{parent}/ns/{name}")).during("open")?;
        in_child(|| {
            // SAFETY: the call takes no pointers.
            check("setns", unsafe { libc::setns(namespace.as_raw_fd(), 0) })?;
            Ok("entered".to_owned())
        })
    };
    first_success(&[
        ("process", &|| {
            // SAFETY: the call takes no pointers.
            let process = unsafe { system_call("pidfd_open", libc::SYS_pidfd_open, &[parent as usize, 0])? };
            let process = own("pidfd_open", process as i64)?;
            in_child(|| {
                // SAFETY: the call takes no pointers.
                let flags = libc::CLONE_NEWNET | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS;
                check("setns", unsafe { libc::setns(process.as_raw_fd(), flags) })?;
                Ok("entered".to_owned())
            })
        }),
        ("net", &|| enter("net")),
        ("mnt", &|| enter("mnt")),
        ("pid", &|| enter("pid")),
        ("ipc", &|| enter("ipc")),
        ("user", &|| enter("user")),
    ])
}

pub(crate) fn mount(arguments: &Arguments) -> Outcome {
    let directory = c_string(arguments.text("directory")?)?;
    // SAFETY: the strings live until the calls return.
    first_success(&[
        ("mount", &|| {
            let result = unsafe {
                libc::mount(c"attack".as_ptr(), directory.as_ptr(), c"tmpfs".as_ptr(), 0, std::ptr::null())
            };
            check("mount", result)?;
            unsafe { libc::umount2(directory.as_ptr(), libc::MNT_DETACH) };
            Ok("mounted".to_owned())
        }),
        ("fsopen", &|| {
            let arguments = [c"tmpfs".as_ptr() as usize, 0];
            unsafe { system_call("fsopen", libc::SYS_fsopen, &arguments)? };
            Ok("a file system".to_owned())
        }),
        ("open_tree", &|| {
            let here = libc::AT_FDCWD as usize;
            let arguments = [here, directory.as_ptr() as usize, libc::OPEN_TREE_CLONE as usize];
            unsafe { system_call("open_tree", libc::SYS_open_tree, &arguments)? };
            Ok("a copy of the mount".to_owned())
        }),
        ("umount2", &|| {
            check("umount2", unsafe { libc::umount2(directory.as_ptr(), 0) })?;
            Ok("unmounted".to_owned())
        }),
    ])
}

/// Mounts a file system in a new user namespace and mount namespace.
pub(crate) fn mount_in_namespace(arguments: &Arguments) -> Outcome {
    let directory = c_string(arguments.text("directory")?)?;
    in_clone("clone", libc::CLONE_NEWUSER | libc::CLONE_NEWNS, || {
        // SAFETY: the strings live until the call returns.
        let result = unsafe {
            libc::mount(c"attack".as_ptr(), directory.as_ptr(), c"tmpfs".as_ptr(), 0, std::ptr::null())
        };
        check("mount", result).map(|_| "mounted".to_owned())
    })
}

pub(crate) fn chroot(arguments: &Arguments) -> Outcome {
    let directory = c_string(arguments.text("directory")?)?;
    in_child(|| {
        // SAFETY: the path lives until the call returns.
        check("chroot", unsafe { libc::chroot(directory.as_ptr()) })?;
        Ok("another root".to_owned())
    })
}

pub(crate) fn pivot_root(arguments: &Arguments) -> Outcome {
    let directory = c_string(arguments.text("directory")?)?;
    in_child(|| {
        let path = directory.as_ptr() as usize;
        // SAFETY: the path lives until the call returns.
        unsafe { system_call("pivot_root", libc::SYS_pivot_root, &[path, path])? };
        Ok("another root".to_owned())
    })
}
