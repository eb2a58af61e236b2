//! Every attack, without confinement and at each level, by an unprivileged user.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "the test has failed")]
#![cfg(target_os = "linux")]

mod servers;
mod support;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use servers::Servers;
use support::{Allowing, Level, Run};
use wardian_access::Scheme;

/// The variable that names the attacking program in the process of the unprivileged user.
const PROGRAM: &str = "WARDIAN_HOSTILE_PROGRAM";
/// The variable that selects attacks by a part of their names.
const ONLY: &str = "WARDIAN_HOSTILE_ONLY";
/// The variable that requests the full number of attempts of attacks that depend on timing or on quantity.
const ALL: &str = "WARDIAN_HOSTILE_ALL";
/// The user that runs the attacks, if the tests run as root.
const NOBODY: &str = "65534";

/// Attacks that succeed under supervision because their effect is allowed or harmless.
const ALLOWED: &[(&str, &str)] = &[
    ("own-path-socket", "the program's own directory"),
    ("own-landlock", "further restrictions"),
    ("environment", "lists the variables, which the host chose"),
    ("many-placeholders", "then connects to the allowed server"),
    ("many-connects", "connects to the allowed server only"),
    ("connect-under-signals", "connects to the allowed server only"),
    ("killed-during-connect", "connects to the allowed server only"),
    ("threads-in-calls", "connects to the allowed server only"),
    ("options-before-connect", "connects to the allowed server only"),
    ("fork-between", "connects to the allowed server only"),
    ("thread-connect", "connects to the allowed server only"),
    ("connect-duplicate", "connects to the allowed server only"),
    ("silent-connection", "occupies one of its connections"),
    ("tls-without-name", "the server selects its default site"),
    ("stop-self", "stops only itself"),
    ("double-fork", "the descendants end with it"),
    ("many-processes", "the user's limits apply, and they end with it"),
];

/// Attacks that also succeed in namespaces, because they affect only the program's own namespaces.
const ALLOWED_IN_NAMESPACES: &[(&str, &str)] = &[
    ("udp-sendto", "no other program receives it"),
    ("udp-sendmsg", "no other program receives it"),
    ("udp-sendmmsg", "no other program receives it"),
];

/// Attacks that also succeed without a supervisor, because they affect only the program itself.
const ALLOWED_WITHOUT_SUPERVISOR: &[(&str, &str)] = &[
    ("proc-environment", "process 1 of the namespace is the program itself"),
    ("bind-and-listen", "no other program can connect"),
    ("listen-without-bind", "no other program can connect"),
    ("execute-shell", "within the same confinement"),
    ("execute-self", "within the same confinement"),
    ("execute-memfd", "within the same confinement"),
    ("execute-through-loader", "within the same confinement"),
    ("execute-path", "within the same confinement"),
];

/// Attacks whose outcome depends on the memory of the machine.
const UNDETERMINED: &[&str] = &["many-threads"];

/// Attacks that leave no record: the kernel itself blocks signals and changes to directories, and some
/// calls fail silently because ordinary programs also make them.
const NOT_RECORDED: &[&str] = &[
    "truncate-file",
    "remove-file",
    "make-directory",
    "hard-link",
    "rename-out",
    "rename-in",
    "signal-parent",
    "stop-parent",
    "set-parent-priority",
    "multipath-tcp",
    "sctp",
    "raw-socket",
    "ping-socket",
    "netlink",
    "fast-open-sendto",
    "fast-open-sendmsg",
    "fast-open-sendmmsg",
    "bind-and-listen",
    "listen-without-bind",
    "udp-sendto",
    "udp-sendmsg",
    "udp-sendmmsg",
    "udp-connected",
    "connect-unspecified",
    "connect-twice",
    "connect-odd-lengths",
    "path-socket-packet-pair",
    "datagram-placeholder-to-path",
    "clone3-user-namespace",
    "thirty-two-bit-call",
    "x32-call",
    "setsid",
    "leave-process-group",
    "allocate-memory",
    "write-large-file",
    "many-threads",
    "inherited-descriptors",
];

/// Attacks that every level blocks: accesses to files, and to ports that are not granted.
const BLOCKED_AT_EVERY_LEVEL: &[&str] = &[
    "read-file",
    "read-through-root",
    "read-through-working-directory",
    "list-directory",
    "write-file",
    "truncate-file",
    "remove-file",
    "make-directory",
    "lock-file",
    "map-executable",
    "parent-memory",
    "parent-environment",
    "symbolic-link",
    "hard-link",
    "rename-out",
    "rename-in",
    "tcp-connect",
    "tcp-connect-mapped",
    "inherited-descriptors",
];

