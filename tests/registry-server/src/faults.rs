//! Fault injection: the responses of a broken or hostile server.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use bytes::Bytes;
use serde::Deserialize;

use crate::answer::{Answer, Incoming};
use crate::body::{Delivery, Ending};
use crate::listeners::{Origin, ServerAddresses};
use crate::packages::{Blob, BlobData};

/// A fault in the responses to some requests.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultRule {
    /// The path of the requests, in which `*` matches any text. A pattern with `?` also matches the
    /// query.
    pub path: String,
    #[serde(default)]
    pub method: Option<String>,
    #[serde(default)]
    pub origin: Option<Origin>,
    pub fault: Fault,
    /// The number of requests; `None` for all requests.
    #[serde(default)]
    pub times: Option<u32>,
}

impl FaultRule {
    /// Creates a rule for all requests for a path.
    pub fn new(path: &str, fault: Fault) -> Self {
        Self { path: path.to_owned(), method: None, origin: None, fault, times: None }
    }

    /// Limits the rule to a number of requests.
    pub fn with_times(mut self, times: u32) -> Self {
        self.times = Some(times);
        self
    }

    /// Limits the rule to a method.
    pub fn with_method(mut self, method: &str) -> Self {
        self.method = Some(method.to_owned());
        self
    }

    /// Limits the rule to an origin.
    pub fn with_origin(mut self, origin: Origin) -> Self {
        self.origin = Some(origin);
        self
    }
}

/// The fault in a response.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    Status(u16),
    /// A status and headers, such as `Retry-After`.
    StatusWith {
        status: u16,
        headers: BTreeMap<String, String>,
    },
    ContentType(String),
    Header {
        name: String,
        value: String,
    },
    /// A different body, with the same headers.
    Text(String),
    /// The body never ends.
    EndlessBody,
    /// A body of this many bytes, all `x`.
    LargeBody(u64),
    /// The server sends this many bytes, and then stops without closing the connection.
    StallAfter(u64),
    /// The server accepts the request and never responds.
    NoAnswer,
    /// The server sends this many bytes in one step, and then pauses.
    SlowBody {
        bytes: usize,
        pause_ms: u64,
    },
    /// The server closes the connection after this many bytes of the body.
    CutAfter(u64),
    /// The server closes the connection instead of responding.
    Close,
    /// The body has more bytes than the correct body.
    Longer(usize),
    /// The body has fewer bytes than the correct body.
    Shorter(usize),
    /// One bit of the body is flipped.
    Corrupt,
    /// The server redirects to the same address.
    RedirectLoop,
    /// The server redirects to a longer address each time.
    EndlessRedirects,
    /// The server redirects to the same path of another server, with the same scheme.
    RedirectToOther,
    /// The server redirects from https to http.
    RedirectToPlain,
    Redirect(String),
    DelayMs(u64),
}

/// The way in which a response is sent after its faults were applied.
pub(crate) enum Outcome {
    Send(Answer, Delivery),
    Close,
    Never,
}

/// The rules that still apply.
#[derive(Debug, Default)]
pub(crate) struct Faults(Mutex<Vec<FaultRule>>);

impl Faults {
    pub(crate) fn set(&self, rules: Vec<FaultRule>) {
        *self.0.lock().unwrap() = rules;
    }

    pub(crate) fn add(&self, rule: FaultRule) {
        self.0.lock().unwrap().push(rule);
    }

    /// Returns the fault for a request, and counts its use.
    pub(crate) fn take(&self, request: &Incoming) -> Option<Fault> {
        let mut rules = self.0.lock().unwrap();
        let full = format!("{}?{}", request.path, request.query);
        let rule = rules.iter_mut().find(|rule| {
            let subject = if rule.path.contains('?') { &full } else { &request.path };
            rule.times != Some(0)
                && rule.method.as_ref().is_none_or(|method| method == request.method.as_str())
                && rule.origin.is_none_or(|origin| origin == request.origin)
                && matches(&rule.path, subject)
        })?;
        if let Some(times) = &mut rule.times {
            *times -= 1;
        }
        Some(rule.fault.clone())
    }
}

