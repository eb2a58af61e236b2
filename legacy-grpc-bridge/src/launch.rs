//! Launches an executable and connects to it.
//!
//! 1. The bridge starts the process with a defined environment: the variables that the caller
//!    passes, and the variables that the protocol requires.
//! 2. The process prints its handshake; any other output becomes an error.
//! 3. The bridge connects to the announced address, with mutual TLS unless TLS is disabled.
//!
//! If a step fails, the process is terminated before the error is returned.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::net::{TcpStream, UnixStream};
use tokio::process::{ChildStdout, Command};
use tokio::time::{Instant, timeout_at};

use crate::cpu_limit::CpuLimit;
use crate::handshake::{Handshake, HandshakeError, PluginAddress};
use crate::http2::{Bidirectional, Http2Connection};
use crate::process::{Owner, Process, Running};
use crate::reattach::Reattachment;
use crate::stderr::{CrashOutput, StderrSource};
use crate::tls::{self, Identity, IdentityError};
use crate::{executable, sandbox_exec};
use wardian_access::NativeAuthority;
use wardian_confinement::{
    ConfinedChild, Confinement, ConfinementError, DirectoryView, LandlockRules, NamespaceOptions,
    NamespaceRole, PreparedConfinement, ProgramAccess, SupervisionHandle, SupervisorOptions, connect_within,
};
use wardian_network::Resolver;
use wardian_network::proxy::ProxySettings;
use wardian_plugin::CallsInFlight;
use wardian_plugin::RecentSensitiveValues;
use wardian_plugin::transport::format_seconds;
use wardian_process::{Guarded, Spawner};

/// The variable that every plugin of the protocol expects in its environment, as evidence that a
/// host, not a user, started the plugin.
pub(crate) const MAGIC_COOKIE: (&str, &str) =
    ("TF_PLUGIN_MAGIC_COOKIE", "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2");
/// Maximum number of bytes of a handshake.
const MAX_HANDSHAKE_LENGTH: u64 = 64 << 10;
/// Number of attempts to execute a file that is still being written, and the delay between them.
const BUSY_ATTEMPTS: u32 = 5;
const BUSY_PAUSE: Duration = Duration::from_millis(20);
/// Time limit for a process without a handshake to exit, after which it is reported as still
/// running.
const EXIT_PATIENCE: Duration = Duration::from_secs(2);

/// The security of the connection to a plugin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Security {
    /// With TLS. Both sides create certificates.
    #[default]
    MutualTls,
    /// Not secured, for plugins that do not support TLS. Any program that can access the socket can
    /// call the plugin.
    Plain,
}

/// The protocol versions that the bridge offers to a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offer {
    /// All supported versions.
    All,
    /// Only version 5, which supports provisioners.
    OnlyFive,
}

impl Offer {
    fn versions(self) -> &'static str {
        match self {
            Self::All => "6,5",
            Self::OnlyFive => "5",
        }
    }
}

/// A native plugin on disk, and the settings of its process.
#[derive(Clone, Debug)]
pub struct NativePackage {
    /// The plugin's name in messages: `hashicorp/aws v5.100.0`.
    pub name: Arc<str>,
    /// The file to execute.
    pub executable: PathBuf,
    /// The environment of the process, without the variables that the protocol requires.
    pub environment: Vec<(OsString, OsString)>,
    pub working_directory: PathBuf,
    /// An existing directory for sockets. Its path must be short enough for a socket path.
    pub socket_directory: PathBuf,
    pub security: Security,
    /// The restrictions that the kernel enforces on the process. The bridge adds the access that
    /// every program needs.
    pub confinement: Option<ProcessConfinement>,
    /// The hash of the package, if the file was verified with it and the schema depends only on the
    /// package. The schema can then be cached between runs.
    pub content: Option<Arc<str>>,
}

impl NativePackage {
    fn is_supervised(&self) -> bool {
        self.confinement.as_ref().is_some_and(|confinement| confinement.supervisor.is_some())
    }
}

/// The confinement of a plugin's processes.
#[derive(Clone)]
pub struct ProcessConfinement {
    /// The granted files and ports. The bridge adds the access that every program needs.
    pub rules: LandlockRules,
    /// Supervises sockets and programs; `None` if only the rules apply.
    pub supervisor: Option<Arc<dyn NativeSupervisor>>,
    /// The namespaces of each supervised process.
    pub namespaces: ProcessNamespaces,
    /// Maximum CPU time of a call.
    pub max_cpu_time: Option<Duration>,
    /// Maximum number of bytes of private writable memory of a process.
    pub max_memory: Option<u64>,
    /// Maximum number of bytes of each file that a process writes.
    pub max_file_size: Option<u64>,
    /// Maximum number of concurrent connections of a process.
    pub max_connections: Option<usize>,
}

