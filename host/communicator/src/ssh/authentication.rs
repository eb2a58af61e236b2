//! Who we are: by key, certificate, password, questions and answers, or an agent.
//!
//! Each way that the machine offers is tried once, in that order. A machine may want
//! several: what succeeds in part is followed by the next.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use russh::client::{AuthResult, Handle, KeyboardInteractiveAuthResponse};
use russh::keys::agent::AgentIdentity;
use russh::keys::ssh_encoding::Encode as _;
use russh::keys::ssh_key::private::KeypairData;
use russh::keys::ssh_key::{Algorithm, Signature};
use russh::keys::{HashAlg, PrivateKey, PrivateKeyWithHashAlg, signature};
use russh::{MethodKind, MethodSet, Signer};
use tokio::time::timeout;

use super::agent::{Agent, AgentAnswer};
use super::host_key::Verifier;
use crate::error::CommunicatorError;
use crate::settings::{AgentUse, Hop, Key, SshSettings, place};

/// How long a machine may think about one proof. Some wait on purpose.
const ANSWER: Duration = Duration::from_mins(1);
/// How many times a machine may ask questions.
const MOST_QUESTIONS: usize = 10;

/// What a machine says to one proof.
pub(crate) enum Answer {
    Accepted,
    Refused,
}

/// The machine, and what it still offers.
pub(crate) struct Proving<'a> {
    pub(crate) handle: &'a mut Handle<Verifier>,
    pub(crate) user: &'a str,
    offered: MethodSet,
    /// What was tried, for people.
    tried: Vec<String>,
}

/// Proves who we are.
pub(crate) async fn prove(
    handle: &mut Handle<Verifier>,
    hop: &Hop,
    settings: &SshSettings,
    agent: Option<&Path>,
) -> Result<(), CommunicatorError> {
    let mut proving =
        Proving { handle, user: &hop.user, offered: MethodSet::client_supported(), tried: Vec::new() };
    match proving.all(hop, settings, agent).await {
        Ok(Answer::Accepted) => Ok(()),
        Ok(Answer::Refused) => Err(proving.refused(hop)),
        Err(Failed::Agent(problem)) => Err(CommunicatorError::Agent(problem)),
        Err(Failed::Session(russh::Error::Elapsed(_))) => {
            Err(CommunicatorError::Silent(place(&hop.host, hop.port)))
        }
        Err(Failed::Session(_)) => Err(proving.refused(hop)),
    }
}

pub(crate) enum Failed {
    Session(russh::Error),
    Agent(String),
}

impl From<russh::Error> for Failed {
    fn from(error: russh::Error) -> Self {
        Self::Session(error)
    }
}

