//! The clock, the log and the HTTP requests of a provider under test.

use std::sync::Arc;

use wardian_sdk::http::{Error, Request, Response};
use wardian_sdk::testing::{CapturedLogs, TestClock, with_clock, with_mock_http};

/// Responds to the HTTP requests of a provider.
pub(crate) type HttpHandler = Arc<dyn Fn(&Request) -> Result<Response, Error> + Send + Sync>;

/// The replacements that apply to the thread of a provider.
#[derive(Clone, Default)]
pub(crate) struct Environment {
    /// The clock; the machine's clock if there is none.
    pub(crate) clock: Option<TestClock>,
    pub(crate) logs: CapturedLogs,
    /// Without a handler, requests fail.
    pub(crate) http: Option<HttpHandler>,
}

impl Environment {
    /// Runs a function on this thread in the environment.
    pub(crate) fn enter<R>(&self, run: impl FnOnce() -> R) -> R {
        let with_clock = |run: Box<dyn FnOnce() -> R + '_>| match &self.clock {
            Some(clock) => with_clock(clock, run),
            None => run(),
        };
        let with_http = |run: Box<dyn FnOnce() -> R + '_>| match self.http.clone() {
            Some(handler) => with_mock_http(move |request| handler(request), run),
            None => run(),
        };
        self.logs.capture(|| with_clock(Box::new(|| with_http(Box::new(run)))))
    }
}