/// The namespaces of a supervised process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProcessNamespaces {
    /// The process runs in the namespaces of the host.
    Shared,
    /// The process has its own namespaces, in addition to the other restrictions.
    Additional,
    /// Namespaces replace the other restrictions. `ports` are the TCP ports of servers.
    Alone { ports: Vec<u16> },
}

impl fmt::Debug for ProcessConfinement {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ProcessConfinement").field("rules", &self.rules).finish_non_exhaustive()
    }
}

/// Decides on the accesses of a plugin's processes.
pub trait NativeSupervisor: Send + Sync {
    /// Returns the authority over one process. `calls` contains the calls that it executes.
    fn authority(&self, calls: Arc<CallsInFlight>) -> Arc<dyn NativeAuthority>;

    /// Returns the resolver of host names.
    fn resolver(&self) -> Arc<dyn Resolver>;

    /// Returns the user's proxies.
    fn proxies(&self) -> ProxySettings;

    /// Returns the programs that a plugin may start; `None` if there are none.
    fn programs(&self, package: &NativePackage) -> Option<ProgramAccess>;

    /// Returns the directories of which a process sees a part, as they are now.
    ///
    /// # Errors
    /// Returns an error if a directory cannot be listed.
    fn views(&self) -> io::Result<Vec<DirectoryView>>;
}

/// A process that was started.
pub(crate) struct StartedProcess {
    pub(crate) child: tokio::process::Child,
    /// Kills the descendants of a confined process, and ends its supervision, when it is dropped.
    pub(crate) confined: Option<(Guarded, Option<SupervisionHandle>)>,
}

impl From<tokio::process::Child> for StartedProcess {
    fn from(child: tokio::process::Child) -> Self {
        Self { child, confined: None }
    }
}

impl From<ConfinedChild> for StartedProcess {
    fn from(started: ConfinedChild) -> Self {
        let ConfinedChild { child, guarded, supervision } = started;
        Self { child, confined: Some((guarded, supervision)) }
    }
}

/// An error that occurs while a plugin is started or connected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// The directory for the socket could not be created.
    #[error("could not create a directory for its socket in {}: {source}", path.display())]
    SocketDirectory { path: PathBuf, source: io::Error },
    /// The bridge's certificate could not be created.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// The system could not execute the file.
    #[error("could not run {}: {source}; {found}", executable.display())]
    Spawn {
        executable: PathBuf,
        source: io::Error,
        /// The description of the file.
        found: String,
    },
    /// The process must be confined, but this is not possible.
    #[error("{} is not run because it cannot be confined: {problem}", executable.display())]
    Unconfined { executable: PathBuf, problem: ConfinementError },
    /// The process exited without a handshake.
    #[error("{} terminated ({how}) before its handshake{}", executable.display(), saying(reported.as_deref(), found))]
    Ended {
        executable: PathBuf,
        /// The exit status: `exit status: 1`.
        how: String,
        /// The process's output on standard error.
        reported: Option<String>,
        /// The description of the file.
        found: String,
    },
    /// The process closed its standard output and is still running.
    #[error("{} closed its standard output without a handshake, so it is not a plugin{}", executable.display(), saying(reported.as_deref(), ""))]
    Silent {
        executable: PathBuf,
        /// The process's output on standard error.
        reported: Option<String>,
    },
    /// The process did not print a handshake within the time limit.
    #[error("{} printed no handshake within {}{}", executable.display(), format_seconds(*limit), saying(reported.as_deref(), ""))]
    TimedOut {
        executable: PathBuf,
        limit: Duration,
        /// The process's output on standard error.
        reported: Option<String>,
    },
    /// The handshake is invalid or not supported.
    #[error("{} {problem}{}", executable.display(), saying(reported.as_deref(), ""))]
    Handshake {
        executable: PathBuf,
        problem: HandshakeError,
        /// The process's output on standard error.
        reported: Option<String>,
    },
    /// The plugin does not support TLS.
    #[error(
        "{} has no certificate, so the connection to it cannot be secured. If that is acceptable, \
         TF_DISABLE_PLUGIN_TLS=1 in the environment runs all native plugins without TLS",
        executable.display()
    )]
    NoCertificate { executable: PathBuf },
    /// The plugin does not respond at the address that it announced.
    #[error("{} does not respond at {address}: {reason}{}", executable.display(), saying(reported.as_deref(), ""))]
    Connect {
        executable: PathBuf,
        address: String,
        reason: String,
        /// The process's output on standard error.
        reported: Option<String>,
    },
    /// A plugin that was started externally does not respond.
    #[error(
        "no plugin responds at {address}, the address in TF_REATTACH_PROVIDERS: {reason}. Is it still \
         running?"
    )]
    Reattach { address: String, reason: String },
    /// The plugin was closed, so no new process is started.
    #[error("it is already closed")]
    Closed,
}

