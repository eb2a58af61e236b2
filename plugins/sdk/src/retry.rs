//! Repeats operations that fail temporarily, with increasing delays.
//!
//! ```no_run
//! # fn wait(client: &str) -> wardian_sdk::Result<()> {
//! use wardian_sdk::Deadline;
//! use wardian_sdk::http;
//! use wardian_sdk::retry::{Failure, Retry};
//! use std::time::Duration;
//!
//! // Repeats a request that fails because of the network or an overloaded server.
//! let server = http::get("https://api.example.com/servers/7").send_with_retry(&Retry::new())?;
//!
//! // Waits until an object is ready.
//! let deadline = Deadline::after(Duration::from_secs(600));
//! let state = Retry::new().until(deadline).run("waiting for the server", |_| {
//!     let response = http::get("https://api.example.com/servers/7").send()?.error_for_status()?;
//!     let server: serde_json::Value = response.json()?;
//!     if server["state"] == "ready" { Ok(server) } else { Err(Failure::Again(None)) }
//! })?;
//! # Ok(())
//! # }
//! ```

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::time::Duration;

use crate::http::{Error, Request, Response};
use crate::{Deadline, Diagnostics, Result, clock};

/// The rules for repeating an operation.
#[derive(Clone, Copy, Debug)]
pub struct Retry {
    attempts: Option<u32>,
    first: Duration,
    longest: Duration,
    deadline: Option<Deadline>,
}

/// The failure of an attempt.
///
/// ```
/// use wardian_sdk::Diagnostics;
/// use wardian_sdk::retry::Failure;
///
/// fn check(status: &str) -> std::result::Result<(), Failure> {
///     match status {
///         "running" => Ok(()),
///         "starting" => Err(Failure::Again(None)),
///         other => Err(Failure::Permanent(Diagnostics::error("Server failed", other))),
///     }
/// }
///
/// assert!(matches!(check("starting"), Err(Failure::Again(None))));
/// ```
#[derive(Debug)]
pub enum Failure {
    /// The operation is not complete: it is repeated. The last attempt's errors are reported if the
    /// attempts or the time end, or else a timeout.
    Again(Option<Diagnostics>),
    /// Like `Again`, but the server specified the delay.
    AgainAfter(Duration, Option<Diagnostics>),
    /// The operation failed and is not repeated.
    Permanent(Diagnostics),
}

/// Errors end the attempts, so `?` reports them immediately.
impl<E: Into<Diagnostics>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Permanent(error.into())
    }
}

impl Default for Retry {
    fn default() -> Self {
        Self::new()
    }
}

impl Retry {
    /// Creates rules with at most 5 attempts, and delays that start at half a second, double, and
    /// are at most 30 seconds. The delays vary randomly by half, so that clients do not repeat
    /// their requests at the same time.
    ///
    /// ```
    /// let retry = wardian_sdk::retry::Retry::new().attempts(3);
    /// ```
    pub fn new() -> Self {
        Self {
            attempts: Some(5),
            first: Duration::from_millis(500),
            longest: Duration::from_secs(30),
            deadline: None,
        }
    }

