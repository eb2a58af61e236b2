//! Authentication with a key, a certificate, a password, keyboard-interactive prompts, or an agent.
//!
//! Each method that the machine offers is tried once, in that order. A machine may require
//! several methods: after a partial success, the next one is tried.

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
use crate::settings::{AgentUse, Hop, Key, SshSettings, endpoint};

/// Time limit for the response to one authentication request. Some machines delay the response on
/// purpose.
const RESPONSE_TIMEOUT: Duration = Duration::from_mins(1);
/// Maximum number of keyboard-interactive rounds.
const MAX_PROMPT_ROUNDS: usize = 10;

/// The response to an authentication request.
pub(crate) enum AuthOutcome {
    Accepted,
    Refused,
}

/// Authenticates with a machine, and tracks the methods that it still offers.
pub(crate) struct Authenticator<'a> {
    pub(crate) handle: &'a mut Handle<Verifier>,
    pub(crate) user: &'a str,
    offered: MethodSet,
    /// Descriptions of the tried methods, for the error message.
    tried: Vec<String>,
}

pub(crate) async fn authenticate(
    handle: &mut Handle<Verifier>,
    hop: &Hop,
    settings: &SshSettings,
    agent: Option<&Path>,
) -> Result<(), CommunicatorError> {
    let mut authenticator =
        Authenticator { handle, user: &hop.user, offered: MethodSet::client_supported(), tried: Vec::new() };
    match authenticator.all(hop, settings, agent).await {
        Ok(AuthOutcome::Accepted) => Ok(()),
        Ok(AuthOutcome::Refused) => Err(authenticator.refused(hop)),
        Err(AuthError::Agent(problem)) => Err(CommunicatorError::Agent(problem)),
        Err(AuthError::Session(russh::Error::Elapsed(_))) => {
            Err(CommunicatorError::Silent(endpoint(&hop.host, hop.port)))
        }
        Err(AuthError::Session(_)) => Err(authenticator.refused(hop)),
    }
}

pub(crate) enum AuthError {
    Session(russh::Error),
    Agent(String),
}

impl From<russh::Error> for AuthError {
    fn from(error: russh::Error) -> Self {
        Self::Session(error)
    }
}

