//! Reads the outputs of states in the backends of other configurations.

use std::collections::BTreeMap;

use wardian_backend::{
    BackendConfig, BackendError, BackendType, LOCAL, LocalBackend, UnavailableBackend, find,
};
use wardian_files::read_regular;
use wardian_plugin::{CallContext, PluginDiagnostic, PluginDiagnostics};
use wardian_state::{Decrypted, StateProblem, decode_state};
use wardian_value::{Marks, Str, Value};

use crate::state_sources::{OtherBackends, StateSources};

const MAX_STATE_SIZE: u64 = 4 << 30;

/// The backend of another configuration.
#[derive(Clone)]
pub(crate) struct OtherBackend {
    kind: &'static dyn BackendType,
    config: BackendConfig,
}

/// A backend that cannot be used.
pub(crate) enum OtherBackendError {
    /// The backend does not exist.
    Unknown(String),
    /// The backend exists in Terraform but is not supported.
    Unsupported(String),
    /// The arguments are not valid. The reason is the end of a sentence.
    Arguments(String),
}

impl OtherBackend {
    /// Returns the backend with these arguments: a wholly known object or map, or null.
    pub(crate) fn new(name: &str, arguments: &Value) -> Result<Self, OtherBackendError> {
        let kind = find(name).map_err(|unavailable| match unavailable {
            UnavailableBackend::Unknown(reason) => OtherBackendError::Unknown(reason),
            UnavailableBackend::Refused(reason) => OtherBackendError::Unsupported(reason),
        })?;
        let config =
            BackendConfig::from_object(arguments, kind.schema()).map_err(OtherBackendError::Arguments)?;
        Ok(Self { kind, config })
    }

    /// Checks the values of the arguments, as far as that is possible without a request.
    pub(crate) fn check(&self, sources: &StateSources) -> Result<(), PluginDiagnostic> {
        if self.kind.name() == LOCAL {
            return LocalBackend::from_config(&self.config).map(drop).map_err(diagnostic);
        }
        match &sources.backends {
            OtherBackends::All(host) => self.kind.configure(&self.config, host).map(drop).map_err(diagnostic),
            OtherBackends::None | OtherBackends::Permitted(_) => Ok(()),
        }
    }

    /// Returns the outputs of a workspace's state, or `None` if the state does not exist.
    pub(crate) async fn outputs(
        &self,
        context: &CallContext,
        workspace: &str,
        sources: &StateSources,
    ) -> Result<Option<BTreeMap<Str, Value>>, PluginDiagnostics> {
        let (location, bytes) = if self.kind.name() == LOCAL {
            self.read_file(context, workspace, sources).await
        } else {
            self.read_storage(workspace, sources).await
        }
        .map_err(|found| vec![found])?;
        let (bytes, must_be_encrypted) = decrypted(context, bytes, &location, sources).await?;
        let unreadable = |problem: StateProblem| {
            let detail = format!("The state in {location} cannot be read: {problem}.");
            PluginDiagnostic::error("Unsupported state file format", detail)
        };
        let state = decode_state(&bytes).map_err(|problem| vec![unreadable(problem)])?;
        if must_be_encrypted && state.as_ref().is_some_and(|state| !state.is_empty()) {
            return Err(vec![unreadable(StateProblem::NotEncrypted)]);
        }
        // An untrusted configuration does not receive sensitive values: the engine withholds marked ones.
        let marks_secrets = matches!(sources.backends, OtherBackends::Permitted(_));
        let outputs = state.map(|state| state.outputs.into_iter()).map(|outputs| {
            outputs.map(|(name, output)| {
                let is_marked = output.sensitive && marks_secrets;
                (name, if is_marked { output.value.with_marks(Marks::SENSITIVE) } else { output.value })
            })
        });
        Ok(outputs.map(Iterator::collect))
    }

