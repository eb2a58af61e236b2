//! The host's own requests.

use std::fmt;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use url::Url;

use crate::authorization::Authorization;
use crate::printable_url;

/// Maximum number of redirects, unless the request sets another number.
const MAX_REDIRECTS: usize = 5;

/// A request. `Debug` shows only its method and the printable form of its URL.
#[derive(Clone)]
pub struct Fetch {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) authorization: Option<Authorization>,
    pub(crate) uses_netrc: bool,
    pub(crate) max_redirects: usize,
    pub(crate) retries: Option<u32>,
    pub(crate) has_total_timeout: bool,
}

impl Fetch {
    pub fn new(method: Method, url: Url) -> Self {
        Self {
            method,
            url,
            headers: HeaderMap::new(),
            body: Bytes::new(),
            authorization: None,
            uses_netrc: false,
            max_redirects: MAX_REDIRECTS,
            retries: None,
            has_total_timeout: true,
        }
    }

    pub fn get(url: Url) -> Self {
        Self::new(Method::GET, url)
    }

    pub fn head(url: Url) -> Self {
        Self::new(Method::HEAD, url)
    }

    /// Adds a header, which is also sent after redirects. For credentials, use [`Self::authorization`].
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.append(name, value);
        self
    }

    pub fn body(mut self, body: Bytes) -> Self {
        self.body = body;
        self
    }

    /// Sets the credentials. They are sent only to the origin (scheme, host and port) of the URL:
    /// after a redirect to another origin, requests are sent without them.
    pub fn authorization(mut self, authorization: Authorization) -> Self {
        self.authorization = Some(authorization);
        self
    }

    /// Uses the netrc file's entry for the URL, if the request and the URL have no credentials.
    pub fn with_netrc(mut self) -> Self {
        self.uses_netrc = true;
        self
    }

    /// Sets the maximum number of redirects, which is 5 by default.
    pub fn redirects(mut self, max: usize) -> Self {
        self.max_redirects = max;
        self
    }

    /// Sets the number of retries.
    pub fn retries(mut self, retries: u32) -> Self {
        self.retries = Some(retries);
        self
    }

    /// Limits the time between two chunks of the response, but not the total time of the request.
    pub fn without_total_timeout(mut self) -> Self {
        self.has_total_timeout = false;
        self
    }
}

impl fmt::Debug for Fetch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Fetch({} {})", self.method, printable_url(&self.url))
    }
}

/// A response with its body. `Debug` shows neither headers nor body, which may contain secrets.
#[derive(Clone)]
pub struct Fetched {
    pub status: StatusCode,
    pub headers: HeaderMap,
    /// The URL after redirects.
    pub url: Url,
    pub body: Bytes,
}

impl fmt::Debug for Fetched {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (url, length) = (printable_url(&self.url), self.body.len());
        write!(formatter, "Fetched({} from {url}, {length} bytes)", self.status)
    }
}

/// Returns whether the headers contain exactly one content type, which is `media_type` with or
/// without parameters.
pub fn content_type_is(headers: &HeaderMap, media_type: &str) -> bool {
    let mut types = headers.get_all(http::header::CONTENT_TYPE).iter();
    let (Some(found), None) = (types.next(), types.next()) else { return false };
    let essence = found.to_str().unwrap_or_default().split(';').next().unwrap_or_default();
    essence.trim().eq_ignore_ascii_case(media_type)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_type_ignores_case_and_parameters() {
        let headers = |types: &[&'static str]| -> HeaderMap {
            types.iter().map(|value| (http::header::CONTENT_TYPE, HeaderValue::from_static(value))).collect()
        };
        for good in ["application/json", "Application/JSON ; charset=utf-8"] {
            assert!(content_type_is(&headers(&[good]), "application/json"), "{good}");
        }
        for bad in [
            &[][..],
            &[""],
            &["text/html"],
            &["application/jsonx"],
            &["application/json", "text/html"],
            &["x; application/json"],
        ] {
            assert!(!content_type_is(&headers(bad), "application/json"), "{bad:?}");
        }
    }

    #[test]
    fn debug_shows_no_secret() {
        let url = Url::parse("https://me:s3cret@a.example/x?token=s3cret").unwrap();
        let fetch = Fetch::get(url.clone())
            .header(http::header::COOKIE, HeaderValue::from_static("s3cret"))
            .body(Bytes::from_static(b"s3cret"))
            .authorization(Authorization::bearer("s3cret"));
        let fetched =
            Fetched { status: StatusCode::OK, headers: fetch.headers.clone(), url, body: fetch.body.clone() };
        let shown = format!("{fetch:?} {fetched:?}");
        assert_eq!(
            shown,
            "Fetch(GET https://a.example/x?token=***) \
             Fetched(200 OK from https://a.example/x?token=***, 6 bytes)"
        );
    }
}
