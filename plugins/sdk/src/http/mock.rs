//! The transport outside the sandbox: a function in the test returns the responses.

use std::cell::RefCell;
use std::rc::Rc;

use super::{Error, Request, Response};

type Respond = Rc<dyn Fn(&Request) -> Result<Response, Error>>;

thread_local! {
    static MOCKS: RefCell<Vec<Respond>> = const { RefCell::new(Vec::new()) };
}

/// A guard that removes the mock of [`with_mock_http`] when the function ends, even if it panics.
struct MockGuard;

impl Drop for MockGuard {
    fn drop(&mut self) {
        MOCKS.with_borrow_mut(Vec::pop);
    }
}

/// Runs a function and passes its HTTP requests on this thread to `respond`. Calls can be nested;
/// the innermost mock responds.
///
/// ```
/// use wardian_sdk::http::{self, Response};
/// use wardian_sdk::testing::with_mock_http;
///
/// let response = with_mock_http(
///     |request| Ok(Response::new(200, format!("answer to {}", request.method()))),
///     || http::get("https://api.example/servers").send(),
/// )?;
/// assert_eq!(response.text()?, "answer to GET");
/// # Ok::<(), wardian_sdk::http::Error>(())
/// ```
pub fn with_mock_http<R>(
    respond: impl Fn(&Request) -> Result<Response, Error> + 'static,
    run: impl FnOnce() -> R,
) -> R {
    MOCKS.with_borrow_mut(|mocks| mocks.push(Rc::new(respond)));
    let _guard = MockGuard;
    run()
}

pub(super) fn send(request: &Request) -> Result<Response, Error> {
    let respond = MOCKS.with_borrow(|mocks| mocks.last().cloned());
    match respond {
        Some(respond) => respond(request),
        None => Err(Error::Failed {
            request: request.method_and_url(),
            problem: "there is no network in unit tests; use testing::with_mock_http".to_owned(),
        }),
    }
}
