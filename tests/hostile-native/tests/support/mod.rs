//! Runs programs under the supervisor, with an authority that allows one server.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "the test has failed")]
#![allow(dead_code, reason = "not every test uses all of it")]

use std::any::Any;
use std::ffi::OsString;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use tempfile::TempDir;
use tokio::io::AsyncReadExt as _;
use tokio::process::Command;
use wardian_access::{
    AllowedConnection, ConnectionRecord, Denied, FileOperation, Host, NativeAuthority, ProcessAuthority,
    Scheme,
};
use wardian_confinement::{
    ConfinedChild, Confinement, ConfinementLevel, DirectoryView, LandlockRules, NamespaceOptions,
    NamespaceRole, SupervisorOptions, TcpPorts, supported_level,
};
use wardian_network::Resolver;
use wardian_process::Spawner;

/// The levels at which the tests run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    None,
    FilesAndPorts,
    Namespaced,
    Filtered,
    Full,
}

impl Level {
    pub const ALL: [Self; 5] =
        [Self::None, Self::FilesAndPorts, Self::Namespaced, Self::Filtered, Self::Full];

    /// Whether the supervisor answers system calls.
    pub fn is_supervised(self) -> bool {
        matches!(self, Self::Filtered | Self::Full)
    }

    /// Whether this machine supports the level; prints a message if it does not.
    pub fn is_supported(self) -> bool {
        let least = match self {
            Self::None => ConfinementLevel::None,
            Self::FilesAndPorts => ConfinementLevel::FilesAndPorts,
            Self::Namespaced if !namespaces_are_allowed() => {
                println!("skipped at the level \"namespaced\": this machine does not allow namespaces");
                return false;
            }
            Self::Namespaced => ConfinementLevel::Namespaced,
            Self::Filtered => ConfinementLevel::Filtered,
            Self::Full => ConfinementLevel::Full,
        };
        let supported = supported_level();
        let is_supported = supported.level >= least;
        if !is_supported {
            println!("skipped at the level \"{}\": {supported:?}", self.name());
        }
        is_supported
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::FilesAndPorts => "files and ports",
            Self::Namespaced => "namespaced",
            Self::Filtered => "filtered",
            Self::Full => "full",
        }
    }
}

/// Allows connections to one port of this machine under one name, and records everything.
#[derive(Clone)]
pub struct Allowing {
    name: Host,
    port: u16,
    scheme: Scheme,
    /// Whether every connection to the port counts as a connection to the name, as after a lookup.
    is_resolved: bool,
    records: Arc<Mutex<Vec<String>>>,
}

impl Allowing {
    pub fn http(name: &str, port: u16) -> Self {
        Self::new(name, port, Scheme::Http)
    }

    pub fn new(name: &str, port: u16, scheme: Scheme) -> Self {
        Self { name: Host::parse(name).unwrap(), port, scheme, is_resolved: false, records: Arc::default() }
    }

    /// Allows connections to a port of this machine as connections to a name, without a lookup.
    pub fn to_resolved_name(name: &str, port: u16, scheme: Scheme) -> Self {
        Self { is_resolved: true, ..Self::new(name, port, scheme) }
    }

    /// Allows connections to a port of this machine by its address.
    pub fn to_address(port: u16, scheme: Scheme) -> Self {
        Self::new("127.0.0.1", port, scheme)
    }

    pub fn records(&self) -> Vec<String> {
        self.records.lock().unwrap().clone()
    }

    fn record(&self, text: String) {
        self.records.lock().unwrap().push(text);
    }

    fn denied(&self, text: String) -> Denied {
        self.record(format!("denied {text}"));
        Denied { reason: "not granted".to_owned(), rule_to_add: None }
    }
}

impl NativeAuthority for Allowing {
    fn may_look_up(&self, name: &Host) -> Result<(), Denied> {
        if name == &self.name { Ok(()) } else { Err(self.denied(format!("look-up {name}"))) }
    }

    fn refuse_look_up(&self, text: &str) {
        self.record(format!("denied look-up {text:?}"));
    }

    fn may_connect(&self, names: &[Host], address: SocketAddr) -> Result<AllowedConnection, Denied> {
        let host = names.iter().find(|name| **name == self.name).cloned();
        let host = host.or_else(|| self.is_resolved.then(|| self.name.clone()));
        let host = host.unwrap_or(Host::Address(address.ip()));
        if host != self.name || address.port() != self.port {
            return Err(self.denied(address.to_string()));
        }
        let record = Record { records: Arc::clone(&self.records), text: format!("connect {host} {address}") };
        Ok(AllowedConnection {
            host,
            schemes: vec![self.scheme],
            max_received: None,
            record: Box::new(record),
        })
    }

