//! What a confined process is let do beside what the caller grants: what every program
//! needs to begin at all, and its own socket.
//!
//! | | because |
//! |---|---|
//! | its own file, to run | it is what is run |
//! | `/usr`, `/bin`, `/sbin`, `/lib*`, `/nix/store`, to run | loaders, libraries, programs that it starts |
//! | names, hosts, certificates and time zones in `/etc`, `/run/systemd/resolve`, to read | it looks names up and checks certificates |
//! | what the kernel says of the machine in `/proc` and `/sys`, to read | runtimes size themselves by it |
//! | `/dev/null` and its like, to read and write | everybody expects them |
//! | the directory of its socket, to read and write | it listens there; `TMPDIR` says the same directory |
//!
//! Nothing of other processes is among it, and nothing of anybody's home.

use std::path::{Path, PathBuf};

use wardian_process::Confinement;

const EXECUTE: &[&str] = &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store"];

const READ: &[&str] = &[
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/gai.conf",
    "/etc/group",
    "/etc/host.conf",
    "/etc/hosts",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
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

const WRITE: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// What is granted, and what every program needs.
pub(crate) fn with_necessities(granted: &Confinement, executable: &Path, sockets: &Path) -> Confinement {
    let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
    let mut rules = granted.clone();
    rules.read.extend(paths(READ));
    rules.execute.extend(paths(EXECUTE));
    rules.execute.push(executable.to_owned());
    rules.write.extend(paths(WRITE));
    rules.write.push(sockets.to_owned());
    rules
}
