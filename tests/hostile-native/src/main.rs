//! A native program that attacks its host: each run performs one attack. The tests of the
//! confinement of native plugins start it in place of a plugin.
//!
//! `wardian-hostile-native ATTACK [KEY=VALUE...]` prints exactly one line and ends with 0:
//!
//! - `succeeded: DETAIL`: the effect occurred. If it is visible to a server, the server has
//!   received the bytes `attack`;
//! - `blocked: ERRNO (DETAIL)`: the error of the first call that failed; the name of the signal
//!   that ended the attacking process; or `NONE`, if every call succeeded without an effect (no
//!   answer came, an option remained as it was);
//! - `unavailable: REASON`: the kernel lacks the feature. Only a process without a system call
//!   filter can detect this: with a filter, the same error is reported as `blocked`.
//!
//! A wrong parameter is reported on standard error, with status 2. `list` prints all attacks with
//! their parameters, optional ones in brackets. Nothing reads standard input.
//!
//! `address=` and `port=` name the server that is attacked, except in races and other attacks that
//! also have `forbidden-address=` and `forbidden-port=`: there, they name an allowed one. A relay
//! hides which server answers. Such an attack therefore succeeds only if the peer's address is the
//! forbidden server's, or if the answer begins with `forbidden`. `many-placeholders`,
//! `many-connects`, `connect-under-signals`, `killed-during-connect`, `threads-in-calls`,
//! `options-before-connect`, `own-path-socket`, `own-landlock` and `silent-connection` do what a
//! legitimate plugin may do, and should succeed if the server is allowed.
//!
//! Of a file that policy does not grant, `write-file` to `rename-in` change or remove it. The
//! parent is left as it was: `stop-parent` continues it, and limits and priorities are set to what
//! they were. `double-fork` leaves a process for `seconds=`, which has closed the streams.
//!
//! # Without confinement
//!
//! Measured on Linux 6.18, as user 65534 without groups and capabilities, against servers,
//! sockets, files and a parent of the same user.
//!
//! | attacks | report |
//! |---|---|
//! | `read-file`, `read-through-root`, `read-through-working-directory`, `list-directory`, `write-file`, `truncate-file`, `remove-file`, `make-directory`, `watch-file`, `lock-file`, `map-executable`, `symbolic-link`, `hard-link`, `rename-out`, `rename-in`, `chmod-file`, `chown-file`, `set-extended-attribute`, `set-file-times` | `succeeded` |
//! | `open-by-handle` | `blocked: EPERM`, needs `CAP_DAC_READ_SEARCH`; `succeeded` as root |
//! | `parent-memory`, `parent-maps`, `parent-environment`, `parent-descriptors` | `succeeded` |
//! | `proc-environment` | `blocked: EACCES` for process 1, which is another user's; `succeeded` for `process=self` and as root |
//! | `ptrace-attach`, `process-vm-read`, `pidfd-getfd`, `signal-parent`, `stop-parent`, `set-parent-limits`, `set-parent-priority`, `perf-event`, `kcmp` | `succeeded` (without Yama) |
//! | `process-madvise` | `succeeded` of itself; `EPERM` of the parent, which only root may advise |
//! | `tcp-connect`, `tcp-connect-mapped`, `multipath-tcp`, `fast-open-sendto`, `fast-open-sendmsg`, `fast-open-sendmmsg`, `fast-open-connect`, `bind-and-listen`, `listen-without-bind`, `udp-sendto`, `udp-sendmsg`, `udp-sendmmsg`, `udp-connected`, `netlink`, `io-uring-setup`, `io-uring-connect` | `succeeded` |
//! | `vsock` | `succeeded`: a socket, whose `connect` reaches the hypervisor (`ECONNRESET`) |
//! | `sctp` | `unavailable: EPROTONOSUPPORT` |
//! | `alg`, `tipc`, `smc` | `unavailable: EAFNOSUPPORT` |
//! | `raw-socket`, `packet-socket`, `xdp` | `blocked: EPERM`, need `CAP_NET_RAW`; `succeeded` as root |
//! | `ping-socket` | `blocked: EACCES`, as root too, by `net.ipv4.ping_group_range` |
//! | `connect-race` | `succeeded`: about 1,300 of 2,000 reached the forbidden server |
//! | `connect-descriptor-race`, `connect-close-race` | `succeeded`: about half, since every second `connect` names the forbidden server |
//! | `connect-unmap-race` | `succeeded`: about 500 of 2,000 reached the forbidden server; half failed with `EFAULT` |
//! | `connect-unspecified` | `succeeded` |
//! | `connect-twice` | `blocked: EISCONN` |
//! | `connect-odd-lengths` | `blocked: EINVAL`; `ENOTSOCK`, `EBADF` and `EFAULT` in the details |
//! | `connect-duplicate`, `many-placeholders`, `many-connects`, `connect-under-signals`, `killed-during-connect`, `threads-in-calls`, `options-before-connect`, `fork-between`, `thread-connect` | `succeeded` |
//! | `dns-query`, `dns-query-sendto`, `dns-tcp`, `dns-malformed`, `look-up` | `succeeded`, with a server that answers everything |
//! | `abstract-socket`, `path-socket-stream`, `path-socket-datagram`, `path-socket-datagram-connected`, `path-socket-datagram-pair`, `path-socket-link`, `own-path-socket` | `succeeded` |
//! | `path-socket-packet-pair` | `blocked: NONE`: the kernel ignores the address |
//! | `placeholder-to-path`, `datagram-placeholder-to-path`, `placeholder-listens` | `blocked: EAFNOSUPPORT`: only a placeholder could do it |
//! | `unix-socket-to-internet` | `blocked: EINVAL` |
//! | `execute-shell`, `execute-self`, `execute-memfd`, `execute-through-loader`, `execute-written-file`, `execute-path` | `succeeded` |
//! | `unshare-user`, `unshare-network`, `unshare-mount`, `clone-user-namespace`, `clone3-user-namespace`, `mount-in-namespace` | `succeeded` |
//! | `setns-parent`, `mount`, `chroot`, `bpf` | `blocked: EPERM`, need privileges; `succeeded` as root |
//! | `pivot-root` | `blocked: EPERM`; `EBUSY` as root |
//! | `keyctl`, `userfaultfd`, `terminal-input`, `thirty-two-bit-call`, `own-seccomp-filter`, `own-seccomp-listener`, `own-landlock` | `succeeded` |
//! | `x32-call` | `unavailable: ENOSYS` |
//! | `privileged-calls` | `succeeded`: `clock_settime` and `settimeofday` read the time before they check privileges; the others are refused |
//! | `double-fork`, `setsid`, `leave-process-group`, `clear-death-signal`, `clone-parent`, `stop-self` | `succeeded` |
//! | `system-v-shared-memory`, `message-queue`, `semaphore`, `allocate-memory`, `write-large-file`, `many-threads`, `many-processes`, `environment` | `succeeded` |
//! | `inherited-descriptors` | `blocked: NONE` if none is open, else `succeeded` |
//! | `tls-other-name`, `tls-without-name`, `tls-split-hello`, `tls-large-hello`, `http-other-host`, `http-second-request`, `http2-plain`, `silent-connection` | `succeeded`, with a server that ignores names |
#![allow(unsafe_code, reason = "attacks are system calls, most of which no crate offers safely")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "arguments of system calls are passed as numbers of the same length"
)]

