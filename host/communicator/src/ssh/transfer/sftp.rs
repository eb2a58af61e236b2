//! The subset of the SFTP protocol, version 3, that uploads need. Writes are pipelined to use the
//! full bandwidth.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::mpsc;

use super::pipe::{Pipe, PipeError, RemoteProgram};
use super::{DIRECTORY_MODE, Upload};
use crate::error::{CommunicatorError, ConnectionPhase};
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

/// Size of one write, which every server supports, and the maximum number of writes without a
/// response.
const WRITE_SIZE: usize = 32 << 10;
const MAX_PENDING_WRITES: usize = 64;
/// Maximum size of a response. The responses to the requests of this module are short.
const MAX_RESPONSE_SIZE: usize = 256 << 10;

enum SftpError {
    /// The connection to the server was closed.
    Pipe,
    /// A status code and the server's message.
    Status(u32, String),
    Protocol(&'static str),
    Local(CommunicatorError),
}

impl From<PipeError> for SftpError {
    fn from(_: PipeError) -> Self {
        Self::Pipe
    }
}

pub(crate) async fn upload(
    session: &Arc<Session>,
    upload: &Upload,
    steps: mpsc::Receiver<Step>,
) -> Result<(), CommunicatorError> {
    let Some(pipe) = Pipe::start(session, RemoteProgram::Subsystem("sftp")).await? else {
        let reason = "it has neither scp nor an SFTP server";
        return Err(upload.refused(session, reason.into()));
    };
    let mut server = Server { pipe, last: 0, pending_writes: 0 };
    let done = server.send_steps(upload, steps).await;
    done.map_err(|error| upload_error(error, session, upload))
}

fn upload_error(error: SftpError, session: &Session, upload: &Upload) -> CommunicatorError {
    match error {
        SftpError::Local(error) => error,
        SftpError::Pipe => session.lost(ConnectionPhase::Copying),
        SftpError::Protocol(problem) => CommunicatorError::Protocol {
            endpoint: session.endpoint().to_owned(),
            problem: format!("the SFTP server {problem}"),
        },
        SftpError::Status(code, message) => {
            let reason = match code {
                2 => "the directory does not exist".into(),
                3 => "permission denied".into(),
                _ if message.is_empty() => format!("the SFTP server responded with code {code}"),
                _ => format!("the SFTP server responded: {message}"),
            };
            upload.refused(session, reason)
        }
    }
}

/// The file that is being written.
struct OpenFile {
    handle: Vec<u8>,
    written: u64,
    left: u64,
}

struct Server {
    pipe: Pipe,
    last: u32,
    /// Number of writes without a response yet.
    pending_writes: usize,
}

struct Response {
    kind: u8,
    body: Vec<u8>,
}

impl Server {
    async fn send_steps(
        &mut self,
        upload: &Upload,
        mut steps: mpsc::Receiver<Step>,
    ) -> Result<(), SftpError> {
        self.negotiate_version().await?;
        // A Windows server expects a slash before the drive.
        let root = match (upload.platform, upload.directory.as_bytes()) {
            (TargetPlatform::Windows, [_, b':', ..]) => format!("/{}", upload.directory.replace('\\', "/")),
            _ => upload.directory.clone(),
        };
        let mut path_segments = vec![if root.is_empty() { ".".to_owned() } else { root }];
        if upload.name.is_none() {
            self.create_directory(&path_segments.concat()).await?;
        }
        let mut open: Option<OpenFile> = None;
        while let Some(step) = steps.recv().await {
            match step {
                Step::Enter { name } => {
                    path_segments.push(format!("/{name}"));
                    self.create_directory(&path_segments.concat()).await?;
                }
                Step::Leave => {
                    path_segments.pop();
                }
                Step::File { name, size } => {
                    let name = upload.name.as_deref().unwrap_or(&name);
                    let handle =
                        self.open(&format!("{}/{name}", path_segments.concat()), upload.mode).await?;
                    open = Some(OpenFile { handle, written: 0, left: size });
                }
                Step::Piece(piece) => {
                    if let Some(open) = &mut open {
                        self.write(open, &piece).await?;
                    }
                }
                Step::Failed(error) => return Err(SftpError::Local(error)),
            }
            if let Some(finished) = open.take_if(|open| open.left == 0) {
                while self.pending_writes > 0 {
                    self.read_write_response().await?;
                }
                self.send(CLOSE, &[string(&finished.handle)]).await?;
                self.expect_success().await?;
            }
        }
        self.pipe.finish().await;
        Ok(())
    }