    fn may_connect_to_path(&self, path: &Path) -> Result<(), Denied> {
        Err(self.denied(format!("socket {}", path.display())))
    }

    fn may_change_attributes(&self, path: &Path) -> Result<(), Denied> {
        Err(self.denied(format!("attributes {}", path.display())))
    }

    fn opens(&self, path: &Path, operation: FileOperation, is_reachable: bool) {
        if !is_reachable {
            self.record(format!("denied {} {}", operation.word(), path.display()));
        }
    }

    fn program_authority(&self, _: Vec<String>) -> Arc<dyn ProcessAuthority> {
        panic!("no program is granted")
    }

    fn refuse_program(&self, program: &Path, _: &[OsString]) {
        self.record(format!("denied program {}", program.display()));
    }

    fn refuse_system_call(&self, name: &str, reason: &str) {
        self.record(format!("denied call {name}: {reason}"));
    }
}

struct Record {
    records: Arc<Mutex<Vec<String>>>,
    text: String,
}

impl ConnectionRecord for Record {
    fn set_scheme(&mut self, scheme: Scheme) {
        self.records.lock().unwrap().push(format!("{} {scheme}", self.text));
    }

    fn permits_name(&self, _: &Host, _: Scheme) -> bool {
        false
    }

    fn add_sent(&mut self, _: u64) {}

    fn add_received(&mut self, _: u64) {}

    fn refuse(&mut self, reason: &str) {
        self.records.lock().unwrap().push(format!("denied {}: {reason}", self.text));
    }
}

/// Resolves every name to this machine.
struct Loopback;

#[async_trait]
impl Resolver for Loopback {
    async fn resolve(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        Ok(vec![Ipv4Addr::LOCALHOST.into()])
    }
}

/// A program to run.
pub struct Run {
    program: PathBuf,
    arguments: Vec<String>,
    read: Vec<PathBuf>,
    views: Vec<DirectoryView>,
    directory: Option<PathBuf>,
    max_memory: Option<u64>,
    max_file_size: Option<u64>,
}

#[derive(Debug)]
pub struct Seen {
    pub stdout: String,
    pub stderr: String,
    pub code: Option<i32>,
}

/// System files that interpreters and C libraries need.
const SYSTEM: &[&str] = &[
    "/usr",
    "/bin",
    "/lib",
    "/lib64",
    "/etc/resolv.conf",
    "/etc/nsswitch.conf",
    "/etc/ssl",
    "/etc/ld.so.cache",
    "/etc/host.conf",
    "/sys/fs/cgroup",
    "/sys/devices/system/cpu",
    "/proc/cpuinfo",
    "/proc/sys",
];

impl Run {
    pub fn new(program: &Path, arguments: &[&str]) -> Self {
        let arguments = arguments.iter().map(|one| (*one).to_owned()).collect();
        Self {
            program: program.to_owned(),
            arguments,
            read: Vec::new(),
            views: Vec::new(),
            directory: None,
            max_memory: None,
            max_file_size: None,
        }
    }

    /// Sets the directory that belongs to the program.
    pub fn in_directory(mut self, directory: &Path) -> Self {
        self.directory = Some(directory.to_owned());
        self
    }

    /// Grants a part of a directory, at the level "full".
    pub fn with_view(mut self, view: DirectoryView) -> Self {
        self.views.push(view);
        self
    }

    /// Sets the limits on memory and on the size of files, in bytes.
    pub fn with_limits(mut self, memory: u64, file_size: u64) -> Self {
        self.max_memory = Some(memory);
        self.max_file_size = Some(file_size);
        self
    }

