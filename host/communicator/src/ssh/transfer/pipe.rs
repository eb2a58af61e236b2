//! A program on the other machine that is spoken with in bytes.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use russh::{ChannelMsg, ChannelReadHalf, ChannelWriteHalf, client};
use tokio::time::timeout;

use super::super::session::Session;
use crate::error::{CommunicatorError, Doing};

/// How long a machine may take to start the program.
const START: Duration = Duration::from_mins(1);
/// How much of what it says on standard error is kept.
const MOST_SAID: usize = 2 << 10;

pub(crate) struct Pipe {
    session: Arc<Session>,
    reading: ChannelReadHalf,
    writing: ChannelWriteHalf<client::Msg>,
    received: VecDeque<u8>,
    said: Vec<u8>,
    /// The code that it ended with.
    pub(crate) code: Option<u32>,
    is_over: bool,
}

/// What is spoken with.
pub(crate) enum Peer<'a> {
    Command(&'a str),
    Subsystem(&'a str),
}

/// Why there is nothing more to read.
pub(crate) enum Ended {
    /// The program has ended, or closed its output.
    Program,
    /// The connection has.
    Connection,
}

impl Pipe {
    /// Starts the program. `None` where the machine does not start such.
    pub(crate) async fn start(
        session: &Arc<Session>,
        peer: Peer<'_>,
    ) -> Result<Option<Self>, CommunicatorError> {
        let (reading, writing) = session.channel().await?.split();
        let asked = match peer {
            Peer::Command(command) => writing.exec(true, command).await,
            Peer::Subsystem(name) => writing.request_subsystem(true, name).await,
        };
        asked.map_err(|_| session.lost(Doing::Starting))?;
        let mut pipe = Self {
            session: Arc::clone(session),
            reading,
            writing,
            received: VecDeque::new(),
            said: Vec::new(),
            code: None,
            is_over: false,
        };
        match timeout(START, pipe.started()).await {
            Ok(started) => Ok(started?.then_some(pipe)),
            Err(_) => Err(CommunicatorError::Silent(session.place().to_owned())),
        }
    }

    async fn started(&mut self) -> Result<bool, CommunicatorError> {
        loop {
            match self.reading.wait().await {
                Some(ChannelMsg::Success) => return Ok(true),
                Some(ChannelMsg::Failure) => return Ok(false),
                None => return Err(self.session.lost(Doing::Starting)),
                Some(message) => self.take(message),
            }
        }
    }

    fn take(&mut self, message: ChannelMsg) {
        match message {
            ChannelMsg::Data { data } => self.received.extend(data),
            ChannelMsg::ExtendedData { data, .. } => {
                let room = MOST_SAID.saturating_sub(self.said.len());
                self.said.extend(data.iter().take(room));
            }
            ChannelMsg::ExitStatus { exit_status } => self.code = Some(exit_status),
            ChannelMsg::Eof | ChannelMsg::Close => self.is_over = true,
            _ => {}
        }
    }

    /// Takes what comes next; says so where nothing will.
    async fn more(&mut self) -> Result<(), Ended> {
        if self.is_over {
            return Err(Ended::Program);
        }
        match self.reading.wait().await {
            Some(message) => {
                self.take(message);
                Ok(())
            }
            None => Err(Ended::Connection),
        }
    }

    /// Reads one byte.
    pub(crate) async fn byte(&mut self) -> Result<u8, Ended> {
        loop {
            if let Some(byte) = self.received.pop_front() {
                return Ok(byte);
            }
            self.more().await?;
        }
    }

    /// Reads so many bytes.
    pub(crate) async fn bytes(&mut self, count: usize) -> Result<Vec<u8>, Ended> {
        while self.received.len() < count {
            self.more().await?;
        }
        Ok(self.received.drain(..count).collect())
    }

    /// Whether so many bytes have come already.
    pub(crate) fn holds(&self, count: usize) -> bool {
        self.received.len() >= count
    }

    /// Writes, unless the program ends meanwhile.
    pub(crate) async fn write(&mut self, bytes: Bytes) -> Result<(), Ended> {
        let Self { reading, writing, received, said, code, is_over, .. } = self;
        let mut written = std::pin::pin!(writing.data_bytes(bytes));
        loop {
            let message = tokio::select! {
                biased;
                done = &mut written => return done.map_err(|_| Ended::Connection),
                message = reading.wait() => message,
            };
            match message {
                None => return Err(Ended::Connection),
                Some(ChannelMsg::Data { data }) => received.extend(data),
                Some(ChannelMsg::ExtendedData { data, .. }) => {
                    let room = MOST_SAID.saturating_sub(said.len());
                    said.extend(data.iter().take(room));
                }
                Some(ChannelMsg::ExitStatus { exit_status }) => *code = Some(exit_status),
                Some(ChannelMsg::Eof | ChannelMsg::Close) => {
                    *is_over = true;
                    return Err(Ended::Program);
                }
                Some(_) => {}
            }
        }
    }

    /// Says that nothing more comes, and waits for the program's end.
    pub(crate) async fn finish(&mut self) {
        let _ = self.writing.eof().await;
        self.wait_for_end().await;
    }

    /// Waits a moment for what the program still has to say.
    pub(crate) async fn wait_for_end(&mut self) {
        let ending = async { while self.reading.wait().await.map(|message| self.take(message)).is_some() {} };
        let _ = timeout(Duration::from_secs(5), ending).await;
    }

    /// What it said on its standard error.
    pub(crate) fn said(&self) -> String {
        String::from_utf8_lossy(&self.said).trim().to_owned()
    }
}