#[cfg(target_os = "linux")]
mod container;
#[cfg(target_os = "linux")]
mod files;
#[cfg(target_os = "linux")]
mod kernel;
#[cfg(target_os = "linux")]
mod names;
#[cfg(target_os = "linux")]
mod namespaces;
#[cfg(target_os = "linux")]
mod network;
#[cfg(target_os = "linux")]
mod outcome;
#[cfg(target_os = "linux")]
mod processes;
#[cfg(target_os = "linux")]
mod programs;
#[cfg(target_os = "linux")]
mod protocol;
#[cfg(target_os = "linux")]
mod races;
#[cfg(target_os = "linux")]
mod resources;
#[cfg(target_os = "linux")]
mod sys;
#[cfg(target_os = "linux")]
mod unix_sockets;

#[cfg(target_os = "linux")]
use outcome::{Arguments, Failure, Outcome};

/// An attack: its name, its parameters (optional ones in brackets), and what performs it.
#[cfg(target_os = "linux")]
struct Attack {
    name: &'static str,
    parameters: &'static str,
    run: fn(&Arguments) -> Outcome,
}

#[cfg(target_os = "linux")]
const fn attack(name: &'static str, parameters: &'static str, run: fn(&Arguments) -> Outcome) -> Attack {
    Attack { name, parameters, run }
}

