//! The connection that all provisioners of a resource share.

use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::{Instant, sleep, timeout_at};
use wardian_access::{ConnectProgress, ConnectionAuthority, FinishedConnection};
use wardian_network::{Resolver, SystemResolver};
use wardian_process::CommandEvent;

use crate::dial::Dialer;
use crate::error::{CommunicatorError, ConnectionPhase};
use crate::settings::{ConnectionMethod, ConnectionSettings, TargetPlatform, endpoint};
use crate::source::Source;
use crate::ssh::{Session as SshSession, SshCommand, Streams, transfer};
use crate::stream::ByteCounts;
use crate::winrm::{self, Machine, WinRmCommand};

/// Pause after the first failed connection attempt; it doubles after each additional failure, up to
/// the maximum.
const INITIAL_PAUSE: Duration = Duration::from_millis(500);
const MAX_PAUSE: Duration = Duration::from_secs(20);

/// The services and parameters that a connection needs in addition to its settings.
pub struct ConnectionContext {
    pub authority: Arc<dyn ConnectionAuthority>,
    pub resolver: Arc<dyn Resolver>,
    /// Socket of an SSH agent, if there is one.
    pub agent: Option<PathBuf>,
    /// Idle time after which a keep-alive message is sent. After six messages without a response,
    /// the connection is considered lost.
    pub keep_alive: Duration,
}

impl ConnectionContext {
    pub fn new(authority: Arc<dyn ConnectionAuthority>) -> Self {
        Self {
            authority,
            resolver: Arc::new(SystemResolver),
            agent: None,
            keep_alive: Duration::from_secs(10),
        }
    }
}

/// A connection to a remote machine. It is opened on first use, and reopened if it was lost
/// between two uses.
pub struct RemoteConnection {
    shared: Arc<Shared>,
    /// Authorizes accesses over the connection for this user.
    authority: Arc<dyn ConnectionAuthority>,
    used: Mutex<Option<Arc<ConnectionUse>>>,
}

/// The state that all users of a connection share.
struct Shared {
    settings: ConnectionSettings,
    context: ConnectionContext,
    open: Mutex<Option<Arc<OpenConnection>>>,
}

struct OpenConnection {
    peer: Session,
    dialer: Arc<Dialer>,
}

/// An open connection, as held by one user. The end of the access is reported when the last holder
/// drops it.
struct ConnectionUse {
    _record: UseRecord,
    open: Arc<OpenConnection>,
}

/// The session, by protocol.
#[derive(Clone)]
enum Session {
    Ssh(Arc<SshSession>),
    WinRm(Arc<Machine>),
}

impl Session {
    fn is_closed(&self) -> bool {
        match self {
            Self::Ssh(session) => session.is_closed(),
            Self::WinRm(machine) => machine.is_closed(),
        }
    }

    async fn close(&self) {
        match self {
            Self::Ssh(session) => session.close().await,
            Self::WinRm(machine) => machine.close().await,
        }
    }
}

/// Deletes the WinRM shell explicitly, since a shell outlives its connection.
impl Drop for OpenConnection {
    fn drop(&mut self) {
        if let Session::WinRm(machine) = &self.peer
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let machine = Arc::clone(machine);
            runtime.spawn(async move { machine.close().await });
        }
    }
}

struct UseRecord {
    authority: Arc<dyn ConnectionAuthority>,
    counts: Arc<ByteCounts>,
    /// Bytes that earlier users sent and received.
    before: [u64; 2],
    ended: FinishedConnection,
    began: Instant,
}

impl UseRecord {
    fn begin(
        settings: &ConnectionSettings,
        authority: &Arc<dyn ConnectionAuthority>,
        dialer: &Dialer,
    ) -> Self {
        Self {
            authority: Arc::clone(authority),
            before: load_counts(&dialer.counts),
            counts: Arc::clone(&dialer.counts),
            ended: FinishedConnection {
                host: settings.host().to_owned(),
                port: settings.port(),
                address: dialer.connected_address(),
                sent: 0,
                received: 0,
                duration: Duration::ZERO,
            },
            began: Instant::now(),
        }
    }
}

fn load_counts(counts: &ByteCounts) -> [u64; 2] {
    [&counts.sent, &counts.received].map(|count| count.load(Ordering::Relaxed))
}

impl Drop for UseRecord {
    fn drop(&mut self) {
        let ([sent, received], [sent_before, received_before]) = (load_counts(&self.counts), self.before);
        self.ended.sent = sent.saturating_sub(sent_before);
        self.ended.received = received.saturating_sub(received_before);
        self.ended.duration = self.began.elapsed();
        self.authority.finished(&self.ended);
    }
}

