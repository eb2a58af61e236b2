//! Authenticates requests: responds to registries' challenges, and caches the responses.
//!
//! ```text
//! request ──> 401 + challenge ──┬── Basic ───> user and password
//!                               └── Bearer ──> token server ──> token (cached until it expires)
//! ```
//!
//! Responses are cached for each registry, repository and set of actions, so a token for one
//! repository is never sent to another repository. After a registry's first challenge, tokens for
//! its other repositories are requested in advance, without waiting for the registry to reject a
//! request.
//!
//! Invariants: a response is sent only to the registry that issued the challenge; a password or an
//! identity token is sent only to that registry and to the token server in its challenge, over
//! https (over plain http only between programs on this machine).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::header::{CONTENT_TYPE, HeaderMap};
use http::{HeaderValue, Method, StatusCode};
use serde::Deserialize;
use tokio::time::Instant;
use url::{Url, form_urlencoded};
use wardian_download::{Authorization, Downloader, Fetch, printable_url};

use crate::challenge::{BearerChallenge, Challenge, ChallengeError};
use crate::credentials::{CredentialKind, HiddenText, OciCredentials, RegistryCredential};
use crate::error::{OciError, UnauthorizedReason};
use crate::plain_http::PlainHttpRegistries;
use crate::reference::{RegistryHost, Repository};

/// Maximum size of the response of a token server.
const MAX_TOKEN_RESPONSE_BYTES: u64 = 256 << 10;

/// Default lifetime of a token if the response does not contain one.
const DEFAULT_LIFETIME: u64 = 60;
const MAX_LIFETIME: u64 = 24 * 60 * 60;

/// Identifies this program to token servers.
const CLIENT_ID: &str = "wardian";

/// The action of a request in a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Actions {
    Pull,
    PullAndPush,
}

impl Actions {
    fn scope(self, repository: &Repository) -> String {
        let actions = match self {
            Self::Pull => "pull",
            Self::PullAndPush => "pull,push",
        };
        format!("repository:{}:{actions}", repository.path())
    }
}

/// A response to a challenge.
#[derive(Clone)]
pub(crate) struct Answer {
    pub(crate) authorization: Option<Authorization>,
    /// Distinguishes this response from other responses for the same repository and actions.
    generation: u64,
    /// Whether a credential of the user was used.
    pub(crate) has_credential: bool,
    /// Whether the response is the configured access token, which another token may replace.
    pub(crate) is_access_token: bool,
}

#[derive(Default)]
struct Slot {
    granted: Option<Granted>,
    generation: u64,
    /// Whether the registry has rejected the configured access token.
    is_access_token_rejected: bool,
}

struct Granted {
    authorization: Authorization,
    has_credential: bool,
    is_access_token: bool,
    expires: Option<Instant>,
}

impl Granted {
    fn is_valid(&self) -> bool {
        self.expires.is_none_or(|expires| Instant::now() < expires)
    }
}

impl Slot {
    fn answer(&self) -> Answer {
        let granted = self.granted.as_ref().filter(|granted| granted.is_valid());
        Answer {
            authorization: granted.map(|granted| granted.authorization.clone()),
            generation: self.generation,
            has_credential: granted.is_some_and(|granted| granted.has_credential),
            is_access_token: granted.is_some_and(|granted| granted.is_access_token),
        }
    }

    fn grant(&mut self, granted: Granted) -> Answer {
        self.granted = Some(granted);
        self.generation += 1;
        self.answer()
    }
}

type SharedSlot = Arc<tokio::sync::Mutex<Slot>>;

pub(crate) struct Authorizer {
    downloader: Downloader,
    credentials: OciCredentials,
    plain_http: PlainHttpRegistries,
    slots: Mutex<HashMap<(Repository, Actions), SharedSlot>>,
    challenges: Mutex<HashMap<RegistryHost, Challenge>>,
}

impl Authorizer {
    pub(crate) fn new(
        downloader: Downloader,
        credentials: OciCredentials,
        plain_http: PlainHttpRegistries,
    ) -> Self {
        Self { downloader, credentials, plain_http, slots: Mutex::default(), challenges: Mutex::default() }
    }

    fn slot(&self, repository: &Repository, actions: Actions) -> SharedSlot {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(slots.entry((repository.clone(), actions)).or_default())
    }

    /// Returns the authorization for a request that the registry has not challenged yet.
    pub(crate) async fn current(&self, repository: &Repository, actions: Actions) -> Answer {
        let slot = self.slot(repository, actions);
        let mut slot = slot.lock().await;
        let answer = slot.answer();
        if answer.authorization.is_some() {
            return answer;
        }
        let challenge = {
            let challenges = self.challenges.lock().unwrap_or_else(PoisonError::into_inner);
            challenges.get(repository.registry()).cloned()
        };
        let Some(challenge) = challenge else { return answer };
        let challenge = match challenge {
            Challenge::Basic => Challenge::Basic,
            // The scope of the stored challenge is for another repository.
            Challenge::Bearer(bearer) => Challenge::Bearer(BearerChallenge { scope: None, ..bearer }),
        };
        match self.grant(repository, actions, &challenge, &slot).await {
            Ok(granted) => slot.grant(granted),
            // The request is sent without authorization, and the registry's response to it
            // determines the error.
            Err(error) => {
                tracing::debug!(%error, "no token was requested in advance");
                answer
            }
        }
    }

