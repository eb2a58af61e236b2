//! Opens SSH sessions: connects through a proxy and a bastion, and authenticates.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use russh::client::{self, Handle};
use russh::{Channel, Preferred, cipher};
use tokio::time::timeout;

use super::authentication;
use super::host_key::{self, Verdict, Verifier};
use wardian_access::ReachError;

use crate::dial::Dialer;
use crate::error::{CommunicatorError, ConnectionPhase};
use crate::settings::{Hop, SshSettings, endpoint};
use crate::stream::Stream;

/// Time limit for each step of a handshake, and for opening a channel.
const STEP_TIMEOUT: Duration = Duration::from_secs(30);
/// Ciphers, ordered by speed on processors with AES instructions.
const CIPHERS: &[cipher::Name] = &[
    cipher::AES_256_GCM,
    cipher::AES_128_GCM,
    cipher::CHACHA20_POLY1305,
    cipher::AES_256_CTR,
    cipher::AES_192_CTR,
    cipher::AES_128_CTR,
];

pub(crate) struct Session {
    handle: Handle<Verifier>,
    /// Keeps the bastion's session open.
    _bastion: Option<Handle<Verifier>>,
    endpoint: String,
}

impl Session {
    /// Connects and authenticates, without retries.
    pub(crate) async fn open(
        settings: &SshSettings,
        dialer: &Dialer,
        agent: Option<&Path>,
        keep_alive: Duration,
    ) -> Result<Self, CommunicatorError> {
        let (target, proxy) = (&settings.target, settings.proxy.as_ref());
        let (stream, bastion) = match &settings.bastion {
            None => (dialer.connect(&target.host, target.port, proxy).await?, None),
            Some(bastion) => {
                dialer.check_host(&target.host, target.port)?;
                let stream = dialer.connect(&bastion.host, bastion.port, proxy).await?;
                let handle = log_in(bastion, settings, stream, agent, keep_alive).await?;
                let stream = through(&handle, bastion, target).await?;
                (stream, Some(handle))
            }
        };
        let handle = log_in(target, settings, stream, agent, keep_alive).await?;
        Ok(Self { handle, _bastion: bastion, endpoint: endpoint(&target.host, target.port) })
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.handle.is_closed()
    }

    pub(crate) fn endpoint(&self) -> &str {
        &self.endpoint
    }

    pub(crate) fn lost(&self, phase: ConnectionPhase) -> CommunicatorError {
        CommunicatorError::Lost { endpoint: self.endpoint.clone(), phase }
    }

    pub(crate) async fn channel(&self) -> Result<Channel<client::Msg>, CommunicatorError> {
        match timeout(STEP_TIMEOUT, self.handle.channel_open_session()).await {
            Ok(Ok(channel)) => Ok(channel),
            Ok(Err(russh::Error::ChannelOpenFailure(reason))) => Err(CommunicatorError::Start {
                endpoint: self.endpoint.clone(),
                reason: format!("it did not open another channel ({reason:?})"),
            }),
            Ok(Err(_)) => Err(self.lost(ConnectionPhase::Starting)),
            Err(_) => Err(CommunicatorError::Silent(self.endpoint.clone())),
        }
    }

    pub(crate) async fn close(&self) {
        let saying = self.handle.disconnect(russh::Disconnect::ByApplication, "", "");
        let _ = timeout(Duration::from_secs(1), saying).await;
    }
}

async fn through(
    handle: &Handle<Verifier>,
    bastion: &Hop,
    target: &Hop,
) -> Result<Stream, CommunicatorError> {
    let opening =
        handle.channel_open_direct_tcpip(target.host.clone(), u32::from(target.port), "127.0.0.1", 0);
    match timeout(STEP_TIMEOUT, opening).await {
        Ok(Ok(channel)) => Ok(Box::new(channel.into_stream())),
        Ok(Err(russh::Error::ChannelOpenFailure(reason))) => Err(ReachError::Connect {
            endpoint: endpoint(&target.host, target.port),
            error: std::io::Error::other(format!(
                "the bastion {} could not connect to it ({reason:?})",
                endpoint(&bastion.host, bastion.port)
            )),
        }
        .into()),
        Ok(Err(_)) => Err(CommunicatorError::Lost {
            endpoint: endpoint(&bastion.host, bastion.port),
            phase: ConnectionPhase::Forwarding,
        }),
        Err(_) => Err(CommunicatorError::Silent(endpoint(&target.host, target.port))),
    }
}

async fn log_in(
    hop: &Hop,
    settings: &SshSettings,
    stream: Stream,
    agent: Option<&Path>,
    keep_alive: Duration,
) -> Result<Handle<Verifier>, CommunicatorError> {
    let endpoint = endpoint(&hop.host, hop.port);
    let verdict = Verdict::default();
    let verifier = Verifier::new(hop, verdict.clone());
    let connecting = client::connect_stream(Arc::new(configuration(hop, keep_alive)), stream, verifier);
    let mut handle = match timeout(STEP_TIMEOUT, connecting).await {
        Err(_) => return Err(CommunicatorError::Silent(endpoint)),
        Ok(Ok(handle)) => handle,
        Ok(Err(error)) => {
            if let (Some(found), Some(expected)) = (verdict.take(), &hop.host_key) {
                return Err(CommunicatorError::HostKey {
                    endpoint,
                    found,
                    argument: hop.host_key_argument,
                    expected: host_key::describe_key(expected),
                });
            }
            return Err(handshake_error(endpoint, error));
        }
    };
    authentication::authenticate(&mut handle, hop, settings, agent).await?;
    Ok(handle)
}

fn handshake_error(endpoint: String, error: russh::Error) -> CommunicatorError {
    match error {
        russh::Error::IO(error) => ReachError::Connect { endpoint, error }.into(),
        russh::Error::HUP | russh::Error::Disconnect => {
            CommunicatorError::Lost { endpoint, phase: ConnectionPhase::Connecting }
        }
        russh::Error::Version => {
            CommunicatorError::Protocol { endpoint, problem: "it is not an SSH server".into() }
        }
        other => CommunicatorError::Protocol { endpoint, problem: other.to_string() },
    }
}

fn configuration(hop: &Hop, keep_alive: Duration) -> client::Config {
    let (key, host_key_certificates) = host_key::preferred_algorithms(hop);
    client::Config {
        preferred: Preferred { key, host_key_certificates, cipher: CIPHERS.into(), ..Preferred::DEFAULT },
        keepalive_interval: Some(keep_alive),
        keepalive_max: 6,
        nodelay: true,
        ..client::Config::default()
    }
}
