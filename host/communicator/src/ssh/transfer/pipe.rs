//! Exchanges bytes with a remote program over an SSH channel.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use russh::{ChannelMsg, ChannelReadHalf, ChannelWriteHalf, client};
use tokio::time::timeout;

use super::super::session::Session;
use crate::error::{CommunicatorError, ConnectionPhase};

/// Time limit for starting the program.
const START_TIMEOUT: Duration = Duration::from_mins(1);
/// Maximum size of the retained standard error output.
const MAX_STDERR: usize = 2 << 10;

pub(crate) struct Pipe {
    session: Arc<Session>,
    reading: ChannelReadHalf,
    writing: ChannelWriteHalf<client::Msg>,
    received: VecDeque<u8>,
    stderr: Vec<u8>,
    /// The exit code.
    pub(crate) code: Option<u32>,
    is_over: bool,
}

/// The program to start.
pub(crate) enum RemoteProgram<'a> {
    Command(&'a str),
    Subsystem(&'a str),
}

/// The reason why no more bytes can be read or written.
pub(crate) enum PipeError {
    /// The program has exited, or closed its output.
    ProgramEnded,
    ConnectionLost,
}

impl Pipe {
    /// Starts the program. Returns `None` if the machine does not support it.
    pub(crate) async fn start(
        session: &Arc<Session>,
        program: RemoteProgram<'_>,
    ) -> Result<Option<Self>, CommunicatorError> {
        let (reading, writing) = session.channel().await?.split();
        let request = match program {
            RemoteProgram::Command(command) => writing.exec(true, command).await,
            RemoteProgram::Subsystem(name) => writing.request_subsystem(true, name).await,
        };
        request.map_err(|_| session.lost(ConnectionPhase::Starting))?;
        let mut pipe = Self {
            session: Arc::clone(session),
            reading,
            writing,
            received: VecDeque::new(),
            stderr: Vec::new(),
            code: None,
            is_over: false,
        };
        match timeout(START_TIMEOUT, pipe.wait_for_start()).await {
            Ok(started) => Ok(started?.then_some(pipe)),
            Err(_) => Err(CommunicatorError::Silent(session.endpoint().to_owned())),
        }
    }

    async fn wait_for_start(&mut self) -> Result<bool, CommunicatorError> {
        loop {
            match self.reading.wait().await {
                Some(ChannelMsg::Success) => return Ok(true),
                Some(ChannelMsg::Failure) => return Ok(false),
                None => return Err(self.session.lost(ConnectionPhase::Starting)),
                Some(message) => self.take(message),
            }
        }
    }

    fn take(&mut self, message: ChannelMsg) {
        match message {
            ChannelMsg::Data { data } => self.received.extend(data),
            ChannelMsg::ExtendedData { data, .. } => {
                let room = MAX_STDERR.saturating_sub(self.stderr.len());
                self.stderr.extend(data.iter().take(room));
            }
            ChannelMsg::ExitStatus { exit_status } => self.code = Some(exit_status),
            ChannelMsg::Eof | ChannelMsg::Close => self.is_over = true,
            _ => {}
        }
    }

    /// Receives the next message; fails if there are no more messages.
    async fn receive(&mut self) -> Result<(), PipeError> {
        if self.is_over {
            return Err(PipeError::ProgramEnded);
        }
        match self.reading.wait().await {
            Some(message) => {
                self.take(message);
                Ok(())
            }
            None => Err(PipeError::ConnectionLost),
        }
    }

    pub(crate) async fn read_byte(&mut self) -> Result<u8, PipeError> {
        loop {
            if let Some(byte) = self.received.pop_front() {
                return Ok(byte);
            }
            self.receive().await?;
        }
    }

    pub(crate) async fn read_bytes(&mut self, count: usize) -> Result<Vec<u8>, PipeError> {
        while self.received.len() < count {
            self.receive().await?;
        }
        Ok(self.received.drain(..count).collect())
    }

    /// Whether `count` bytes can be read without waiting.
    pub(crate) fn has_received(&self, count: usize) -> bool {
        self.received.len() >= count
    }

    /// Writes bytes, unless the program ends first.
    pub(crate) async fn write(&mut self, bytes: Bytes) -> Result<(), PipeError> {
        let Self { reading, writing, received, stderr, code, is_over, .. } = self;
        let mut written = std::pin::pin!(writing.data_bytes(bytes));
        loop {
            let message = tokio::select! {
                biased;
                done = &mut written => return done.map_err(|_| PipeError::ConnectionLost),
                message = reading.wait() => message,
            };
            match message {
                None => return Err(PipeError::ConnectionLost),
                Some(ChannelMsg::Data { data }) => received.extend(data),
                Some(ChannelMsg::ExtendedData { data, .. }) => {
                    let room = MAX_STDERR.saturating_sub(stderr.len());
                    stderr.extend(data.iter().take(room));
                }
                Some(ChannelMsg::ExitStatus { exit_status }) => *code = Some(exit_status),
                Some(ChannelMsg::Eof | ChannelMsg::Close) => {
                    *is_over = true;
                    return Err(PipeError::ProgramEnded);
                }
                Some(_) => {}
            }
        }
    }

    /// Closes the program's input and waits until it exits.
    pub(crate) async fn finish(&mut self) {
        let _ = self.writing.eof().await;
        self.wait_for_end().await;
    }

    /// Waits a few seconds for the program's output to end.
    pub(crate) async fn wait_for_end(&mut self) {
        let ending = async { while self.reading.wait().await.map(|message| self.take(message)).is_some() {} };
        let _ = timeout(Duration::from_secs(5), ending).await;
    }

    /// Returns the program's standard error output.
    pub(crate) fn stderr_text(&self) -> String {
        String::from_utf8_lossy(&self.stderr).trim().to_owned()
    }
}
