//! The route of a request through redirects: its current URL, and the headers and credentials that
//! are sent to it.

use http::header::{self, HeaderMap, HeaderName};
use http::{HeaderValue, Method, StatusCode};
use url::{Position, Url};
use wardian_network::proxy::percent_decode;

use crate::authorization::Authorization;
use crate::error::RedirectProblem;
use crate::netrc::Netrc;
use crate::printable_url;
use crate::request::Fetch;

/// Maximum length of a `Location` header in bytes.
const MAX_LOCATION_BYTES: usize = 8 * 1024;

/// Headers that are not sent to another origin.
const CREDENTIAL_HEADERS: [HeaderName; 3] =
    [header::AUTHORIZATION, header::COOKIE, header::PROXY_AUTHORIZATION];

pub(crate) struct Route<'a> {
    fetch: &'a Fetch,
    url: Url,
    method: Method,
    has_body: bool,
    /// Whether every URL so far had the same origin as the first URL.
    is_at_first_origin: bool,
    /// The credentials for the first origin.
    authorization: Option<Authorization>,
    visited: Vec<(Method, Url)>,
}

impl<'a> Route<'a> {
    pub(crate) fn new(fetch: &'a Fetch, netrc: &Netrc) -> Self {
        let from_netrc = || fetch.uses_netrc.then(|| netrc.authorization(&fetch.url)).flatten();
        let authorization =
            fetch.authorization.clone().or_else(|| user_information(&fetch.url)).or_else(|| {
                if fetch.headers.contains_key(header::AUTHORIZATION) { None } else { from_netrc() }
            });
        Self {
            fetch,
            url: without_user_information(&fetch.url),
            method: fetch.method.clone(),
            has_body: !fetch.body.is_empty(),
            is_at_first_origin: true,
            authorization,
            visited: Vec::new(),
        }
    }

    /// Returns the current URL, which has neither user information nor a fragment.
    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    pub(crate) fn method(&self) -> &Method {
        &self.method
    }

    pub(crate) fn has_body(&self) -> bool {
        self.has_body
    }

    /// Returns the current URL as the URI of a request.
    pub(crate) fn uri(&self) -> &str {
        &self.url[..Position::AfterQuery]
    }

    /// Returns the headers of the request to the current URL, or the reason why they cannot be
    /// sent.
    pub(crate) fn headers(&self, user_agent: &str) -> Result<HeaderMap, &'static str> {
        let mut headers = self.fetch.headers.clone();
        if !headers.contains_key(header::USER_AGENT) {
            let value = HeaderValue::from_str(user_agent)
                .map_err(|_| "the user agent contains a character that is not allowed in a header")?;
            headers.insert(header::USER_AGENT, value);
        }
        if !self.is_at_first_origin {
            for name in CREDENTIAL_HEADERS {
                headers.remove(name);
            }
        } else if let Some(authorization) = &self.authorization {
            let value = authorization
                .header_value()
                .ok_or("the credentials contain a character that is not allowed in a header")?;
            headers.insert(header::AUTHORIZATION, value.clone());
        }
        Ok(headers)
    }

    /// Changes the current URL to the target of a redirect.
    pub(crate) fn follow(
        &mut self,
        status: StatusCode,
        location: &HeaderValue,
    ) -> Result<(), RedirectProblem> {
        let location = location.as_bytes();
        if location.len() > MAX_LOCATION_BYTES {
            return Err(RedirectProblem::TooLong(MAX_LOCATION_BYTES));
        }
        let location = std::str::from_utf8(location).map_err(|_| RedirectProblem::Location)?;
        let next = self.url.join(location).map_err(|_| RedirectProblem::Location)?;
        if !matches!(next.scheme(), "http" | "https") {
            return Err(RedirectProblem::Scheme);
        }
        let next = without_user_information(&next);
        if self.url.scheme() == "https" && next.scheme() != "https" {
            return Err(RedirectProblem::Downgrade(printable_url(&next)));
        }
        let method = method_after(status, &self.method);
        let keeps_body = self.has_body && method == self.method;
        let is_other_origin = next.origin() != self.url.origin();
        if is_other_origin && keeps_body {
            return Err(RedirectProblem::BodyToOtherOrigin(printable_url(&next)));
        }
        let left = std::mem::replace(&mut self.url, next);
        self.visited.push((std::mem::replace(&mut self.method, method), left));
        if self.visited.iter().any(|(method, url)| *method == self.method && *url == self.url) {
            return Err(RedirectProblem::Loop(printable_url(&self.url)));
        }
        if self.visited.len() > self.fetch.max_redirects {
            return Err(RedirectProblem::TooMany(self.fetch.max_redirects));
        }
        self.has_body = keeps_body;
        self.is_at_first_origin &= !is_other_origin;
        Ok(())
    }
}

