//! Implements the server side of the protocol: serves a provider to a host as a native plugin.
//!
//! A host starts the process with a cookie, the protocol versions that it supports and a
//! certificate in the environment. The process listens on a socket in a directory that only this
//! user can access, and announces its address in one line on its standard output. The process
//! serves until the host requests it to exit, or until all connections have been closed for some
//! time, since a killed host cannot terminate its plugins.
//!
//! Invariants:
//! - a client must hold the certificate that the host passed, unless the host passed none;
//! - protocol 5 is served only if it can express the provider's schema, which is checked before
//!   the plugin announces itself;
//! - an invalid request is rejected with a status and has no effect.

mod attached;
mod connection;
mod conversion;
mod multiplex;
mod schema;
mod service;
mod streaming;
mod tls;

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Notify;
use wardian_plugin::{CallContext, PluginDiagnostics, Provider};

use crate::ProtocolVersion;
use crate::http2::Bidirectional;
use crate::launch::MAGIC_COOKIE;
use crate::server::service::Service;
use crate::server::tls::Acceptor;
use crate::tls::{Identity, IdentityError};

pub use attached::AttachedServer;
pub use multiplex::{MultiplexError, Multiplexed};

/// Time without a connection after which a plugin exits.
const LONELINESS: Duration = Duration::from_secs(10);
/// Time to send the last response before the process exits.
const FAREWELL: Duration = Duration::from_millis(50);

/// The environment variables that a host passes to a plugin.
#[derive(Clone, Debug, Default)]
pub struct HostHandshake {
    /// `TF_PLUGIN_MAGIC_COOKIE`
    pub cookie: Option<String>,
    /// `PLUGIN_PROTOCOL_VERSIONS`: numbers separated by commas, in any order.
    pub versions: Option<String>,
    /// `PLUGIN_CLIENT_CERT`: the host's certificate in PEM format; absent if the connection is not
    /// secured.
    pub certificate: Option<String>,
    /// `PLUGIN_UNIX_SOCKET_DIR`, or else the directory of temporary files.
    pub socket_directory: PathBuf,
}

/// An error that occurs while a plugin is served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The process was not started as a plugin.
    #[error(
        "this is a Terraform plugin, which Terraform, OpenTofu or Wardian starts when a configuration needs \
         it; it is not meant to be run directly"
    )]
    NotStartedByAHost,
    /// Protocol 5 cannot express the schema.
    #[error(
        "{place} is a nested attribute, which protocol 5 does not support; serve this plugin with protocol 6"
    )]
    NestedAttribute { place: String },
    /// The provider does not return its schema.
    #[error("cannot get the schema: {}", .0.iter().map(|d| format!("{}: {}", d.summary, d.detail)).collect::<Vec<_>>().join("; "))]
    Schema(PluginDiagnostics),
    /// The plugin's certificate could not be created.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// The socket cannot be created, or the handshake cannot be written.
    #[error("cannot serve the host's socket: {0}")]
    Socket(#[from] io::Error),
}

/// Serves a provider to the host that started this process, until the host requests it to exit.
/// `versions` contains the protocol versions that may be served, the preferred one first; the
/// handshake is written to `out`.
///
/// # Errors
/// Returns an error if the plugin cannot be served. Later errors are returned to the host as errors
/// of its calls.
pub async fn serve(
    provider: Arc<dyn Provider>,
    versions: &[ProtocolVersion],
    host: &HostHandshake,
    out: &mut (dyn Write + Send),
) -> Result<(), ServeError> {
    if host.cookie.as_deref() != Some(MAGIC_COOKIE.1) {
        return Err(ServeError::NotStartedByAHost);
    }
    let version = choose(versions, host.versions.as_deref());
    if version == ProtocolVersion::Five {
        schema::of_five(&*provider.schema(&CallContext::default()).await.map_err(ServeError::Schema)?)?;
    }
    let directory = tempfile::Builder::new().prefix("wardian-").tempdir_in(&host.socket_directory)?;
    let socket = directory.path().join("plugin");
    let listener = UnixListener::bind(&socket)?;
    let (acceptor, certificate) = match &host.certificate {
        None => (None, String::new()),
        Some(certificate) => {
            let own = Identity::new()?;
            let shown = STANDARD_NO_PAD.encode(own.certificate_and_key().0);
            (Some(Acceptor::new(certificate, &own)?), shown)
        }
    };
    let number = match version {
        ProtocolVersion::Five => 5,
        ProtocolVersion::Six => 6,
    };
    writeln!(out, "1|{number}|unix|{}|grpc|{certificate}", socket.display())?;
    out.flush()?;
    let service = Arc::new(Service { provider: Arc::clone(&provider), version });
    let guests =
        Guests { service, acceptor: acceptor.map(Arc::new), end: Arc::default(), present: Arc::default() };
    guests.receive(&listener).await;
    provider.close().await;
    Ok(())
}