    /// Sets the maximum number of attempts.
    #[must_use]
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.attempts = Some(attempts);
        self
    }

    /// Sets the first delay and the longest delay.
    ///
    /// ```
    /// use std::time::Duration;
    /// use wardian_sdk::retry::Retry;
    ///
    /// let retry = Retry::new().delays(Duration::from_secs(2), Duration::from_secs(10));
    /// ```
    #[must_use]
    pub fn delays(mut self, first: Duration, longest: Duration) -> Self {
        (self.first, self.longest) = (first, longest);
        self
    }

    /// Repeats the operation until a deadline, with any number of attempts.
    #[must_use]
    pub fn until(mut self, deadline: Deadline) -> Self {
        (self.attempts, self.deadline) = (None, Some(deadline));
        self
    }

    /// Runs the operation until it succeeds, fails permanently, or the attempts or the time end.
    /// The operation receives the number of the attempt, which starts at 1. `doing` describes the
    /// operation in messages: "waiting for the server".
    pub fn run<T>(
        &self,
        doing: &str,
        mut operation: impl FnMut(u32) -> std::result::Result<T, Failure>,
    ) -> Result<T> {
        let mut attempt = 1_u32;
        loop {
            let (delay, errors) = match operation(attempt) {
                Ok(value) => return Ok(value),
                Err(Failure::Permanent(errors)) => return Err(errors),
                Err(Failure::Again(errors)) => (self.delay(attempt), errors),
                Err(Failure::AgainAfter(delay, errors)) => (delay.max(self.first), errors),
            };
            if self.attempts.is_some_and(|attempts| attempt >= attempts) {
                return Err(errors.unwrap_or_else(|| {
                    Diagnostics::error("Timeout", format!("Gave up after {attempt} attempts while {doing}."))
                }));
            }
            let deadline = self.deadline.unwrap_or_else(|| Deadline::after(delay + Duration::from_secs(1)));
            if let Err(timeout) = deadline.sleep(delay, doing) {
                return Err(match errors {
                    Some(mut errors) => {
                        errors.append(timeout);
                        errors
                    }
                    None => timeout,
                });
            }
            attempt = attempt.saturating_add(1);
        }
    }

    /// Returns the delay after an attempt: half of it is random.
    fn delay(&self, attempt: u32) -> Duration {
        let doubled = 2_u32.saturating_pow(attempt.saturating_sub(1));
        let delay = self.first.saturating_mul(doubled).min(self.longest);
        let random = u32::try_from(RandomState::new().hash_one(attempt) % 1000).unwrap_or(0);
        delay / 2 + delay / 2 * random / 1000
    }
}

/// The longest delay that a server can request; longer delays are shortened.
const MAX_SERVER_DELAY: Duration = Duration::from_mins(10);

impl Request {
    /// Sends the request, and repeats it if the server did not accept it (status 429, or 503 with a
    /// `Retry-After` header). Requests whose repetition has no further effect (`GET`, `HEAD`, `PUT`, `DELETE`,
    /// `OPTIONS`) are also repeated if the network fails or the status is 502, 503 or 504. After such a
    /// failure, another `POST` could create the object twice. A `Retry-After` header determines the delay.
    /// The last response is returned if the attempts end.
    ///
    /// ```
    /// use wardian_sdk::http::{self, Response};
    /// use wardian_sdk::retry::Retry;
    /// use wardian_sdk::testing::with_mock_http;
    ///
    /// let response = with_mock_http(
    ///     |_| Ok(Response::new(200, "done")),
    ///     || http::get("https://api.example").send_with_retry(&Retry::new()),
    /// );
    /// assert_eq!(response?.status(), 200);
    /// # Ok::<(), wardian_sdk::Diagnostics>(())
    /// ```
    pub fn send_with_retry(&self, retry: &Retry) -> Result<Response> {
        let is_repeatable = matches!(self.method(), "GET" | "HEAD" | "PUT" | "DELETE" | "OPTIONS");
        let mut last = None;
        let doing = format!("sending {} requests", self.method());
        let result = retry.run(&doing, |_| match self.send() {
            Ok(response) if is_refused(&response) || is_repeatable && is_overloaded(&response) => {
                let delay = retry_after(&response);
                last = Some(response);
                Err(match delay {
                    Some(delay) => Failure::AgainAfter(delay, None),
                    None => Failure::Again(None),
                })
            }
            Ok(response) => Ok(response),
            Err(error @ Error::Failed { .. }) if is_repeatable => {
                last = None;
                Err(Failure::Again(Some(error.into())))
            }
            Err(error) => Err(error.into()),
        });
        match (result, last) {
            (Err(_), Some(response)) => Ok(response),
            (result, _) => result,
        }
    }
}

/// Whether the server states that it did not process the request.
fn is_refused(response: &Response) -> bool {
    match response.status() {
        429 => true,
        503 => response.header("retry-after").is_some(),
        _ => false,
    }
}

/// Whether the server may have processed the request, and a repetition may succeed.
fn is_overloaded(response: &Response) -> bool {
    matches!(response.status(), 502..=504)
}

