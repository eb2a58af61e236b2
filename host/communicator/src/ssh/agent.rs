//! Keys that an agent holds.

use std::path::Path;
use std::time::Duration;

use russh::MethodKind;
use russh::keys::PublicKey;
use russh::keys::agent::AgentIdentity;
use russh::keys::agent::client::AgentClient;
use tokio::net::UnixStream;
use tokio::time::timeout;

use super::authentication::{Answer, Failed, Proving};

/// How long an agent may take for its list, and, since it may ask a person, for one
/// signature.
const LIST: Duration = Duration::from_secs(10);
const SIGNATURE: Duration = Duration::from_mins(2);

/// An agent that answers.
pub(crate) struct Agent {
    client: AgentClient<UnixStream>,
}

/// What became of the agent's keys.
pub(crate) enum AgentAnswer {
    Accepted,
    Refused { keys: usize },
}

impl Agent {
    pub(crate) async fn connect(socket: &Path) -> Result<Self, String> {
        match timeout(LIST, AgentClient::connect_uds(socket)).await {
            Ok(Ok(client)) => Ok(Self { client }),
            Ok(Err(error)) => Err(format!("no connection to its socket {}: {error}", socket.display())),
            Err(_) => Err(format!("it does not answer at {}", socket.display())),
        }
    }

    /// Tries one key after the other, the preferred one first.
    pub(crate) async fn prove(
        &mut self,
        proving: &mut Proving<'_>,
        preferred: Option<&str>,
    ) -> Result<AgentAnswer, Failed> {
        if let Some(binding) = proving.handle.agent_session_binding() {
            // Older agents do not know this, and need it not.
            let _ = timeout(LIST, self.client.bind_session(binding, false)).await;
        }
        let mut identities = match timeout(LIST, self.client.request_identities()).await {
            Ok(Ok(identities)) => identities,
            Ok(Err(error)) => return Err(Failed::Agent(error.to_string())),
            Err(_) => return Err(Failed::Agent("it does not tell which keys it has".into())),
        };
        if let Some(preferred) = preferred {
            let preferred = Preferred::read(preferred);
            identities.sort_by_key(|identity| !preferred.is(identity));
        }
        let keys = identities.len();
        for identity in identities {
            // A machine closes the connection after too many.
            if !proving.offers(MethodKind::PublicKey) || proving.handle.is_closed() {
                break;
            }
            if let Answer::Accepted = self.prove_one(proving, identity).await? {
                return Ok(AgentAnswer::Accepted);
            }
        }
        Ok(AgentAnswer::Refused { keys })
    }

    async fn prove_one(
        &mut self,
        proving: &mut Proving<'_>,
        identity: AgentIdentity,
    ) -> Result<Answer, Failed> {
        let hash = proving.rsa_hash(&identity.public_key().algorithm()).await?;
        let (user, client) = (proving.user, &mut self.client);
        let result = match identity {
            AgentIdentity::PublicKey { key, .. } => {
                let proof = proving.handle.authenticate_publickey_with(user, key, hash, client);
                timeout(SIGNATURE, proof).await
            }
            AgentIdentity::Certificate { certificate, .. } => {
                let proof = proving.handle.authenticate_certificate_with(user, certificate, hash, client);
                timeout(SIGNATURE, proof).await
            }
        };
        match result {
            Ok(Ok(result)) => Ok(proving.answered(result)),
            // It does not sign with this key; there may be others.
            Ok(Err(_)) => Ok(Answer::Refused),
            Err(elapsed) => Err(russh::Error::from(elapsed).into()),
        }
    }
}

/// What `agent_identity` names: a comment, or a key by itself or by its file.
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

    fn is(&self, identity: &AgentIdentity) -> bool {
        identity.comment() == self.name
            || self.key.as_ref().is_some_and(|key| key.key_data() == identity.public_key().key_data())
    }
}
