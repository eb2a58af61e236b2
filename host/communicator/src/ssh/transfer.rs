//! Files to the other machine: by `scp` there, which every tool uses and which is the
//! fastest, and where there is none by the SFTP server.

mod pipe;
mod scp;
mod sftp;

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::mpsc;

use super::session::Session;
use crate::error::CommunicatorError;
use crate::settings::TargetPlatform;
use crate::source::{Source, SourceKind, Step};

/// The mode of a file that is new, where none is said, and of a directory.
const FILE_MODE: u32 = 0o644;
const DIRECTORY_MODE: u32 = 0o755;

/// What goes where.
struct Upload {
    /// The directory on the other machine.
    directory: String,
    /// Under which name, where it is one file.
    name: Option<String>,
    mode: u32,
    platform: TargetPlatform,
}

impl Upload {
    /// One file to a path.
    fn of_file(path: &str, mode: Option<u32>, platform: TargetPlatform) -> Result<Self, CommunicatorError> {
        let separators: &[char] = match platform {
            TargetPlatform::Unix => &['/'],
            TargetPlatform::Windows => &['/', '\\'],
        };
        // As people are used to: `/srv/` stands for `/srv/srv`, not for a name of ours.
        let trimmed = path.trim_end_matches(separators);
        let ends_with_slash = trimmed.len() < path.len();
        let (directory, name) = match trimmed.rfind(separators) {
            Some(0) => ("/", trimmed.get(1..).unwrap_or_default()),
            Some(at) => (trimmed.get(..at).unwrap_or_default(), trimmed.get(at + 1..).unwrap_or_default()),
            None => (".", trimmed),
        };
        let directory = if ends_with_slash { trimmed } else { directory };
        // A drive alone stands for where somebody is on it.
        let root = if directory.ends_with(':') && platform == TargetPlatform::Windows { "/" } else { "" };
        if name.is_empty() || matches!(name, "." | "..") || name.contains(['\n', '\0']) {
            return Err(CommunicatorError::Unsupported(format!("{path:?} is no path of a file")));
        }
        let mode = mode.unwrap_or(FILE_MODE) & 0o7777;
        Ok(Self { directory: format!("{directory}{root}"), name: Some(name.to_owned()), mode, platform })
    }

    fn path(&self) -> String {
        match &self.name {
            Some(name) if self.directory.ends_with('/') => format!("{}{name}", self.directory),
            Some(name) => format!("{}/{name}", self.directory),
            None => self.directory.clone(),
        }
    }

    fn refused(&self, session: &Session, reason: String) -> CommunicatorError {
        CommunicatorError::Upload { place: session.place().to_owned(), path: self.path(), reason }
    }
}

/// Whether `scp` did it.
enum ByScp {
    Done,
    /// The machine has none.
    Absent,
}

/// Writes a file.
pub(crate) async fn content(
    session: Arc<Session>,
    platform: TargetPlatform,
    path: &str,
    content: Bytes,
    mode: Option<u32>,
) -> Result<(), CommunicatorError> {
    let upload = Upload::of_file(path, mode, platform)?;
    let steps = || {
        let (sender, steps) = mpsc::channel(2);
        let (name, size) = (upload.name.clone().unwrap_or_default(), content.len() as u64);
        // There is room for both.
        let _ = sender.try_send(Step::File { name, size });
        let _ = sender.try_send(Step::Piece(content.clone()));
        steps
    };
    either(&session, &upload, steps).await
}

/// Copies a file or a directory.
pub(crate) async fn source(
    session: Arc<Session>,
    platform: TargetPlatform,
    source: &Source,
    destination: &str,
) -> Result<(), CommunicatorError> {
    let upload = match source.kind {
        SourceKind::File => Upload::of_file(destination, None, platform)?,
        SourceKind::Directory | SourceKind::Contents => {
            Upload { directory: destination.to_owned(), name: None, mode: FILE_MODE, platform }
        }
    };
    either(&session, &upload, || source.steps()).await
}

async fn either(
    session: &Arc<Session>,
    upload: &Upload,
    steps: impl Fn() -> mpsc::Receiver<Step>,
) -> Result<(), CommunicatorError> {
    match scp::upload(session, upload, steps()).await? {
        ByScp::Done => Ok(()),
        ByScp::Absent => sftp::upload(session, upload, steps()).await,
    }
}

/// One word for the shell of the other machine.
fn quoted(text: &str, platform: TargetPlatform) -> String {
    match platform {
        TargetPlatform::Unix => format!("'{}'", text.replace('\'', r"'\''")),
        // A quotation mark is in no path there.
        TargetPlatform::Windows => format!("\"{}\"", text.replace('"', "")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_a_directory_and_a_name() {
        let split = |path: &str, platform| {
            let upload = Upload::of_file(path, None, platform).ok()?;
            Some((upload.directory, upload.name.unwrap_or_default()))
        };
        let some = |directory: &str, name: &str| Some((directory.to_owned(), name.to_owned()));
        assert_eq!(split("/srv/a/b", TargetPlatform::Unix), some("/srv/a", "b"));
        assert_eq!(split("/b", TargetPlatform::Unix), some("/", "b"));
        assert_eq!(split("b", TargetPlatform::Unix), some(".", "b"));
        assert_eq!(split("/srv/", TargetPlatform::Unix), some("/srv", "srv"));
        assert_eq!(split(r"C:\a\b.cmd", TargetPlatform::Windows), some(r"C:\a", "b.cmd"));
        assert_eq!(split("C:/windows/temp/x.cmd", TargetPlatform::Windows), some("C:/windows/temp", "x.cmd"));
        assert_eq!(split("C:/x", TargetPlatform::Windows), some("C:/", "x"));
        for bad in ["", "/", "..", "/srv/..", "a\nb"] {
            assert_eq!(split(bad, TargetPlatform::Unix), None, "{bad:?}");
        }
    }

    #[test]
    fn a_word_stays_one_word() {
        assert_eq!(quoted("a 'b' $c", TargetPlatform::Unix), r"'a '\''b'\'' $c'");
        assert_eq!(quoted("C:/a b", TargetPlatform::Windows), "\"C:/a b\"");
    }
}
