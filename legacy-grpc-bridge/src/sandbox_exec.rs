//! Extends the caller's grants with the access that every confined process needs, including access
//! to its socket.
//!
//! | access | reason |
//! |---|---|
//! | the executable, to execute | it is the program |
//! | `/usr`, `/bin`, `/sbin`, `/lib*`, `/nix/store`, to execute | loaders, libraries, programs that it starts |
//! | names, hosts, certificates and time zones in `/etc`, `/run/systemd/resolve`, to read | to resolve names and verify certificates |
//! | the kernel's description of the machine in `/proc` and `/sys`, to read | runtimes read it to adapt to the machine |
//! | `/dev/null` and similar devices, to read and write | programs expect these devices |
//! | the directory of its socket, to read and write | the process listens there; `TMPDIR` is the same directory |
//!
//! This access includes neither data of other processes nor home directories.

use std::path::{Path, PathBuf};

use wardian_confinement::LandlockRules;

const EXECUTE: &[&str] = &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store"];

const READ: &[&str] = &[
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/gai.conf",
    "/etc/group",
    "/etc/host.conf",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/locale.alias",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/passwd",
    "/etc/pki",
    "/etc/protocols",
    "/etc/resolv.conf",
    "/etc/services",
    "/etc/ssl",
    "/run/systemd/resolve",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/sys/kernel",
    "/proc/sys/net/core/somaxconn",
    "/proc/sys/vm",
    "/sys/devices/system/cpu",
    "/sys/fs/cgroup",
    "/sys/kernel/mm/transparent_hugepage",
];

/// Under supervision, the host resolves names, also those in this file. A name that the process
/// itself found there would not be known when it connects.
const HOSTS: &[&str] = &["/etc/hosts"];

const WRITE: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// Returns the grants together with the access that every program needs.
pub(crate) fn with_necessities(
    granted: &LandlockRules,
    is_supervised: bool,
    executable: &Path,
    sockets: &Path,
) -> LandlockRules {
    let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
    let mut rules = granted.clone();
    rules.read.extend(paths(READ));
    if !is_supervised {
        rules.read.extend(paths(HOSTS));
    }
    rules.execute.extend(paths(EXECUTE));
    rules.execute.push(executable.to_owned());
    rules.write.extend(paths(WRITE));
    rules.real_write.push(sockets.to_owned());
    rules
}
