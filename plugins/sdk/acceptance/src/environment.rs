//! The clock, the log and the HTTP requests of a provider under test.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value as Json;

use wardian_sdk::http::{Error, Request, Response};
use wardian_sdk::testing::{CapturedLogs, TestClock, with_clock, with_mock_http};

/// Responds to the HTTP requests of a provider.
pub(crate) type HttpHandler = Arc<dyn Fn(&Request) -> Result<Response, Error> + Send + Sync>;

/// The identities that providers have returned, by the address of the object. The engine's state contains no
/// identities yet.
#[derive(Clone, Default)]
pub(crate) struct ReturnedIdentities(Arc<Mutex<BTreeMap<String, Json>>>);

impl ReturnedIdentities {
    pub(crate) fn record(&self, address: &str, identity: Json) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(address.to_owned(), identity);
    }

    pub(crate) fn get(&self, address: &str) -> Option<Json> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(address).cloned()
    }
}

/// The replacements that apply to the thread of a provider.
#[derive(Clone, Default)]
pub(crate) struct Environment {
    /// The clock; the machine's clock if there is none.
    pub(crate) clock: Option<TestClock>,
    pub(crate) logs: CapturedLogs,
    /// Without a handler, requests fail.
    pub(crate) http: Option<HttpHandler>,
    pub(crate) identities: ReturnedIdentities,
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
