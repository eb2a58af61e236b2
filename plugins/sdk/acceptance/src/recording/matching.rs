//! Finds the recorded response to a request.

use serde_json::Value as Json;
use wardian_sdk::http::Response;

use super::file::{Body, Exchange, RecordedRequest, RecordingFile};
use super::masking::Masking;

/// Maximum number of characters of a body in a message.
const SHOWN_BODY: usize = 300;

/// The exchanges of a recording, and the requests that had none.
pub(super) struct Replay {
    exchanges: Vec<(Exchange, bool)>,
    /// The message for the first request without a recording.
    missing: Option<String>,
}

impl Replay {
    pub(super) fn new(file: RecordingFile) -> Self {
        Self {
            exchanges: file.exchanges.into_iter().map(|exchange| (exchange, false)).collect(),
            missing: None,
        }
    }

    pub(super) fn missing(&self) -> Option<&str> {
        self.missing.as_deref()
    }

    /// Returns the response of the first exchange with an equal request that was not replayed yet.
    pub(super) fn respond(&mut self, sent: &RecordedRequest, masking: &Masking) -> Result<Response, String> {
        let found = self
            .exchanges
            .iter_mut()
            .find(|(exchange, used)| !used && is_equal(&exchange.request, sent, masking));
        if let Some((exchange, used)) = found {
            *used = true;
            let recorded = &exchange.response;
            let response = Response::new(recorded.status, recorded.body.to_bytes()?);
            let headers = recorded.headers.iter();
            return Ok(headers.fold(response, |response, (name, value)| {
                response.with_header(name.as_str(), value.as_str())
            }));
        }
        let problem = self.describe_nearest(sent, masking);
        self.missing
            .get_or_insert_with(|| format!("{} {} has no recording: {problem}", sent.method, sent.url));
        Err(format!("the request has no recording; {problem}"))
    }

    fn describe_nearest(&self, sent: &RecordedRequest, masking: &Masking) -> String {
        const REMEDY: &str = "Record the requests again with WARDIAN_RECORD_HTTP=1.";
        let repeated =
            self.exchanges.iter().filter(|(exchange, _)| is_equal(&exchange.request, sent, masking)).count();
        if repeated > 0 {
            return format!("an equal request is recorded {repeated} times, and each was replayed. {REMEDY}");
        }
        let unused =
            || self.exchanges.iter().filter(|(_, used)| !used).map(|(exchange, _)| &exchange.request);
        let all = || self.exchanges.iter().map(|(exchange, _)| &exchange.request);
        let nearest = unused()
            .max_by_key(|one| similarity(one, sent))
            .or_else(|| all().max_by_key(|one| similarity(one, sent)));
        let Some(nearest) = nearest else { return format!("the recording is empty. {REMEDY}") };
        let mut text = format!("the nearest recorded request is {} {}", nearest.method, nearest.url);
        if nearest.method == sent.method && nearest.url == sent.url {
            text.push_str(", with another body: ");
            text.push_str(&body_difference(&masking.compared(&nearest.body), &masking.compared(&sent.body)));
        }
        format!("{text}. {REMEDY}")
    }
}

fn is_equal(recorded: &RecordedRequest, sent: &RecordedRequest, masking: &Masking) -> bool {
    recorded.method == sent.method
        && recorded.url == sent.url
        && masking.compared(&recorded.body) == masking.compared(&sent.body)
}

/// Returns a number that is greater, the more two requests resemble each other.
fn similarity(recorded: &RecordedRequest, sent: &RecordedRequest) -> usize {
    let same = recorded.url.bytes().zip(sent.url.bytes()).take_while(|(one, other)| one == other).count();
    let longest = recorded.url.len().max(sent.url.len()).max(1);
    let url = 100 * same / longest;
    url + if recorded.method == sent.method { 50 } else { 0 } + usize::from(recorded.body == sent.body)
}

fn body_difference(recorded: &Body, sent: &Body) -> String {
    if let (Body::Json(recorded), Body::Json(sent)) = (recorded, sent)
        && let Some(difference) = json_difference(recorded, sent, &mut String::new())
    {
        return difference;
    }
    format!("{} is recorded, {} is sent", shown(recorded), shown(sent))
}

/// Describes the first part in which two documents differ.
fn json_difference(recorded: &Json, sent: &Json, pointer: &mut String) -> Option<String> {
    if recorded == sent {
        return None;
    }
    if let (Json::Object(recorded), Json::Object(sent)) = (recorded, sent) {
        for (name, part) in recorded {
            let length = pointer.len();
            pointer.push('/');
            pointer.push_str(name);
            let found = match sent.get(name) {
                Some(other) => json_difference(part, other, pointer),
                None => Some(format!("{pointer} is recorded, but not sent")),
            };
            if found.is_some() {
                return found;
            }
            pointer.truncate(length);
        }
        let added = sent.keys().find(|name| !recorded.contains_key(*name));
        return added.map(|name| format!("{pointer}/{name} is sent, but not recorded"));
    }
    let place = if pointer.is_empty() { "the body" } else { pointer.as_str() };
    Some(format!(
        "{place} is recorded as {}, and sent as {}",
        cut(&recorded.to_string()),
        cut(&sent.to_string())
    ))
}

fn shown(body: &Body) -> String {
    match body {
        Body::Empty => "no body".to_owned(),
        Body::Json(json) => cut(&json.to_string()),
        Body::Text(text) => cut(&format!("{text:?}")),
        Body::Base64(text) => format!("a binary body of about {} bytes", text.len() / 4 * 3),
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN_BODY) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