fn saying(reported: Option<&str>, found: &str) -> String {
    let found = if found.is_empty() { String::new() } else { format!("; {found}") };
    match reported {
        Some(reported) => format!("{found}. Its output:\n{reported}"),
        None => found,
    }
}

/// Starts the plugin and connects to it.
pub(crate) async fn launch(
    package: &NativePackage,
    spawner: &Arc<Spawner>,
    limit: Duration,
    offer: Offer,
) -> Result<Process, LaunchError> {
    let deadline = Instant::now() + limit;
    // The real path, since a confined process with write access to the parent could later replace it.
    let parent = package.socket_directory.canonicalize();
    let sockets = parent.and_then(|parent| tempfile::Builder::new().prefix("wardian-").tempdir_in(parent));
    let sockets = sockets
        .map_err(|source| LaunchError::SocketDirectory { path: package.socket_directory.clone(), source })?;
    let identity = match package.security {
        Security::MutualTls => Some(Identity::new()?),
        Security::Plain => None,
    };
    let calls = Arc::<CallsInFlight>::default();
    let mut started = spawn(package, spawner, &sockets, identity.as_ref(), offer, &calls).await?;
    let (stdout, stderr) = (started.child.stdout.take(), started.child.stderr.take());
    let source =
        StderrSource { plugin: Arc::clone(&package.name), secrets: RecentSensitiveValues::default() };
    let words = CrashOutput::default();
    let own = sockets.path().to_owned();
    let cpu_limit = package.confinement.as_ref().and_then(|confinement| confinement.max_cpu_time);
    let cpu_limit = cpu_limit.map(|limit| CpuLimit { limit, calls: Arc::clone(&calls) });
    let running =
        Running::watch(started, stderr, source.clone(), words, Arc::clone(spawner), sockets, cpu_limit);
    let mut stdout = stdout.map(BufReader::new);
    match connect(package, &running, &own, identity.as_ref(), &mut stdout, deadline, limit).await {
        Ok((handshake, transport)) => {
            if let Some(stdout) = stdout {
                tokio::spawn(drain(stdout));
            }
            Ok(Process::new(source, handshake.version, transport, Owner::Us(running), calls))
        }
        Err(error) => {
            running.kill_and_wait().await;
            Err(error.into_launch_error(package, &running, limit))
        }
    }
}

/// Connects to a plugin that was started externally.
pub(crate) async fn attach(
    name: &Arc<str>,
    reattachment: &Reattachment,
    limit: Duration,
) -> Result<Process, LaunchError> {
    let failed =
        |reason: String| Err(LaunchError::Reattach { address: reattachment.address.to_string(), reason });
    let connecting = async {
        let stream = reach(&reattachment.address).await.map_err(|error| error.to_string())?;
        Http2Connection::begin(stream).await.map_err(|error| error.to_string())
    };
    match tokio::time::timeout(limit, connecting).await {
        Ok(Ok(transport)) => {
            tracing::debug!(
                target: "wardian::plugin",
                plugin = &**name,
                address = %reattachment.address,
                "connected to a running native plugin"
            );
            let source = StderrSource { plugin: Arc::clone(name), secrets: RecentSensitiveValues::default() };
            let calls = Arc::default();
            Ok(Process::new(source, reattachment.version, transport, Owner::SomebodyElse, calls))
        }
        Ok(Err(reason)) => failed(reason),
        Err(_) => failed(format!("no connection within {}", format_seconds(limit))),
    }
}

/// A failure to which the output of the process has not been added yet.
enum Problem {
    NoLine,
    TimedOut,
    Handshake(HandshakeError),
    NoCertificate,
    Connect { address: String, reason: String },
}

