//! Selects proxies from the user's environment.
//!
//! | variable | applies to |
//! |---|---|
//! | `HTTPS_PROXY`, `https_proxy` | `https` |
//! | `HTTP_PROXY`, `http_proxy` | `http`; the upper-case name is not used in a CGI program, that is, if `REQUEST_METHOD` is set, because a header of the request could set it |
//! | `ALL_PROXY`, `all_proxy` | schemes for which none of the variables above is set |
//! | `NO_PROXY`, `no_proxy` | hosts to which connections are opened directly |
//!
//! `NO_PROXY` is a comma-separated list: a name, with or without a leading dot, matches itself and
//! its subdomains; an address or a CIDR range matches addresses; a port may follow; `*` matches all
//! hosts. Requests to loopback addresses are never sent through a proxy.
//!
//! A proxy resolves names, so the addresses of names are unknown here. The policy's rules for
//! names, ports and methods still apply, and so do its rules for addresses if the host in the
//! request is an address.

use std::net::IpAddr;

use http::Uri;
use wardian_access::{Host, NetworkRequest, Scheme};

/// Selects the proxy for a request.
#[derive(Clone, Debug, Default)]
pub struct ProxySettings {
    https: Option<Proxy>,
    http: Option<Proxy>,
    direct: Vec<ProxyBypass>,
}

/// A proxy, which is accessed with plain HTTP.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Proxy {
    pub(crate) host: String,
    pub(crate) port: u16,
    /// The value of `Proxy-Authorization`, which is sensitive.
    pub(crate) authorization: Option<String>,
}

impl std::fmt::Debug for Proxy {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Proxy({self})")
    }
}

impl std::fmt::Display for Proxy {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}:{}", self.host, self.port)
    }
}

/// A variable with an invalid proxy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{variable} is not a valid proxy: {problem}")]
pub struct ProxyError {
    pub variable: &'static str,
    /// The problem, without the value, which may contain a password.
    pub problem: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ProxyBypass {
    Everything,
    Name { name: String, port: Option<u16> },
    Range { address: IpAddr, bits: u8 },
}

impl ProxySettings {
    /// Reads the proxy variables; `variable` returns the value of a variable.
    ///
    /// # Errors
    /// Returns an error if a proxy is invalid, because a typing error must not cause requests to
    /// bypass the proxy.
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Result<Self, ProxyError> {
        let first = |names: &[&'static str]| {
            names.iter().find_map(|name| Some((*name, variable(name).filter(|value| !value.is_empty())?)))
        };
        let proxy = |names: &[&'static str]| match first(names) {
            None => Ok(None),
            Some((name, value)) => {
                Proxy::parse(&value).map(Some).map_err(|problem| ProxyError { variable: name, problem })
            }
        };
        let every = proxy(&["ALL_PROXY", "all_proxy"])?;
        let direct = first(&["NO_PROXY", "no_proxy"]).map(|(_, value)| value).unwrap_or_default();
        let http: &[&str] = if variable("REQUEST_METHOD").is_some() {
            &["http_proxy"]
        } else {
            &["HTTP_PROXY", "http_proxy"]
        };
        Ok(Self {
            https: proxy(&["HTTPS_PROXY", "https_proxy"])?.or_else(|| every.clone()),
            http: proxy(http)?.or(every),
            direct: direct.split(',').filter_map(ProxyBypass::parse).collect(),
        })
    }

    pub(crate) fn for_request(&self, request: &NetworkRequest) -> Option<&Proxy> {
        let proxy = match request.scheme() {
            Scheme::Https => self.https.as_ref(),
            _ => self.http.as_ref(),
        }?;
        let is_direct = is_local(request.host())
            || self.direct.iter().any(|direct| direct.includes(request.host(), request.port()));
        (!is_direct).then_some(proxy)
    }
}

fn is_local(host: &Host) -> bool {
    match host {
        Host::Name(name) => &**name == "localhost" || name.ends_with(".localhost"),
        Host::Address(address) => address.is_loopback(),
    }
}

impl Proxy {
    fn parse(value: &str) -> Result<Self, &'static str> {
        let with_scheme = if value.contains("://") { value.to_owned() } else { format!("http://{value}") };
        let uri: Uri = with_scheme.parse().map_err(|_| "the value is not a URL")?;
        if uri.scheme_str() != Some("http") {
            return Err("only plain HTTP proxies (http://host:port) are supported");
        }
        let authority = uri.authority().ok_or("the URL has no host")?;
        let user = authority.as_str().rsplit_once('@').map(|(user, _)| user);
        let authorization = user.map(|user| {
            use base64::Engine as _;
            // `@` and `:` in a password must be percent-encoded.
            let user = percent_decode(user);
            format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(user))
        });
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        if host.is_empty() {
            return Err("the URL has no host");
        }
        Ok(Self { host, port: authority.port_u16().unwrap_or(80), authorization })
    }
}

