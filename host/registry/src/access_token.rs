//! Tokens that identify a user to a host.

use std::fmt;
use std::sync::Arc;

use wardian_download::Authorization;

/// Maximum length of a token in bytes.
const MAX_TOKEN_BYTES: usize = 64 << 10;

/// A token that can be sent in a header. Neither `Debug` output nor any error contains it.
#[derive(Clone, PartialEq, Eq)]
pub struct AccessToken(Arc<str>);

/// Text that is not a valid token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AccessTokenError {
    #[error("the token is empty")]
    Empty,
    #[error("the token is longer than {} KiB", MAX_TOKEN_BYTES >> 10)]
    TooLong,
    #[error("the token contains a space, a line break or another character that cannot be sent in a header")]
    Character,
}

impl AccessToken {
    /// Creates a token.
    ///
    /// # Errors
    /// Returns an error if the text cannot be sent as a token.
    pub fn new(text: &str) -> Result<Self, AccessTokenError> {
        if text.is_empty() {
            return Err(AccessTokenError::Empty);
        }
        if text.len() > MAX_TOKEN_BYTES {
            return Err(AccessTokenError::TooLong);
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(AccessTokenError::Character);
        }
        Ok(Self(text.into()))
    }

    /// Returns the token as text, to be sent or stored.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    pub(crate) fn to_authorization(&self) -> Authorization {
        Authorization::bearer(&self.0)
    }
}

impl fmt::Debug for AccessToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("AccessToken(...)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_can_be_sent_and_is_not_shown() {
        let token = AccessToken::new("s3cret.x-y_z~+/=").unwrap();
        assert_eq!(token.reveal(), "s3cret.x-y_z~+/=");
        assert!(!format!("{token:?} {:?}", token.to_authorization()).contains("s3cret"));
        assert_eq!(AccessToken::new(""), Err(AccessTokenError::Empty));
        for bad in ["a b", "a\n", "ü", "\0"] {
            assert_eq!(AccessToken::new(bad), Err(AccessTokenError::Character), "{bad:?}");
        }
        assert_eq!(AccessToken::new(&"a".repeat(MAX_TOKEN_BYTES + 1)), Err(AccessTokenError::TooLong));
    }
}