    async fn read_file(
        &self,
        context: &CallContext,
        workspace: &str,
        sources: &StateSources,
    ) -> Result<(String, Vec<u8>), PluginDiagnostic> {
        let local = LocalBackend::from_config(&self.config).map_err(diagnostic)?;
        let path = sources.root_directory.join(local.state_path(workspace));
        sources.gate.check(context, &path).map_err(|reason| {
            let detail = format!("The state in {} is not read: {reason}.", path.display());
            PluginDiagnostic::error("State file not permitted", detail)
        })?;
        let read = {
            let path = path.clone();
            tokio::task::spawn_blocking(move || read_regular(&path, MAX_STATE_SIZE)).await
        };
        let location = path.display().to_string();
        match read.map_err(std::io::Error::other).flatten() {
            Ok(bytes) => Ok((location, bytes)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok((location, Vec::new())),
            Err(error) => {
                let detail = format!("The state in {location} cannot be read: {error}.");
                Err(PluginDiagnostic::error("Failed to read state file", detail))
            }
        }
    }

    async fn read_storage(
        &self,
        workspace: &str,
        sources: &StateSources,
    ) -> Result<(String, Vec<u8>), PluginDiagnostic> {
        let not_permitted = |reason: &str| {
            let detail = format!("The backend \"{}\" is not opened: {reason}.", self.kind.name());
            PluginDiagnostic::error("Backend not permitted", detail)
        };
        let permitted;
        let (host, workspaces) = match &sources.backends {
            OtherBackends::None => return Err(not_permitted("only states in local files can be read here")),
            OtherBackends::All(host) => (&**host, None),
            OtherBackends::Permitted(rules) => {
                permitted = rules.permit(self.kind.name(), self.config.value()).map_err(|reason| {
                    not_permitted(&format!(
                        "with -untrusted, the configuration would determine the server to which your credentials are \
                         sent, and {reason}"
                    ))
                })?;
                (&permitted.host, Some(&permitted.workspaces))
            }
        };
        let backend = self.kind.configure(&self.config, host).map_err(diagnostic)?;
        let only = backend.default_workspace().unwrap_or(wardian_backend::DEFAULT_WORKSPACE);
        let workspace = if workspace.is_empty() { only } else { workspace };
        // The arguments of a backend without workspaces determine its state.
        if backend.has_workspaces() && workspaces.is_some_and(|permits| !permits(workspace)) {
            return Err(not_permitted(&format!(
                "with -untrusted, the organisation's policy does not include the workspace \"{workspace}\""
            )));
        }
        let storage = backend.state(workspace).map_err(diagnostic)?;
        match storage.read().await {
            Ok(stored) => Ok((storage.location(), stored.bytes)),
            Err(error) => {
                let hint = error.hint().map_or(String::new(), |hint| format!(" Suggestion: {hint}."));
                Err(PluginDiagnostic::error("Failed to read remote state", format!("{error}.{hint}")))
            }
        }
    }
}

/// Decrypts a state. Returns whether it is not encrypted although it must be.
async fn decrypted(
    context: &CallContext,
    bytes: Vec<u8>,
    location: &str,
    sources: &StateSources,
) -> Result<(Vec<u8>, bool), PluginDiagnostics> {
    let Some(encryption) = sources.encryption.as_ref().filter(|_| !bytes.is_empty()) else {
        return Ok((bytes, false));
    };
    let address = context.address().map_or("", |address| &**address);
    let Some(target) = encryption.target(address)? else { return Ok((bytes, false)) };
    match target.decrypt(&bytes).await {
        Ok(Decrypted::Text { plain, .. }) => Ok((plain, false)),
        Ok(Decrypted::Plain) => Ok((bytes, !target.accepts_plain())),
        Err(failure) => {
            let hint = failure.advice.as_ref().map_or(String::new(), |hint| format!(" Suggestion: {hint}."));
            let detail = format!("The state in {location}: {failure}.{hint}");
            Err(vec![PluginDiagnostic::error("Failed to decrypt remote state", detail)])
        }
    }
}

fn diagnostic(error: BackendError) -> PluginDiagnostic {
    PluginDiagnostic::error(error.summary, error.detail)
}
