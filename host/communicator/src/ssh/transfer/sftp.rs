//! The SFTP server, version 3, as far as writing needs it. Writes are not waited for one
//! by one: the network is full of them.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::mpsc;

use super::pipe::{Ended, Peer, Pipe};
use super::{DIRECTORY_MODE, Upload};
use crate::error::{CommunicatorError, Doing};
use crate::settings::TargetPlatform;
use crate::source::Step;
use crate::ssh::session::Session;

const INIT: u8 = 1;
const OPEN: u8 = 3;
const CLOSE: u8 = 4;
const WRITE: u8 = 6;
const MKDIR: u8 = 14;
const STAT: u8 = 17;
const VERSION: u8 = 2;
const STATUS: u8 = 101;
const HANDLE: u8 = 102;
const ATTRIBUTES: u8 = 105;

/// The size of one write, which every server takes, and how many are under way.
const PIECE: usize = 32 << 10;
const UNDER_WAY: usize = 64;
/// The longest answer that is read. Those to what is asked here are short.
const LONGEST_ANSWER: usize = 256 << 10;

enum Trouble {
    /// It does not go on.
    Pipe,
    /// A code and what the machine says of it.
    Status(u32, String),
    Protocol(&'static str),
    Ours(CommunicatorError),
}

impl From<Ended> for Trouble {
    fn from(_: Ended) -> Self {
        Self::Pipe
    }
}

pub(crate) async fn upload(
    session: &Arc<Session>,
    upload: &Upload,
    steps: mpsc::Receiver<Step>,
) -> Result<(), CommunicatorError> {
    let Some(pipe) = Pipe::start(session, Peer::Subsystem("sftp")).await? else {
        let reason = "it has neither the program scp nor an SFTP server";
        return Err(upload.refused(session, reason.into()));
    };
    let mut server = Server { pipe, last: 0, under_way: 0 };
    let done = server.all(upload, steps).await;
    done.map_err(|trouble| told(trouble, session, upload))
}

fn told(trouble: Trouble, session: &Session, upload: &Upload) -> CommunicatorError {
    match trouble {
        Trouble::Ours(error) => error,
        Trouble::Pipe => session.lost(Doing::Copying),
        Trouble::Protocol(problem) => CommunicatorError::Protocol {
            place: session.place().to_owned(),
            problem: format!("its SFTP server {problem}"),
        },
        Trouble::Status(code, said) => {
            let reason = match code {
                2 => "there is no such directory".into(),
                3 => "the user may not write there".into(),
                _ if said.is_empty() => format!("its SFTP server answered with code {code}"),
                _ => format!("its SFTP server said: {said}"),
            };
            upload.refused(session, reason)
        }
    }
}

/// A file that is being written.
struct Open {
    handle: Vec<u8>,
    written: u64,
    left: u64,
}

struct Server {
    pipe: Pipe,
    last: u32,
    /// Writes that were not answered.
    under_way: usize,
}

struct Answer {
    kind: u8,
    body: Vec<u8>,
}

impl Server {
    async fn all(&mut self, upload: &Upload, mut steps: mpsc::Receiver<Step>) -> Result<(), Trouble> {
        self.begin().await?;
        // Windows' server wants a slash before the drive.
        let root = match (upload.platform, upload.directory.as_bytes()) {
            (TargetPlatform::Windows, [_, b':', ..]) => format!("/{}", upload.directory.replace('\\', "/")),
            _ => upload.directory.clone(),
        };
        let mut above = vec![if root.is_empty() { ".".to_owned() } else { root }];
        if upload.name.is_none() {
            self.directory(&above.concat()).await?;
        }
        let mut open: Option<Open> = None;
        while let Some(step) = steps.recv().await {
            match step {
                Step::Enter { name } => {
                    above.push(format!("/{name}"));
                    self.directory(&above.concat()).await?;
                }
                Step::Leave => {
                    above.pop();
                }
                Step::File { name, size } => {
                    let name = upload.name.as_deref().unwrap_or(&name);
                    let handle = self.open(&format!("{}/{name}", above.concat()), upload.mode).await?;
                    open = Some(Open { handle, written: 0, left: size });
                }
                Step::Piece(piece) => {
                    if let Some(open) = &mut open {
                        self.write(open, &piece).await?;
                    }
                }
                Step::Failed(error) => return Err(Trouble::Ours(error)),
            }
            if let Some(finished) = open.take_if(|open| open.left == 0) {
                while self.under_way > 0 {
                    self.written().await?;
                }
                self.send(CLOSE, &[string(&finished.handle)]).await?;
                self.succeeded().await?;
            }
        }
        self.pipe.finish().await;
        Ok(())
    }

