//! Service hosts, in the form in which they are compared.

use std::fmt;
use std::sync::Arc;

use url::Url;
use wardian_address::ProviderAddress;

/// Maximum length of a host name in bytes, including a port.
const MAX_HOST_BYTES: usize = 261;

/// A host that offers services, such as `registry.example.com` or `localhost:8443`.
///
/// Hosts are compared in their ASCII form, so `Bücher.example` and `xn--bcher-kva.example` are the
/// same host. `Display` shows the Unicode form.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServiceHost {
    ascii: Arc<str>,
    shown: Arc<str>,
    base: Arc<Url>,
}

/// Text that is not a host name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" is not a host name: {reason}")]
pub struct ServiceHostError {
    pub text: String,
    reason: &'static str,
}

impl ServiceHost {
    /// Parses a host in its Unicode form or in Punycode, with an optional port. The port 443 is the
    /// default.
    ///
    /// # Errors
    /// Returns an error if the text is not a host name.
    pub fn parse(text: &str) -> Result<Self, ServiceHostError> {
        let wrong = |reason| ServiceHostError { text: text.chars().take(MAX_HOST_BYTES).collect(), reason };
        if text.len() > MAX_HOST_BYTES {
            return Err(wrong("it is too long"));
        }
        let (name, port) = match text.split_once(':') {
            Some((name, port)) => {
                let all_digits = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
                let port = port.parse::<u16>().ok().filter(|port| all_digits && *port != 0);
                (name, Some(port.ok_or_else(|| wrong("the text after the colon is not a port"))?))
            }
            None => (text, None),
        };
        let ascii = idna::domain_to_ascii(name).map_err(|_| wrong("it is not a valid domain name"))?;
        if !ascii.split('.').all(is_label) {
            return Err(wrong("a label must consist of letters, digits and inner dashes"));
        }
        let (shown, valid) = idna::domain_to_unicode(&ascii);
        let shown = if valid.is_ok() { shown } else { ascii.clone() };
        let suffix = port.filter(|port| *port != 443).map(|port| format!(":{port}")).unwrap_or_default();
        let full = format!("{ascii}{suffix}");
        let base = Url::parse(&format!("https://{full}/")).map_err(|_| wrong("it is not a valid host"))?;
        // Other notations of an IP address would be a second name of the same host.
        if base.host_str() != Some(ascii.as_str()) {
            return Err(wrong("it is an unusual notation of an IP address"));
        }
        Ok(Self { ascii: full.into(), shown: format!("{shown}{suffix}").into(), base: Arc::new(base) })
    }

    /// Returns the host of a provider's address.
    ///
    /// # Errors
    /// Returns an error if the host of the address is not a domain name.
    pub fn for_provider(address: &ProviderAddress) -> Result<Self, ServiceHostError> {
        Self::parse(address.hostname())
    }

    /// Returns the host of a URL, with its port unless it is 443.
    ///
    /// # Errors
    /// Returns an error if the URL's host is not a domain name.
    pub fn for_url(url: &Url) -> Result<Self, ServiceHostError> {
        let name = url.host_str().unwrap_or_default();
        match url.port_or_known_default() {
            Some(port) => Self::parse(&format!("{name}:{port}")),
            None => Self::parse(name),
        }
    }

    /// Returns the ASCII form (Punycode), with the port unless it is 443.
    pub fn as_ascii(&self) -> &str {
        &self.ascii
    }

    /// Returns `https://HOST/`.
    pub(crate) fn base_url(&self) -> &Url {
        &self.base
    }
}

fn is_label(label: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    !label.is_empty()
        && label.len() <= 63
        && label.bytes().all(inner)
        && !label.starts_with('-')
        && !label.ends_with('-')
}

impl fmt::Display for ServiceHost {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.shown)
    }
}

impl fmt::Debug for ServiceHost {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ServiceHost({})", self.ascii)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn host(text: &str) -> ServiceHost {
        ServiceHost::parse(text).unwrap()
    }

    #[test]
    fn equivalent_notations_of_a_host_are_equal() {
        let host_name = host("Bücher.Example");
        assert_eq!(host_name, host("xn--bcher-kva.example"));
        assert_eq!(host_name, host("bücher.example:443"));
        assert_eq!(host_name.as_ascii(), "xn--bcher-kva.example");
        assert_eq!(host_name.to_string(), "bücher.example");
        assert_eq!(host("localhost:8443").as_ascii(), "localhost:8443");
        assert_eq!(host("127.0.0.1:1").base_url().as_str(), "https://127.0.0.1:1/");
        assert_ne!(host("example.com:80"), host("example.com"));
    }

    #[test]
    fn invalid_hosts_are_rejected() {
        for bad in [
            "",
            ".",
            "a..b",
            "-a.example",
            "a_b.example",
            "a/b",
            "a b",
            "user@a.example",
            "a.example:",
            "a.example:0",
            "a.example:65536",
            "a.example:+1",
            "a:1:2",
            "0x7f.1",
            "1.2.3",
            "[::1]",
            "a\u{0}b",
            "xn--a",
        ] {
            assert!(ServiceHost::parse(bad).is_err(), "{bad:?}");
        }
        assert!(ServiceHost::parse(&"a".repeat(5_000)).is_err());
    }

    #[test]
    fn host_from_url_includes_its_port() {
        for (url, expected) in [
            ("https://a.example/x", "a.example"),
            ("https://a.example:8443/x", "a.example:8443"),
            ("http://a.example/x", "a.example:80"),
        ] {
            assert_eq!(ServiceHost::for_url(&Url::parse(url).unwrap()).unwrap(), host(expected));
        }
    }
}
