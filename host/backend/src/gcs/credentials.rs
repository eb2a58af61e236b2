//! Credentials of Google Cloud, as files and arguments contain them.

use std::fmt;

use serde_json::Value;
use url::Url;

use crate::oauth::parse_token_url;

const TOKEN_URL: &str = "https://oauth2.googleapis.com/token";

/// The service that issues tokens of other service accounts.
const IMPERSONATION_URL: &str = "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/";

/// The default lifetime of a token of an impersonated service account.
const IMPERSONATION_SECONDS: u64 = 3600;

/// Credentials in Google's JSON format. `Debug` output contains no secrets.
pub(super) enum GoogleCredentials {
    User {
        client_id: String,
        client_secret: String,
        refresh_token: String,
        token_url: Url,
    },
    ServiceAccount {
        email: String,
        /// In PEM format.
        private_key: String,
        private_key_id: Option<String>,
        token_url: Url,
    },
    /// A token of another identity provider, which is exchanged for one of Google.
    External(Box<ExternalAccount>),
    /// A service account for which other credentials request tokens.
    Impersonated {
        source: Box<GoogleCredentials>,
        impersonation: Impersonation,
    },
}

/// An identity of another provider (workload identity federation).
pub(super) struct ExternalAccount {
    pub(super) audience: String,
    pub(super) subject_token_type: String,
    pub(super) token_url: Url,
    pub(super) source: SubjectTokenSource,
    /// The member of a JSON document that contains the token; [`None`] if the whole text is the token.
    pub(super) token_member: Option<String>,
    pub(super) client: Option<(String, String)>,
    pub(super) user_project: Option<String>,
    pub(super) impersonation: Option<Impersonation>,
}

/// The place of a token of another identity provider.
pub(super) enum SubjectTokenSource {
    File(String),
    Url { url: Url, headers: Vec<(String, String)> },
}

/// A service account for which tokens are requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Impersonation {
    pub(super) url: Url,
    pub(super) delegates: Vec<String>,
    pub(super) lifetime_seconds: u64,
}

impl fmt::Debug for GoogleCredentials {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User { client_id, .. } => {
                formatter.debug_struct("User").field("client_id", client_id).finish_non_exhaustive()
            }
            Self::ServiceAccount { email, .. } => {
                formatter.debug_struct("ServiceAccount").field("email", email).finish_non_exhaustive()
            }
            Self::External(account) => formatter
                .debug_struct("External")
                .field("audience", &account.audience)
                .finish_non_exhaustive(),
            Self::Impersonated { source, impersonation } => formatter
                .debug_struct("Impersonated")
                .field("source", source)
                .field("impersonation", impersonation)
                .finish(),
        }
    }
}

impl Impersonation {
    /// Returns the impersonation of the service account with an email address.
    pub(super) fn new(email: &str, delegates: Vec<String>) -> Result<Self, String> {
        let invalid = || format!("\"{email}\" is not the email address of a service account");
        if email.contains(['/', '?', '#']) {
            return Err(invalid());
        }
        let url = format!("{IMPERSONATION_URL}{email}:generateAccessToken");
        let url = parse_token_url(&url).map_err(|_| invalid())?;
        Ok(Self { url, delegates, lifetime_seconds: IMPERSONATION_SECONDS })
    }

    fn from_json(value: &Value) -> Result<Option<Self>, String> {
        let Some(url) = text(value, "service_account_impersonation_url") else { return Ok(None) };
        let delegates = value.get("delegates").and_then(Value::as_array).into_iter().flatten();
        let lifetime = value
            .get("service_account_impersonation")
            .and_then(|options| options.get("token_lifetime_seconds"))
            .and_then(Value::as_u64);
        Ok(Some(Self {
            url: parse_token_url(&url)?,
            delegates: delegates.filter_map(Value::as_str).map(str::to_owned).collect(),
            lifetime_seconds: lifetime.unwrap_or(IMPERSONATION_SECONDS),
        }))
    }
}

impl GoogleCredentials {
    /// Reads credentials in Google's JSON format.
    ///
    /// # Errors
    /// Returns the reason if they are incomplete or not supported. It contains no secret.
    pub(super) fn from_json(bytes: &[u8]) -> Result<Self, String> {
        // The parser's error may contain parts of the text.
        let value: Value = serde_json::from_slice(bytes).map_err(|_| "they are not JSON".to_owned())?;
        Self::from_value(&value, true)
    }

    fn from_value(value: &Value, may_impersonate: bool) -> Result<Self, String> {
        let required =
            |name: &str| text(value, name).ok_or_else(|| format!("they have no member \"{name}\""));
        let url = |name: &str| match text(value, name) {
            Some(text) => parse_token_url(&text),
            None => parse_token_url(TOKEN_URL),
        };
        match required("type")?.as_str() {
            "authorized_user" => Ok(Self::User {
                client_id: required("client_id")?,
                client_secret: required("client_secret")?,
                refresh_token: required("refresh_token")?,
                token_url: url("token_uri")?,
            }),
            "service_account" => Ok(Self::ServiceAccount {
                email: required("client_email")?,
                private_key: required("private_key")?,
                private_key_id: text(value, "private_key_id"),
                token_url: url("token_uri")?,
            }),
            "external_account" => {
                required("token_url")?;
                let source = value.get("credential_source").ok_or("they have no \"credential_source\"")?;
                let client = text(value, "client_id").zip(text(value, "client_secret"));
                Ok(Self::External(Box::new(ExternalAccount {
                    audience: required("audience")?,
                    subject_token_type: required("subject_token_type")?,
                    token_url: url("token_url")?,
                    source: subject_token_source(source)?,
                    token_member: token_member(source)?,
                    client,
                    user_project: text(value, "workforce_pool_user_project"),
                    impersonation: Impersonation::from_json(value)?,
                })))
            }
            "impersonated_service_account" if may_impersonate => {
                let source = value.get("source_credentials").ok_or("they have no \"source_credentials\"")?;
                Ok(Self::Impersonated {
                    source: Box::new(Self::from_value(source, false)?),
                    impersonation: Impersonation::from_json(value)?
                        .ok_or("they have no \"service_account_impersonation_url\"")?,
                })
            }
            other => Err(format!(
                "the type \"{other}\" is not supported; use a service account, a user, an external account, or an \
                 access token"
            )),
        }
    }
}