#[cfg(target_os = "linux")]
const ATTACKS: &[Attack] = &[
    attack("read-file", "path=", files::read_file),
    attack("read-through-root", "path=", files::read_through_root),
    attack("read-through-working-directory", "path=", files::read_through_working_directory),
    attack("list-directory", "directory=", files::list_directory),
    attack("write-file", "path=", files::write_file),
    attack("truncate-file", "path=", files::truncate_file),
    attack("remove-file", "path=", files::remove_file),
    attack("make-directory", "path=", files::make_directory),
    attack("watch-file", "path=", files::watch_file),
    attack("lock-file", "path=", resources::lock_file),
    attack("open-by-handle", "path=", files::open_by_handle),
    attack("map-executable", "path=", programs::map_executable),
    attack("parent-memory", "parent=", files::parent_memory),
    attack("parent-maps", "parent=", files::parent_maps),
    attack("parent-environment", "parent=", files::parent_environment),
    attack("parent-descriptors", "parent=", files::parent_descriptors),
    attack("proc-environment", "[process=1]", files::proc_environment),
    attack("symbolic-link", "directory= path=", files::symbolic_link),
    attack("hard-link", "directory= path=", files::hard_link),
    attack("rename-out", "directory= path=", files::rename_out),
    attack("rename-in", "directory= path=", files::rename_in),
    attack("chmod-file", "path=", files::chmod_file),
    attack("chown-file", "path=", files::chown_file),
    attack("set-extended-attribute", "path=", files::set_extended_attribute),
    attack("set-file-times", "path=", files::set_file_times),
    attack("ptrace-attach", "parent=", processes::ptrace_attach),
    attack("process-vm-read", "parent=", processes::process_vm_read),
    attack("pidfd-getfd", "parent=", processes::pidfd_getfd),
    attack("signal-parent", "parent=", processes::signal_parent),
    attack("stop-parent", "parent=", processes::stop_parent),
    attack("set-parent-limits", "parent=", processes::set_parent_limits),
    attack("set-parent-priority", "parent=", processes::set_parent_priority),
    attack("perf-event", "[parent=0]", processes::perf_event),
    attack("kcmp", "parent=", processes::kcmp),
    attack("process-madvise", "parent=", processes::process_madvise),
    attack("tcp-connect", "address= port=", network::tcp_connect),
    attack("tcp-connect-mapped", "address= port=", network::tcp_connect_mapped),
    attack("multipath-tcp", "address= port=", network::multipath_tcp),
    attack("sctp", "address= port=", network::sctp),
    attack("fast-open-sendto", "address= port=", network::fast_open_sendto),
    attack("fast-open-sendmsg", "address= port=", network::fast_open_sendmsg),
    attack("fast-open-sendmmsg", "address= port=", network::fast_open_sendmmsg),
    attack("fast-open-connect", "address= port=", network::fast_open_connect),
    attack("bind-and-listen", "[address=127.0.0.1] [port=0]", network::bind_and_listen),
    attack("listen-without-bind", "", network::listen_without_bind),
    attack("udp-sendto", "address= port=", network::udp_sendto),
    attack("udp-sendmsg", "address= port=", network::udp_sendmsg),
    attack("udp-sendmmsg", "address= port=", network::udp_sendmmsg),
    attack("udp-connected", "address= port=", network::udp_connected),
    attack("raw-socket", "", network::raw_socket),
    attack("ping-socket", "", network::ping_socket),
    attack("packet-socket", "", network::packet_socket),
    attack("vsock", "[cid=2] [port=1]", network::vsock),
    attack("netlink", "", network::netlink),
    attack("alg", "", network::alg),
    attack("tipc", "", network::tipc),
    attack("xdp", "", network::xdp),
    attack("smc", "address= port=", network::smc),
    attack("io-uring-setup", "", kernel::io_uring_setup),
    attack("io-uring-connect", "address= port=", kernel::io_uring_connect),
    attack("connect-race", "address= port= forbidden-address= forbidden-port= [n=2000]", races::connect_race),
    attack(
        "connect-descriptor-race",
        "address= port= forbidden-address= forbidden-port= [n=2000]",
        races::connect_descriptor_race,
    ),
    attack(
        "connect-close-race",
        "address= port= forbidden-address= forbidden-port= [n=2000]",
        races::connect_close_race,
    ),
    attack(
        "connect-unmap-race",
        "address= port= forbidden-address= forbidden-port= [n=2000]",
        races::connect_unmap_race,
    ),
    attack(
        "connect-unspecified",
        "address= port= forbidden-address= forbidden-port=",
        network::connect_unspecified,
    ),
    attack("connect-twice", "address= port= forbidden-address= forbidden-port=", network::connect_twice),
    attack("connect-odd-lengths", "address= port=", network::connect_odd_lengths),
    attack("connect-duplicate", "address= port=", unix_sockets::connect_duplicate),
    attack("many-placeholders", "address= port= [n=10000]", races::many_placeholders),
    attack("many-connects", "address= port= [n=1000]", races::many_connects),
    attack(
        "connect-under-signals",
        "address= port= [n=200] [microseconds=1000]",
        races::connect_under_signals,
    ),
    attack("killed-during-connect", "address= port= [n=]", races::killed_during_connect),
    attack("threads-in-calls", "address= port= [n=]", races::threads_in_calls),
    attack("options-before-connect", "address= port=", races::options_before_connect),
    attack("fork-between", "address= port=", network::fork_between),
    attack("thread-connect", "address= port=", network::thread_connect),
    attack("dns-query", "name= [server=127.0.0.53:53] [type=A] [seconds=5]", names::dns_query),
    attack("dns-query-sendto", "name= [server=127.0.0.53:53] [type=A] [seconds=5]", names::dns_query_sendto),
    attack("dns-tcp", "name= [server=127.0.0.53:53] [type=A] [seconds=5]", names::dns_tcp),
    attack("dns-malformed", "[server=127.0.0.53:53] [name=] [case=]", names::dns_malformed),
    attack("look-up", "name=", names::look_up),
    attack("abstract-socket", "name=", unix_sockets::abstract_socket),
    attack("path-socket-stream", "socket=", unix_sockets::path_socket_stream),
    attack("path-socket-datagram", "socket=", unix_sockets::path_socket_datagram),
    attack("path-socket-datagram-connected", "socket=", unix_sockets::path_socket_datagram_connected),
    attack("path-socket-datagram-pair", "socket=", unix_sockets::path_socket_datagram_pair),
    attack("path-socket-packet-pair", "socket=", unix_sockets::path_socket_packet_pair),
    attack("path-socket-link", "directory= socket=", unix_sockets::path_socket_link),
    attack("own-path-socket", "directory=", unix_sockets::own_path_socket),
    attack("placeholder-to-path", "socket=", unix_sockets::placeholder_to_path),
    attack("datagram-placeholder-to-path", "socket=", unix_sockets::datagram_placeholder_to_path),
    attack("placeholder-listens", "[name=wardian-hostile-native]", unix_sockets::placeholder_listens),
    attack("unix-socket-to-internet", "address= port=", unix_sockets::unix_socket_to_internet),
    attack("execute-shell", "", programs::execute_shell),
    attack("execute-self", "", programs::execute_self),
    attack("execute-memfd", "", programs::execute_memfd),
    attack("execute-through-loader", "[loader=]", programs::execute_through_loader),
    attack("execute-written-file", "directory=", programs::execute_written_file),
    attack("execute-path", "path=", programs::execute_path),
    attack("unshare-user", "", namespaces::unshare_user),
    attack("unshare-network", "", namespaces::unshare_network),
    attack("unshare-mount", "", namespaces::unshare_mount),
    attack("clone-user-namespace", "", namespaces::clone_user_namespace),
    attack("clone3-user-namespace", "", namespaces::clone3_user_namespace),
    attack("setns-parent", "parent=", namespaces::setns_parent),
    attack("mount", "directory=", namespaces::mount),
    attack("mount-in-namespace", "directory=", namespaces::mount_in_namespace),
    attack("chroot", "directory=", namespaces::chroot),
    attack("pivot-root", "directory=", namespaces::pivot_root),
    attack("bpf", "", kernel::bpf),
    attack("keyctl", "", kernel::keyctl),
    attack("userfaultfd", "", kernel::userfaultfd),
    attack("terminal-input", "", kernel::terminal_input),
    attack("privileged-calls", "", kernel::privileged_calls),
    attack("thirty-two-bit-call", "", kernel::thirty_two_bit_call),
    attack("x32-call", "", kernel::x32_call),
    attack("own-seccomp-filter", "", kernel::own_seccomp_filter),
    attack("own-seccomp-listener", "", kernel::own_seccomp_listener),
    attack("own-landlock", "", kernel::own_landlock),
    attack("double-fork", "file= [seconds=30]", processes::double_fork),
    attack("setsid", "", processes::setsid),
    attack("leave-process-group", "", processes::leave_process_group),
    attack("clear-death-signal", "", processes::clear_death_signal),
    attack("clone-parent", "", processes::clone_parent),
    attack("stop-self", "[seconds=0]", processes::stop_self),
    attack("system-v-shared-memory", "key=", resources::system_v_shared_memory),
    attack("message-queue", "key=|name=", resources::message_queue),
    attack("semaphore", "key=", resources::semaphore),
    attack("allocate-memory", "bytes=", resources::allocate_memory),
    attack("write-large-file", "path= bytes=", resources::write_large_file),
    attack("many-threads", "[n=10000]", resources::many_threads),
    attack("many-processes", "[n=1000]", resources::many_processes),
    attack("inherited-descriptors", "", resources::inherited_descriptors),
    attack("environment", "", resources::environment),
    attack("tls-other-name", "address= port= name= [seconds=5]", protocol::tls_other_name),
    attack("tls-without-name", "address= port= [seconds=5]", protocol::tls_without_name),
    attack("tls-split-hello", "address= port= name= [seconds=5]", protocol::tls_split_hello),
    attack("tls-large-hello", "address= port= name= [seconds=5]", protocol::tls_large_hello),
    attack("http-other-host", "address= port= name= [seconds=5]", protocol::http_other_host),
    attack(
        "http-second-request",
        "address= port= allowed-name= name= [seconds=5]",
        protocol::http_second_request,
    ),
    attack("http2-plain", "address= port= name= [seconds=5]", protocol::http2_plain),
    attack("silent-connection", "address= port= [seconds=5]", protocol::silent_connection),
];