/// Decodes percent-encoding. A percent sign without two hexadecimal digits is preserved.
pub fn percent_decode(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let escaped =
            (*first == b'%').then(|| after.split_at_checked(2)).flatten().and_then(|(digits, after)| {
                let digits = std::str::from_utf8(digits).ok()?;
                Some((u8::from_str_radix(digits, 16).ok()?, after))
            });
        match escaped {
            Some((byte, after)) => {
                bytes.push(byte);
                rest = after;
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    bytes
}

impl ProxyBypass {
    fn parse(entry: &str) -> Option<Self> {
        let entry = entry.trim().to_ascii_lowercase();
        if entry.is_empty() {
            return None;
        }
        if entry == "*" {
            return Some(Self::Everything);
        }
        if let Some((address, bits)) = entry.split_once('/')
            && let (Ok(address), Ok(bits)) = (address.parse::<IpAddr>(), bits.parse())
        {
            return Some(Self::Range { address: address.to_canonical(), bits });
        }
        if let Ok(address) = entry.trim_matches(['[', ']']).parse::<IpAddr>() {
            return Some(Self::Range { address: address.to_canonical(), bits: 128 });
        }
        let (name, port) = match entry.rsplit_once(':') {
            Some((name, port)) => (name, port.parse().ok()),
            None => (entry.as_str(), None),
        };
        let name = name.trim_start_matches('*').trim_matches('.').to_owned();
        (!name.is_empty()).then_some(Self::Name { name, port })
    }

    fn includes(&self, host: &Host, port: u16) -> bool {
        match (self, host) {
            (Self::Everything, _) => true,
            (Self::Name { name, port: only }, Host::Name(host)) => {
                only.is_none_or(|only| only == port)
                    && host
                        .strip_suffix(name.as_str())
                        .is_some_and(|before| before.is_empty() || before.ends_with('.'))
            }
            (Self::Range { address, bits }, Host::Address(host)) => is_within(*host, *address, *bits),
            (Self::Name { .. }, Host::Address(_)) | (Self::Range { .. }, Host::Name(_)) => false,
        }
    }
}

fn is_within(address: IpAddr, network: IpAddr, bits: u8) -> bool {
    match (address, network) {
        (IpAddr::V4(address), IpAddr::V4(network)) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(bits.min(32))).unwrap_or(0);
            address.to_bits() & mask == network.to_bits() & mask
        }
        (IpAddr::V6(address), IpAddr::V6(network)) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(bits.min(128))).unwrap_or(0);
            address.to_bits() & mask == network.to_bits() & mask
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(variables: &[(&str, &str)]) -> Result<ProxySettings, ProxyError> {
        ProxySettings::from_variables(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[track_caller]
    fn proxy_of(variables: &[(&str, &str)], scheme: &str, authority: &str) -> Option<String> {
        let request = NetworkRequest::http(scheme, authority, "GET").unwrap();
        settings(variables).unwrap().for_request(&request).map(ToString::to_string)
    }

    #[test]
    fn each_scheme_has_its_own_proxy_variable() {
        let variables = [("HTTPS_PROXY", "http://one:3128"), ("http_proxy", "two"), ("HTTP_PROXY", "three")];
        assert_eq!(proxy_of(&variables, "https", "a.example").as_deref(), Some("one:3128"));
        assert_eq!(proxy_of(&variables, "http", "a.example").as_deref(), Some("three:80"));
        // The web server sets HTTP_PROXY to the value of the header `Proxy` of a CGI request.
        let in_cgi = [variables.as_slice(), &[("REQUEST_METHOD", "GET")]].concat();
        assert_eq!(proxy_of(&in_cgi, "http", "a.example").as_deref(), Some("two:80"));
        let variables = [("ALL_PROXY", "[2001:db8::1]:8080")];
        assert_eq!(proxy_of(&variables, "http", "a.example").as_deref(), Some("2001:db8::1:8080"));
        assert_eq!(proxy_of(&[], "http", "a.example"), None);
        assert_eq!(proxy_of(&[("HTTPS_PROXY", "")], "https", "a.example"), None);
    }

    #[test]
    fn no_proxy_hosts_and_loopback_bypass_the_proxy() {
        let goes = |no_proxy: &str, authority: &str| {
            proxy_of(&[("ALL_PROXY", "proxy:1"), ("NO_PROXY", no_proxy)], "http", authority).is_some()
        };
        for (no_proxy, authority) in [
            ("example.com", "example.com"),
            ("x, .Example.com", "api.example.com"),
            ("*.example.com", "api.example.com"),
            ("example.com:8080", "example.com:8080"),
            ("192.0.2.0/24", "192.0.2.7"),
            ("192.0.2.7", "192.0.2.7"),
            ("2001:db8::/32", "[2001:db8::5]"),
            ("0.0.0.0/0", "198.51.100.1"),
            ("*", "anything.example"),
            ("", "localhost:8000"),
            ("", "127.0.0.1"),
            ("", "[::ffff:127.0.0.1]"),
        ] {
            assert!(!goes(no_proxy, authority), "{no_proxy}: {authority}");
        }
        for (no_proxy, authority) in [
            ("example.com", "badexample.com"),
            ("example.com", "example.com.evil.example"),
            ("example.com:8080", "example.com"),
            ("192.0.2.0/24", "192.0.3.7"),
            ("192.0.2.7", "192.0.2.8"),
            ("", "127.example"),
        ] {
            assert!(goes(no_proxy, authority), "{no_proxy}: {authority}");
        }
    }

    #[test]
    fn proxy_password_is_sent_but_not_displayed() {
        let settings = settings(&[("HTTPS_PROXY", "http://me:p%40ss@proxy:1")]).unwrap();
        let proxy = settings.https.unwrap();
        assert_eq!(proxy.authorization.as_deref(), Some("Basic bWU6cEBzcw=="));
        assert_eq!(format!("{proxy:?} {proxy}"), "Proxy(proxy:1) proxy:1");
    }

    #[test]
    fn invalid_proxy_is_an_error() {
        for value in ["socks5://proxy:1", "https://proxy", "http://", "a b"] {
            let error = settings(&[("ALL_PROXY", value)]).unwrap_err();
            assert!(error.to_string().starts_with("ALL_PROXY is not a valid proxy"), "{error}");
        }
    }
}