impl Problem {
    fn into_launch_error(self, package: &NativePackage, running: &Running, limit: Duration) -> LaunchError {
        let executable = package.executable.clone();
        let reported = running.crash_output();
        match self {
            // This query must precede the kill, since it returns whether the process exited on its
            // own.
            Self::NoLine => match running.own_end() {
                Some(how) => {
                    LaunchError::Ended { found: executable::describe(&executable), executable, how, reported }
                }
                None => LaunchError::Silent { executable, reported },
            },
            Self::TimedOut => LaunchError::TimedOut { executable, limit, reported },
            Self::Handshake(problem) => LaunchError::Handshake { executable, problem, reported },
            Self::NoCertificate => LaunchError::NoCertificate { executable },
            Self::Connect { address, reason } => {
                LaunchError::Connect { executable, address, reason, reported }
            }
        }
    }
}

async fn spawn(
    package: &NativePackage,
    spawner: &Spawner,
    sockets: &TempDir,
    identity: Option<&Identity>,
    offer: Offer,
    calls: &Arc<CallsInFlight>,
) -> Result<StartedProcess, LaunchError> {
    if let Some(found) = executable::foreign(&package.executable) {
        let (executable, source) = (package.executable.clone(), rustix::io::Errno::NOEXEC.into());
        return Err(LaunchError::Spawn { executable, source, found });
    }
    let mut attempt = 0;
    loop {
        attempt += 1;
        let command = command(package, sockets, identity, offer);
        let started = match confinement(package, sockets, calls)? {
            Some(confinement) => confinement.spawn(command, spawner).await.map(StartedProcess::from),
            None => spawner.spawn(command).await.map(StartedProcess::from),
        };
        match started {
            Ok(child) => return Ok(child),
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy && attempt < BUSY_ATTEMPTS => {
                tokio::time::sleep(BUSY_PAUSE).await;
            }
            Err(source) => {
                let executable = package.executable.clone();
                return Err(LaunchError::Spawn {
                    found: executable::describe(&executable),
                    executable,
                    source,
                });
            }
        }
    }
}

/// Returns the confinement of a process; `None` if it does not have to be confined.
fn confinement(
    package: &NativePackage,
    sockets: &TempDir,
    calls: &Arc<CallsInFlight>,
) -> Result<Option<PreparedConfinement>, LaunchError> {
    let Some(granted) = &package.confinement else { return Ok(None) };
    let is_supervised = granted.supervisor.is_some();
    let executable = &package.executable;
    let rules = sandbox_exec::with_necessities(&granted.rules, is_supervised, executable, sockets.path());
    let supervision = granted.supervisor.as_ref().map(|supervisor| SupervisorOptions {
        authority: supervisor.authority(Arc::clone(calls)),
        resolver: supervisor.resolver(),
        proxies: supervisor.proxies(),
        own_directory: sockets.path().to_owned(),
        max_connections: granted.max_connections,
        programs: supervisor.programs(package),
    });
    let unconfined =
        |problem: ConfinementError| LaunchError::Unconfined { executable: executable.clone(), problem };
    let role = match &granted.namespaces {
        ProcessNamespaces::Shared => None,
        ProcessNamespaces::Additional => Some(NamespaceRole::Additional),
        ProcessNamespaces::Alone { ports } => Some(NamespaceRole::Alone {
            ports: ports.clone(),
            working_directory: package.working_directory.clone(),
        }),
    };
    let namespaces = match (role, &granted.supervisor) {
        (Some(role), Some(supervisor)) => {
            let views = supervisor.views();
            let views = views.map_err(|error| unconfined(ConfinementError::Namespaces(error)))?;
            Some(NamespaceOptions { views, role })
        }
        _ => None,
    };
    let confinement = Confinement {
        rules,
        supervision,
        namespaces,
        max_memory: granted.max_memory,
        max_file_size: granted.max_file_size,
    };
    confinement.prepare().map(Some).map_err(unconfined)
}