#[test]
fn attacks_succeed_only_without_confinement() {
    if !support::is_supported() {
        return;
    }
    if std::env::var_os(PROGRAM).is_some() || !rustix::process::getuid().is_root() {
        attack_as_this_user();
        return;
    }
    // Everything that the attacks use is in a directory that the other user can read.
    let directory = tempfile::tempdir().unwrap();
    let copy = |from: &Path, name: &str| {
        let to = directory.path().join(name);
        std::fs::copy(from, &to).unwrap();
        std::fs::set_permissions(&to, std::fs::Permissions::from_mode(0o755)).unwrap();
        to
    };
    std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let tests = copy(&std::env::current_exe().unwrap(), "tests");
    let program = copy(Path::new(env!("CARGO_BIN_EXE_wardian-hostile-native")), "hostile");
    let status = Command::new("setpriv")
        .args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"])
        .arg(&tests)
        .args(["--exact", "attacks_succeed_only_without_confinement", "--nocapture"])
        .env(PROGRAM, program)
        .env("TMPDIR", "/tmp")
        .current_dir("/")
        .status();
    match status {
        Ok(status) => assert!(status.success(), "the attacks by user {NOBODY} failed the test"),
        Err(error) => {
            println!("as root, because setpriv cannot be run: {error}");
            attack_as_this_user();
        }
    }
}

/// The default profiles of containers neither prevent the confinement nor weaken it.
#[test]
fn attacks_on_the_network_fail_in_a_container() {
    if !support::is_supported() {
        return;
    }
    let program = program();
    let status = Command::new(&program)
        .arg("in-container")
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "attacks_succeed_only_without_confinement", "--nocapture"])
        .env(PROGRAM, &program)
        .env(ONLY, "connect")
        .status()
        .unwrap();
    assert!(status.success(), "the attacks failed the test in a container");
}

fn program() -> PathBuf {
    std::env::var_os(PROGRAM)
        .map_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_wardian-hostile-native")), PathBuf::from)
}

/// Returns the attacks with their parameters, as the program lists them.
fn attacks() -> Vec<(String, Vec<String>)> {
    let output = Command::new(program()).arg("list").output().unwrap();
    let list = String::from_utf8(output.stdout).unwrap();
    list.lines()
        .map(|line| {
            let mut words = line.split_ascii_whitespace().map(str::to_owned);
            (words.next().unwrap(), words.collect())
        })
        .collect()
}

fn attack_as_this_user() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let only = std::env::var(ONLY).ok();
    let mut table = String::new();
    let mut failures = Vec::new();
    for (name, parameters) in attacks() {
        if only.as_ref().is_some_and(|only| !name.contains(only.as_str())) {
            continue;
        }
        let before = std::time::Instant::now();
        let seen: BTreeMap<Level, Outcome> = Level::ALL
            .into_iter()
            .filter(|level| level.is_supported())
            .map(|level| (level, runtime.block_on(attack(&name, &parameters, level))))
            .collect();
        let (free, files) = (&seen[&Level::None], &seen[&Level::FilesAndPorts]);
        if BLOCKED_AT_EVERY_LEVEL.contains(&&*name) && !files.line.starts_with("blocked") {
            failures.push(format!("{name} at the level \"files and ports\": {}", files.line));
        }
        let _ = write!(
            table,
            "{name:30} | {:40.40} {:9} | {:30.30}",
            free.line,
            if free.arrived.is_empty() { "" } else { "(arrived)" },
            files.line,
        );
        for (level, outcome) in seen.iter().filter(|(level, _)| **level >= Level::Namespaced) {
            let is_recorded = outcome.records.iter().any(|record| record.starts_with("denied"));
            let recorded = if is_recorded { "recorded" } else { "" };
            let _ = write!(table, " | {recorded:8} {:60.60}", outcome.line);
            let allowed = match level {
                Level::Full => [ALLOWED, ALLOWED_IN_NAMESPACES].concat(),
                Level::Namespaced => [ALLOWED, ALLOWED_IN_NAMESPACES, ALLOWED_WITHOUT_SUPERVISOR].concat(),
                _ => ALLOWED.to_vec(),
            };
            let is_allowed = allowed.iter().any(|(allowed, _)| *allowed == name);
            let is_blocked = outcome.line.starts_with("blocked") || outcome.line.starts_with("unavailable");
            if is_allowed == is_blocked && !UNDETERMINED.contains(&&*name) {
                failures.push(format!("{name} at the level {level:?}: {}", outcome.line));
            }
            // Calls that the kernel blocks do not reach the supervisor.
            let reaches_supervisor = free.line.starts_with("succeeded") && !NOT_RECORDED.contains(&&*name);
            if is_blocked && reaches_supervisor && !is_recorded && level.is_supervised() {
                failures.push(format!("{name} at the level {level:?}: no denial was recorded"));
            }
            if !outcome.arrived.is_empty() {
                failures.push(format!(
                    "{name} at the level {level:?}: at the forbidden server arrived {:?}",
                    outcome.arrived
                ));
            }
        }
        let _ = writeln!(table, " ({:?})", before.elapsed());
    }
    println!("{table}");
    assert!(failures.is_empty(), "{failures:#?}");
}

