//! Describes refused system calls in records.

use std::ffi::OsString;

use crate::linux::program_memory::Thread;

/// Maximum number of recorded arguments of a program.
const MAX_ARGUMENTS: u64 = 64;

/// Returns the effect that a refused system call would have had.
pub(crate) fn effect(name: &str) -> &'static str {
    match name {
        "ptrace" | "process_vm_readv" | "process_vm_writev" | "pidfd_getfd" | "kcmp" | "process_madvise"
        | "process_mrelease" | "migrate_pages" | "prlimit64" | "kill" | "tkill" | "tgkill"
        | "rt_sigqueueinfo" | "rt_tgsigqueueinfo" | "pidfd_send_signal" => "it affects other processes",
        "shmget" | "shmat" | "shmctl" | "semget" | "semop" | "semtimedop" | "semctl" | "msgget"
        | "msgsnd" | "msgrcv" | "msgctl" | "mq_open" | "mq_unlink" => {
            "it exchanges data with other processes"
        }
        "socketpair" => "it creates datagram sockets, which can send to any path",
        "fcntl" | "ioctl" => "it sends signals or input to other processes, or changes attributes of files",
        "clone" | "unshare" | "setns" => "it creates or enters a namespace, or hides a process",
        "mount" | "umount2" | "pivot_root" | "chroot" | "open_tree" | "move_mount" | "fsopen"
        | "fsconfig" | "fsmount" | "fspick" | "mount_setattr" => "it changes the view of the file system",
        "prctl" | "seccomp" => "it weakens the supervision",
        "chown" | "fchown" | "lchown" | "fchownat" | "setxattr" | "lsetxattr" | "fsetxattr"
        | "removexattr" | "lremovexattr" | "fremovexattr" => "it changes attributes of files",
        "inotify_add_watch" | "fanotify_init" | "fanotify_mark" | "name_to_handle_at"
        | "open_by_handle_at" => "it accesses files by means other than their paths",
        "io_uring_setup" | "io_uring_enter" | "io_uring_register" => {
            "it makes system calls that cannot be supervised"
        }
        _ => "it controls the kernel or the machine",
    }
}

/// Reads the arguments of a program, without its name. Unreadable ones are omitted.
pub(crate) fn read_arguments(thread: Thread, pointer: u64) -> Vec<OsString> {
    let mut arguments = Vec::new();
    for index in 1..=MAX_ARGUMENTS {
        let mut address = [0; 8];
        let Some(at) = pointer.checked_add(8 * index) else { break };
        if thread.read(at, &mut address).is_err() || address == [0; 8] {
            break;
        }
        match thread.read_string(u64::from_ne_bytes(address)) {
            Ok(argument) => arguments.push(argument),
            Err(_) => break,
        }
    }
    arguments
}
