//! The protocol of `scp -t`: the client sends a line for each file and directory, and the server
//! acknowledges it with a zero byte, or rejects it with the byte 1 or 2 and an error message.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::pipe::{Pipe, PipeError, RemoteProgram};
use super::{DIRECTORY_MODE, ScpOutcome, Upload, shell_quote};
use crate::error::{CommunicatorError, ConnectionPhase};
use crate::settings::TargetPlatform;
use crate::source::Step;
use crate::ssh::session::Session;

/// Maximum length of an error message.
const MAX_LINE_LENGTH: usize = 2 << 10;

/// Time limit for the first acknowledgement.
const START_TIMEOUT: Duration = Duration::from_secs(20);

/// The reason why a step failed.
enum ScpError {
    Pipe(PipeError),
    /// The machine's error message.
    Refused(String),
    Local(CommunicatorError),
}

impl From<PipeError> for ScpError {
    fn from(ended: PipeError) -> Self {
        Self::Pipe(ended)
    }
}

pub(crate) async fn upload(
    session: &Arc<Session>,
    upload: &Upload,
    steps: mpsc::Receiver<Step>,
) -> Result<ScpOutcome, CommunicatorError> {
    // `-d`: the directory must exist. Copying a tree creates it if it is missing.
    let flags = if upload.name.is_some() { "-dt" } else { "-rt" };
    let directory = shell_quote(&upload.directory, upload.platform);
    let command = format!("scp {flags} -- {directory}");
    let Some(mut pipe) = Pipe::start(session, RemoteProgram::Command(&command)).await? else {
        return Ok(ScpOutcome::Unavailable);
    };
    // A program that does not respond is not `scp`: a server that allows only SFTP starts its SFTP
    // program instead.
    let Ok(begun) = timeout(START_TIMEOUT, read_acknowledgement(&mut pipe)).await else {
        return Ok(ScpOutcome::Unavailable);
    };
    match begun {
        Ok(()) => {}
        Err(ScpError::Pipe(PipeError::ProgramEnded)) => {
            pipe.wait_for_end().await;
            if is_absent(&pipe, upload.platform) {
                return Ok(ScpOutcome::Unavailable);
            }
            return Err(upload.refused(session, describe_exit(&pipe)));
        }
        Err(error) => return Err(upload_error(error, session, upload, &pipe)),
    }
    match send_steps(&mut pipe, upload, steps).await {
        Ok(()) => {
            pipe.finish().await;
            match pipe.code {
                Some(0) => Ok(ScpOutcome::Done),
                Some(_) => Err(upload.refused(session, describe_exit(&pipe))),
                None => Err(session.lost(ConnectionPhase::Copying)),
            }
        }
        Err(error) => {
            if let ScpError::Pipe(_) = error {
                pipe.wait_for_end().await;
            }
            Err(upload_error(error, session, upload, &pipe))
        }
    }
}

async fn send_steps(
    pipe: &mut Pipe,
    upload: &Upload,
    mut steps: mpsc::Receiver<Step>,
) -> Result<(), ScpError> {
    let mut left: Option<u64> = None;
    while let Some(step) = steps.recv().await {
        match step {
            Step::Enter { name } => {
                send_line(pipe, format!("D{DIRECTORY_MODE:04o} 0 {}\n", single_line(&name)?)).await?;
            }
            Step::Leave => send_line(pipe, "E\n".to_owned()).await?,
            Step::File { name, size } => {
                let name = upload.name.as_deref().unwrap_or(&name);
                send_line(pipe, format!("C{:04o} {size} {}\n", upload.mode, single_line(name)?)).await?;
                left = Some(size);
            }
            Step::Piece(piece) => {
                left = left.map(|left| left.saturating_sub(piece.len() as u64));
                pipe.write(piece).await?;
            }
            Step::Failed(error) => return Err(ScpError::Local(error)),
        }
        if left == Some(0) {
            left = None;
            pipe.write(Bytes::from_static(&[0])).await?;
            read_acknowledgement(pipe).await?;
        }
    }
    Ok(())
}

/// Checks that a name does not contain a line break.
fn single_line(name: &str) -> Result<&str, ScpError> {
    if name.contains('\n') {
        let problem = format!("the name {name:?} contains a line break, which scp cannot transfer");
        return Err(ScpError::Local(CommunicatorError::Unsupported(problem)));
    }
    Ok(name)
}

async fn send_line(pipe: &mut Pipe, line: String) -> Result<(), ScpError> {
    pipe.write(line.into()).await?;
    read_acknowledgement(pipe).await
}

async fn read_acknowledgement(pipe: &mut Pipe) -> Result<(), ScpError> {
    let status = pipe.read_byte().await?;
    if status == 0 {
        return Ok(());
    }
    let mut line = Vec::new();
    // Any other byte is output of the login shell's startup files.
    if !matches!(status, 1 | 2) {
        line.push(status);
    }
    while line.len() < MAX_LINE_LENGTH {
        match pipe.read_byte().await {
            Ok(b'\n') | Err(_) => break,
            Ok(byte) => line.push(byte),
        }
    }
    let line = String::from_utf8_lossy(&line);
    let line = line.trim();
    if matches!(status, 1 | 2) {
        Err(ScpError::Refused(line.strip_prefix("scp: ").unwrap_or(line).to_owned()))
    } else {
        let problem = "its login scripts write to standard output, which breaks the scp protocol";
        Err(ScpError::Refused(format!("{problem}: {line:?}")))
    }
}

fn upload_error(error: ScpError, session: &Session, upload: &Upload, pipe: &Pipe) -> CommunicatorError {
    match error {
        ScpError::Local(error) => error,
        ScpError::Refused(reason) => upload.refused(session, reason),
        ScpError::Pipe(PipeError::ProgramEnded) if pipe.code.is_some() => {
            upload.refused(session, describe_exit(pipe))
        }
        ScpError::Pipe(_) => session.lost(ConnectionPhase::Copying),
    }
}

fn describe_exit(pipe: &Pipe) -> String {
    let code = pipe.code.map(|code| format!(" with exit code {code}")).unwrap_or_default();
    match pipe.stderr_text().as_str() {
        "" => format!("scp exited{code}"),
        stderr => format!("scp exited{code}: {stderr}"),
    }
}

fn is_absent(pipe: &Pipe, platform: TargetPlatform) -> bool {
    match platform {
        TargetPlatform::Unix => pipe.code == Some(127),
        TargetPlatform::Windows => {
            pipe.code == Some(9009) || pipe.code == Some(1) && !pipe.stderr_text().contains("scp:")
        }
    }
}