impl Authenticator<'_> {
    async fn all(
        &mut self,
        hop: &Hop,
        settings: &SshSettings,
        agent: Option<&Path>,
    ) -> Result<AuthOutcome, AuthError> {
        // When a server rejects the method `none`, it lists the methods that it offers. Servers
        // that require no authentication accept `none`.
        let nothing = timeout(RESPONSE_TIMEOUT, self.handle.authenticate_none(self.user)).await;
        if let AuthOutcome::Accepted = self.record_result(nothing.map_err(russh::Error::from)??) {
            return Ok(AuthOutcome::Accepted);
        }
        if let Some(key) = &hop.key
            && let AuthOutcome::Accepted = self.key(key).await?
        {
            return Ok(AuthOutcome::Accepted);
        }
        if let Some(password) = &hop.password {
            if let AuthOutcome::Accepted = self.password(password.reveal()).await? {
                return Ok(AuthOutcome::Accepted);
            }
            if let AuthOutcome::Accepted = self.keyboard_interactive(password.reveal()).await? {
                return Ok(AuthOutcome::Accepted);
            }
        }
        self.agent(settings, agent).await
    }

    pub(crate) fn offers(&self, kind: MethodKind) -> bool {
        self.offered.contains(&kind)
    }

    /// Records the offered methods.
    pub(crate) fn record_result(&mut self, result: AuthResult) -> AuthOutcome {
        match result {
            AuthResult::Success => AuthOutcome::Accepted,
            AuthResult::Failure { remaining_methods, .. } => {
                self.offered = remaining_methods;
                AuthOutcome::Refused
            }
        }
    }

    /// Returns a hash for RSA signatures that the machine supports. SHA-1 is never used.
    pub(crate) async fn rsa_hash(&self, algorithm: &Algorithm) -> Result<Option<HashAlg>, russh::Error> {
        if !matches!(algorithm, Algorithm::Rsa { .. }) {
            return Ok(None);
        }
        let best = self.handle.best_supported_rsa_hash().await?;
        Ok(Some(best.flatten().unwrap_or(HashAlg::Sha256)))
    }

    async fn key(&mut self, key: &Key) -> Result<AuthOutcome, russh::Error> {
        if !self.offers(MethodKind::PublicKey) {
            return Ok(AuthOutcome::Refused);
        }
        let hash = self.rsa_hash(&key.private.algorithm()).await?;
        if let Some(certificate) = &key.certificate {
            self.tried.push("the certificate".into());
            let mut signer = OwnKey(Arc::clone(&key.private));
            let proof =
                self.handle.authenticate_certificate_with(self.user, certificate.clone(), hash, &mut signer);
            let result = timeout(RESPONSE_TIMEOUT, proof).await?;
            if let AuthOutcome::Accepted = self.record_result(result.map_err(|CannotSign(error)| error)?) {
                return Ok(AuthOutcome::Accepted);
            }
            if !self.offers(MethodKind::PublicKey) {
                return Ok(AuthOutcome::Refused);
            }
        }
        self.tried.push("the private key".into());
        let proof = PrivateKeyWithHashAlg::new(Arc::clone(&key.private), hash);
        let result =
            timeout(RESPONSE_TIMEOUT, self.handle.authenticate_publickey(self.user, proof)).await??;
        Ok(self.record_result(result))
    }

    async fn password(&mut self, password: &str) -> Result<AuthOutcome, russh::Error> {
        if !self.offers(MethodKind::Password) {
            return Ok(AuthOutcome::Refused);
        }
        self.tried.push("the password".into());
        let result =
            timeout(RESPONSE_TIMEOUT, self.handle.authenticate_password(self.user, password)).await??;
        Ok(self.record_result(result))
    }

    /// Responds to every prompt with the password, as most clients do.
    async fn keyboard_interactive(&mut self, password: &str) -> Result<AuthOutcome, russh::Error> {
        if !self.offers(MethodKind::KeyboardInteractive) {
            return Ok(AuthOutcome::Refused);
        }
        self.tried.push("the password at its prompts".into());
        let starting = self.handle.authenticate_keyboard_interactive_start(self.user, None);
        let mut response = timeout(RESPONSE_TIMEOUT, starting).await??;
        for _ in 0..MAX_PROMPT_ROUNDS {
            match response {
                KeyboardInteractiveAuthResponse::Success => return Ok(AuthOutcome::Accepted),
                KeyboardInteractiveAuthResponse::Failure { remaining_methods, .. } => {
                    self.offered = remaining_methods;
                    return Ok(AuthOutcome::Refused);
                }
                KeyboardInteractiveAuthResponse::InfoRequest { prompts, .. } => {
                    let answers = vec![password.to_owned(); prompts.len()];
                    let answering = self.handle.authenticate_keyboard_interactive_respond(answers);
                    response = timeout(RESPONSE_TIMEOUT, answering).await??;
                }
            }
        }
        Ok(AuthOutcome::Refused)
    }

    async fn agent(
        &mut self,
        settings: &SshSettings,
        socket: Option<&Path>,
    ) -> Result<AuthOutcome, AuthError> {
        let socket = match (settings.agent, socket) {
            (AgentUse::Never, _) | (AgentUse::IfAvailable, None) => return Ok(AuthOutcome::Refused),
            (AgentUse::Required, None) => {
                let problem = "agent = true requires an agent, but SSH_AUTH_SOCK is not set";
                return Err(AuthError::Agent(problem.into()));
            }
            (AgentUse::IfAvailable | AgentUse::Required, Some(socket)) => socket,
        };
        if !self.offers(MethodKind::PublicKey) {
            return Ok(AuthOutcome::Refused);
        }
        let mut agent = match Agent::connect(socket).await {
            Ok(agent) => agent,
            // The settings do not require an agent, so other methods are tried.
            Err(_) if settings.agent == AgentUse::IfAvailable => {
                self.tried.push("an agent that did not respond".into());
                return Ok(AuthOutcome::Refused);
            }
            Err(problem) => return Err(AuthError::Agent(problem)),
        };
        match agent.authenticate(self, settings.agent_identity.as_deref()).await? {
            AgentAnswer::Accepted => Ok(AuthOutcome::Accepted),
            AgentAnswer::Refused { keys } => {
                self.tried.push(match keys {
                    0 => "an agent without keys".into(),
                    1 => "the agent's key".into(),
                    more => format!("{more} agent keys"),
                });
                Ok(AuthOutcome::Refused)
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
                format!("no credentials are available: set password, private_key or agent.{offers}")
            }
            tried => format!("tried {}", tried.join(", ")),
        };
        let reason =
            if self.handle.is_closed() { format!("it closed the connection; {tried}") } else { tried };
        CommunicatorError::Authentication {
            endpoint: endpoint(&hop.host, hop.port),
            user: hop.user.clone(),
            reason,
        }
    }
}

/// A private key that signs for its certificate. RSA signatures use the negotiated hash.
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