/// Returns the location of a redirect; `None` for another response.
pub(crate) fn redirect_location(status: StatusCode, headers: &HeaderMap) -> Option<&HeaderValue> {
    let is_redirect = matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308);
    headers.get(header::LOCATION).filter(|_| is_redirect)
}

fn method_after(status: StatusCode, method: &Method) -> Method {
    let becomes_get = match status {
        StatusCode::SEE_OTHER => *method != Method::HEAD,
        StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND => *method == Method::POST,
        _ => false,
    };
    if becomes_get { Method::GET } else { method.clone() }
}

fn user_information(url: &Url) -> Option<Authorization> {
    if url.username().is_empty() && url.password().is_none() {
        return None;
    }
    let decode = |text| String::from_utf8_lossy(&percent_decode(text)).into_owned();
    Some(Authorization::basic(&decode(url.username()), &decode(url.password().unwrap_or_default())))
}

fn without_user_information(url: &Url) -> Url {
    let mut url = url.clone();
    // These calls fail only for URLs without a host, which cannot be requested anyway.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_fragment(None);
    url
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    const START: &str = "https://a.example/x/y?q=1";

    fn fetch(method: Method, url: &str) -> Fetch {
        Fetch::new(method, Url::parse(url).unwrap())
    }

    fn location(text: &str) -> HeaderValue {
        HeaderValue::from_bytes(text.as_bytes()).unwrap()
    }

    fn follow(route: &mut Route<'_>, status: u16, to: &str) -> Result<(), RedirectProblem> {
        route.follow(StatusCode::from_u16(status).unwrap(), &location(to))
    }

    #[track_caller]
    fn authorization(route: &Route<'_>) -> Option<String> {
        let headers = route.headers("test").unwrap();
        headers.get(header::AUTHORIZATION).map(|value| value.to_str().unwrap().to_owned())
    }

    #[test]
    fn redirect_location_may_be_relative_or_absolute() {
        for (to, expected) in [
            ("z", "https://a.example/x/z"),
            ("/z?a=b#part", "https://a.example/z?a=b"),
            ("//b.example/z", "https://b.example/z"),
            ("https://b.example:8443", "https://b.example:8443/"),
            ("https://user:password@b.example/", "https://b.example/"),
            ("/ü", "https://a.example/%C3%BC"),
        ] {
            let fetch = fetch(Method::GET, START);
            let mut route = Route::new(&fetch, &Netrc::default());
            follow(&mut route, 302, to).unwrap();
            assert_eq!(route.uri(), expected, "{to}");
        }
    }

    #[test]
    fn invalid_redirects_are_rejected() {
        let fetch = fetch(Method::GET, START).redirects(2);
        for (to, expected) in [
            ("http://a.example/", RedirectProblem::Downgrade("http://a.example/".into())),
            ("http://a.example/?t=1", RedirectProblem::Downgrade("http://a.example/?t=***".into())),
            ("file:///etc/passwd", RedirectProblem::Scheme),
            ("ftp://a.example/", RedirectProblem::Scheme),
            ("javascript:x", RedirectProblem::Scheme),
            ("https://", RedirectProblem::Location),
            ("https://a b/", RedirectProblem::Location),
            ("#", RedirectProblem::Loop("https://a.example/x/y?q=***".into())),
            (START, RedirectProblem::Loop("https://a.example/x/y?q=***".into())),
            (&"a".repeat(MAX_LOCATION_BYTES + 1), RedirectProblem::TooLong(MAX_LOCATION_BYTES)),
        ] {
            let mut route = Route::new(&fetch, &Netrc::default());
            assert_eq!(follow(&mut route, 302, to), Err(expected), "{to}");
        }
        let mut route = Route::new(&fetch, &Netrc::default());
        let not_utf8 = HeaderValue::from_bytes(b"/\xff").unwrap();
        assert_eq!(route.follow(StatusCode::FOUND, &not_utf8), Err(RedirectProblem::Location));
    }

    #[test]
    fn number_of_redirects_is_limited_and_loops_are_detected() {
        let fetch = fetch(Method::GET, START).redirects(2);
        let mut route = Route::new(&fetch, &Netrc::default());
        follow(&mut route, 302, "/1").unwrap();
        follow(&mut route, 302, "/2").unwrap();
        assert_eq!(follow(&mut route, 302, "/3"), Err(RedirectProblem::TooMany(2)));
        let mut route = Route::new(&fetch, &Netrc::default());
        follow(&mut route, 302, "/1").unwrap();
        assert!(matches!(follow(&mut route, 302, START), Err(RedirectProblem::Loop(_))));
        let none = fetch_without_redirects();
        let mut route = Route::new(&none, &Netrc::default());
        assert_eq!(follow(&mut route, 302, "/1"), Err(RedirectProblem::TooMany(0)));
    }

    fn fetch_without_redirects() -> Fetch {
        fetch(Method::GET, START).redirects(0)
    }

    #[test]
    fn status_determines_method_and_body_of_redirected_request() {
        for (status, method, expected, has_body) in [
            (301, Method::POST, Method::GET, false),
            (302, Method::POST, Method::GET, false),
            (303, Method::POST, Method::GET, false),
            (303, Method::PUT, Method::GET, false),
            (307, Method::POST, Method::POST, true),
            (308, Method::PUT, Method::PUT, true),
            (301, Method::PUT, Method::PUT, true),
        ] {
            let fetch = fetch(method.clone(), START).body(Bytes::from_static(b"x"));
            let mut route = Route::new(&fetch, &Netrc::default());
            follow(&mut route, status, "/z").unwrap();
            assert_eq!((route.method(), route.has_body()), (&expected, has_body), "{status} {method}");
        }
        let head = fetch(Method::HEAD, START);
        let mut route = Route::new(&head, &Netrc::default());
        follow(&mut route, 303, "/z").unwrap();
        assert_eq!(route.method(), &Method::HEAD);
    }

    #[test]
    fn body_is_not_sent_to_another_origin() {
        let fetch = fetch(Method::POST, START).body(Bytes::from_static(b"x"));
        let mut route = Route::new(&fetch, &Netrc::default());
        assert_eq!(
            follow(&mut route, 307, "https://b.example/"),
            Err(RedirectProblem::BodyToOtherOrigin("https://b.example/".into()))
        );
    }

    #[test]
    fn credentials_are_not_sent_to_another_origin() {
        let secret = fetch(Method::GET, START)
            .authorization(Authorization::bearer("t"))
            .header(header::COOKIE, HeaderValue::from_static("c"))
            .header(header::ACCEPT, HeaderValue::from_static("text/plain"));
        for to in ["https://b.example/", "https://a.example:8443/", "https://a.example./"] {
            let mut route = Route::new(&secret, &Netrc::default());
            assert_eq!(authorization(&route).as_deref(), Some("Bearer t"));
            follow(&mut route, 302, "/same").unwrap();
            assert_eq!(authorization(&route).as_deref(), Some("Bearer t"));
            follow(&mut route, 302, to).unwrap();
            assert_eq!(authorization(&route), None, "{to}");
            // The credentials are not sent again after a redirect back to the first origin.
            follow(&mut route, 302, "https://a.example/back").unwrap();
            let headers = route.headers("test").unwrap();
            assert_eq!(authorization(&route), None);
            assert!(!headers.contains_key(header::COOKIE) && headers.contains_key(header::ACCEPT));
        }
        let plain = fetch(Method::GET, "http://a.example/").authorization(Authorization::bearer("t"));
        let mut route = Route::new(&plain, &Netrc::default());
        follow(&mut route, 302, "https://a.example/").unwrap();
        assert_eq!(authorization(&route), None);
    }

    #[test]
    fn explicit_credentials_precede_url_credentials_and_netrc() {
        let netrc = Netrc::parse("machine a.example login n password n").unwrap();
        let basic = |user: &str| {
            let value = Authorization::basic(user, user);
            value.header_value().map(|value| value.to_str().unwrap().to_owned())
        };
        let plain = fetch(Method::GET, START);
        assert_eq!(authorization(&Route::new(&plain, &netrc)), None);
        let with_netrc = plain.clone().with_netrc();
        assert_eq!(authorization(&Route::new(&with_netrc, &netrc)), basic("n"));
        let in_url = fetch(Method::GET, "https://%75:u@a.example/").with_netrc();
        let route = Route::new(&in_url, &netrc);
        assert_eq!((authorization(&route), route.uri()), (basic("u"), "https://a.example/"));
        let given = in_url.authorization(Authorization::basic("g", "g"));
        assert_eq!(authorization(&Route::new(&given, &netrc)), basic("g"));
        let header = with_netrc.header(header::AUTHORIZATION, HeaderValue::from_static("h"));
        assert_eq!(authorization(&Route::new(&header, &netrc)).as_deref(), Some("h"));
    }

    #[test]
    fn headers_that_cannot_be_sent_are_rejected() {
        let fetch = fetch(Method::GET, START).authorization(Authorization::bearer("a\nb"));
        assert!(Route::new(&fetch, &Netrc::default()).headers("test").is_err());
        let plain = self::fetch(Method::GET, START);
        assert!(Route::new(&plain, &Netrc::default()).headers("a\nb").is_err());
        let own = plain.header(header::USER_AGENT, HeaderValue::from_static("own"));
        assert_eq!(Route::new(&own, &Netrc::default()).headers("test").unwrap()[header::USER_AGENT], "own");
    }
}
