//! HTTP requests that are recorded to a file, and replayed from it.

mod file;
mod masking;
mod matching;

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use wardian_sdk::http::{Error, Request, Response};
use wardian_sdk::testing::with_mock_http;

use crate::environment::HttpHandler;
use file::RecordingFile;
use masking::{Masking, Secrets};
use matching::Replay;

pub use file::RecordingError;

/// The variable of the environment that requests a new recording.
const VARIABLE: &str = "WARDIAN_RECORD_HTTP";

/// A recording of HTTP requests, which a test replays.
///
/// If the variable of the environment `WARDIAN_RECORD_HTTP` is set, the requests are sent to the real servers,
/// and the file is written when the test has passed. Otherwise no request is sent: each request is answered
/// with the response of the first recorded request that has the same method, URL and body and was not
/// replayed yet. A request without a recording is an error that contains the nearest recorded one.
///
/// The values of the headers `Authorization`, `Cookie`, `Set-Cookie`, `Proxy-Authorization` and `X-Api-Key`
/// are masked in the file, and so are the values of other masked headers, query parameters and fields; also where
/// they occur elsewhere.
///
/// ```
/// use wardian_acceptance::recorded_http;
///
/// let recording = recorded_http("tests/recordings/server.json")
///     .mask_header("X-Session")
///     .mask_json("/auth/token")
///     .mask_query("key");
/// ```
#[derive(Clone)]
pub struct RecordedHttp {
    path: PathBuf,
    masking: Masking,
    is_recording: Option<bool>,
    servers: Option<HttpHandler>,
}

/// Creates a recording in a file. A relative path is relative to the directory of the package.
///
/// ```
/// wardian_acceptance::recorded_http("tests/recordings/server.json");
/// ```
pub fn recorded_http(path: impl Into<PathBuf>) -> RecordedHttp {
    RecordedHttp { path: path.into(), masking: Masking::default(), is_recording: None, servers: None }
}

impl RecordedHttp {
    /// Masks the value of a header of requests and responses.
    ///
    /// ```
    /// wardian_acceptance::recorded_http("a.json").mask_header("X-Session");
    /// ```
    #[must_use]
    pub fn mask_header(mut self, name: &str) -> Self {
        self.masking.headers.push(name.to_owned());
        self
    }

    /// Masks the value at a JSON pointer (RFC 6901) in the bodies of requests and responses. A step `*`
    /// stands for all elements.
    ///
    /// ```
    /// wardian_acceptance::recorded_http("a.json").mask_json("/users/*/password");
    /// ```
    #[must_use]
    pub fn mask_json(mut self, pointer: &str) -> Self {
        self.masking.pointers.push(pointer.to_owned());
        self
    }

    /// Masks the value of a parameter in the query of the URL.
    ///
    /// ```
    /// wardian_acceptance::recorded_http("a.json").mask_query("api_key");
    /// ```
    #[must_use]
    pub fn mask_query(mut self, name: &str) -> Self {
        self.masking.parameters.push(name.to_owned());
        self
    }

    /// Ignores the value at a JSON pointer in the body of requests, such as a random name, when it searches
    /// the recorded request.
    ///
    /// ```
    /// wardian_acceptance::recorded_http("a.json").ignore_json("/request_id");
    /// ```
    #[must_use]
    pub fn ignore_json(mut self, pointer: &str) -> Self {
        self.masking.ignored.push(pointer.to_owned());
        self
    }

    /// Records or replays, regardless of the environment.
    ///
    /// ```
    /// wardian_acceptance::recorded_http("a.json").record(false);
    /// ```
    #[must_use]
    pub fn record(mut self, is_recording: bool) -> Self {
        self.is_recording = Some(is_recording);
        self
    }

    /// Records the responses of a function instead of real servers.
    ///
    /// ```
    /// use wardian_sdk::http::Response;
    /// wardian_acceptance::recorded_http("a.json").servers(|_| Ok(Response::new(204, "")));
    /// ```
    #[must_use]
    pub fn servers(
        mut self,
        respond: impl Fn(&Request) -> Result<Response, Error> + Send + Sync + 'static,
    ) -> Self {
        self.servers = Some(Arc::new(respond));
        self
    }

