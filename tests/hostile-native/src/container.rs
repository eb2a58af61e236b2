//! Executes a program under a filter that refuses what the default profile of Docker refuses.
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

/// The flags of `clone` that create namespaces.
const NAMESPACES: u32 = 0x7e02_0000;

/// Replaces this process by the program. Returns only if that fails.
pub(crate) fn execute(arguments: impl Iterator<Item = String>) -> std::io::Error {
    let mut arguments = arguments;
    let Some(program) = arguments.next() else { return std::io::ErrorKind::InvalidInput.into() };
    let filter = filter();
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

fn filter() -> Vec<sock_filter> {
    let instruction = |code: u32, k: u32, jt: u8, jf: u8| sock_filter {
        code: u16::try_from(code).unwrap_or_default(),
        jt,
        jf,
        k,
    };
    let load = |offset| instruction(BPF_LD | BPF_W | BPF_ABS, offset, 0, 0);
    let answer = |value| instruction(BPF_RET | BPF_K, value, 0, 0);
    let is = |number: c_long, skipped| {
        instruction(BPF_JMP | BPF_JEQ | BPF_K, u32::try_from(number).unwrap_or_default(), 0, skipped)
    };
    let fails = |error: i32| SECCOMP_RET_ERRNO | error.unsigned_abs();
    let mut filter = vec![load(0), is(libc::SYS_clone3, 1), answer(fails(libc::ENOSYS))];
    for number in REFUSED {
        filter.extend([is(*number, 1), answer(fails(libc::EPERM))]);
    }
    // The lower half of the first argument.
    let namespaces = instruction(BPF_JMP | BPF_JSET | BPF_K, NAMESPACES, 0, 1);
    filter.extend([is(libc::SYS_clone, 3), load(16), namespaces, answer(fails(libc::EPERM))]);
    filter.push(answer(SECCOMP_RET_ALLOW));
    filter
}
