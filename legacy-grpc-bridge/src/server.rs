//! The other side of the protocol: a provider of ours is a native plugin to a host.
//!
//! A host starts our process with a cookie in its environment, with the versions of the
//! protocol that it speaks, and with a certificate. The process listens on a socket in
//! a directory that only this user may enter, says where in one line on its standard
//! output, and serves until it is told to end, or until all connections have been gone
//! for a while, since a host that was killed tells nobody.
//!
//! Always holds:
//! - who connects holds the certificate that the host gave, unless it gave none;
//! - protocol 5 is served only where the provider's schema can be told in it, which is
//!   found out before the host is told that the plugin is there;
//! - a request that makes no sense is refused by a status and changes nothing.

mod connection;
mod conversion;
mod multiplex;
mod schema;
mod service;
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

pub use multiplex::{MultiplexError, Multiplexed};

/// How long a plugin stays that nobody is connected to.
const LONELINESS: Duration = Duration::from_secs(10);
/// How long an answer has to leave before the process ends.
const FAREWELL: Duration = Duration::from_millis(50);

/// What a host says to a plugin, by the environment.
#[derive(Clone, Debug, Default)]
pub struct HostHandshake {
    /// `TF_PLUGIN_MAGIC_COOKIE`
    pub cookie: Option<String>,
    /// `PLUGIN_PROTOCOL_VERSIONS`: numbers with commas between, in any order.
    pub versions: Option<String>,
    /// `PLUGIN_CLIENT_CERT`: the host's certificate as PEM; absent where the connection
    /// is not secured.
    pub certificate: Option<String>,
    /// `PLUGIN_UNIX_SOCKET_DIR`, or where temporary files are.
    pub socket_directory: PathBuf,
}

/// Why a plugin does not serve.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// Nobody started it as a plugin.
    #[error(
        "this is a Terraform plugin, which Terraform, OpenTofu or Wardian starts by itself where a configuration \
         needs it; by itself it does nothing"
    )]
    NotStartedByAHost,
    /// Protocol 5 cannot express the schema.
    #[error(
        "{place} is a nested attribute, which protocol 5 cannot express; serve this plugin with protocol 6"
    )]
    NestedAttribute {
        /// Which.
        place: String,
    },
    /// The provider does not tell its schema.
    #[error("the schema cannot be had: {}", .0.iter().map(|d| format!("{}: {}", d.summary, d.detail)).collect::<Vec<_>>().join("; "))]
    Schema(PluginDiagnostics),
    /// There is nothing to show to the host.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// The socket cannot be made, or the host cannot be told of it.
    #[error("the socket for the host cannot be served: {0}")]
    Socket(#[from] io::Error),
}

/// Serves a provider to the host that started this process, until the host ends it.
/// `versions` are those that may be served, best first; the handshake is written to
/// `out`.
///
/// # Errors
/// Why nothing could be served. Afterwards errors are those of calls.
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

/// The best version that both know; where there is none, the host is told our lowest
/// and says what it thinks of that.
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

/// Who is connected.
struct Guests {
    service: Arc<Service>,
    acceptor: Option<Arc<Acceptor>>,
    /// Told when the host wants us to end.
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
                    // Somebody may come while we wait; the loop finds out.
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
                        tracing::warn!(target: "wardian::plugin", "a connection was refused: {error}");
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
    fn the_best_version_of_both_is_chosen() {
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
