//! Outside of a sandbox: a test plays the other side.

use std::cell::RefCell;
use std::rc::Rc;

use super::{Error, Request, Response};

type Answer = Rc<dyn Fn(&Request) -> Result<Response, Error>>;

thread_local! {
    static ANSWERS: RefCell<Vec<Answer>> = const { RefCell::new(Vec::new()) };
}

/// Ends what [`answer_requests`] began, however that ends.
struct Playing;

impl Drop for Playing {
    fn drop(&mut self) {
        ANSWERS.with_borrow_mut(Vec::pop);
    }
}

/// Runs something whose requests are answered so. Only those of this thread are, and
/// where this is used within itself, the inner one answers.
pub fn answer_requests<R>(
    answer: impl Fn(&Request) -> Result<Response, Error> + 'static,
    run: impl FnOnce() -> R,
) -> R {
    ANSWERS.with_borrow_mut(|answers| answers.push(Rc::new(answer)));
    let _playing = Playing;
    run()
}

pub(super) fn send(request: &Request) -> Result<Response, Error> {
    let answer = ANSWERS.with_borrow(|answers| answers.last().cloned());
    match answer {
        Some(answer) => answer(request),
        None => Err(Error::Failed {
            request: request.shown(),
            problem: "there is no network here, and no test that answers".to_owned(),
        }),
    }
}