/// Returns the preferred version that both sides support. If there is none, returns the lowest
/// supported version, which the host then rejects with its own message.
fn choose(ours: &[ProtocolVersion], theirs: Option<&str>) -> ProtocolVersion {
    let known = |version: &ProtocolVersion| {
        let number = match version {
            ProtocolVersion::Five => "5",
            ProtocolVersion::Six => "6",
        };
        theirs.is_some_and(|theirs| theirs.split(',').any(|version| version.trim() == number))
    };
    let lowest =
        || if ours.contains(&ProtocolVersion::Five) { ProtocolVersion::Five } else { ProtocolVersion::Six };
    ours.iter().copied().find(known).unwrap_or_else(lowest)
}

/// The number of connected clients, and the request to exit.
struct Guests {
    service: Arc<Service>,
    acceptor: Option<Arc<Acceptor>>,
    /// Notified when the host requests the process to exit.
    end: Arc<Notify>,
    present: Arc<AtomicUsize>,
}

impl Guests {
    async fn receive(&self, listener: &UnixListener) {
        let left = Arc::new(Notify::new());
        loop {
            tokio::select! {
                () = self.end.notified() => {
                    tokio::time::sleep(FAREWELL).await;
                    return;
                }
                accepted = listener.accept() => {
                    if let Ok((stream, _)) = accepted {
                        self.welcome(stream, &left);
                    }
                }
                () = left.notified(), if self.present.load(Ordering::Acquire) == 0 => {
                    // The last client has disconnected. The process exits unless another client
                    // connects within this time.
                    let come = tokio::time::timeout(LONELINESS, listener.accept()).await;
                    match come {
                        Ok(Ok((stream, _))) => self.welcome(stream, &left),
                        Ok(Err(_)) => {}
                        Err(_) => return,
                    }
                }
            }
        }
    }

    fn welcome(&self, stream: UnixStream, left: &Arc<Notify>) {
        self.present.fetch_add(1, Ordering::AcqRel);
        let (service, end) = (Arc::clone(&self.service), Arc::clone(&self.end));
        let (acceptor, present, left) = (self.acceptor.clone(), Arc::clone(&self.present), Arc::clone(left));
        tokio::spawn(async move {
            let stream: Option<Box<dyn Bidirectional>> = match acceptor {
                None => Some(Box::new(stream)),
                Some(acceptor) => match acceptor.accept(stream).await {
                    Ok(stream) => Some(Box::new(stream)),
                    Err(error) => {
                        tracing::warn!(target: "wardian::plugin", "rejected a connection: {error}");
                        None
                    }
                },
            };
            if let Some(stream) = stream
                && let Err(error) = connection::serve(stream, service, end).await
            {
                tracing::debug!(target: "wardian::plugin", "a connection ended: {error}");
            }
            present.fetch_sub(1, Ordering::AcqRel);
            left.notify_one();
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn highest_common_protocol_version_is_chosen() {
        use ProtocolVersion::{Five, Six};
        for (ours, theirs, chosen) in [
            (&[Six, Five][..], Some("5,6"), Six),
            (&[Six, Five], Some("6, 5"), Six),
            (&[Six, Five], Some("5"), Five),
            (&[Five], Some("6,5"), Five),
            (&[Six], Some("5"), Six),
            (&[Six, Five], Some("4"), Five),
            (&[Six, Five], None, Five),
        ] {
            assert_eq!(choose(ours, theirs), chosen, "{ours:?} {theirs:?}");
        }
    }
}
