//! Executes a program under a filter that removes kernel features: those that Docker's default profile
//! refuses, or selected ones.
//!
//! Source: `profiles/seccomp/default.json` of the project Moby, without capabilities: namespaces and
//! mounts are refused, `clone3` does not exist, and so on. It replaces a container on
//! machines without one.

use std::os::unix::process::CommandExt as _;
use std::process::Command;

use libc::{
    BPF_ABS, BPF_JEQ, BPF_JMP, BPF_JSET, BPF_K, BPF_LD, BPF_RET, BPF_W, SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO,
    c_long, sock_filter,
};

/// The first argument that selects this mode. The next arguments are the program and its arguments.
pub(crate) const CONTAINER: &str = "in-container";

const REFUSED: &[c_long] = &[
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_fsopen,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_pidfd_getfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_open_by_handle_at,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
];

/// The `clone` flags that create namespaces.
const NAMESPACES: u32 = 0x7e02_0000;

/// The first argument that selects single features. The next argument lists them, separated by commas:
/// `landlock`, `listener`, `namespaces`, `filters`, `socket-copies`. The
/// program and its arguments follow.
pub(crate) const WITHOUT: &str = "without";

/// Replaces this process by the program, in a container. Returns only if that fails.
pub(crate) fn execute(arguments: impl Iterator<Item = String>) -> std::io::Error {
    execute_under(&container_filter(), arguments)
}

/// Replaces this process by the program, without the selected kernel features. Returns only if that fails.
pub(crate) fn execute_without(mut arguments: impl Iterator<Item = String>) -> std::io::Error {
    let features = arguments.next().unwrap_or_default();
    execute_under(&feature_filter(features.split(',')), arguments)
}

fn execute_under(filter: &[sock_filter], mut arguments: impl Iterator<Item = String>) -> std::io::Error {
    let Some(program) = arguments.next() else { return std::io::ErrorKind::InvalidInput.into() };
    let program_of_filter = libc::sock_fprog {
        len: u16::try_from(filter.len()).unwrap_or_default(),
        filter: filter.as_ptr().cast_mut(),
    };
    let (one, none): (libc::c_ulong, libc::c_ulong) = (1, 0);
    // SAFETY: the filter lives until the calls return.
    let installed = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, one, none, none, none) == 0
            && libc::prctl(
                libc::PR_SET_SECCOMP,
                libc::c_ulong::from(libc::SECCOMP_MODE_FILTER),
                std::ptr::from_ref(&program_of_filter),
            ) == 0
    };
    if !installed {
        return std::io::Error::last_os_error();
    }
    Command::new(program).args(arguments).exec()
}

const fn instruction(code: u32, k: u32, jt: u8, jf: u8) -> sock_filter {
    // All codes are smaller than 256.
    sock_filter { code: code as u16, jt, jf, k }
}

const fn load(offset: u32) -> sock_filter {
    instruction(BPF_LD | BPF_W | BPF_ABS, offset, 0, 0)
}

const fn answer(value: u32) -> sock_filter {
    instruction(BPF_RET | BPF_K, value, 0, 0)
}

/// Skips instructions unless the loaded number is the number of a system call.
fn is(number: c_long, skipped: u8) -> sock_filter {
    instruction(BPF_JMP | BPF_JEQ | BPF_K, u32::try_from(number).unwrap_or_default(), 0, skipped)
}

const fn fails(error: i32) -> u32 {
    SECCOMP_RET_ERRNO | error.unsigned_abs()
}

/// The offsets of the lower half of the first and of the second argument.
const ARGUMENTS: [u32; 2] = [16, 24];

/// Instructions that refuse to create namespaces.
fn without_namespaces() -> Vec<sock_filter> {
    let namespaces = instruction(BPF_JMP | BPF_JSET | BPF_K, NAMESPACES, 0, 1);
    vec![
        is(libc::SYS_unshare, 1),
        answer(fails(libc::EPERM)),
        is(libc::SYS_clone3, 1),
        answer(fails(libc::ENOSYS)),
        is(libc::SYS_clone, 3),
        load(ARGUMENTS[0]),
        namespaces,
        answer(fails(libc::EPERM)),
        // The number was replaced by the argument.
        load(0),
    ]
}

fn container_filter() -> Vec<sock_filter> {
    let mut filter = vec![load(0)];
    for number in REFUSED {
        filter.extend([is(*number, 1), answer(fails(libc::EPERM))]);
    }
    filter.extend(without_namespaces());
    filter.push(answer(SECCOMP_RET_ALLOW));
    filter
}

fn feature_filter<'a>(features: impl Iterator<Item = &'a str>) -> Vec<sock_filter> {
    let mut filter = vec![load(0)];
    for feature in features {
        match feature {
            "landlock" => {
                for number in [
                    libc::SYS_landlock_create_ruleset,
                    libc::SYS_landlock_add_rule,
                    libc::SYS_landlock_restrict_self,
                ] {
                    filter.extend([is(number, 1), answer(fails(libc::ENOSYS))]);
                }
            }
            "listener" => {
                // The flags of a listener, and of calls that signals do not interrupt.
                let listener = instruction(BPF_JMP | BPF_JSET | BPF_K, 0x28, 0, 1);
                let error = answer(fails(libc::EINVAL));
                filter.extend([is(libc::SYS_seccomp, 3), load(ARGUMENTS[1]), listener, error, load(0)]);
            }
            "filters" => filter.extend([is(libc::SYS_seccomp, 1), answer(fails(libc::ENOSYS))]),
            "namespaces" => filter.extend(without_namespaces()),
            "socket-copies" => filter.extend([is(libc::SYS_pidfd_getfd, 1), answer(fails(libc::EPERM))]),
            _ => {}
        }
    }
    filter.push(answer(SECCOMP_RET_ALLOW));
    filter
}
