//! A command on the other machine.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use russh::{ChannelMsg, ChannelReadHalf, ChannelWriteHalf, Pty, Sig, client};
use tokio::time::timeout;
use wardian_process::{Event, ExitStatus};

use super::session::Session;
use crate::error::{CommunicatorError, Doing};
use crate::lines::Lines;
use crate::settings::TargetPlatform;

/// How long a machine may take to start a command.
const START: Duration = Duration::from_mins(1);
/// How long nothing must have come after a command's end, for its output to be complete
/// where something that it started still holds it.
const QUIET: Duration = Duration::from_secs(1);
/// The terminal that a command has on Unix. Its size is what everybody's is.
const TERMINAL: (&str, u32, u32) = ("xterm", 80, 24);

/// What a command's input and output are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Streams {
    /// A terminal: what runs there ends when the connection does, and programs that want
    /// one run. Output is one stream, and is not changed on its way.
    Terminal,
    /// Pipes.
    Pipes,
}

impl Streams {
    pub(crate) fn of(platform: TargetPlatform) -> Self {
        match platform {
            TargetPlatform::Unix => Self::Terminal,
            TargetPlatform::Windows => Self::Pipes,
        }
    }
}

/// A command that runs. Dropping it gives it up: its channel is closed, which ends what
/// has a terminal.
pub(crate) struct SshCommand {
    session: Arc<Session>,
    reading: ChannelReadHalf,
    pub(crate) writing: Arc<ChannelWriteHalf<client::Msg>>,
    stdout: Lines,
    stderr: Lines,
    waiting: VecDeque<Event>,
    status: Option<ExitStatus>,
    is_over: bool,
    is_closed: bool,
}

impl SshCommand {
    /// Starts a command through the machine's shell.
    pub(crate) async fn start(
        session: Arc<Session>,
        command: &str,
        streams: Streams,
    ) -> Result<Self, CommunicatorError> {
        let channel = session.channel().await?;
        let (reading, writing) = channel.split();
        if streams == Streams::Terminal {
            let (name, columns, rows) = TERMINAL;
            // No echo, and bytes as they are written.
            let modes = [(Pty::ECHO, 0), (Pty::OPOST, 0)];
            // A machine that has no terminals runs the command without.
            let asked = writing.request_pty(false, name, columns, rows, 0, 0, &modes).await;
            asked.map_err(|_| session.lost(Doing::Starting))?;
        }
        let asked = writing.exec(true, command).await;
        asked.map_err(|_| session.lost(Doing::Starting))?;
        let mut command = Self {
            session,
            reading,
            writing: Arc::new(writing),
            stdout: Lines::default(),
            stderr: Lines::default(),
            waiting: VecDeque::new(),
            status: None,
            is_over: false,
            is_closed: false,
        };
        match timeout(START, command.started()).await {
            Ok(started) => started.map(|()| command),
            Err(_) => Err(CommunicatorError::Silent(command.session.place().to_owned())),
        }
    }

    async fn started(&mut self) -> Result<(), CommunicatorError> {
        loop {
            match self.reading.wait().await {
                Some(ChannelMsg::Success) => return Ok(()),
                Some(ChannelMsg::Failure) => {
                    return Err(CommunicatorError::Start {
                        place: self.session.place().to_owned(),
                        reason: "it runs no commands for this user".into(),
                    });
                }
                None => return Err(self.session.lost(Doing::Starting)),
                Some(message) => self.take(message),
            }
        }
    }

    /// The next event; `None` after the last. Nothing is lost where this is not waited
    /// for.
    pub(crate) async fn next_event(&mut self) -> Result<Option<Event>, CommunicatorError> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Ok(Some(event));
            }
            if self.is_over {
                return Ok(None);
            }
            let message = if self.status.is_some() {
                // Something that it started may hold the output for ever.
                timeout(QUIET, self.reading.wait()).await
            } else {
                Ok(self.reading.wait().await)
            };
            match message {
                Ok(Some(message)) => self.take(message),
                Ok(None) => {
                    self.is_closed = true;
                    self.end()?;
                }
                Err(_) => self.end()?,
            }
        }
    }

    fn take(&mut self, message: ChannelMsg) {
        match message {
            ChannelMsg::Data { data } => self.waiting.extend(self.stdout.push(&data).map(Event::Stdout)),
            ChannelMsg::ExtendedData { data, ext: 1 } => {
                self.waiting.extend(self.stderr.push(&data).map(Event::Stderr));
            }
            ChannelMsg::ExitStatus { exit_status } => {
                self.status = Some(ExitStatus::Code(exit_status.cast_signed()));
            }
            ChannelMsg::ExitSignal { signal_name, .. } => {
                self.status = Some(ExitStatus::Signal(number(&signal_name)));
            }
            _ => {}
        }
    }

    /// The last words, and the end: that of the command, or that of the connection.
    fn end(&mut self) -> Result<(), CommunicatorError> {
        self.is_over = true;
        self.waiting.extend(self.stdout.finish().map(Event::Stdout));
        self.waiting.extend(self.stderr.finish().map(Event::Stderr));
        match self.status {
            Some(status) => {
                self.waiting.push_back(Event::Exited(status));
                Ok(())
            }
            None if self.waiting.is_empty() => Err(self.session.lost(Doing::Running)),
            None => {
                // What was said comes first.
                self.is_over = false;
                Ok(())
            }
        }
    }
}

fn number(signal: &Sig) -> i32 {
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
        // Where there is no runtime any more, the connection is gone as well.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let writing = Arc::clone(&self.writing);
            let is_running = self.status.is_none();
            runtime.spawn(async move {
                if is_running {
                    // Not every machine listens to this; the closed channel all do.
                    let _ = writing.signal(Sig::KILL).await;
                }
                let _ = writing.close().await;
            });
        }
    }
}
