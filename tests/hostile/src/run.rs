//! The interfaces that connect a call with its run: recorded states, waits, shared memory, and HTTP
//! without `wasi:http`.

use std::fs;
use std::hint::black_box;
use std::sync::Mutex;

use wardian_value::Value;

use crate::behaviour;
use crate::bindings::exports::wardian::plugin::provider as wit;
use crate::bindings::wardian::plugin::run::{self, RecordError, RecordedState};
use crate::bindings::wardian::plugin::shared::{self, Expectation, HeldLock, Rate, SharedError};
use crate::bindings::wardian::plugin::{http, interruption};
use crate::named;

/// The resource type whose objects are files, and that records a state before it creates one. Its input
/// is `NAME|MODE|MILLISECONDS`.
pub(crate) const RECORDED: &str = "hostile_recorded";

/// A lock that the instance holds until it ends.
static HELD: Mutex<Option<HeldLock>> = Mutex::new(None);

/// Runs a probe of this module.
pub(crate) fn probe(verb: &str, object: &str) -> Option<String> {
    let (first, second) = object.split_once('|').unwrap_or((object, ""));
    Some(match verb {
        "record" => shown(record(named::recorded(first))),
        "record-bytes" => shown(record(vec![0xc1])),
        "record-other-type" => shown(record(vec![0x07])),
        "interrupted" => run::interrupted().to_string(),
        "wait" => if run::sleep(number(first)) { "interrupted" } else { "waited" }.into(),
        "wait-for-interruption" => {
            interruption::subscribe().block();
            "interrupted".into()
        }
        "share" => outcome(&shared::put(first, second.as_bytes(), Expectation::Any)),
        "share-bytes" => outcome(&shared::put(first, &vec![0; usize_from(second)], Expectation::Any)),
        "shared" => match shared::get(first) {
            Some(found) => String::from_utf8_lossy(&found.value).into_owned(),
            None => "nothing".into(),
        },
        "log-in" => log_in(first),
        "hold-lock" => match shared::lock(first, number(second)) {
            Ok(held) => {
                *HELD.lock().unwrap() = Some(held);
                "held".into()
            }
            Err(error) => problem(&error),
        },
        "hold-lock-and-trap" => {
            let held = shared::lock(first, number(second));
            black_box(&held);
            core::arch::wasm32::unreachable()
        }
        "take-lock" => match shared::lock(first, number(second)) {
            Ok(_) => "taken".into(),
            Err(error) => problem(&error),
        },
        "take" => {
            let rate = Rate { events: u32::try_from(number(second)).unwrap_or(0), seconds: 1, burst: 1 };
            outcome(&shared::take(first, rate))
        }
        "plain" => plain(&request(first, second, Vec::new())),
        "plain-upload" => upload(usize_from(first), second),
        "plain-abandoned" => {
            let upload = http::start(&request("POST", object, Vec::new()).head);
            upload.map_or_else(
                |error| refused(&error),
                |upload| {
                    drop(upload.write(b"the beginning"));
                    "abandoned".into()
                },
            )
        }
        _ => return None,
    })
}

fn number(text: &str) -> u64 {
    text.parse().unwrap_or(0)
}

fn usize_from(text: &str) -> usize {
    text.parse().unwrap_or(0)
}

fn record(state: Vec<u8>) -> Result<(), RecordError> {
    run::record_state(&RecordedState { state, private: Vec::new(), identity: None })
}

fn shown(recorded: Result<(), RecordError>) -> String {
    match recorded {
        Ok(()) => "recorded".into(),
        Err(RecordError::Unavailable) => "unavailable".into(),
        Err(RecordError::Invalid(problem)) => format!("invalid: {problem}"),
        Err(RecordError::Failed(problem)) => format!("failed: {problem}"),
    }
}

fn problem(error: &SharedError) -> String {
    match error {
        SharedError::Conflict(version) => format!("conflict with {version:?}"),
        SharedError::Limit(problem) => format!("limit: {problem}"),
        SharedError::Interrupted => "interrupted".into(),
    }
}

fn outcome<T>(result: &Result<T, SharedError>) -> String {
    result.as_ref().map_or_else(problem, |_| "done".into())
}

