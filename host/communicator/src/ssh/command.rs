//! Commands over SSH.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use russh::{ChannelMsg, ChannelReadHalf, ChannelWriteHalf, Pty, Sig, client};
use tokio::time::timeout;
use wardian_access::ExitStatus;
use wardian_process::CommandEvent;

use super::session::Session;
use crate::error::{CommunicatorError, ConnectionPhase};
use crate::settings::TargetPlatform;
use wardian_process::LineBuffer;

/// Time limit for starting a command.
const START_TIMEOUT: Duration = Duration::from_mins(1);
/// After a command has exited, its output is considered complete if nothing is received for this
/// period, even if a process started by the command still holds the output open.
const QUIET_PERIOD: Duration = Duration::from_secs(1);
/// The terminal of a command on Unix, with the usual size.
const TERMINAL: (&str, u32, u32) = ("xterm", 80, 24);

/// The way in which a command's input and output are connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Streams {
    /// A terminal: the command is terminated when the connection ends, and programs that require a
    /// terminal work. Output is a single stream and is transferred unchanged.
    Terminal,
    Pipes,
}

impl Streams {
    pub(crate) fn for_platform(platform: TargetPlatform) -> Self {
        match platform {
            TargetPlatform::Unix => Self::Terminal,
            TargetPlatform::Windows => Self::Pipes,
        }
    }
}

/// A running command. Dropping it cancels it: its channel is closed, and the machine then
/// terminates a command with a terminal.
pub(crate) struct SshCommand {
    session: Arc<Session>,
    reading: ChannelReadHalf,
    pub(crate) writing: Arc<ChannelWriteHalf<client::Msg>>,
    stdout: LineBuffer,
    stderr: LineBuffer,
    waiting: VecDeque<CommandEvent>,
    status: Option<ExitStatus>,
    is_over: bool,
    is_closed: bool,
}

impl SshCommand {
    /// Starts a command in the machine's shell.
    pub(crate) async fn start(
        session: Arc<Session>,
        command: &str,
        streams: Streams,
    ) -> Result<Self, CommunicatorError> {
        let channel = session.channel().await?;
        let (reading, writing) = channel.split();
        if streams == Streams::Terminal {
            let (name, columns, rows) = TERMINAL;
            // Disables echo and output processing.
            let modes = [(Pty::ECHO, 0), (Pty::OPOST, 0)];
            // A server that does not support terminals runs the command without one.
            let asked = writing.request_pty(false, name, columns, rows, 0, 0, &modes).await;
            asked.map_err(|_| session.lost(ConnectionPhase::Starting))?;
        }
        let asked = writing.exec(true, command).await;
        asked.map_err(|_| session.lost(ConnectionPhase::Starting))?;
        let mut command = Self {
            session,
            reading,
            writing: Arc::new(writing),
            stdout: LineBuffer::default(),
            stderr: LineBuffer::default(),
            waiting: VecDeque::new(),
            status: None,
            is_over: false,
            is_closed: false,
        };
        match timeout(START_TIMEOUT, command.wait_for_start()).await {
            Ok(started) => started.map(|()| command),
            Err(_) => Err(CommunicatorError::Silent(command.session.endpoint().to_owned())),
        }
    }

    async fn wait_for_start(&mut self) -> Result<(), CommunicatorError> {
        loop {
            match self.reading.wait().await {
                Some(ChannelMsg::Success) => return Ok(()),
                Some(ChannelMsg::Failure) => {
                    return Err(CommunicatorError::Start {
                        endpoint: self.session.endpoint().to_owned(),
                        reason: "it does not run commands for this user".into(),
                    });
                }
                None => return Err(self.session.lost(ConnectionPhase::Starting)),
                Some(message) => self.take(message),
            }
        }
    }

    /// Returns the next event; `None` after the last event. Cancel safe.
    pub(crate) async fn next_event(&mut self) -> Result<Option<CommandEvent>, CommunicatorError> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Ok(Some(event));
            }
            if self.is_over {
                return Ok(None);
            }
            let message = if self.status.is_some() {
                // A process that the command started may hold the output open forever.
                timeout(QUIET_PERIOD, self.reading.wait()).await
            } else {
                Ok(self.reading.wait().await)
            };
            match message {
                Ok(Some(message)) => self.take(message),
                Ok(None) => {
                    self.is_closed = true;
                    self.finish_output()?;
                }
                Err(_) => self.finish_output()?,
            }
        }
    }

    fn take(&mut self, message: ChannelMsg) {
        match message {
            ChannelMsg::Data { data } => {
                self.waiting.extend(self.stdout.push(&data).map(CommandEvent::Stdout));
            }
            ChannelMsg::ExtendedData { data, ext: 1 } => {
                self.waiting.extend(self.stderr.push(&data).map(CommandEvent::Stderr));
            }
            ChannelMsg::ExitStatus { exit_status } => {
                self.status = Some(ExitStatus::Code(exit_status.cast_signed()));
            }
            ChannelMsg::ExitSignal { signal_name, .. } => {
                self.status = Some(ExitStatus::Signal(signal_number(&signal_name)));
            }
            _ => {}
        }
    }

    /// Queues the remaining output and the exit status, or reports a lost connection.
    fn finish_output(&mut self) -> Result<(), CommunicatorError> {
        self.is_over = true;
        self.waiting.extend(self.stdout.finish().map(CommandEvent::Stdout));
        self.waiting.extend(self.stderr.finish().map(CommandEvent::Stderr));
        match self.status {
            Some(status) => {
                self.waiting.push_back(CommandEvent::Exited(status));
                Ok(())
            }
            None if self.waiting.is_empty() => Err(self.session.lost(ConnectionPhase::Running)),
            None => {
                // The remaining output is returned before the end.
                self.is_over = false;
                Ok(())
            }
        }
    }
}

fn signal_number(signal: &Sig) -> i32 {
    match signal {
        Sig::HUP => 1,
        Sig::INT => 2,
        Sig::QUIT => 3,
        Sig::ILL => 4,
        Sig::ABRT => 6,
        Sig::FPE => 8,
        Sig::KILL => 9,
        Sig::USR1 => 10,
        Sig::SEGV => 11,
        Sig::PIPE => 13,
        Sig::ALRM => 14,
        Sig::TERM => 15,
        Sig::Custom(_) => 0,
    }
}

impl Drop for SshCommand {
    fn drop(&mut self) {
        if self.is_closed {
            return;
        }
        // If the runtime no longer exists, the connection is closed as well.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let writing = Arc::clone(&self.writing);
            let is_running = self.status.is_none();
            runtime.spawn(async move {
                if is_running {
                    // Not every SSH server supports signals, so the channel is also closed.
                    let _ = writing.signal(Sig::KILL).await;
                }
                let _ = writing.close().await;
            });
        }
    }
}