    fn command(&self, directory: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .env_clear()
            .env("RES_OPTIONS", "use-vc")
            .env("TMPDIR", directory)
            .current_dir(directory)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub async fn at_level(&self, level: Level, allowing: &Allowing) -> Seen {
        match level {
            Level::Full | Level::Filtered | Level::Namespaced | Level::FilesAndPorts => {
                self.confined(level, allowing).await
            }
            Level::None => {
                let own = tempfile::tempdir().unwrap();
                let directory = self.directory.as_deref().unwrap_or(own.path());
                let output = self.command(directory).kill_on_drop(true).output();
                let output = tokio::time::timeout(Duration::from_mins(1), output).await;
                let output = output.expect("the program ends").unwrap();
                Seen {
                    stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
                    stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
                    code: output.status.code(),
                }
            }
        }
    }

    /// Starts the program, and never returns.
    pub async fn at_level_without_waiting(&self, level: Level, allowing: &Allowing) {
        let _running: Box<dyn Any> = match level {
            Level::Full | Level::Filtered | Level::Namespaced | Level::FilesAndPorts => {
                Box::new(self.start(level, allowing).await)
            }
            Level::None => {
                Box::new(self.command(self.directory.as_deref().unwrap_or(Path::new("/"))).spawn().unwrap())
            }
        };
        std::future::pending::<()>().await;
    }

    async fn confined(&self, level: Level, allowing: &Allowing) -> Seen {
        let (mut confined, _spawner, _temporary) = self.start(level, allowing).await;

        let group = confined.child.id().unwrap_or_default();
        let (mut stdout, mut stderr) = (String::new(), String::new());
        let mut out = confined.child.stdout.take().unwrap();
        let mut errors = confined.child.stderr.take().unwrap();
        let waiting = async {
            let _ = tokio::join!(out.read_to_string(&mut stdout), errors.read_to_string(&mut stderr));
            confined.child.wait().await.unwrap()
        };
        let status = tokio::time::timeout(Duration::from_mins(1), waiting).await.expect("the program ends");
        // Kills the descendants.
        drop(confined);
        if level >= Level::Namespaced {
            wait_for_end_of_group(group);
        }
        Seen { stdout, stderr, code: status.code() }
    }

    async fn start(&self, level: Level, allowing: &Allowing) -> (ConfinedChild, Spawner, TempDir) {
        let temporary = tempfile::tempdir().unwrap();
        let own = self.directory.clone().unwrap_or_else(|| temporary.path().to_owned());
        let mut execute: Vec<PathBuf> = SYSTEM.iter().map(PathBuf::from).collect();
        execute.push(self.program.clone());
        let rules = LandlockRules {
            read: self.read.clone(),
            execute,
            write: vec!["/dev/null".into()],
            real_write: vec![own.clone()],
            tcp: match level {
                Level::Filtered | Level::Full => TcpPorts::NoneIfSupported,
                _ => TcpPorts::Only(vec![allowing.port..=allowing.port]),
            },
            ..LandlockRules::default()
        };
        let supervision = SupervisorOptions {
            authority: Arc::new(allowing.clone()),
            resolver: Arc::new(Loopback),
            proxies: wardian_network::proxy::ProxySettings::default(),
            own_directory: own.clone(),
            max_connections: None,
            programs: None,
        };
        let confinement = Confinement {
            rules,
            supervision: (level >= Level::Namespaced).then_some(supervision),
            namespaces: match level {
                Level::None | Level::FilesAndPorts | Level::Filtered => None,
                Level::Namespaced => {
                    let role =
                        NamespaceRole::Alone { ports: vec![allowing.port], working_directory: own.clone() };
                    Some(NamespaceOptions { views: self.views.clone(), role })
                }
                Level::Full => {
                    Some(NamespaceOptions { views: self.views.clone(), role: NamespaceRole::Additional })
                }
            },
            max_memory: self.max_memory,
            max_file_size: self.max_file_size,
        };
        let command = self.command(&own);
        let spawner = Spawner::default();
        let confined = confinement.prepare().unwrap().spawn(command, &spawner).await.unwrap();
        (confined, spawner, temporary)
    }
}

/// Waits until no process of a group is left, for at most a second.
pub fn wait_for_end_of_group(group: u32) {
    let deadline = std::time::Instant::now() + Duration::from_secs(1);
    loop {
        let left = processes_of_group(group);
        if left.is_empty() {
            return;
        }
        assert!(std::time::Instant::now() < deadline, "processes {left:?} survived");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Returns the processes of a group that have not ended.
pub fn processes_of_group(group: u32) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    numbers
        .filter(|number| {
            let Ok(stat) = std::fs::read_to_string(format!("/proc/{number}/stat")) else { return false };
            // The name in parentheses may contain spaces.
            let mut words = stat.rsplit_once(')').unwrap_or_default().1.split_ascii_whitespace();
            let (state, _parent, own) = (words.next(), words.next(), words.next());
            !matches!(state, Some("Z" | "X")) && own == Some(&group.to_string())
        })
        .collect()
}

/// Whether a process may create namespaces, at whatever level the machine supports.
fn namespaces_are_allowed() -> bool {
    static ALLOWED: OnceLock<bool> = OnceLock::new();
    *ALLOWED.get_or_init(|| {
        matches!(supported_level().level, ConfinementLevel::Full | ConfinementLevel::Namespaced)
    })
}

/// Whether this machine supports supervision; prints a message if it does not.
pub fn is_supported() -> bool {
    Level::Filtered.is_supported()
}

/// Returns the path of a program; prints a message if there is none.
pub fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .map(|directory| directory.join(name))
        .chain([Path::new("/usr/bin").join(name)])
        .find(|path| path.is_file());
    if found.is_none() {
        println!("skipped: there is no {name}");
    }
    // A script in another directory may only select the program.
    let system = Path::new("/usr/bin").join(name);
    if system.is_file() { Some(system) } else { found }
}