/// Logs in, unless another instance has done so.
fn log_in(key: &str) -> String {
    if shared::get(key).is_some() {
        return "used".into();
    }
    let Ok(_lock) = shared::lock(key, 60_000) else { return "no lock".into() };
    if shared::get(key).is_some() {
        return "used".into();
    }
    // Other instances wait meanwhile.
    run::sleep(20);
    match shared::put(key, b"the session", Expectation::Absent) {
        Ok(_) => "logged in".into(),
        Err(error) => problem(&error),
    }
}

fn request(method: &str, url: &str, body: Vec<u8>) -> http::Request {
    http::Request {
        head: http::RequestHead {
            method: method.into(),
            url: url.into(),
            headers: vec![("x-probe".into(), b"plain".to_vec())],
            timeouts: http::Timeouts { connect: Some(5_000), first_byte: None, between_bytes: None },
            ends_on_interrupt: true,
        },
        body,
    }
}

fn refused(error: &http::HttpError) -> String {
    match error {
        http::HttpError::Denied => "denied".into(),
        http::HttpError::Interrupted => "interrupted".into(),
        error => format!("refused: {error:?}"),
    }
}

fn response(response: Result<http::Response, http::HttpError>) -> String {
    let response = match response {
        Ok(response) => response,
        Err(error) => return refused(&error),
    };
    let mut body = Vec::new();
    loop {
        match response.body.read(7) {
            Ok(bytes) if bytes.is_empty() => break,
            Ok(bytes) => body.extend(bytes),
            Err(error) => return refused(&error),
        }
    }
    format!("{} {}", response.status, String::from_utf8_lossy(&body))
}

fn plain(request: &http::Request) -> String {
    response(http::send(request))
}

fn upload(size: usize, url: &str) -> String {
    let upload = match http::start(&request("POST", url, Vec::new()).head) {
        Ok(upload) => upload,
        Err(error) => return refused(&error),
    };
    let mut rest = size;
    while rest > 0 {
        let part = rest.min(100_000);
        if let Err(error) = upload.write(&vec![b'u'; part]) {
            return refused(&error);
        }
        rest -= part;
    }
    response(upload.finish())
}

/// Applies a change of [`RECORDED`]: an object exists as soon as its file exists.
pub(crate) fn apply(request: wit::ApplyResourceChangeRequest) -> wit::ApplyResourceChangeResponse {
    let respond = |new_state, diagnostics| wit::ApplyResourceChangeResponse {
        new_state,
        private: Vec::new(),
        diagnostics,
        legacy_type_system: false,
        new_identity: None,
    };
    let prior = named::decode(&request.prior_state);
    let text =
        |value: &Value, name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let Some(planned) = named::decode(&request.planned_state) else {
        if let Some(prior) = prior {
            let _ = fs::remove_file(file(&text(&prior, "input"), &text(&prior, "id")));
        }
        return respond(request.planned_state, Vec::new());
    };
    let input = text(&planned, "input");
    let id = match &prior {
        Some(prior) => text(prior, "id"),
        None => format!("{:016x}", random()),
    };
    let state =
        |result: &str| named::with(&planned, &[("id", Value::from(&*id)), ("result", Value::from(result))]);
    // The ID is recorded before the object exists, so no object can be lost.
    if let Err(error) = record(state("recorded")) {
        return respond(request.prior_state, vec![crate::plugin::error(&shown(Err(error)))]);
    }
    if prior.is_none()
        && let Err(error) = fs::write(file(&input, &id), &*id)
    {
        return respond(Vec::new(), vec![crate::plugin::error(&error.to_string())]);
    }
    let mut fields = input.split('|').skip(1);
    let (mode, milliseconds) = (fields.next().unwrap_or_default(), fields.next().unwrap_or_default());
    if run::sleep(number(milliseconds)) && mode != "stubborn" {
        return respond(state("interrupted"), vec![crate::plugin::error("the run is interrupted")]);
    }
    match mode {
        "trap" | "panic" | "loop" | "memory" | "sleep" => behaviour::behave(&format!("hostile_{mode}"), ""),
        "garbage" => return respond(vec![0xc1], Vec::new()),
        _ => {}
    }
    let result = match planned.get("result") {
        Some(planned) if planned.is_known() && !planned.is_null() => {
            planned.as_str().unwrap_or("").to_owned()
        }
        _ => "complete".to_owned(),
    };
    respond(state(&result), Vec::new())
}

fn file(input: &str, id: &str) -> String {
    format!("files/{}-{id}", input.split('|').next().unwrap_or_default())
}

fn random() -> u64 {
    wasip2::random::random::get_random_u64()
}