impl Proving<'_> {
    async fn all(
        &mut self,
        hop: &Hop,
        settings: &SshSettings,
        agent: Option<&Path>,
    ) -> Result<Answer, Failed> {
        // A machine tells what it offers where it refuses; some want no proof at all.
        let nothing = timeout(ANSWER, self.handle.authenticate_none(self.user)).await;
        if let Answer::Accepted = self.answered(nothing.map_err(russh::Error::from)??) {
            return Ok(Answer::Accepted);
        }
        if let Some(key) = &hop.key
            && let Answer::Accepted = self.key(key).await?
        {
            return Ok(Answer::Accepted);
        }
        if let Some(password) = &hop.password {
            if let Answer::Accepted = self.password(password.reveal()).await? {
                return Ok(Answer::Accepted);
            }
            if let Answer::Accepted = self.questions(password.reveal()).await? {
                return Ok(Answer::Accepted);
            }
        }
        self.agent(settings, agent).await
    }

    pub(crate) fn offers(&self, kind: MethodKind) -> bool {
        self.offered.contains(&kind)
    }

    /// Notes what the machine offers after an answer.
    pub(crate) fn answered(&mut self, result: AuthResult) -> Answer {
        match result {
            AuthResult::Success => Answer::Accepted,
            AuthResult::Failure { remaining_methods, .. } => {
                self.offered = remaining_methods;
                Answer::Refused
            }
        }
    }

    /// The hash for RSA: what the machine knows, and never SHA-1.
    pub(crate) async fn rsa_hash(&self, algorithm: &Algorithm) -> Result<Option<HashAlg>, russh::Error> {
        if !matches!(algorithm, Algorithm::Rsa { .. }) {
            return Ok(None);
        }
        let best = self.handle.best_supported_rsa_hash().await?;
        Ok(Some(best.flatten().unwrap_or(HashAlg::Sha256)))
    }

    async fn key(&mut self, key: &Key) -> Result<Answer, russh::Error> {
        if !self.offers(MethodKind::PublicKey) {
            return Ok(Answer::Refused);
        }
        let hash = self.rsa_hash(&key.private.algorithm()).await?;
        if let Some(certificate) = &key.certificate {
            self.tried.push("the certificate".into());
            let mut signer = OwnKey(Arc::clone(&key.private));
            let proof =
                self.handle.authenticate_certificate_with(self.user, certificate.clone(), hash, &mut signer);
            let result = timeout(ANSWER, proof).await?;
            if let Answer::Accepted = self.answered(result.map_err(|CannotSign(error)| error)?) {
                return Ok(Answer::Accepted);
            }
            if !self.offers(MethodKind::PublicKey) {
                return Ok(Answer::Refused);
            }
        }
        self.tried.push("the private key".into());
        let proof = PrivateKeyWithHashAlg::new(Arc::clone(&key.private), hash);
        let result = timeout(ANSWER, self.handle.authenticate_publickey(self.user, proof)).await??;
        Ok(self.answered(result))
    }

    async fn password(&mut self, password: &str) -> Result<Answer, russh::Error> {
        if !self.offers(MethodKind::Password) {
            return Ok(Answer::Refused);
        }
        self.tried.push("the password".into());
        let result = timeout(ANSWER, self.handle.authenticate_password(self.user, password)).await??;
        Ok(self.answered(result))
    }

    /// Answers every question with the password, as people do.
    async fn questions(&mut self, password: &str) -> Result<Answer, russh::Error> {
        if !self.offers(MethodKind::KeyboardInteractive) {
            return Ok(Answer::Refused);
        }
        self.tried.push("the password as an answer to its questions".into());
        let starting = self.handle.authenticate_keyboard_interactive_start(self.user, None);
        let mut said = timeout(ANSWER, starting).await??;
        for _ in 0..MOST_QUESTIONS {
            match said {
                KeyboardInteractiveAuthResponse::Success => return Ok(Answer::Accepted),
                KeyboardInteractiveAuthResponse::Failure { remaining_methods, .. } => {
                    self.offered = remaining_methods;
                    return Ok(Answer::Refused);
                }
                KeyboardInteractiveAuthResponse::InfoRequest { prompts, .. } => {
                    let answers = vec![password.to_owned(); prompts.len()];
                    let answering = self.handle.authenticate_keyboard_interactive_respond(answers);
                    said = timeout(ANSWER, answering).await??;
                }
            }
        }
        Ok(Answer::Refused)
    }

    async fn agent(&mut self, settings: &SshSettings, socket: Option<&Path>) -> Result<Answer, Failed> {
        let socket = match (settings.agent, socket) {
            (AgentUse::Never, _) | (AgentUse::IfThere, None) => return Ok(Answer::Refused),
            (AgentUse::Required, None) => {
                let problem = "agent = true asks for it, and there is none (SSH_AUTH_SOCK is not set)";
                return Err(Failed::Agent(problem.into()));
            }
            (AgentUse::IfThere | AgentUse::Required, Some(socket)) => socket,
        };
        if !self.offers(MethodKind::PublicKey) {
            return Ok(Answer::Refused);
        }
        let mut agent = match Agent::connect(socket).await {
            Ok(agent) => agent,
            // It was not asked for.
            Err(_) if settings.agent == AgentUse::IfThere => {
                self.tried.push("an agent that does not answer".into());
                return Ok(Answer::Refused);
            }
            Err(problem) => return Err(Failed::Agent(problem)),
        };
        match agent.prove(self, settings.agent_identity.as_deref()).await? {
            AgentAnswer::Accepted => Ok(Answer::Accepted),
            AgentAnswer::Refused { keys } => {
                self.tried.push(match keys {
                    0 => "an agent that has no keys".into(),
                    1 => "the agent's key".into(),
                    more => format!("{more} keys of the agent"),
                });
                Ok(Answer::Refused)
            }
        }
    }

    fn refused(&self, hop: &Hop) -> CommunicatorError {
        let tried = match self.tried.as_slice() {
            [] => {
                let offered: Vec<&str> = self.offered.iter().map(<&str>::from).collect();
                let offers = match offered.as_slice() {
                    [] => String::new(),
                    offered => format!(" It offers {}.", offered.join(", ")),
                };
                format!(
                    "there was nothing to try: neither password, private_key nor a key of an agent.{offers}"
                )
            }
            tried => format!("tried {}", tried.join(", ")),
        };
        let reason =
            if self.handle.is_closed() { format!("it closed the connection; {tried}") } else { tried };
        CommunicatorError::Authentication {
            place: place(&hop.host, hop.port),
            user: hop.user.clone(),
            reason,
        }
    }
}

/// A key that signs for its certificate: for RSA with the hash that was agreed on.
struct OwnKey(Arc<PrivateKey>);

pub(crate) struct CannotSign(russh::Error);

impl From<russh::SendError> for CannotSign {
    fn from(_: russh::SendError) -> Self {
        Self(russh::Error::SendError)
    }
}

impl Signer for OwnKey {
    type Error = CannotSign;

    async fn auth_sign(
        &mut self,
        _: &AgentIdentity,
        hash: Option<HashAlg>,
        mut to_sign: Vec<u8>,
    ) -> Result<Vec<u8>, Self::Error> {
        let signed: Result<Signature, signature::Error> = match self.0.key_data() {
            KeypairData::Rsa(key) => signature::Signer::try_sign(&(key, hash), &to_sign),
            key => signature::Signer::try_sign(key, &to_sign),
        };
        let encoded = signed.map_err(|error| CannotSign(error.into()))?.encode_prefixed(&mut to_sign);
        encoded.map_err(|error| CannotSign(error.into()))?;
        Ok(to_sign)
    }
}