    /// Responds to a registry's challenge to a request that was sent with the authorization `rejected`.
    pub(crate) async fn answer(
        &self,
        repository: &Repository,
        actions: Actions,
        rejected: &Answer,
        url: &Url,
        headers: &HeaderMap,
    ) -> Result<Answer, OciError> {
        let slot = self.slot(repository, actions);
        let mut slot = slot.lock().await;
        if slot.generation != rejected.generation {
            // Another request has replaced the rejected authorization in the meantime.
            let answer = slot.answer();
            if answer.authorization.is_some() {
                return Ok(answer);
            }
        }
        slot.is_access_token_rejected |= slot.granted.take().is_some_and(|granted| granted.is_access_token);
        let challenge = Challenge::parse(headers).map_err(|source| OciError::Challenge {
            repository: repository.clone(),
            url: printable_url(url),
            source,
        })?;
        {
            let mut challenges = self.challenges.lock().unwrap_or_else(PoisonError::into_inner);
            challenges.insert(repository.registry().clone(), challenge.clone());
        }
        let granted =
            self.grant(repository, actions, &challenge, &slot).await.map_err(|error| match error {
                GrantError::NoCredentials => OciError::Unauthorized {
                    repository: repository.clone(),
                    url: printable_url(url),
                    reason: UnauthorizedReason::NoCredentials,
                    errors: Vec::new(),
                },
                GrantError::Oci(error) => error,
            })?;
        Ok(slot.grant(granted))
    }

    async fn grant(
        &self,
        repository: &Repository,
        actions: Actions,
        challenge: &Challenge,
        slot: &Slot,
    ) -> Result<Granted, GrantError> {
        let credential = self.credentials.find(repository).await.map_err(|source| {
            GrantError::Oci(OciError::Credentials { repository: repository.clone(), source })
        })?;
        let has_credential = credential.is_some();
        let bearer = match challenge {
            Challenge::Basic => {
                let Some(RegistryCredential(CredentialKind::Password { user, password })) = credential else {
                    return Err(GrantError::NoCredentials);
                };
                let authorization = Authorization::basic(&user, password.reveal());
                return Ok(Granted { authorization, has_credential, is_access_token: false, expires: None });
            }
            Challenge::Bearer(bearer) => bearer,
        };
        let credential = match credential.map(|credential| credential.0) {
            Some(CredentialKind::Access { access, .. }) if !slot.is_access_token_rejected => {
                let authorization = Authorization::bearer(access.reveal());
                return Ok(Granted { authorization, has_credential, is_access_token: true, expires: None });
            }
            Some(CredentialKind::Access { refresh: Some(refresh), .. }) => {
                Some(CredentialKind::Identity(refresh))
            }
            Some(CredentialKind::Access { refresh: None, .. }) => {
                return Err(GrantError::Oci(OciError::Unauthorized {
                    repository: repository.clone(),
                    url: printable_url(&bearer.realm),
                    reason: UnauthorizedReason::Rejected,
                    errors: Vec::new(),
                }));
            }
            other => other,
        };
        let token = self.request_token(repository, actions, bearer, credential).await?;
        let lifetime = token.expires_in.unwrap_or(DEFAULT_LIFETIME).min(MAX_LIFETIME);
        // A token must not expire before the request arrives at the registry.
        let usable = lifetime - (lifetime / 2).min(10);
        Ok(Granted {
            authorization: Authorization::bearer(token.token.reveal()),
            has_credential,
            is_access_token: false,
            expires: Some(Instant::now() + Duration::from_secs(usable)),
        })
    }

