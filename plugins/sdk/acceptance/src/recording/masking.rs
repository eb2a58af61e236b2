//! Removes secrets from requests and responses before they are written.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;
use wardian_sdk::http::{Request, Response};

use super::file::{Body, Exchange, MAX_BODY_BYTES, RecordedRequest, RecordedResponse};

/// The text that replaces a secret.
pub(super) const MASKED: &str = "(masked)";

/// Headers whose values are always masked.
const SECRET_HEADERS: [&str; 5] =
    ["authorization", "cookie", "set-cookie", "proxy-authorization", "x-api-key"];

/// Minimum length of a secret that is also replaced in other places. Shorter texts occur by chance.
const MIN_SECRET: usize = 6;

/// The places of secrets, and the parts of bodies that are ignored in a comparison.
#[derive(Clone, Debug, Default)]
pub(super) struct Masking {
    pub(super) headers: Vec<String>,
    pub(super) pointers: Vec<String>,
    pub(super) parameters: Vec<String>,
    pub(super) ignored: Vec<String>,
}

/// The secrets that were found, which are replaced wherever they occur. Not `Debug`.
#[derive(Default)]
pub(super) struct Secrets(BTreeSet<String>);

impl Masking {
    pub(super) fn exchange(
        &self,
        request: &Request,
        response: &Response,
        secrets: &mut Secrets,
    ) -> Result<Exchange, String> {
        if response.body().len() > MAX_BODY_BYTES {
            return Err(format!(
                "its response is larger than {MAX_BODY_BYTES} bytes, so it cannot be recorded"
            ));
        }
        Ok(Exchange {
            request: self.request(request, secrets)?,
            response: RecordedResponse {
                status: response.status(),
                headers: self.header_values(response.headers(), secrets),
                body: self.body(response.body(), secrets),
            },
        })
    }

    pub(super) fn request(
        &self,
        request: &Request,
        secrets: &mut Secrets,
    ) -> Result<RecordedRequest, String> {
        if request.content().len() > MAX_BODY_BYTES {
            return Err(format!("its body is larger than {MAX_BODY_BYTES} bytes, so it cannot be recorded"));
        }
        Ok(RecordedRequest {
            method: request.method().to_owned(),
            url: self.url(request.url(), secrets),
            headers: self.header_values(request.headers(), secrets),
            body: self.body(request.content(), secrets),
        })
    }

    fn header_values<'a>(
        &self,
        headers: impl Iterator<Item = (&'a str, &'a [u8])>,
        secrets: &mut Secrets,
    ) -> Vec<(String, String)> {
        let is_secret = |name: &str| {
            SECRET_HEADERS.iter().any(|known| name.eq_ignore_ascii_case(known))
                || self.headers.iter().any(|known| name.eq_ignore_ascii_case(known))
        };
        headers
            .map(|(name, value)| {
                let text = String::from_utf8_lossy(value).into_owned();
                if !is_secret(name) {
                    return (name.to_owned(), text);
                }
                secrets.add_header(&text);
                (name.to_owned(), MASKED.to_owned())
            })
            .collect()
    }

    fn url(&self, url: &str, secrets: &mut Secrets) -> String {
        let Some((base, query)) = url.split_once('?') else { return url.to_owned() };
        let parameters = query.split('&').map(|parameter| match parameter.split_once('=') {
            Some((name, value)) if self.parameters.iter().any(|known| known == name) => {
                secrets.add(value);
                format!("{name}={MASKED}")
            }
            _ => parameter.to_owned(),
        });
        format!("{base}?{}", parameters.collect::<Vec<_>>().join("&"))
    }

    fn body(&self, bytes: &[u8], secrets: &mut Secrets) -> Body {
        let mut body = Body::from_bytes(bytes);
        if let Body::Json(json) = &mut body {
            for pointer in &self.pointers {
                replace_at(json, pointer, &mut |value| {
                    if let Json::String(text) = value {
                        secrets.add(text);
                    }
                    *value = Json::from(MASKED);
                });
            }
        }
        body
    }

    /// Returns a body for a comparison, without its ignored parts.
    pub(super) fn compared<'a>(&self, body: &'a Body) -> std::borrow::Cow<'a, Body> {
        let Body::Json(json) = body else { return std::borrow::Cow::Borrowed(body) };
        if self.ignored.is_empty() {
            return std::borrow::Cow::Borrowed(body);
        }
        let mut json = json.clone();
        for pointer in &self.ignored {
            replace_at(&mut json, pointer, &mut |value| *value = Json::Null);
        }
        std::borrow::Cow::Owned(Body::Json(json))
    }
}