fn subject_token_source(source: &Value) -> Result<SubjectTokenSource, String> {
    if let Some(path) = text(source, "file") {
        return Ok(SubjectTokenSource::File(path));
    }
    if text(source, "environment_id").is_none()
        && let Some(url) = text(source, "url")
    {
        let url = Url::parse(&url).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let headers = source.get("headers").and_then(Value::as_object).into_iter().flatten();
        return Ok(SubjectTokenSource::Url {
            url: url.ok_or("the URL of the \"credential_source\" is not valid")?,
            headers: headers
                .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
                .collect(),
        });
    }
    Err("only the sources \"file\" and \"url\" of external accounts are supported, but not \"executable\", \
         \"certificate\" and Amazon Web Services"
        .to_owned())
}

fn token_member(source: &Value) -> Result<Option<String>, String> {
    let Some(format) = source.get("format") else { return Ok(None) };
    match text(format, "type").as_deref() {
        None | Some("text") => Ok(None),
        Some("json") => text(format, "subject_token_field_name").map(Some).ok_or_else(|| {
            "the format of the \"credential_source\" has no \"subject_token_field_name\"".to_owned()
        }),
        Some(other) => Err(format!("the format \"{other}\" of the \"credential_source\" is not supported")),
    }
}

fn text(value: &Value, name: &str) -> Option<String> {
    value.get(name).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_read() {
        let read = |text: &str| GoogleCredentials::from_json(text.as_bytes());
        let user = "{\"type\":\"authorized_user\",\"client_id\":\"c\",\"client_secret\":\"s3cret\",\"refresh_token\":\
                    \"s3cret\"}";
        let credentials = read(user).unwrap();
        assert_eq!(format!("{credentials:?}"), "User { client_id: \"c\", .. }");
        let GoogleCredentials::User { token_url, .. } = credentials else { panic!() };
        assert_eq!(token_url.as_str(), TOKEN_URL);
        let impersonated = format!(
            "{{\"type\":\"impersonated_service_account\",\"source_credentials\":{user},\"delegates\":[\"d\"],\
             \"service_account_impersonation_url\":\"https://a.example/x:generateAccessToken\"}}"
        );
        let GoogleCredentials::Impersonated { impersonation, .. } = read(&impersonated).unwrap() else {
            panic!()
        };
        assert_eq!(impersonation.delegates, ["d"]);
        let nested = impersonated.replace(user, &impersonated);
        assert!(read(&nested).unwrap_err().contains("not supported"));
        let external = |source: &str| {
            read(&format!(
                "{{\"type\":\"external_account\",\"audience\":\"a\",\"subject_token_type\":\"t\",\"token_url\":\
                 \"https://sts.googleapis.com/v1/token\",\"credential_source\":{source}}}"
            ))
        };
        let GoogleCredentials::External(account) = external(
            "{\"url\":\"https://b.example/\",\"headers\":{\"A\":\"b\"},\"format\":{\"type\":\"json\",\
             \"subject_token_field_name\":\"value\"}}",
        )
        .unwrap() else {
            panic!()
        };
        assert_eq!(account.token_member.as_deref(), Some("value"));
        assert!(external("{\"file\":\"token\"}").is_ok());
        for bad in ["{}", "{\"environment_id\":\"aws1\",\"url\":\"http://a/\"}", "{\"executable\":{}}"] {
            assert!(external(bad).unwrap_err().contains("only the sources"), "{bad}");
        }
        assert!(external("{\"file\":\"token\",\"format\":{\"type\":\"xml\"}}").is_err());
    }

    #[test]
    fn unusable_credentials_are_errors_without_secrets() {
        for bad in [
            "s3cret",
            "{}",
            "[\"s3cret\"]",
            "{\"type\":\"authorized_user\",\"client_secret\":\"s3cret\"}",
            "{\"type\":\"service_account\",\"client_email\":\"a\",\"private_key\":\"s3cret\",\"token_uri\":\
             \"http://a.example/\"}",
            "{\"type\":\"other\",\"x\":\"s3cret\"}",
        ] {
            let error = GoogleCredentials::from_json(bad.as_bytes()).unwrap_err();
            assert!(!error.contains("s3cret"), "{error}");
        }
    }

    #[test]
    fn impersonated_account_has_googles_url() {
        let impersonation = Impersonation::new("me@p.iam.gserviceaccount.com", Vec::new()).unwrap();
        assert_eq!(
            impersonation.url.as_str(),
            "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/me@p.iam.gserviceaccount.com:\
             generateAccessToken"
        );
        assert!(Impersonation::new("../x", Vec::new()).is_err());
    }
}