    async fn request_token(
        &self,
        repository: &Repository,
        actions: Actions,
        challenge: &BearerChallenge,
        credential: Option<CredentialKind>,
    ) -> Result<IssuedToken, GrantError> {
        self.check_realm(repository, &challenge.realm)?;
        let scopes = scopes(repository, actions, challenge.scope.as_deref());
        let has_credential = credential.is_some();
        let mut url = challenge.realm.clone();
        let request = match credential {
            Some(CredentialKind::Identity(token)) => {
                let mut form = form_urlencoded::Serializer::new(String::new());
                form.append_pair("grant_type", "refresh_token")
                    .append_pair("service", challenge.service.as_deref().unwrap_or_default())
                    .append_pair("client_id", CLIENT_ID)
                    .append_pair("scope", &scopes.join(" "))
                    .append_pair("refresh_token", token.reveal());
                Fetch::new(Method::POST, url.clone())
                    .header(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"))
                    .body(form.finish().into())
                    // The body contains a secret.
                    .redirects(0)
            }
            other => {
                {
                    let mut query = url.query_pairs_mut();
                    if let Some(service) = &challenge.service {
                        query.append_pair("service", service);
                    }
                    for scope in &scopes {
                        query.append_pair("scope", scope);
                    }
                }
                let request = Fetch::get(url.clone());
                match other {
                    Some(CredentialKind::Password { user, password }) => {
                        request.authorization(Authorization::basic(&user, password.reveal()))
                    }
                    _ => request,
                }
            }
        };
        let fetched = self.downloader.fetch(request, MAX_TOKEN_RESPONSE_BYTES).await;
        let fetched = fetched.map_err(|error| GrantError::Oci(error.into()))?;
        let invalid = |reason: String| {
            GrantError::Oci(OciError::Token {
                repository: repository.clone(),
                url: printable_url(&challenge.realm),
                reason,
            })
        };
        match fetched.status {
            StatusCode::OK => {}
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN if has_credential => {
                return Err(GrantError::Oci(OciError::Unauthorized {
                    repository: repository.clone(),
                    url: printable_url(&challenge.realm),
                    reason: UnauthorizedReason::Rejected,
                    errors: Vec::new(),
                }));
            }
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => return Err(GrantError::NoCredentials),
            status => return Err(invalid(format!("it responded with {status}"))),
        }
        parse_token(&fetched.body).ok_or_else(|| invalid("its response contains no token".to_owned()))
    }

    /// Checks that a password may be sent to a token server.
    fn check_realm(&self, repository: &Repository, realm: &Url) -> Result<(), GrantError> {
        let is_local = || {
            let host = realm.host_str().and_then(|host| RegistryHost::parse(host).ok());
            self.plain_http.contains(repository.registry()) && host.is_some_and(|host| host.is_loopback())
        };
        if realm.scheme() == "https" || is_local() {
            return Ok(());
        }
        Err(GrantError::Oci(OciError::Challenge {
            repository: repository.clone(),
            url: self.plain_http.base_url(repository.registry()),
            source: ChallengeError::PlainHttp(printable_url(realm)),
        }))
    }
}

#[derive(Debug, thiserror::Error)]
enum GrantError {
    #[error("no credentials are configured")]
    NoCredentials,
    #[error(transparent)]
    Oci(OciError),
}

/// Returns the scopes to request: the request's scope, and the scopes in the challenge that do not
/// concern this repository.
fn scopes(repository: &Repository, actions: Actions, stated: Option<&str>) -> Vec<String> {
    /// Maximum number of scopes, since the registry chooses them.
    const MAX_SCOPES: usize = 10;
    let own = format!("repository:{}:", repository.path());
    let stated = stated.unwrap_or_default().split(' ').filter(|scope| !scope.is_empty());
    let others = stated.filter(|scope| !scope.starts_with(&own)).map(str::to_owned);
    std::iter::once(actions.scope(repository)).chain(others).take(MAX_SCOPES).collect()
}

struct IssuedToken {
    token: HiddenText,
    expires_in: Option<u64>,
}

fn parse_token(body: &[u8]) -> Option<IssuedToken> {
    #[derive(Deserialize)]
    struct Response {
        #[serde(default)]
        token: Option<String>,
        #[serde(default)]
        access_token: Option<String>,
        #[serde(default)]
        expires_in: Option<serde_json::Number>,
    }
    let response: Response = serde_json::from_slice(body).ok()?;
    let present = |token: Option<String>| token.filter(|token| !token.is_empty());
    let token = present(response.token).or_else(|| present(response.access_token))?;
    let expires_in = response.expires_in.and_then(|seconds| seconds.as_u64()).filter(|seconds| *seconds > 0);
    Some(IssuedToken { token: HiddenText::new(token), expires_in })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_include_the_request_and_other_challenged_resources() {
        let repository = Repository::parse("h/a/b").unwrap();
        assert_eq!(scopes(&repository, Actions::Pull, None), ["repository:a/b:pull"]);
        assert_eq!(
            scopes(&repository, Actions::PullAndPush, Some("repository:a/b:pull registry:catalog:*")),
            ["repository:a/b:pull,push", "registry:catalog:*"]
        );
    }

    #[test]
    fn token_is_read_from_either_field() {
        let parse = |text: &str| {
            parse_token(text.as_bytes()).map(|token| (token.token.reveal().to_owned(), token.expires_in))
        };
        assert_eq!(parse(r#"{"token":"a","expires_in":300}"#), Some(("a".to_owned(), Some(300))));
        assert_eq!(
            parse(r#"{"token":"","access_token":"b","expires_in":1.5}"#),
            Some(("b".to_owned(), None))
        );
        assert_eq!(parse(r#"{"access_token":"b","expires_in":0}"#), Some(("b".to_owned(), None)));
        for bad in ["", "{}", "[]", r#"{"token":1}"#, r#"{"token":""}"#] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