    async fn begin(&mut self) -> Result<(), Trouble> {
        self.pipe.write(Bytes::from_static(&[0, 0, 0, 5, INIT, 0, 0, 0, 3])).await?;
        match self.answer().await?.kind {
            VERSION => Ok(()),
            _ => Err(Trouble::Protocol("does not begin as one")),
        }
    }

    /// Makes a directory, unless it is there.
    async fn directory(&mut self, path: &str) -> Result<(), Trouble> {
        self.send(STAT, &[string(path.as_bytes())]).await?;
        if self.answer().await?.kind == ATTRIBUTES {
            return Ok(());
        }
        self.send(MKDIR, &[string(path.as_bytes()), attributes(DIRECTORY_MODE)]).await?;
        self.succeeded().await
    }

    async fn open(&mut self, path: &str, mode: u32) -> Result<Vec<u8>, Trouble> {
        // Write, create, empty it.
        let flags = 0x02_u32 | 0x08 | 0x10;
        let parts = [string(path.as_bytes()), flags.to_be_bytes().to_vec(), attributes(mode)];
        self.send(OPEN, &parts).await?;
        let answer = self.answer().await?;
        match answer.kind {
            HANDLE => {
                answer.body.get(8..).map(<[u8]>::to_vec).ok_or(Trouble::Protocol("opens without a handle"))
            }
            _ => Err(status(&answer).err().unwrap_or(Trouble::Protocol("opens without a handle"))),
        }
    }

    async fn write(&mut self, open: &mut Open, piece: &[u8]) -> Result<(), Trouble> {
        for part in piece.chunks(PIECE) {
            while self.under_way >= UNDER_WAY || self.under_way > 0 && self.pipe.holds(4) {
                self.written().await?;
            }
            let parts = [string(&open.handle), open.written.to_be_bytes().to_vec(), string(part)];
            self.send(WRITE, &parts).await?;
            self.under_way += 1;
            open.written += part.len() as u64;
            open.left = open.left.saturating_sub(part.len() as u64);
        }
        Ok(())
    }

    async fn written(&mut self) -> Result<(), Trouble> {
        self.under_way -= 1;
        self.succeeded().await
    }

    async fn succeeded(&mut self) -> Result<(), Trouble> {
        status(&self.answer().await?)
    }

    async fn send(&mut self, kind: u8, parts: &[Vec<u8>]) -> Result<(), Trouble> {
        self.last = self.last.wrapping_add(1);
        let length = 5 + parts.iter().map(Vec::len).sum::<usize>();
        let mut message = Vec::with_capacity(4 + length);
        message.extend(u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes());
        message.push(kind);
        message.extend(self.last.to_be_bytes());
        for part in parts {
            message.extend_from_slice(part);
        }
        Ok(self.pipe.write(message.into()).await?)
    }

    async fn answer(&mut self) -> Result<Answer, Trouble> {
        let length =
            self.pipe.bytes(4).await?.iter().fold(0, |length, byte| length << 8 | usize::from(*byte));
        if !(5..=LONGEST_ANSWER).contains(&length) {
            return Err(Trouble::Protocol("answers in no form that is known"));
        }
        let kind = self.pipe.byte().await?;
        Ok(Answer { kind, body: self.pipe.bytes(length - 1).await? })
    }
}

fn status(answer: &Answer) -> Result<(), Trouble> {
    let number = |at: usize| {
        let bytes = answer.body.get(at..at + 4)?;
        Some(bytes.iter().fold(0_u32, |number, byte| number << 8 | u32::from(*byte)))
    };
    match (answer.kind, number(4)) {
        (STATUS, Some(0)) => Ok(()),
        (STATUS, Some(code)) => {
            let length = number(8).and_then(|length| usize::try_from(length).ok()).unwrap_or_default();
            let said = answer.body.iter().skip(12).take(length.min(500)).copied().collect::<Vec<u8>>();
            Err(Trouble::Status(code, String::from_utf8_lossy(&said).trim().to_owned()))
        }
        _ => Err(Trouble::Protocol("answers something else than was asked")),
    }
}

fn string(bytes: &[u8]) -> Vec<u8> {
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_be_bytes();
    [&length, bytes].concat()
}

fn attributes(mode: u32) -> Vec<u8> {
    // Permissions only.
    [4_u32.to_be_bytes(), mode.to_be_bytes()].concat()
}
