//! From settings to a session: through a proxy, through a bastion, and logged in.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use russh::client::{self, Handle};
use russh::{Channel, Preferred, cipher};
use tokio::time::timeout;

use super::authentication;
use super::host_key::{self, Verdict, Verifier};
use crate::dial::Dialer;
use crate::error::{CommunicatorError, Doing};
use crate::settings::{Hop, SshSettings, place};
use crate::stream::Stream;

/// How long a machine has for each step of a handshake, and for opening a channel.
const STEP: Duration = Duration::from_secs(30);
/// The fastest first, where processors have instructions for them.
const CIPHERS: &[cipher::Name] = &[
    cipher::AES_256_GCM,
    cipher::AES_128_GCM,
    cipher::CHACHA20_POLY1305,
    cipher::AES_256_CTR,
    cipher::AES_192_CTR,
    cipher::AES_128_CTR,
];

/// A session with a machine.
pub(crate) struct Session {
    handle: Handle<Verifier>,
    /// What the session goes through must be there as long as it is.
    _bastion: Option<Handle<Verifier>>,
    place: String,
}

impl Session {
    /// Connects and logs in, once.
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
                dialer.allow(&target.host, target.port)?;
                let stream = dialer.connect(&bastion.host, bastion.port, proxy).await?;
                let handle = log_in(bastion, settings, stream, agent, keep_alive).await?;
                let stream = through(&handle, bastion, target).await?;
                (stream, Some(handle))
            }
        };
        let handle = log_in(target, settings, stream, agent, keep_alive).await?;
        Ok(Self { handle, _bastion: bastion, place: place(&target.host, target.port) })
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.handle.is_closed()
    }

    pub(crate) fn place(&self) -> &str {
        &self.place
    }

    pub(crate) fn lost(&self, doing: Doing) -> CommunicatorError {
        CommunicatorError::Lost { place: self.place.clone(), doing }
    }

    /// Opens a channel for a command.
    pub(crate) async fn channel(&self) -> Result<Channel<client::Msg>, CommunicatorError> {
        match timeout(STEP, self.handle.channel_open_session()).await {
            Ok(Ok(channel)) => Ok(channel),
            Ok(Err(russh::Error::ChannelOpenFailure(reason))) => Err(CommunicatorError::Start {
                place: self.place.clone(),
                reason: format!("it opens no further channel ({reason:?})"),
            }),
            Ok(Err(_)) => Err(self.lost(Doing::Starting)),
            Err(_) => Err(CommunicatorError::Silent(self.place.clone())),
        }
    }

    /// Says good-bye.
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
    match timeout(STEP, opening).await {
        Ok(Ok(channel)) => Ok(Box::new(channel.into_stream())),
        Ok(Err(russh::Error::ChannelOpenFailure(reason))) => Err(CommunicatorError::Connect {
            place: place(&target.host, target.port),
            error: std::io::Error::other(format!(
                "the bastion {} could not connect with it ({reason:?})",
                place(&bastion.host, bastion.port)
            )),
        }),
        Ok(Err(_)) => {
            Err(CommunicatorError::Lost { place: place(&bastion.host, bastion.port), doing: Doing::Passing })
        }
        Err(_) => Err(CommunicatorError::Silent(place(&target.host, target.port))),
    }
}

async fn log_in(
    hop: &Hop,
    settings: &SshSettings,
    stream: Stream,
    agent: Option<&Path>,
    keep_alive: Duration,
) -> Result<Handle<Verifier>, CommunicatorError> {
    let place = place(&hop.host, hop.port);
    let verdict = Verdict::default();
    let verifier = Verifier::new(hop, verdict.clone());
    let connecting = client::connect_stream(Arc::new(configuration(hop, keep_alive)), stream, verifier);
    let mut handle = match timeout(STEP, connecting).await {
        Err(_) => return Err(CommunicatorError::Silent(place)),
        Ok(Ok(handle)) => handle,
        Ok(Err(error)) => {
            if let (Some(found), Some(expected)) = (verdict.take(), &hop.host_key) {
                return Err(CommunicatorError::HostKey {
                    place,
                    found,
                    argument: hop.host_key_argument,
                    expected: host_key::described(expected),
                });
            }
            return Err(not_spoken(place, error));
        }
    };
    authentication::prove(&mut handle, hop, settings, agent).await?;
    Ok(handle)
}

fn not_spoken(place: String, error: russh::Error) -> CommunicatorError {
    match error {
        russh::Error::IO(error) => CommunicatorError::Connect { place, error },
        russh::Error::HUP | russh::Error::Disconnect => {
            CommunicatorError::Lost { place, doing: Doing::Connecting }
        }
        russh::Error::Version => {
            CommunicatorError::Protocol { place, problem: "what answers there is no SSH server".into() }
        }
        other => CommunicatorError::Protocol { place, problem: other.to_string() },
    }
}

fn configuration(hop: &Hop, keep_alive: Duration) -> client::Config {
    let (key, host_key_certificates) = host_key::wanted(hop);
    client::Config {
        preferred: Preferred { key, host_key_certificates, cipher: CIPHERS.into(), ..Preferred::DEFAULT },
        keepalive_interval: Some(keep_alive),
        keepalive_max: 6,
        nodelay: true,
        ..client::Config::default()
    }
}