/// A command that runs on the remote machine. Dropping it cancels the command.
///
/// If the output is not read, the remote machine's writes block. With SSH, all other operations
/// over the same connection block as well. Therefore, read a command's output to its end, or drop
/// the command, before you start the next command.
pub struct RunningCommand {
    command: Command,
    /// Keeps the connection open.
    _used: Arc<ConnectionUse>,
}

enum Command {
    Ssh(SshCommand),
    WinRm(WinRmCommand),
}

impl RunningCommand {
    /// Waits for the next event; returns `None` after the last event. Cancel safe.
    ///
    /// # Errors
    /// Returns an error if the connection is lost. The command's exit status is then unknown.
    pub async fn next_event(&mut self) -> Result<Option<CommandEvent>, CommunicatorError> {
        match &mut self.command {
            Command::Ssh(command) => command.next_event().await,
            Command::WinRm(command) => command.next_event().await,
        }
    }
}

type SessionFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, CommunicatorError>> + Send + 'a>>;

impl RemoteConnection {
    /// Creates a connection without opening it.
    pub fn new(settings: ConnectionSettings, context: ConnectionContext) -> Self {
        let authority = Arc::clone(&context.authority);
        let shared = Arc::new(Shared { settings, context, open: Mutex::new(None) });
        Self { shared, authority, used: Mutex::new(None) }
    }

    /// Returns the same connection for another user. `authority` must allow every machine on the
    /// route before an open connection is reused.
    #[must_use]
    pub fn on_behalf_of(&self, authority: Arc<dyn ConnectionAuthority>) -> Self {
        Self { shared: Arc::clone(&self.shared), authority, used: Mutex::new(None) }
    }

    /// Opens the connection unless it is already open.
    ///
    /// # Errors
    /// Returns an error if the connection is not allowed, or cannot be opened within the timeout.
    pub async fn connect(&self) -> Result<(), CommunicatorError> {
        self.connection_use().await.map(|_| ())
    }

    pub fn platform(&self) -> TargetPlatform {
        self.shared.settings.platform
    }

    /// Returns the remote path for a script: a new path for each call, unless `script_path`
    /// specifies a fixed path.
    pub fn script_path(&self) -> String {
        self.shared.settings.new_script_path()
    }

    pub fn settings(&self) -> &ConnectionSettings {
        &self.shared.settings
    }

    /// Starts a command in the machine's shell.
    ///
    /// # Errors
    /// Returns an error if there is no connection, or the machine does not start the command.
    pub async fn execute(&self, command: &str) -> Result<RunningCommand, CommunicatorError> {
        let streams = Streams::for_platform(self.shared.settings.platform);
        let starting = self.with_session(|peer| {
            Box::pin(async move {
                Ok(match peer {
                    Session::Ssh(session) => {
                        Command::Ssh(SshCommand::start(session, command, streams).await?)
                    }
                    Session::WinRm(machine) => Command::WinRm(WinRmCommand::start(machine, command).await?),
                })
            })
        });
        let (used, command) = starting.await?;
        Ok(RunningCommand { command, _used: used })
    }

    /// Writes a file on the machine. A new file gets `mode`, or 0644 by default, reduced by the
    /// machine's umask; an existing file keeps its mode. Windows ignores the mode.
    ///
    /// # Errors
    /// Returns an error if there is no connection, or the machine does not write the file.
    pub async fn upload(
        &self,
        path: &str,
        content: Vec<u8>,
        mode: Option<u32>,
    ) -> Result<(), CommunicatorError> {
        let (platform, content) = (self.shared.settings.platform, bytes::Bytes::from(content));
        let uploading = self.with_session(|peer| {
            let content = content.clone();
            Box::pin(async move {
                match peer {
                    Session::Ssh(session) => {
                        transfer::upload_content(session, platform, path, content, mode).await
                    }
                    Session::WinRm(machine) => winrm::upload::upload_content(machine, path, content).await,
                }
            })
        });
        uploading.await.map(|_| ())
    }

    /// Copies a local file or directory to the machine. A file is written to the path
    /// `destination`. A directory is copied into the existing directory `destination`; if `source`
    /// ends with a slash, only the contents of the directory are copied. WinRM always copies the
    /// contents, and creates `destination`.
    ///
    /// # Errors
    /// Returns an error if there is no connection, a local file cannot be read, or a remote file
    /// cannot be written. Files that were written before the error remain.
    pub async fn upload_path(&self, source: &str, destination: &str) -> Result<(), CommunicatorError> {
        let plan = Source::open(Path::new(source), source.ends_with('/'), &self.authority).await?;
        let platform = self.shared.settings.platform;
        let plan = &plan;
        let uploading = self.with_session(|peer| {
            Box::pin(async move {
                match peer {
                    Session::Ssh(session) => {
                        transfer::upload_source(session, platform, plan, destination).await
                    }
                    Session::WinRm(machine) => winrm::upload::upload_source(machine, plan, destination).await,
                }
            })
        });
        uploading.await.map(|_| ())
    }