/// Calls a function with each value at a JSON pointer. The step `*` stands for all elements.
fn replace_at(json: &mut Json, pointer: &str, change: &mut dyn FnMut(&mut Json)) {
    let Some(rest) = pointer.strip_prefix('/') else {
        if pointer.is_empty() {
            change(json);
        }
        return;
    };
    let (step, rest) = match rest.find('/') {
        Some(end) => rest.split_at(end),
        None => (rest, ""),
    };
    let name = step.replace("~1", "/").replace("~0", "~");
    match json {
        Json::Object(parts) if step == "*" => {
            parts.values_mut().for_each(|part| replace_at(part, rest, change));
        }
        Json::Array(parts) if step == "*" => parts.iter_mut().for_each(|part| replace_at(part, rest, change)),
        Json::Object(parts) => {
            if let Some(part) = parts.get_mut(&name) {
                replace_at(part, rest, change);
            }
        }
        Json::Array(parts) => {
            if let Some(part) = name.parse::<usize>().ok().and_then(|index| parts.get_mut(index)) {
                replace_at(part, rest, change);
            }
        }
        _ => {}
    }
}

impl Secrets {
    fn add(&mut self, secret: &str) {
        if secret.len() >= MIN_SECRET && secret != MASKED {
            self.0.insert(secret.to_owned());
        }
    }

    /// Adds the credential in a header: the complete value, the part after the scheme, and the password of
    /// the scheme `Basic`.
    fn add_header(&mut self, value: &str) {
        self.add(value);
        let Some((scheme, credential)) = value.split_once(' ') else { return };
        self.add(credential);
        let decoded = scheme.eq_ignore_ascii_case("basic").then(|| STANDARD.decode(credential.trim()).ok());
        if let Some(decoded) = decoded.flatten().and_then(|decoded| String::from_utf8(decoded).ok())
            && let Some((_, password)) = decoded.split_once(':')
        {
            self.add(password);
        }
    }

    /// Replaces the secrets in all exchanges, which may precede the exchange in which they were found.
    pub(super) fn mask_everywhere(&self, exchanges: &mut [Exchange]) {
        if self.0.is_empty() {
            return;
        }
        for exchange in exchanges {
            self.mask_request(&mut exchange.request);
            self.mask_headers(&mut exchange.response.headers);
            self.mask_body(&mut exchange.response.body);
        }
    }

    pub(super) fn mask_request(&self, request: &mut RecordedRequest) {
        self.mask_text(&mut request.url);
        self.mask_headers(&mut request.headers);
        self.mask_body(&mut request.body);
    }

    fn mask_headers(&self, headers: &mut [(String, String)]) {
        for (_, value) in headers {
            self.mask_text(value);
        }
    }

    fn mask_body(&self, body: &mut Body) {
        match body {
            Body::Json(json) => self.mask_value(json),
            Body::Text(text) => self.mask_text(text),
            Body::Empty | Body::Base64(_) => {}
        }
    }

    fn mask_value(&self, json: &mut Json) {
        match json {
            Json::String(text) => self.mask_text(text),
            Json::Array(parts) => parts.iter_mut().for_each(|part| self.mask_value(part)),
            Json::Object(parts) => parts.values_mut().for_each(|part| self.mask_value(part)),
            Json::Null | Json::Bool(_) | Json::Number(_) => {}
        }
    }

    fn mask_text(&self, text: &mut String) {
        for secret in &self.0 {
            if text.contains(secret.as_str()) {
                *text = text.replace(secret.as_str(), MASKED);
            }
        }
    }
}