/// Returns whether the text matches a pattern with `*`.
fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((start, rest)) => text.strip_prefix(start).is_some_and(|text| {
            (0..=text.len()).any(|at| text.is_char_boundary(at) && matches(rest, &text[at..]))
        }),
    }
}

/// Applies a fault to the response to a request.
pub(crate) async fn apply(
    fault: Option<Fault>,
    answer: Answer,
    request: &Incoming,
    addresses: &ServerAddresses,
) -> Outcome {
    let mut delivery = Delivery::default();
    let with_content = |answer: Answer, change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = Blob { data: answer.content, sha256: String::new(), size: 0 }.bytes().to_vec();
        change(&mut bytes);
        Answer { content: BlobData::Memory(bytes.into()), ..answer }
    };
    let target = |origin: Origin| format!("{}{}", addresses.url(origin), request.path);
    let answer = match fault {
        None => answer,
        Some(Fault::Status(status)) => Answer::new(status, format!("status {status}")),
        Some(Fault::StatusWith { status, headers }) => {
            let answer = Answer::new(status, format!("status {status}"));
            headers.iter().fold(answer, |answer, (name, value)| answer.header(name, value.as_str()))
        }
        Some(Fault::ContentType(value)) => answer.header("Content-Type", value),
        Some(Fault::Header { name, value }) => answer.header(&name, value),
        Some(Fault::Text(text)) => Answer { content: BlobData::Memory(text.into()), ..answer },
        Some(Fault::EndlessBody) => {
            delivery.ending = Ending::Endless;
            with_content(answer, &|bytes| {
                bytes.pop();
            })
        }
        Some(Fault::LargeBody(size)) => {
            delivery.ending = Ending::Filled(size);
            Answer { content: BlobData::Memory(Bytes::new()), ..answer }
        }
        Some(Fault::StallAfter(bytes)) => {
            delivery.ending = Ending::StallAfter(bytes);
            answer
        }
        Some(Fault::NoAnswer) => return Outcome::Never,
        Some(Fault::SlowBody { bytes, pause_ms }) => {
            delivery.pace = Some((bytes, Duration::from_millis(pause_ms)));
            answer
        }
        Some(Fault::CutAfter(bytes)) => {
            delivery.ending = Ending::CutAfter(bytes);
            answer
        }
        Some(Fault::Close) => return Outcome::Close,
        Some(Fault::Longer(more)) => with_content(answer, &|bytes| bytes.resize(bytes.len() + more, b' ')),
        Some(Fault::Shorter(fewer)) => {
            with_content(answer, &|bytes| bytes.truncate(bytes.len().saturating_sub(fewer)))
        }
        Some(Fault::Corrupt) => with_content(answer, &|bytes| {
            let middle = bytes.len() / 2;
            if let Some(byte) = bytes.get_mut(middle) {
                *byte ^= 1;
            }
        }),
        Some(Fault::RedirectLoop) => Answer::redirect(&request.path),
        Some(Fault::EndlessRedirects) => Answer::redirect(&format!("{}?{}x", request.path, request.query)),
        Some(Fault::RedirectToOther) => Answer::redirect(&target(request.origin.other())),
        Some(Fault::RedirectToPlain) => Answer::redirect(&target(Origin::Plain)),
        Some(Fault::Redirect(location)) => Answer::redirect(&location),
        Some(Fault::DelayMs(delay)) => {
            tokio::time::sleep(Duration::from_millis(delay)).await;
            answer
        }
    };
    Outcome::Send(answer, delivery)
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns_match_whole_paths() {
        assert!(matches("/v1/*/versions", "/v1/providers/a/b/versions"));
        assert!(matches("*SHA256SUMS", "/x/terraform_SHA256SUMS"));
        assert!(!matches("*SHA256SUMS", "/x/terraform_SHA256SUMS.sig"));
        assert!(matches("/a", "/a") && !matches("/a", "/ab"));
    }
}