    /// Closes the connection for all its users. The next operation opens it again.
    pub async fn close(&self) {
        self.used.lock().await.take();
        let open = self.shared.open.lock().await.take();
        if let Some(open) = open {
            open.peer.close().await;
        }
    }

    /// Runs an action with the session. If the connection was lost before the action had any
    /// effect, the action is retried with a new session.
    async fn with_session<'a, T>(
        &self,
        mut action: impl FnMut(Session) -> SessionFuture<'a, T>,
    ) -> Result<(Arc<ConnectionUse>, T), CommunicatorError> {
        let (used, is_new) = self.connection_use().await?;
        match action(used.open.peer.clone()).await {
            Ok(done) => Ok((used, done)),
            Err(CommunicatorError::Lost { phase: ConnectionPhase::Starting, .. }) if !is_new => {
                self.shared.open.lock().await.take();
                let (used, _) = self.connection_use().await?;
                let done = action(used.open.peer.clone()).await?;
                Ok((used, done))
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the open connection, and whether it was opened by this call.
    async fn connection_use(&self) -> Result<(Arc<ConnectionUse>, bool), CommunicatorError> {
        let mut open = self.shared.open.lock().await;
        let mut used = self.used.lock().await;
        let there = open.clone().filter(|open| !open.peer.is_closed());
        if let (Some(used), Some(there)) = (&*used, &there)
            && Arc::ptr_eq(&used.open, there)
        {
            return Ok((Arc::clone(used), false));
        }
        *used = None;
        let (next, is_new) = if let Some(there) = there {
            there.dialer.change_authority(&self.shared.settings, &self.authority)?;
            let record = UseRecord::begin(&self.shared.settings, &self.authority, &there.dialer);
            (ConnectionUse { _record: record, open: there }, false)
        } else {
            *open = None;
            let next = self.open_in_time().await?;
            *open = Some(Arc::clone(&next.open));
            (next, true)
        };
        let next = Arc::new(next);
        *used = Some(Arc::clone(&next));
        Ok((next, is_new))
    }

    /// Opens the connection, with retries until the timeout. A new machine accepts connections only
    /// after it has booted, and creates its users even later.
    async fn open_in_time(&self) -> Result<ConnectionUse, CommunicatorError> {
        let Shared { settings, context, .. } = &*self.shared;
        let (limit, host, port) = (settings.timeout, settings.host(), settings.port());
        let authority = &self.authority;
        let dialer = Arc::new(Dialer::new(authority, &context.resolver));
        let mut record = UseRecord::begin(settings, authority, &dialer);
        let began = record.began;
        let deadline = began.checked_add(limit);
        let (mut failed, mut pause, mut attempt) = (None::<CommunicatorError>, INITIAL_PAUSE, 0);
        loop {
            attempt += 1;
            let reason = failed.as_ref().map(ToString::to_string);
            authority.report_progress(&ConnectProgress::Connecting { attempt, failed: reason.as_deref() });
            let opening = self.open_once(&dialer);
            let opened = match deadline {
                Some(deadline) => timeout_at(deadline, opening).await,
                None => Ok(opening.await),
            };
            match opened {
                Ok(Ok(peer)) => {
                    record.ended.address = dialer.connected_address();
                    authority.report_progress(&ConnectProgress::Connected);
                    return Ok(ConnectionUse {
                        _record: record,
                        open: Arc::new(OpenConnection { peer, dialer }),
                    });
                }
                Ok(Err(error)) if error.is_final() => return Err(error),
                Ok(Err(error)) => failed = Some(error),
                Err(_) => {}
            }
            let left = deadline.map_or(Duration::MAX, |deadline| deadline - Instant::now());
            if left <= pause {
                return Err(CommunicatorError::TimedOut {
                    endpoint: endpoint(host, port),
                    limit,
                    last_failure: failed.map(Box::new),
                });
            }
            sleep(pause).await;
            pause = (pause * 2).min(MAX_PAUSE);
        }
    }

    async fn open_once(&self, dialer: &Arc<Dialer>) -> Result<Session, CommunicatorError> {
        match &self.shared.settings.method {
            ConnectionMethod::Ssh(ssh) => {
                let ConnectionContext { agent, keep_alive, .. } = &self.shared.context;
                let session = SshSession::open(ssh, dialer, agent.as_deref(), *keep_alive).await?;
                Ok(Session::Ssh(Arc::new(session)))
            }
            ConnectionMethod::WinRm(winrm) => {
                Ok(Session::WinRm(Arc::new(Machine::open(winrm, Arc::clone(dialer)).await?)))
            }
        }
    }
}