/// Errors that, without a filter of calls, show that the kernel lacks the feature.
#[cfg(target_os = "linux")]
fn is_missing(failure: &Failure) -> bool {
    let missing = match failure.errno() {
        Some(libc::ENOSYS) => true,
        Some(libc::EAFNOSUPPORT | libc::EPFNOSUPPORT | libc::EPROTONOSUPPORT | libc::ESOCKTNOSUPPORT) => {
            failure.detail().starts_with("socket")
        }
        _ => false,
    };
    missing && !sys::is_filtered()
}

/// Prints the one line and ends, even while other threads run.
#[cfg(target_os = "linux")]
fn report(outcome: &Outcome) -> ! {
    let (line, status) = match outcome {
        Ok(effect) => (format!("succeeded: {effect}"), 0),
        Err(Failure::Parameter(message)) => {
            eprintln!("{message}");
            (String::new(), 2)
        }
        Err(failure) if is_missing(failure) => {
            (format!("unavailable: {} ({})", failure.name(), failure.detail()), 0)
        }
        Err(failure) => (failure.to_string(), 0),
    };
    if status == 0 {
        let line: String =
            line.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
        println!("{line}");
    }
    // SAFETY: the call ends the process; standard output has been flushed at the end of the line.
    unsafe { libc::_exit(status) }
}

#[cfg(target_os = "linux")]
fn main() {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_default();
    if name == programs::END {
        std::process::exit(programs::EXECUTED);
    }
    if name == container::CONTAINER {
        eprintln!("{}", container::execute(arguments));
        std::process::exit(2);
    }
    if name == container::WITHOUT {
        eprintln!("{}", container::execute_without(arguments));
        std::process::exit(2);
    }
    if name == "list" {
        for attack in ATTACKS {
            println!("{}", format!("{} {}", attack.name, attack.parameters).trim_end());
        }
        return;
    }
    let Some(attack) = ATTACKS.iter().find(|attack| attack.name == name) else {
        report(&Err(Failure::Parameter(format!("the attack {name:?} is unknown; see `list`"))));
    };
    let outcome = Arguments::parse(arguments).and_then(|arguments| (attack.run)(&arguments));
    report(&outcome);
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("unavailable: this program is unsupported on systems other than Linux");
}
