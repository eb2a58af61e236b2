//! The file of a recording: JSON, which is reviewed and compared like source text.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// The version of the format.
const VERSION: u32 = 1;
/// Maximum size of a recording, and of one body in it.
const MAX_FILE_BYTES: u64 = 64 << 20;
pub(super) const MAX_BODY_BYTES: usize = 16 << 20;

/// The reason why a recording cannot be read, written or replayed.
///
/// ```
/// use wardian_acceptance::recorded_http;
///
/// let error = recorded_http("tests/recordings/absent.json").record(false).run(|| ()).unwrap_err();
/// assert!(error.to_string().contains("WARDIAN_RECORD_HTTP=1"), "{error}");
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// The file does not exist.
    #[error("there is no recording {path}. Set WARDIAN_RECORD_HTTP=1 to send the requests and record them.")]
    Missing {
        /// The path of the file.
        path: PathBuf,
    },
    /// The file is not a recording.
    #[error(
        "{path}:{line} is not a valid recording: {problem}. Restore the file, or delete it and record it again with \
         WARDIAN_RECORD_HTTP=1."
    )]
    Damaged {
        /// The path of the file.
        path: PathBuf,
        /// The line of the first error.
        line: usize,
        /// The error.
        problem: String,
    },
    /// The file cannot be read or written.
    #[error("{path}: {error}")]
    File {
        /// The path of the file.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// A request has no recording.
    #[error("{0}")]
    NotRecorded(String),
    /// The crate was compiled without an HTTP client.
    #[error(
        "requests can be sent only with the feature \"network\" of wardian-acceptance; enable it in Cargo.toml."
    )]
    NoNetwork,
}

/// The content of a file.
#[derive(Debug, Default, PartialEq)]
pub(super) struct RecordingFile {
    pub(super) exchanges: Vec<Exchange>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document<E> {
    version: u32,
    exchanges: E,
}

/// A request and its response.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Exchange {
    pub(super) request: RecordedRequest,
    pub(super) response: RecordedResponse,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RecordedRequest {
    pub(super) method: String,
    pub(super) url: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) headers: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "Body::is_empty")]
    pub(super) body: Body,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RecordedResponse {
    pub(super) status: u16,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) headers: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "Body::is_empty")]
    pub(super) body: Body,
}

/// A body in the form in which it is easiest to read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Body {
    #[default]
    Empty,
    Json(Json),
    Text(String),
    Base64(String),
}

impl Body {
    pub(super) fn from_bytes(bytes: &[u8]) -> Self {
        if bytes.is_empty() {
            return Self::Empty;
        }
        match (serde_json::from_slice::<Json>(bytes), std::str::from_utf8(bytes)) {
            (Ok(json @ (Json::Object(_) | Json::Array(_))), _) => Self::Json(json),
            (_, Ok(text)) => Self::Text(text.to_owned()),
            (_, Err(_)) => Self::Base64(STANDARD.encode(bytes)),
        }
    }

    /// Returns the bytes; for JSON, in the shortest form.
    pub(super) fn to_bytes(&self) -> Result<Vec<u8>, String> {
        match self {
            Self::Empty => Ok(Vec::new()),
            Self::Json(json) => serde_json::to_vec(json).map_err(|error| error.to_string()),
            Self::Text(text) => Ok(text.clone().into_bytes()),
            Self::Base64(text) => STANDARD.decode(text).map_err(|error| error.to_string()),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        *self == Self::Empty
    }
}

impl RecordingFile {
    pub(super) fn read(path: &Path) -> Result<Self, RecordingError> {
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => RecordingError::Missing { path: path.to_owned() },
            _ => RecordingError::File { path: path.to_owned(), error },
        };
        let damaged = |line, problem| RecordingError::Damaged { path: path.to_owned(), line, problem };
        let mut text = Vec::new();
        fs::File::open(path)
            .and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut text))
            .map_err(failed)?;
        if text.len() as u64 > MAX_FILE_BYTES {
            return Err(damaged(1, format!("it is larger than {MAX_FILE_BYTES} bytes")));
        }
        let document: Document<Vec<Exchange>> =
            serde_json::from_slice(&text).map_err(|error| damaged(error.line().max(1), error.to_string()))?;
        if document.version != VERSION {
            let problem = format!("its version is {}, but only {VERSION} can be read", document.version);
            return Err(damaged(1, problem));
        }
        for Exchange { request, response } in &document.exchanges {
            for body in [&request.body, &response.body] {
                if let Err(problem) = body.to_bytes() {
                    return Err(damaged(
                        1,
                        format!("a body of {} {} is not valid: {problem}", request.method, request.url),
                    ));
                }
            }
        }
        Ok(Self { exchanges: document.exchanges })
    }

    /// Replaces the file in one step.
    pub(super) fn write(&self, path: &Path) -> Result<(), RecordingError> {
        let failed = |error: io::Error| RecordingError::File { path: path.to_owned(), error };
        let directory = match path.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        fs::create_dir_all(directory).map_err(failed)?;
        let document = Document { version: VERSION, exchanges: &self.exchanges };
        let mut text = serde_json::to_vec_pretty(&document).map_err(|error| failed(error.into()))?;
        text.push(b'\n');
        let mut file = tempfile::NamedTempFile::new_in(directory).map_err(failed)?;
        file.write_all(&text).map_err(failed)?;
        file.persist(path).map_err(|error| failed(error.error))?;
        Ok(())
    }
}
