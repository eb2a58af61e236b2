//! The local backend: state files on this machine.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use wardian_files::read_regular;
use wardian_plugin::{CallContext, PluginDiagnostic};
use wardian_state::decode_state;
use wardian_value::{Str, Type, Value};

use super::{Arguments, Backend};
use crate::state_files::StateFiles;

const MAX_STATE_SIZE: u64 = 4 << 30;
/// The default workspace, which every backend has.
const DEFAULT_WORKSPACE: &str = "default";

pub(super) struct Local;

#[async_trait]
impl Backend for Local {
    fn arguments(&self) -> &'static [(&'static str, Type)] {
        &[("path", Type::String), ("workspace_dir", Type::String)]
    }

    fn check(&self, arguments: &Arguments) -> Result<(), PluginDiagnostic> {
        for (name, summary) in [
            ("path", "Invalid local state file path"),
            ("workspace_dir", "Invalid local workspace directory path"),
        ] {
            if arguments.text(name) == Some("") {
                let detail =
                    format!("The argument \"{name}\" must not be empty. Omit it to use the default.");
                return Err(PluginDiagnostic::error(summary, detail));
            }
        }
        Ok(())
    }

    async fn outputs(
        &self,
        context: &CallContext,
        arguments: &Arguments,
        workspace: &str,
        files: &StateFiles,
    ) -> Result<Option<BTreeMap<Str, Value>>, PluginDiagnostic> {
        let path = files.root_directory.join(state_file(arguments, workspace));
        files.gate.check(context, &path).map_err(|reason| {
            let detail = format!("The state in {} is not read: {reason}.", path.display());
            PluginDiagnostic::error("State file not permitted", detail)
        })?;
        let read = {
            let path = path.clone();
            tokio::task::spawn_blocking(move || read_regular(&path, MAX_STATE_SIZE)).await
        };
        let refused = |summary: &str, reason: &dyn std::fmt::Display| {
            let detail = format!("The state in {} cannot be read: {reason}.", path.display());
            PluginDiagnostic::error(summary, detail)
        };
        let bytes = match read.map_err(std::io::Error::other).flatten() {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(refused("Failed to read state file", &error)),
        };
        let state =
            decode_state(&bytes).map_err(|problem| refused("Unsupported state file format", &problem))?;
        Ok(state.map(|state| state.outputs.into_iter().map(|(name, output)| (name, output.value)).collect()))
    }
}

/// Returns the path of a workspace's state; `path` applies only to the default workspace.
fn state_file(arguments: &Arguments, workspace: &str) -> PathBuf {
    const FILE_NAME: &str = "terraform.tfstate";
    if workspace.is_empty() || workspace == DEFAULT_WORKSPACE {
        return PathBuf::from(arguments.text("path").unwrap_or(FILE_NAME));
    }
    let directory = arguments.text("workspace_dir").unwrap_or("terraform.tfstate.d");
    Path::new(directory).join(workspace).join(FILE_NAME)
}