/// Returns the full number of attempts if the environment requests it, and a sample otherwise.
fn attempts(all: u32, sample: u32) -> String {
    if std::env::var_os(ALL).is_some() { all } else { sample }.to_string()
}

struct Outcome {
    line: String,
    /// The data that the forbidden server received.
    arrived: Vec<String>,
    records: Vec<String>,
}

async fn attack(name: &str, parameters: &[String], level: Level) -> Outcome {
    let directory = tempfile::tempdir().unwrap();
    let secret = directory.path().join("secret");
    std::fs::create_dir(&secret).unwrap();
    std::fs::write(secret.join("key"), "the secret").unwrap();
    let servers = Servers::start(&secret.join("socket"));
    let own = tempfile::tempdir().unwrap();
    // TLS and HTTP are checked only for connections that are granted for them.
    let scheme = match name {
        _ if name.starts_with("tls") => Scheme::Https,
        _ if name.starts_with("http") => Scheme::Http,
        "silent-connection" => Scheme::Https,
        _ => Scheme::Tcp,
    };
    let uses_allowed = parameters.iter().any(|one| one.starts_with("forbidden-"))
        || ALLOWED.iter().any(|(allowed, _)| *allowed == name)
        || scheme != Scheme::Tcp
        || name == "connect-odd-lengths";
    let port = if uses_allowed { servers.allowed } else { servers.forbidden };
    let value = |parameter: &str| -> Option<String> {
        let key = parameter.trim_start_matches('[').split(['=', '|']).next().unwrap_or_default();
        Some(match key {
            "path" if name == "make-directory" => secret.join("new").display().to_string(),
            "path" if name == "execute-path" => "/bin/true".to_owned(),
            "path" if name == "write-large-file" => own.path().join("large").display().to_string(),
            "path" => secret.join("key").display().to_string(),
            "directory" if name == "make-directory" => secret.join("new").display().to_string(),
            "directory"
                if matches!(
                    name,
                    "list-directory" | "mount" | "chroot" | "pivot-root" | "mount-in-namespace"
                ) =>
            {
                secret.display().to_string()
            }
            "directory" => own.path().display().to_string(),
            "parent" => std::process::id().to_string(),
            "address" if parameter.starts_with('[') => return None,
            "address" | "forbidden-address" => "127.0.0.1".to_owned(),
            "port" if parameter.starts_with('[') => return None,
            "port" => port.to_string(),
            "forbidden-port" => servers.forbidden.to_string(),
            "socket" if name.contains("datagram") && !name.contains("placeholder") => {
                secret.join("socket.datagram").display().to_string()
            }
            "socket" => secret.join("socket").display().to_string(),
            "server" => format!("127.0.0.1:{}", servers.forbidden),
            "name" if name == "abstract-socket" => servers.abstract_name.clone(),
            "name" if name == "message-queue" => return None,
            "name" if parameter.starts_with('[') => return None,
            "name" => "secret-in-a-name.forbidden.test".to_owned(),
            "allowed-name" => "allowed.test".to_owned(),
            "file" => own.path().join("alive").display().to_string(),
            "key" => servers.shared_memory_key.to_string(),
            "bytes" => "600000000".to_owned(),
            "seconds" => "1".to_owned(),
            "n" if name == "many-connects" => "200".to_owned(),
            "n" if name == "many-placeholders" => attempts(10_000, 2_000),
            "n" if name.ends_with("race") => attempts(500, 100),
            _ => return None,
        })
    };
    let arguments: Vec<String> = std::iter::once(name.to_owned())
        .chain(parameters.iter().filter_map(|parameter| {
            let key = parameter.trim_matches(['[', ']']).split(['=', '|']).next()?.to_owned();
            Some(format!("{key}={}", value(parameter)?))
        }))
        .collect();
    let allowing = match scheme {
        Scheme::Tcp => Allowing::to_address(servers.allowed, scheme),
        _ => Allowing::to_resolved_name("allowed.test", servers.allowed, scheme),
    };
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let run = Run::new(&program(), &arguments).in_directory(own.path()).with_limits(400_000_000, 300_000_000);
    let seen = run.at_level(level, &allowing).await;
    let line = seen.stdout.lines().next().unwrap_or_default().to_owned();
    let line = if line.is_empty() { format!("{:?} {}", seen.code, seen.stderr) } else { line };
    Outcome { line, arrived: servers.arrived(), records: allowing.records() }
}
