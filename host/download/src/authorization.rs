//! Credentials for the host's own requests.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;

/// The value of an `Authorization` header. `Debug` does not show it.
#[derive(Clone)]
pub struct Authorization {
    /// `None` if the credential contains a character that cannot be sent in a header.
    value: Option<HeaderValue>,
}

impl Authorization {
    /// Returns the authorization with a bearer token.
    pub fn bearer(token: &str) -> Self {
        Self::from_text(&format!("Bearer {token}"))
    }

    /// Returns the authorization with a user name and a password.
    pub fn basic(user: &str, password: &str) -> Self {
        Self::from_text(&format!("Basic {}", STANDARD.encode(format!("{user}:{password}"))))
    }

    fn from_text(text: &str) -> Self {
        let value = HeaderValue::from_str(text).ok().map(|mut value| {
            value.set_sensitive(true);
            value
        });
        Self { value }
    }

    /// Returns the header's value; `None` if the credential cannot be sent.
    pub(crate) fn header_value(&self) -> Option<&HeaderValue> {
        self.value.as_ref()
    }
}

impl fmt::Debug for Authorization {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Authorization(...)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authorization_is_sent_but_not_shown() {
        let basic = Authorization::basic("me", "p@ss:ü");
        assert_eq!(basic.header_value().unwrap(), "Basic bWU6cEBzczrDvA==");
        let bearer = Authorization::bearer("t0ken");
        assert_eq!(bearer.header_value().unwrap(), "Bearer t0ken");
        assert!(!format!("{basic:?}{bearer:?}{:?}", bearer.header_value()).contains("t0ken"));
        assert!(Authorization::bearer("two\r\nlines").header_value().is_none());
    }
}