    async fn negotiate_version(&mut self) -> Result<(), SftpError> {
        self.pipe.write(Bytes::from_static(&[0, 0, 0, 5, INIT, 0, 0, 0, 3])).await?;
        match self.read_response().await?.kind {
            VERSION => Ok(()),
            _ => Err(SftpError::Protocol("did not negotiate a version")),
        }
    }

    /// Creates a directory unless it exists.
    async fn create_directory(&mut self, path: &str) -> Result<(), SftpError> {
        self.send(STAT, &[string(path.as_bytes())]).await?;
        if self.read_response().await?.kind == ATTRIBUTES {
            return Ok(());
        }
        self.send(MKDIR, &[string(path.as_bytes()), attributes(DIRECTORY_MODE)]).await?;
        self.expect_success().await
    }

    async fn open(&mut self, path: &str, mode: u32) -> Result<Vec<u8>, SftpError> {
        // The flags WRITE, CREAT and TRUNC.
        let flags = 0x02_u32 | 0x08 | 0x10;
        let parts = [string(path.as_bytes()), flags.to_be_bytes().to_vec(), attributes(mode)];
        self.send(OPEN, &parts).await?;
        let response = self.read_response().await?;
        match response.kind {
            HANDLE => response.body.get(8..).map(<[u8]>::to_vec).ok_or(SftpError::Protocol(
                "opened a file without \
                    returning a handle",
            )),
            _ => Err(check_status(&response).err().unwrap_or(SftpError::Protocol(
                "opened a file without returning a \
                handle",
            ))),
        }
    }

    async fn write(&mut self, open: &mut OpenFile, piece: &[u8]) -> Result<(), SftpError> {
        for part in piece.chunks(WRITE_SIZE) {
            while self.pending_writes >= MAX_PENDING_WRITES
                || self.pending_writes > 0 && self.pipe.has_received(4)
            {
                self.read_write_response().await?;
            }
            let parts = [string(&open.handle), open.written.to_be_bytes().to_vec(), string(part)];
            self.send(WRITE, &parts).await?;
            self.pending_writes += 1;
            open.written += part.len() as u64;
            open.left = open.left.saturating_sub(part.len() as u64);
        }
        Ok(())
    }

    async fn read_write_response(&mut self) -> Result<(), SftpError> {
        self.pending_writes -= 1;
        self.expect_success().await
    }

    async fn expect_success(&mut self) -> Result<(), SftpError> {
        check_status(&self.read_response().await?)
    }

    async fn send(&mut self, kind: u8, parts: &[Vec<u8>]) -> Result<(), SftpError> {
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

    async fn read_response(&mut self) -> Result<Response, SftpError> {
        let length =
            self.pipe.read_bytes(4).await?.iter().fold(0, |length, byte| length << 8 | usize::from(*byte));
        if !(5..=MAX_RESPONSE_SIZE).contains(&length) {
            return Err(SftpError::Protocol("sent a malformed response"));
        }
        let kind = self.pipe.read_byte().await?;
        Ok(Response { kind, body: self.pipe.read_bytes(length - 1).await? })
    }
}

fn check_status(response: &Response) -> Result<(), SftpError> {
    let number = |at: usize| {
        let bytes = response.body.get(at..at + 4)?;
        Some(bytes.iter().fold(0_u32, |number, byte| number << 8 | u32::from(*byte)))
    };
    match (response.kind, number(4)) {
        (STATUS, Some(0)) => Ok(()),
        (STATUS, Some(code)) => {
            let length = number(8).and_then(|length| usize::try_from(length).ok()).unwrap_or_default();
            let message = response.body.iter().skip(12).take(length.min(500)).copied().collect::<Vec<u8>>();
            Err(SftpError::Status(code, String::from_utf8_lossy(&message).trim().to_owned()))
        }
        _ => Err(SftpError::Protocol("sent an unexpected response")),
    }
}

fn string(bytes: &[u8]) -> Vec<u8> {
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_be_bytes();
    [&length, bytes].concat()
}

fn attributes(mode: u32) -> Vec<u8> {
    // SSH_FILEXFER_ATTR_PERMISSIONS.
    [4_u32.to_be_bytes(), mode.to_be_bytes()].concat()
}