fn command(package: &NativePackage, sockets: &TempDir, identity: Option<&Identity>, offer: Offer) -> Command {
    let mut command = Command::new(&package.executable);
    command
        .env_clear()
        .envs(package.environment.iter().map(|(name, value)| (name, value)))
        .env(MAGIC_COOKIE.0, MAGIC_COOKIE.1)
        .env("PLUGIN_PROTOCOL_VERSIONS", offer.versions())
        .env("PLUGIN_MIN_PORT", "10000")
        .env("PLUGIN_MAX_PORT", "25000")
        .env("PLUGIN_UNIX_SOCKET_DIR", sockets.path())
        .current_dir(&package.working_directory)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if let Some(confinement) = &package.confinement {
        command.env("TMPDIR", sockets.path());
        if confinement.supervisor.is_some() {
            // The C library checks the origin of datagrams, but not that of a stream.
            command.env("RES_OPTIONS", "use-vc");
        }
        if let Some(most) = confinement.max_memory {
            // Go programs collect garbage before they reach the limit of the kernel.
            command.env("GOMEMLIMIT", (most / 10 * 9).to_string());
        }
    }
    if let Some(identity) = identity {
        command.env("PLUGIN_CLIENT_CERT", &identity.pem);
    }
    command
}

async fn connect(
    package: &NativePackage,
    running: &Running,
    sockets: &Path,
    identity: Option<&Identity>,
    stdout: &mut Option<BufReader<ChildStdout>>,
    deadline: Instant,
    limit: Duration,
) -> Result<(Handshake, Http2Connection), Problem> {
    let Some(stdout) = stdout else { return Err(Problem::NoLine) };
    let line = match timeout_at(deadline, first_line(stdout)).await {
        Err(_) => return Err(Problem::TimedOut),
        Ok(None) => {
            running.wait_for_end(EXIT_PATIENCE).await;
            return Err(Problem::NoLine);
        }
        Ok(Some(line)) => line,
    };
    let handshake = Handshake::parse(&line).map_err(Problem::Handshake)?;
    let unreachable = |reason: String| Problem::Connect { address: handshake.address.to_string(), reason };
    let connecting = async {
        let stream = if package.is_supervised() {
            reach_supervised(&handshake.address, sockets).await
        } else {
            reach(&handshake.address).await
        };
        let stream = stream.map_err(|error| unreachable(error.to_string()))?;
        let stream: Box<dyn Bidirectional> = match (identity, &handshake.certificate) {
            (None, _) => stream,
            (Some(_), None) => return Err(Problem::NoCertificate),
            (Some(identity), Some(certificate)) => {
                let secured = identity.connect(stream, certificate.clone()).await;
                Box::new(secured.map_err(|error| unreachable(tls::describe_error(&error)))?)
            }
        };
        Http2Connection::begin(stream).await.map_err(|error| unreachable(error.to_string()))
    };
    let transport = match timeout_at(deadline, connecting).await {
        Ok(transport) => transport?,
        Err(_) => return Err(unreachable(format!("no connection within {}", format_seconds(limit)))),
    };
    tracing::debug!(
        target: "wardian::plugin",
        plugin = &*package.name,
        address = %handshake.address,
        version = ?handshake.version,
        "started a native plugin"
    );
    Ok((handshake, transport))
}

async fn reach(address: &PluginAddress) -> io::Result<Box<dyn Bidirectional>> {
    Ok(match address {
        PluginAddress::Unix(path) => Box::new(UnixStream::connect(path).await?),
        PluginAddress::Tcp(address) => {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            Box::new(stream)
        }
    })
}

/// Connects to a supervised process, whose own connections are checked: it must not make the host connect
/// to another program.
async fn reach_supervised(address: &PluginAddress, own: &Path) -> io::Result<Box<dyn Bidirectional>> {
    let other =
        || io::Error::new(io::ErrorKind::PermissionDenied, "it is not a socket in the plugin's directory");
    let PluginAddress::Unix(path) = address else { return Err(other()) };
    Ok(Box::new(connect_within(path, own).await?.ok_or_else(other)?))
}

/// Reads the first line, up to the maximum length of a handshake; `None` if there is no line.
async fn first_line(stdout: &mut (impl AsyncBufRead + Unpin)) -> Option<String> {
    let mut line = Vec::new();
    let read = stdout.take(MAX_HANDSHAKE_LENGTH).read_until(b'\n', &mut line).await;
    match read {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(String::from_utf8_lossy(&line).into_owned()),
    }
}

/// Discards the remaining output, since a full pipe would block the plugin.
async fn drain(mut stdout: BufReader<ChildStdout>) {
    // The plugin's regular output is received over the connection, so this output is discarded.
    let _ = tokio::io::copy(&mut stdout, &mut tokio::io::sink()).await;
}
