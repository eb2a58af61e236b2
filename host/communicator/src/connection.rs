//! The one connection that all provisioners of a resource share.

use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
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
    shared: Arc<Shared>,
    /// Who decides on this use of it.
    authority: Arc<dyn Authority>,
    used: Mutex<Option<Arc<Used>>>,
}

/// What all that use one connection share.
struct Shared {
    settings: ConnectionSettings,
    surroundings: Surroundings,
    open: Mutex<Option<Arc<Open>>>,
}

/// An open connection.
struct Open {
    peer: Peer,
    dialer: Arc<Dialer>,
}

/// An open connection as one of its users has it. The end of the use is told when the last
/// one lets go of this.
struct Used {
    _record: Record,
    open: Arc<Open>,
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
    /// What others had sent and received before.
    before: [u64; 2],
    ended: Ended,
    began: Instant,
}

impl Record {
    fn begin(settings: &ConnectionSettings, authority: &Arc<dyn Authority>, dialer: &Dialer) -> Self {
        Self {
            authority: Arc::clone(authority),
            before: counted(&dialer.counts),
            counts: Arc::clone(&dialer.counts),
            ended: Ended {
                host: settings.host().to_owned(),
                port: settings.port(),
                address: dialer.reached(),
                sent: 0,
                received: 0,
                duration: Duration::ZERO,
            },
            began: Instant::now(),
        }
    }
}

fn counted(counts: &Counts) -> [u64; 2] {
    [&counts.sent, &counts.received].map(|count| count.load(Ordering::Relaxed))
}

impl Drop for Record {
    fn drop(&mut self) {
        let ([sent, received], [sent_before, received_before]) = (counted(&self.counts), self.before);
        self.ended.sent = sent.saturating_sub(sent_before);
        self.ended.received = received.saturating_sub(received_before);
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
    _used: Arc<Used>,
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

/// What is done with a session.
type Doings<'a, T> = Pin<Box<dyn Future<Output = Result<T, CommunicatorError>> + Send + 'a>>;

impl Connection {
    /// A connection that is not open yet.
    pub fn new(settings: ConnectionSettings, surroundings: Surroundings) -> Self {
        let authority = Arc::clone(&surroundings.authority);
        let shared = Arc::new(Shared { settings, surroundings, open: Mutex::new(None) });
        Self { shared, authority, used: Mutex::new(None) }
    }

    /// The same connection, used by somebody else. They are asked for each machine on the
    /// way before they use what is open already.
    #[must_use]
    pub fn on_behalf_of(&self, authority: Arc<dyn Authority>) -> Self {
        Self { shared: Arc::clone(&self.shared), authority, used: Mutex::new(None) }
    }

    /// Opens the connection, if it is not.
    ///
    /// # Errors
    /// Where it may not be opened, or is not within its time.
    pub async fn connect(&self) -> Result<(), CommunicatorError> {
        self.used().await.map(|_| ())
    }

    /// What kind of machine it is.
    pub fn platform(&self) -> TargetPlatform {
        self.shared.settings.platform
    }

    /// Where to put a script on the machine: another place each time, unless
    /// `script_path` names one.
    pub fn script_path(&self) -> String {
        self.shared.settings.new_script_path()
    }

    /// What the connection is made by.
    pub fn settings(&self) -> &ConnectionSettings {
        &self.shared.settings
    }

    /// Starts a command through the machine's shell.
    ///
    /// # Errors
    /// Where there is no connection, or the machine does not start it.
    pub async fn execute(&self, command: &str) -> Result<RemoteCommand, CommunicatorError> {
        let streams = Streams::of(self.shared.settings.platform);
        let starting = self.with(|peer| {
            Box::pin(async move {
                Ok(match peer {
                    Peer::Ssh(session) => Command::Ssh(SshCommand::start(session, command, streams).await?),
                    Peer::WinRm(machine) => Command::WinRm(WinRmCommand::start(machine, command).await?),
                })
            })
        });
        let (used, command) = starting.await?;
        Ok(RemoteCommand { command, _used: used })
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
        let (platform, content) = (self.shared.settings.platform, bytes::Bytes::from(content));
        let uploading = self.with(|peer| {
            let content = content.clone();
            Box::pin(async move {
                match peer {
                    Peer::Ssh(session) => transfer::content(session, platform, path, content, mode).await,
                    Peer::WinRm(machine) => winrm::upload::content(machine, path, content).await,
                }
            })
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
        let plan = Source::open(Path::new(source), source.ends_with('/'), &self.authority).await?;
        let platform = self.shared.settings.platform;
        let plan = &plan;
        let uploading = self.with(|peer| {
            Box::pin(async move {
                match peer {
                    Peer::Ssh(session) => transfer::source(session, platform, plan, destination).await,
                    Peer::WinRm(machine) => winrm::upload::source(machine, plan, destination).await,
                }
            })
        });
        uploading.await.map(|_| ())
    }

    /// Says good-bye, for all that use it. The next use opens the connection again.
    pub async fn close(&self) {
        self.used.lock().await.take();
        let open = self.shared.open.lock().await.take();
        if let Some(open) = open {
            open.peer.close().await;
        }
    }

    /// Does something with the session. Where the connection turns out to have been lost
    /// before anything was begun, it is done again with a new one.
    async fn with<'a, T>(
        &self,
        mut what: impl FnMut(Peer) -> Doings<'a, T>,
    ) -> Result<(Arc<Used>, T), CommunicatorError> {
        let (used, is_new) = self.used().await?;
        match what(used.open.peer.clone()).await {
            Ok(done) => Ok((used, done)),
            Err(CommunicatorError::Lost { doing: Doing::Starting, .. }) if !is_new => {
                self.shared.open.lock().await.take();
                let (used, _) = self.used().await?;
                let done = what(used.open.peer.clone()).await?;
                Ok((used, done))
            }
            Err(error) => Err(error),
        }
    }

    /// The open connection, and whether it was opened just now.
    async fn used(&self) -> Result<(Arc<Used>, bool), CommunicatorError> {
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
            there.dialer.hand_over(&self.shared.settings, &self.authority)?;
            let record = Record::begin(&self.shared.settings, &self.authority, &there.dialer);
            (Used { _record: record, open: there }, false)
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

    /// Tries until the time is over: a machine that was made a moment ago answers when it
    /// has started, and knows its users yet a little later.
    async fn open_in_time(&self) -> Result<Used, CommunicatorError> {
        let Shared { settings, surroundings, .. } = &*self.shared;
        let (limit, host, port) = (settings.timeout, settings.host(), settings.port());
        let authority = &self.authority;
        let dialer = Arc::new(Dialer::new(authority, &surroundings.resolver));
        let mut record = Record::begin(settings, authority, &dialer);
        let began = record.began;
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
                    record.ended.address = dialer.reached();
                    authority.progressed(&Progress::Connected);
                    return Ok(Used { _record: record, open: Arc::new(Open { peer, dialer }) });
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
        match &self.shared.settings.method {
            Method::Ssh(ssh) => {
                let Surroundings { agent, keep_alive, .. } = &self.shared.surroundings;
                let session = Session::open(ssh, dialer, agent.as_deref(), *keep_alive).await?;
                Ok(Peer::Ssh(Arc::new(session)))
            }
            Method::WinRm(winrm) => {
                Ok(Peer::WinRm(Arc::new(Machine::open(winrm, Arc::clone(dialer)).await?)))
            }
        }
    }
}
