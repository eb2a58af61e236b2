//! Authentication with keys from an SSH agent.

use std::path::Path;
use std::time::Duration;

use russh::MethodKind;
use russh::keys::PublicKey;
use russh::keys::agent::AgentIdentity;
use russh::keys::agent::client::AgentClient;
use tokio::net::UnixStream;
use tokio::time::timeout;

use super::authentication::{AuthError, AuthOutcome, Authenticator};

/// Time limits for an agent to list its keys and to create a signature. An agent may ask the user
/// to confirm a signature.
const LIST_TIMEOUT: Duration = Duration::from_secs(10);
const SIGNATURE_TIMEOUT: Duration = Duration::from_mins(2);

/// A connection to an agent.
pub(crate) struct Agent {
    client: AgentClient<UnixStream>,
}

/// The result of authentication with the agent's keys.
pub(crate) enum AgentAnswer {
    Accepted,
    Refused { keys: usize },
}

impl Agent {
    pub(crate) async fn connect(socket: &Path) -> Result<Self, String> {
        match timeout(LIST_TIMEOUT, AgentClient::connect_uds(socket)).await {
            Ok(Ok(client)) => Ok(Self { client }),
            Ok(Err(error)) => Err(format!("could not connect to its socket {}: {error}", socket.display())),
            Err(_) => Err(format!("it does not respond at {}", socket.display())),
        }
    }

    /// Tries the keys one by one, starting with the preferred key.
    pub(crate) async fn authenticate(
        &mut self,
        authenticator: &mut Authenticator<'_>,
        preferred: Option<&str>,
    ) -> Result<AgentAnswer, AuthError> {
        if let Some(binding) = authenticator.handle.agent_session_binding() {
            // Older agents neither support nor require this extension.
            let _ = timeout(LIST_TIMEOUT, self.client.bind_session(binding, false)).await;
        }
        let mut identities = match timeout(LIST_TIMEOUT, self.client.request_identities()).await {
            Ok(Ok(identities)) => identities,
            Ok(Err(error)) => return Err(AuthError::Agent(error.to_string())),
            Err(_) => return Err(AuthError::Agent("it did not list its keys within the time limit".into())),
        };
        if let Some(preferred) = preferred {
            let preferred = Preferred::read(preferred);
            identities.sort_by_key(|identity| !preferred.matches(identity));
        }
        let keys = identities.len();
        for identity in identities {
            // SSH servers close the connection after too many rejected keys.
            if !authenticator.offers(MethodKind::PublicKey) || authenticator.handle.is_closed() {
                break;
            }
            if let AuthOutcome::Accepted = self.try_identity(authenticator, identity).await? {
                return Ok(AgentAnswer::Accepted);
            }
        }
        Ok(AgentAnswer::Refused { keys })
    }

    async fn try_identity(
        &mut self,
        authenticator: &mut Authenticator<'_>,
        identity: AgentIdentity,
    ) -> Result<AuthOutcome, AuthError> {
        let hash = authenticator.rsa_hash(&identity.public_key().algorithm()).await?;
        let (user, client) = (authenticator.user, &mut self.client);
        let result = match identity {
            AgentIdentity::PublicKey { key, .. } => {
                let proof = authenticator.handle.authenticate_publickey_with(user, key, hash, client);
                timeout(SIGNATURE_TIMEOUT, proof).await
            }
            AgentIdentity::Certificate { certificate, .. } => {
                let proof =
                    authenticator.handle.authenticate_certificate_with(user, certificate, hash, client);
                timeout(SIGNATURE_TIMEOUT, proof).await
            }
        };
        match result {
            Ok(Ok(result)) => Ok(authenticator.record_result(result)),
            // The agent cannot sign with this key; another key may work.
            Ok(Err(_)) => Ok(AuthOutcome::Refused),
            Err(elapsed) => Err(russh::Error::from(elapsed).into()),
        }
    }
}

/// The key that `agent_identity` selects: by comment, by public key, or by file.
struct Preferred {
    name: String,
    key: Option<PublicKey>,
}

impl Preferred {
    fn read(name: &str) -> Self {
        let of_file = |path: &str| std::fs::read_to_string(path).ok();
        let text = of_file(&format!("{name}.pub")).or_else(|| of_file(name));
        let key = PublicKey::from_openssh(name.trim()).ok();
        let key = key.or_else(|| PublicKey::from_openssh(text?.trim()).ok());
        Self { name: name.to_owned(), key }
    }

    fn matches(&self, identity: &AgentIdentity) -> bool {
        identity.comment() == self.name
            || self.key.as_ref().is_some_and(|key| key.key_data() == identity.public_key().key_data())
    }
}
