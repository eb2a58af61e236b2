//! The one connection that all provisioners of a resource share.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex as SyncMutex, PoisonError};
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::{Instant, sleep, timeout_at};
use wardian_network::{Resolver, SystemResolver};
use wardian_process::Event;

use crate::authority::{Authority, Ended, Progress};
use crate::dial::Dialer;
use crate::error::{CommunicatorError, Doing};
use crate::settings::{ConnectionSettings, Method, TargetPlatform, place};
use crate::source::Source;
use crate::ssh::{Session, SshCommand, Streams, transfer};
use crate::stream::Counts;
use crate::winrm::{self, Machine, WinRmCommand};

/// How long it is waited before the next attempt: at first, and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(20);

/// What a connection is made with, besides its settings.
pub struct Surroundings {
    /// Who decides.
    pub authority: Arc<dyn Authority>,
    /// Who looks names up.
    pub resolver: Arc<dyn Resolver>,
    /// The socket of an SSH agent, if there is one.
    pub agent: Option<PathBuf>,
    /// After how long a silence the machine is asked whether it is still there. After
    /// six questions without an answer the connection is lost.
    pub keep_alive: Duration,
}

impl Surroundings {
    /// The system's names, no agent.
    pub fn new(authority: Arc<dyn Authority>) -> Self {
        Self {
            authority,
            resolver: Arc::new(SystemResolver),
            agent: None,
            keep_alive: Duration::from_secs(10),
        }
    }
}

/// The connection with a machine. It is opened at the first use, and again where it was
/// lost between two uses.
pub struct Connection {
    settings: ConnectionSettings,
    surroundings: Surroundings,
    open: Mutex<Option<Arc<Open>>>,
}

/// An open connection; its end is told when the last one lets go of it.
struct Open {
    peer: Peer,
    _record: Record,
}

/// The machine, by the protocol that it is spoken with.
#[derive(Clone)]
enum Peer {
    Ssh(Arc<Session>),
    WinRm(Arc<Machine>),
}

impl Peer {
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

/// A shell outlives its connection on the machine, so somebody has to say that it is over.
impl Drop for Open {
    fn drop(&mut self) {
        if let Peer::WinRm(machine) = &self.peer
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let machine = Arc::clone(machine);
            runtime.spawn(async move { machine.close().await });
        }
    }
}

struct Record {
    authority: Arc<dyn Authority>,
    counts: Arc<Counts>,
    ended: Ended,
    began: Instant,
}

impl Drop for Record {
    fn drop(&mut self) {
        self.ended.sent = self.counts.sent.load(Ordering::Relaxed);
        self.ended.received = self.counts.received.load(Ordering::Relaxed);
        self.ended.duration = self.began.elapsed();
        self.authority.ended(&self.ended);
    }
}

/// A command that runs on the other machine. Dropping it gives it up.
///
/// Output that nobody takes makes the machine wait, and by SSH with it all else that goes
/// over the same connection: a command is read to its end, or dropped, before the next one.
pub struct RemoteCommand {
    command: Command,
    /// Its connection is there as long as it is.
    _open: Arc<Open>,
}

enum Command {
    Ssh(SshCommand),
    WinRm(WinRmCommand),
}

impl RemoteCommand {
    /// Waits for the next event; `None` after the last one. Nothing is lost where this
    /// is not waited for.
    ///
    /// # Errors
    /// Where the connection is lost: how the command ended is not known then.
    pub async fn next_event(&mut self) -> Result<Option<Event>, CommunicatorError> {
        match &mut self.command {
            Command::Ssh(command) => command.next_event().await,
            Command::WinRm(command) => command.next_event().await,
        }
    }
}

impl Connection {
    /// A connection that is not open yet.
    pub fn new(settings: ConnectionSettings, surroundings: Surroundings) -> Self {
        Self { settings, surroundings, open: Mutex::new(None) }
    }

    /// What kind of machine it is.
    pub fn platform(&self) -> TargetPlatform {
        self.settings.platform
    }

    /// Where to put a script on the machine: another place each time, unless
    /// `script_path` names one.
    pub fn script_path(&self) -> String {
        self.settings.new_script_path()
    }

    /// What the connection is made by.
    pub fn settings(&self) -> &ConnectionSettings {
        &self.settings
    }

    /// Starts a command through the machine's shell.
    ///
    /// # Errors
    /// Where there is no connection, or the machine does not start it.
    pub async fn execute(&self, command: &str) -> Result<RemoteCommand, CommunicatorError> {
        let streams = Streams::of(self.settings.platform);
        let starting = self.with(async |peer| {
            Ok(match peer {
                Peer::Ssh(session) => Command::Ssh(SshCommand::start(session, command, streams).await?),
                Peer::WinRm(machine) => Command::WinRm(WinRmCommand::start(machine, command).await?),
            })
        });
        let (open, command) = starting.await?;
        Ok(RemoteCommand { command, _open: open })
    }

    /// Writes a file on the machine. A new one has the mode, 0644 where none is said,
    /// less the machine's umask; one that is there keeps its own. Windows knows no modes.
    ///
    /// # Errors
    /// Where there is no connection, or the machine does not write it.
    pub async fn upload(
        &self,
        path: &str,
        content: Vec<u8>,
        mode: Option<u32>,
    ) -> Result<(), CommunicatorError> {
        let (platform, content) = (self.settings.platform, bytes::Bytes::from(content));
        let uploading = self.with(async |peer| match peer {
            Peer::Ssh(session) => transfer::content(session, platform, path, content.clone(), mode).await,
            Peer::WinRm(machine) => winrm::upload::content(machine, path, content.clone()).await,
        });
        uploading.await.map(|_| ())
    }

