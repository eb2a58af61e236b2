//! The `WWW-Authenticate` header of a registry, which specifies how requests are authenticated.

use http::HeaderMap;
use http::header::WWW_AUTHENTICATE;
use url::Url;

/// Maximum length of the header.
const MAX_HEADER_BYTES: usize = 8 << 10;

/// The authentication scheme that a registry requires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Challenge {
    /// With user and password.
    Basic,
    /// With a token that another server issues.
    Bearer(BearerChallenge),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BearerChallenge {
    /// The URL of the token server.
    pub(crate) realm: Url,
    pub(crate) service: Option<String>,
    pub(crate) scope: Option<String>,
}

/// A header without a supported authentication scheme.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChallengeError {
    #[error("the response has no WWW-Authenticate header")]
    Missing,
    #[error("the WWW-Authenticate header is longer than 8 KiB")]
    TooLong,
    #[error("the WWW-Authenticate header requests neither Bearer nor Basic authentication")]
    Unsupported,
    #[error("the token server in the WWW-Authenticate header is not a valid URL")]
    Realm,
    #[error("the token server {0} does not use https")]
    PlainHttp(String),
}

impl Challenge {
    /// Parses the headers of a response. Bearer authentication is preferred.
    pub(crate) fn parse(headers: &HeaderMap) -> Result<Self, ChallengeError> {
        let mut basic = None;
        let mut is_present = false;
        for value in headers.get_all(WWW_AUTHENTICATE) {
            is_present = true;
            if value.len() > MAX_HEADER_BYTES {
                return Err(ChallengeError::TooLong);
            }
            let Ok(text) = value.to_str() else { continue };
            for (scheme, parameters) in split_challenges(text) {
                if scheme.eq_ignore_ascii_case("bearer") {
                    let parameter = |name: &str| {
                        let found = parameters.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
                        found.map(|(_, value)| value.clone()).filter(|value| !value.is_empty())
                    };
                    let realm = parameter("realm").and_then(|realm| Url::parse(&realm).ok());
                    let realm = realm.filter(|realm| matches!(realm.scheme(), "http" | "https"));
                    let realm =
                        realm.filter(|realm| realm.username().is_empty() && realm.password().is_none());
                    return Ok(Self::Bearer(BearerChallenge {
                        realm: realm.ok_or(ChallengeError::Realm)?,
                        service: parameter("service"),
                        scope: parameter("scope"),
                    }));
                }
                if scheme.eq_ignore_ascii_case("basic") {
                    basic = Some(Self::Basic);
                }
            }
        }
        basic.ok_or(if is_present { ChallengeError::Unsupported } else { ChallengeError::Missing })
    }
}

type Parameters = Vec<(String, String)>;

/// Splits a header into its challenges. Invalid challenges are skipped.
fn split_challenges(text: &str) -> Vec<(String, Parameters)> {
    let mut challenges: Vec<(String, Parameters)> = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches([',', ' ', '\t']);
        let length = rest.find(|character| !is_token(character)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(length);
        if word.is_empty() {
            // Not a token: skip one character, which is a separator or invalid.
            let mut characters = rest.chars();
            if characters.next().is_none() {
                return challenges;
            }
            rest = characters.as_str();
            continue;
        }
        let Some(value) = after.trim_start().strip_prefix('=') else {
            challenges.push((word.to_owned(), Vec::new()));
            rest = after;
            continue;
        };
        let (value, after) = take_value(value.trim_start());
        if let Some((_, parameters)) = challenges.last_mut() {
            parameters.push((word.to_owned(), value));
        }
        rest = after;
    }
}

/// Parses the token or quoted string at the start of a text. Returns its value and the rest of the text.
fn take_value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let length = text.find([',', ' ', '\t']).unwrap_or(text.len());
        let (value, rest) = text.split_at(length);
        return (value.to_owned(), rest);
    };
    let mut value = String::new();
    let mut characters = quoted.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => break,
            '\\' => value.extend(characters.next()),
            other => value.push(other),
        }
    }
    (value, characters.as_str())
}

fn is_token(character: char) -> bool {
    character.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(character)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    fn parse(values: &[&str]) -> Result<Challenge, ChallengeError> {
        let header = |value: &&str| (WWW_AUTHENTICATE, HeaderValue::from_str(value).unwrap());
        Challenge::parse(&values.iter().map(header).collect())
    }

    #[test]
    fn bearer_challenge_has_realm_service_and_scope() {
        let expected = Challenge::Bearer(BearerChallenge {
            realm: Url::parse("https://auth.example/token?x=1").unwrap(),
            service: Some("registry, \"one\"".to_owned()),
            scope: Some("repository:a/b:pull,push".to_owned()),
        });
        let text = r#"bearer Realm="https://auth.example/token?x=1" , service="registry, \"one\"",scope="repository:a/b:pull,push""#;
        assert_eq!(parse(&[text]).unwrap(), expected);
        assert_eq!(parse(&["Basic realm=\"x\"", text]).unwrap(), expected);
        assert_eq!(parse(&[&format!("Basic realm=x, {text}")]).unwrap(), expected);
        assert_eq!(parse(&["Negotiate, Basic realm=\"x\", charset=utf-8"]).unwrap(), Challenge::Basic);
    }

    #[test]
    fn unusable_challenges_are_errors() {
        assert_eq!(parse(&[]), Err(ChallengeError::Missing));
        assert_eq!(parse(&["Negotiate abc=="]), Err(ChallengeError::Unsupported));
        for realm in [
            "",
            "Bearer",
            "Bearer realm=\"\"",
            "Bearer realm=\"/token\"",
            "Bearer realm=\"file:///x\"",
            "Bearer realm=\"https://u:p@h/\"",
        ] {
            assert!(parse(&[realm]).is_err(), "{realm}");
        }
        assert_eq!(parse(&[&"x".repeat(9000)]), Err(ChallengeError::TooLong));
    }

    proptest! {
        #[test]
        fn parsing_never_panics(text in "[ -~]{0,80}") {
            let _ = parse(&[&text]);
        }
    }
}
