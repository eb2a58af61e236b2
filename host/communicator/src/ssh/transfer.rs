//! Uploads files over SSH: with the remote `scp`, which is fast and usually installed, or with the
//! SFTP server if `scp` is missing.

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

/// Default modes of new files and directories.
const FILE_MODE: u32 = 0o644;
const DIRECTORY_MODE: u32 = 0o755;

/// The destination of an upload.
struct Upload {
    /// The remote directory.
    directory: String,
    /// The file name, if a single file is uploaded.
    name: Option<String>,
    mode: u32,
    platform: TargetPlatform,
}

impl Upload {
    /// Prepares the upload of one file to a path.
    fn for_file(path: &str, mode: Option<u32>, platform: TargetPlatform) -> Result<Self, CommunicatorError> {
        let separators: &[char] = match platform {
            TargetPlatform::Unix => &['/'],
            TargetPlatform::Windows => &['/', '\\'],
        };
        // As in scp, the destination `/srv/` means `/srv/srv`: the last component of the path is
        // also the file name.
        let trimmed = path.trim_end_matches(separators);
        let ends_with_slash = trimmed.len() < path.len();
        let (directory, name) = match trimmed.rfind(separators) {
            Some(0) => ("/", trimmed.get(1..).unwrap_or_default()),
            Some(at) => (trimmed.get(..at).unwrap_or_default(), trimmed.get(at + 1..).unwrap_or_default()),
            None => (".", trimmed),
        };
        let directory = if ends_with_slash { trimmed } else { directory };
        // A drive letter alone would refer to the current directory of the drive.
        let root = if directory.ends_with(':') && platform == TargetPlatform::Windows { "/" } else { "" };
        if name.is_empty() || matches!(name, "." | "..") || name.contains(['\n', '\0']) {
            return Err(CommunicatorError::Unsupported(format!("{path:?} is not a file path")));
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
        CommunicatorError::Upload { endpoint: session.endpoint().to_owned(), path: self.path(), reason }
    }
}

/// The result of an attempt to upload with `scp`.
enum ScpOutcome {
    Done,
    /// The machine has no `scp`.
    Unavailable,
}

pub(crate) async fn upload_content(
    session: Arc<Session>,
    platform: TargetPlatform,
    path: &str,
    content: Bytes,
    mode: Option<u32>,
) -> Result<(), CommunicatorError> {
    let upload = Upload::for_file(path, mode, platform)?;
    let steps = || {
        let (sender, steps) = mpsc::channel(2);
        let (name, size) = (upload.name.clone().unwrap_or_default(), content.len() as u64);
        // The channel has capacity for both steps.
        let _ = sender.try_send(Step::File { name, size });
        let _ = sender.try_send(Step::Piece(content.clone()));
        steps
    };
    upload_by_scp_or_sftp(&session, &upload, steps).await
}

/// Copies a file or a directory.
pub(crate) async fn upload_source(
    session: Arc<Session>,
    platform: TargetPlatform,
    source: &Source,
    destination: &str,
) -> Result<(), CommunicatorError> {
    let upload = match source.kind {
        SourceKind::File => Upload::for_file(destination, None, platform)?,
        SourceKind::Directory | SourceKind::Contents => {
            Upload { directory: destination.to_owned(), name: None, mode: FILE_MODE, platform }
        }
    };
    upload_by_scp_or_sftp(&session, &upload, || source.steps()).await
}

async fn upload_by_scp_or_sftp(
    session: &Arc<Session>,
    upload: &Upload,
    steps: impl Fn() -> mpsc::Receiver<Step>,
) -> Result<(), CommunicatorError> {
    match scp::upload(session, upload, steps()).await? {
        ScpOutcome::Done => Ok(()),
        ScpOutcome::Unavailable => sftp::upload(session, upload, steps()).await,
    }
}

/// Quotes a string as one word for the remote shell.
fn shell_quote(text: &str, platform: TargetPlatform) -> String {
    match platform {
        TargetPlatform::Unix => format!("'{}'", text.replace('\'', r"'\''")),
        // Windows paths cannot contain quotation marks.
        TargetPlatform::Windows => format!("\"{}\"", text.replace('"', "")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_path_into_directory_and_name() {
        let split = |path: &str, platform| {
            let upload = Upload::for_file(path, None, platform).ok()?;
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
    fn shell_quote_returns_one_word() {
        assert_eq!(shell_quote("a 'b' $c", TargetPlatform::Unix), r"'a '\''b'\'' $c'");
        assert_eq!(shell_quote("C:/a b", TargetPlatform::Windows), "\"C:/a b\"");
    }
}
