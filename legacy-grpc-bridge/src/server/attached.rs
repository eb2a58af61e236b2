//! Serves a provider to hosts that attach to it with `TF_REATTACH_PROVIDERS`: a provider that an author has
//! started under a debugger.
//!
//! Each connection has a provider of its own, because a host opens a connection for each provider
//! configuration. A host's request to exit is ignored: only the author ends the process. The connection is
//! not secured; the socket is in a directory that only this user can access.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Notify;
use wardian_plugin::Provider;

use super::service::Service;
use super::{ServeError, connection};
use crate::ProtocolVersion;
use crate::http2::Bidirectional;

/// A socket at which hosts attach.
pub struct AttachedServer {
    listener: UnixListener,
    socket: PathBuf,
    /// Removed with the socket when the server is dropped.
    _directory: tempfile::TempDir,
}

impl AttachedServer {
    /// Opens a socket in a new directory below `parent`.
    ///
    /// # Errors
    /// Returns an error if the socket cannot be created.
    pub fn bind(parent: &Path) -> Result<Self, ServeError> {
        let directory = tempfile::Builder::new().prefix("wardian-").tempdir_in(parent)?;
        let socket = directory.path().join("plugin");
        let listener = UnixListener::bind(&socket)?;
        Ok(Self { listener, socket, _directory: directory })
    }

    /// Returns the value of `TF_REATTACH_PROVIDERS` with which a host attaches to this server. `address` is the
    /// provider's address in the configuration.
    pub fn variable(&self, address: &str) -> String {
        serde_json::json!({
            address: {
                "Protocol": "grpc",
                "ProtocolVersion": 6,
                "Pid": std::process::id(),
                "Test": true,
                "Addr": { "Network": "unix", "String": self.socket },
            }
        })
        .to_string()
    }

    /// Serves connections, until `end` completes. `make` returns a provider that is not configured.
    ///
    /// # Errors
    /// Returns an error if the socket no longer accepts connections.
    pub async fn serve(
        self,
        make: impl Fn() -> Result<Arc<dyn Provider>, ServeError> + Send,
        end: impl Future<Output = ()> + Send,
    ) -> Result<(), ServeError> {
        tokio::pin!(end);
        loop {
            tokio::select! {
                () = &mut end => return Ok(()),
                accepted = self.listener.accept() => {
                    let (stream, _) = accepted?;
                    tokio::spawn(serve_connection(stream, make()?));
                }
            }
        }
    }
}

async fn serve_connection(stream: UnixStream, provider: Arc<dyn Provider>) {
    let service = Service { provider: Arc::clone(&provider), version: ProtocolVersion::Six };
    let stream: Box<dyn Bidirectional> = Box::new(stream);
    // Notified when the host requests the process to exit.
    let ignored = Arc::new(Notify::new());
    if let Err(error) = connection::serve(stream, Arc::new(service), ignored).await {
        tracing::debug!(target: "wardian::plugin", "a connection ended: {error}");
    }
    provider.close().await;
}
