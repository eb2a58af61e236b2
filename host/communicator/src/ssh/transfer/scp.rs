//! The protocol of `scp -t`: a line for each file and directory, each acknowledged with a
//! zero byte, or with 1 or 2 and a line that says why not.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::pipe::{Ended, Peer, Pipe};
use super::{ByScp, DIRECTORY_MODE, Upload, quoted};
use crate::error::{CommunicatorError, Doing};
use crate::settings::TargetPlatform;
use crate::source::Step;
use crate::ssh::session::Session;

/// The longest explanation that is read.
const LONGEST_LINE: usize = 2 << 10;

/// How long scp may take to begin.
const SILENCE: Duration = Duration::from_secs(20);

/// What a step came to.
enum Trouble {
    Pipe(Ended),
    /// What the machine says of it.
    Refused(String),
    Ours(CommunicatorError),
}

impl From<Ended> for Trouble {
    fn from(ended: Ended) -> Self {
        Self::Pipe(ended)
    }
}

pub(crate) async fn upload(
    session: &Arc<Session>,
    upload: &Upload,
    steps: mpsc::Receiver<Step>,
) -> Result<ByScp, CommunicatorError> {
    // `-d`: the directory has to be one. Copying a tree makes it where it is missing.
    let flags = if upload.name.is_some() { "-dt" } else { "-rt" };
    let directory = quoted(&upload.directory, upload.platform);
    let command = format!("scp {flags} -- {directory}");
    let Some(mut pipe) = Pipe::start(session, Peer::Command(&command)).await? else {
        return Ok(ByScp::Absent);
    };
    // What is silent is something else than scp: where only SFTP is allowed, its server.
    let Ok(begun) = timeout(SILENCE, acknowledged(&mut pipe)).await else { return Ok(ByScp::Absent) };
    match begun {
        Ok(()) => {}
        Err(Trouble::Pipe(Ended::Program)) => {
            pipe.wait_for_end().await;
            if is_absent(&pipe, upload.platform) {
                return Ok(ByScp::Absent);
            }
            return Err(upload.refused(session, ended(&pipe)));
        }
        Err(trouble) => return Err(told(trouble, session, upload, &pipe)),
    }
    match all(&mut pipe, upload, steps).await {
        Ok(()) => {
            pipe.finish().await;
            match pipe.code {
                Some(0) => Ok(ByScp::Done),
                Some(_) => Err(upload.refused(session, ended(&pipe))),
                None => Err(session.lost(Doing::Copying)),
            }
        }
        Err(trouble) => {
            if let Trouble::Pipe(_) = trouble {
                pipe.wait_for_end().await;
            }
            Err(told(trouble, session, upload, &pipe))
        }
    }
}

async fn all(pipe: &mut Pipe, upload: &Upload, mut steps: mpsc::Receiver<Step>) -> Result<(), Trouble> {
    let mut left: Option<u64> = None;
    while let Some(step) = steps.recv().await {
        match step {
            Step::Enter { name } => say(pipe, format!("D{DIRECTORY_MODE:04o} 0 {}\n", line(&name)?)).await?,
            Step::Leave => say(pipe, "E\n".to_owned()).await?,
            Step::File { name, size } => {
                let name = upload.name.as_deref().unwrap_or(&name);
                say(pipe, format!("C{:04o} {size} {}\n", upload.mode, line(name)?)).await?;
                left = Some(size);
            }
            Step::Piece(piece) => {
                left = left.map(|left| left.saturating_sub(piece.len() as u64));
                pipe.write(piece).await?;
            }
            Step::Failed(error) => return Err(Trouble::Ours(error)),
        }
        if left == Some(0) {
            left = None;
            pipe.write(Bytes::from_static(&[0])).await?;
            acknowledged(pipe).await?;
        }
    }
    Ok(())
}

/// A name on a line.
fn line(name: &str) -> Result<&str, Trouble> {
    if name.contains('\n') {
        let problem = format!("the name {name:?} has several lines, which the other machine cannot be told");
        return Err(Trouble::Ours(CommunicatorError::Unsupported(problem)));
    }
    Ok(name)
}

async fn say(pipe: &mut Pipe, line: String) -> Result<(), Trouble> {
    pipe.write(line.into()).await?;
    acknowledged(pipe).await
}

async fn acknowledged(pipe: &mut Pipe) -> Result<(), Trouble> {
    let status = pipe.byte().await?;
    if status == 0 {
        return Ok(());
    }
    let mut line = Vec::new();
    // What is no acknowledgement is something that the login wrote.
    if !matches!(status, 1 | 2) {
        line.push(status);
    }
    while line.len() < LONGEST_LINE {
        match pipe.byte().await {
            Ok(b'\n') | Err(_) => break,
            Ok(byte) => line.push(byte),
        }
    }
    let line = String::from_utf8_lossy(&line);
    let line = line.trim();
    if matches!(status, 1 | 2) {
        Err(Trouble::Refused(line.strip_prefix("scp: ").unwrap_or(line).to_owned()))
    } else {
        let problem = "its login writes to standard output, where only scp's answers may be";
        Err(Trouble::Refused(format!("{problem}: {line:?}")))
    }
}

fn told(trouble: Trouble, session: &Session, upload: &Upload, pipe: &Pipe) -> CommunicatorError {
    match trouble {
        Trouble::Ours(error) => error,
        Trouble::Refused(reason) => upload.refused(session, reason),
        Trouble::Pipe(Ended::Program) if pipe.code.is_some() => upload.refused(session, ended(pipe)),
        Trouble::Pipe(_) => session.lost(Doing::Copying),
    }
}

fn ended(pipe: &Pipe) -> String {
    let code = pipe.code.map(|code| format!(" with exit code {code}")).unwrap_or_default();
    match pipe.said().as_str() {
        "" => format!("its scp ended{code}"),
        said => format!("its scp ended{code} and said: {said}"),
    }
}

fn is_absent(pipe: &Pipe, platform: TargetPlatform) -> bool {
    match platform {
        TargetPlatform::Unix => pipe.code == Some(127),
        TargetPlatform::Windows => {
            pipe.code == Some(9009) || pipe.code == Some(1) && !pipe.said().contains("scp:")
        }
    }
}