    /// Runs a function whose requests on this thread are recorded or replayed, for tests with
    /// [`ProviderHarness`](wardian_sdk::testing::ProviderHarness).
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or written, or if a request has no recording.
    ///
    /// ```
    /// let error = wardian_acceptance::recorded_http("missing.json").record(false).run(|| ()).unwrap_err();
    /// assert!(error.to_string().contains("WARDIAN_RECORD_HTTP"));
    /// ```
    pub fn run<R>(self, run: impl FnOnce() -> R) -> Result<R, RecordingError> {
        let session = self.open()?;
        let handler = session.handler();
        let result = with_mock_http(move |request| handler(request), run);
        session.finish()?;
        Ok(result)
    }

    /// Reads the file, or prepares a recording.
    pub(crate) fn open(self) -> Result<RecordingSession, RecordingError> {
        let is_requested =
            || std::env::var_os(VARIABLE).is_some_and(|value| !value.is_empty() && value != "0");
        let source = if self.is_recording.unwrap_or_else(is_requested) {
            let servers = self.servers.or_else(live_servers).ok_or(RecordingError::NoNetwork)?;
            Source::Record { servers, exchanges: Vec::new(), secrets: Secrets::default() }
        } else {
            Source::Replay(Replay::new(RecordingFile::read(&self.path)?))
        };
        let shared = Shared { masking: self.masking, source: Mutex::new(source) };
        Ok(RecordingSession { path: self.path, shared: Arc::new(shared) })
    }
}

impl fmt::Debug for RecordedHttp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordedHttp").field("path", &self.path).finish_non_exhaustive()
    }
}

#[cfg(feature = "network")]
#[allow(clippy::unnecessary_wraps, reason = "without the feature, there is no client")]
fn live_servers() -> Option<HttpHandler> {
    Some(crate::http_client::live_handler())
}

#[cfg(not(feature = "network"))]
fn live_servers() -> Option<HttpHandler> {
    None
}

/// A recording during a test.
pub(crate) struct RecordingSession {
    path: PathBuf,
    shared: Arc<Shared>,
}

struct Shared {
    masking: Masking,
    source: Mutex<Source>,
}

enum Source {
    Record { servers: HttpHandler, exchanges: Vec<file::Exchange>, secrets: Secrets },
    Replay(Replay),
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Source> {
        self.source.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RecordingSession {
    pub(crate) fn is_recording(&self) -> bool {
        matches!(*self.shared.lock(), Source::Record { .. })
    }

    pub(crate) fn handler(&self) -> HttpHandler {
        let shared = Arc::clone(&self.shared);
        Arc::new(move |request| shared.respond(request))
    }

    /// Writes a new recording. After a replay, returns an error if a request had no recording.
    pub(crate) fn finish(&self) -> Result<(), RecordingError> {
        match &mut *self.shared.lock() {
            Source::Replay(replay) => match replay.missing() {
                Some(problem) => Err(RecordingError::NotRecorded(problem.to_owned())),
                None => Ok(()),
            },
            Source::Record { exchanges, secrets, .. } => {
                let mut exchanges = std::mem::take(exchanges);
                secrets.mask_everywhere(&mut exchanges);
                RecordingFile { exchanges }.write(&self.path)
            }
        }
    }
}

impl Shared {
    fn respond(&self, request: &Request) -> Result<Response, Error> {
        let servers = match &*self.lock() {
            Source::Record { servers, .. } => Some(Arc::clone(servers)),
            Source::Replay(_) => None,
        };
        let Some(servers) = servers else { return self.replay(request) };
        // The lock is not held during the request.
        let response = servers(request)?;
        let problem = |problem: String| failed(request, problem);
        if let Source::Record { exchanges, secrets, .. } = &mut *self.lock() {
            let exchange = self.masking.exchange(request, &response, secrets).map_err(problem)?;
            exchanges.push(exchange);
        }
        Ok(response)
    }

    fn replay(&self, request: &Request) -> Result<Response, Error> {
        let mut secrets = Secrets::default();
        let mut sent =
            self.masking.request(request, &mut secrets).map_err(|problem| failed(request, problem))?;
        secrets.mask_request(&mut sent);
        let Source::Replay(replay) = &mut *self.lock() else {
            return Err(failed(request, "the recording has ended".to_owned()));
        };
        replay.respond(&sent, &self.masking).map_err(|problem| failed(request, problem))
    }
}

fn failed(request: &Request, problem: String) -> Error {
    // The query may contain a key.
    let url = request.url().split(['?', '#']).next().unwrap_or_default();
    Error::Failed { request: format!("{} {url}", request.method()), problem }
}

#[cfg(test)]
mod tests;