    /// Copies a file or a directory of this machine there. A file goes to the path
    /// `destination`. A directory goes into the directory `destination`, which is there:
    /// as one of its own name, and only what is in it where `source` ends with a slash. By
    /// WinRM it is always what is in it, and `destination` is made.
    ///
    /// # Errors
    /// Where there is no connection, something cannot be read here, or not be written
    /// there. What was written before stays.
    pub async fn upload_path(&self, source: &str, destination: &str) -> Result<(), CommunicatorError> {
        let plan = Source::open(Path::new(source), source.ends_with('/')).await?;
        let platform = self.settings.platform;
        let uploading = self.with(async |peer| match peer {
            Peer::Ssh(session) => transfer::source(session, platform, &plan, destination).await,
            Peer::WinRm(machine) => winrm::upload::source(machine, &plan, destination).await,
        });
        uploading.await.map(|_| ())
    }

    /// Says good-bye. The next use opens the connection again.
    pub async fn close(&self) {
        let open = self.open.lock().await.take();
        if let Some(open) = open {
            open.peer.close().await;
        }
    }

    /// Does something with the session. Where the connection turns out to have been lost
    /// before anything was begun, it is done again with a new one.
    async fn with<T>(
        &self,
        mut what: impl AsyncFnMut(Peer) -> Result<T, CommunicatorError>,
    ) -> Result<(Arc<Open>, T), CommunicatorError> {
        let (open, is_new) = self.opened().await?;
        match what(open.peer.clone()).await {
            Ok(done) => Ok((open, done)),
            Err(CommunicatorError::Lost { doing: Doing::Starting, .. }) if !is_new => {
                self.open.lock().await.take();
                let (open, _) = self.opened().await?;
                let done = what(open.peer.clone()).await?;
                Ok((open, done))
            }
            Err(error) => Err(error),
        }
    }

    /// The open connection, and whether it was opened just now.
    async fn opened(&self) -> Result<(Arc<Open>, bool), CommunicatorError> {
        let mut slot = self.open.lock().await;
        if let Some(open) = &*slot
            && !open.peer.is_closed()
        {
            return Ok((Arc::clone(open), false));
        }
        *slot = None;
        let open = Arc::new(self.open_in_time().await?);
        *slot = Some(Arc::clone(&open));
        Ok((open, true))
    }

    /// Tries until the time is over: a machine that was made a moment ago answers when it
    /// has started, and knows its users yet a little later.
    async fn open_in_time(&self) -> Result<Open, CommunicatorError> {
        let (began, limit) = (Instant::now(), self.settings.timeout);
        let (host, port) = (self.settings.host(), self.settings.port());
        let authority = &self.surroundings.authority;
        let dialer = Arc::new(Dialer {
            authority: Arc::clone(authority),
            resolver: Arc::clone(&self.surroundings.resolver),
            counts: Arc::default(),
            reached: SyncMutex::new(None),
        });
        let mut record = Record {
            authority: Arc::clone(authority),
            counts: Arc::clone(&dialer.counts),
            ended: Ended {
                host: host.to_owned(),
                port,
                address: None,
                sent: 0,
                received: 0,
                duration: Duration::ZERO,
            },
            began,
        };
        let deadline = began.checked_add(limit);
        let (mut failed, mut pause, mut attempt) = (None::<CommunicatorError>, FIRST_PAUSE, 0);
        loop {
            attempt += 1;
            let why = failed.as_ref().map(ToString::to_string);
            authority.progressed(&Progress::Connecting { attempt, failed: why.as_deref() });
            let opening = self.open_once(&dialer);
            let opened = match deadline {
                Some(deadline) => timeout_at(deadline, opening).await,
                None => Ok(opening.await),
            };
            match opened {
                Ok(Ok(peer)) => {
                    record.ended.address = *dialer.reached.lock().unwrap_or_else(PoisonError::into_inner);
                    authority.progressed(&Progress::Connected);
                    return Ok(Open { peer, _record: record });
                }
                Ok(Err(error)) if error.is_final() => return Err(error),
                Ok(Err(error)) => failed = Some(error),
                Err(_) => {}
            }
            let left = deadline.map_or(Duration::MAX, |deadline| deadline - Instant::now());
            if left <= pause {
                return Err(CommunicatorError::TimedOut {
                    place: place(host, port),
                    limit,
                    last_failure: failed.map(Box::new),
                });
            }
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    async fn open_once(&self, dialer: &Arc<Dialer>) -> Result<Peer, CommunicatorError> {
        match &self.settings.method {
            Method::Ssh(ssh) => {
                let Surroundings { agent, keep_alive, .. } = &self.surroundings;
                let session = Session::open(ssh, dialer, agent.as_deref(), *keep_alive).await?;
                Ok(Peer::Ssh(Arc::new(session)))
            }
            Method::WinRm(winrm) => {
                Ok(Peer::WinRm(Arc::new(Machine::open(winrm, Arc::clone(dialer)).await?)))
            }
        }
    }
}