/// Returns the delay in a response: a number of seconds, or the time until a date.
fn retry_after(response: &Response) -> Option<Duration> {
    let text = response.header("retry-after")?.trim();
    let delay = match text.parse::<u64>() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => httpdate::parse_http_date(text)
            .ok()?
            .duration_since(clock::system_time())
            .unwrap_or(Duration::ZERO),
    };
    Some(delay.min(MAX_SERVER_DELAY))
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::rc::Rc;

    use super::*;
    use crate::http;
    use crate::testing::with_mock_http;

    fn fast() -> Retry {
        Retry::new().delays(Duration::ZERO, Duration::ZERO)
    }

    #[test]
    fn operation_is_repeated_until_it_succeeds_or_attempts_end() {
        assert_eq!(
            fast().run("counting", |attempt| if attempt == 3 {
                Ok(attempt)
            } else {
                Err(Failure::Again(None))
            }),
            Ok(3)
        );
        let ended = fast().attempts(2).run("counting", |_| Err::<(), _>(Failure::Again(None))).unwrap_err();
        assert!(ended.to_string().contains("Gave up after 2 attempts while counting"), "{ended}");
        let failed =
            fast().run("counting", |_| Err::<(), _>(Diagnostics::error("Broken", "").into())).unwrap_err();
        assert!(failed.to_string().contains("Broken"), "{failed}");
        let late = fast().until(Deadline::after(Duration::ZERO));
        assert!(late.run("counting", |_| Err::<(), _>(Failure::Again(None))).is_err());
    }

    #[test]
    fn delays_double_up_to_the_longest() {
        let retry = Retry::new().delays(Duration::from_secs(1), Duration::from_secs(8));
        for (attempt, longest) in [(1, 1), (2, 2), (3, 4), (4, 8), (5, 8), (1000, 8)] {
            let delay = retry.delay(attempt);
            let longest = Duration::from_secs(longest);
            assert!(delay >= longest / 2 && delay <= longest, "{attempt}: {delay:?}");
        }
    }

    /// Sends a request to a server that responds with these statuses. Returns the last status and the
    /// number of requests.
    fn statuses(method: &str, statuses: &[u16]) -> (u16, usize) {
        let count = Rc::new(Cell::new(0));
        let (counter, statuses) = (Rc::clone(&count), statuses.to_vec());
        let response = with_mock_http(
            move |_| {
                let index = counter.replace(counter.get() + 1);
                Ok(Response::new(statuses[index.min(statuses.len() - 1)], ""))
            },
            || Request::new(method, "https://api.example").send_with_retry(&fast()),
        );
        (response.unwrap().status(), count.get())
    }

    #[test]
    fn requests_are_repeated_if_the_server_is_overloaded() {
        assert_eq!(statuses("GET", &[503, 429, 200]), (200, 3));
        assert_eq!(statuses("PUT", &[502, 504, 200]), (200, 3));
        assert_eq!(statuses("GET", &[404]), (404, 1));
        assert_eq!(statuses("GET", &[503]), (503, 5));
    }

    /// A gateway that times out may have passed the request on.
    #[test]
    fn posts_are_repeated_only_if_the_server_refused_them() {
        for status in [502, 503, 504] {
            assert_eq!(statuses("POST", &[status, 201]), (status, 1));
            assert_eq!(statuses("PATCH", &[status, 200]), (status, 1));
        }
        assert_eq!(statuses("POST", &[429, 201]), (201, 2));
        let responses = RefCell::new(vec![
            Response::new(201, ""),
            Response::new(503, "").with_header("Retry-After", "0"),
        ]);
        let response = with_mock_http(
            move |_| Ok(responses.borrow_mut().pop().unwrap_or_else(|| Response::new(500, ""))),
            || http::post("https://api.example", "").send_with_retry(&fast()),
        );
        assert_eq!(response.unwrap().status(), 201);
    }

    #[test]
    fn posts_are_not_repeated_if_the_network_fails() {
        let count = Rc::new(Cell::new(0));
        let counter = Rc::clone(&count);
        let error = with_mock_http(
            move |request| {
                counter.set(counter.get() + 1);
                Err(Error::Failed { request: request.url().to_owned(), problem: "connection reset".into() })
            },
            || {
                let get = http::get("https://api.example").send_with_retry(&fast());
                let post = http::post("https://api.example", "").send_with_retry(&fast());
                (get.is_err(), post.is_err())
            },
        );
        assert_eq!((error, count.get()), ((true, true), 6));
    }

    #[test]
    fn retry_after_is_bounded() {
        let after = |text: &str| retry_after(&Response::new(503, "").with_header("Retry-After", text));
        assert_eq!(after("7"), Some(Duration::from_secs(7)));
        assert_eq!(after("99999999999"), Some(MAX_SERVER_DELAY));
        assert_eq!(after("Wed, 21 Oct 2015 07:28:00 GMT"), Some(Duration::ZERO));
        assert_eq!(after("soon"), None);
    }
}
