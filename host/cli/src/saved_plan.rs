//! Saved plans: written by `plan -out`, carried out by `apply FILE`, shown by
//! `show FILE`.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

use wardian_config::{Configuration, MemoryFiles};
use wardian_engine::plan_file::{self, PlanFile, PlanFileError};
use wardian_engine::{Plan, Schemas};
use wardian_install::lock_file::{LOCK_FILE_NAME, LockFile};
use wardian_state::State;

use crate::failure::{Failure, Outcome};
use crate::session::Session;

/// The first bytes of the archive that a plan file is.
const ARCHIVE: &[u8] = b"PK\x03\x04";

/// Writes a plan so that only its owner can read it: it holds secrets.
///
/// # Errors
/// Where it cannot be written.
pub(crate) fn write(path: &Path, plan: &Plan, configuration: &Configuration) -> Outcome<()> {
    let files: BTreeMap<String, Vec<u8>> =
        configuration.files().map(|file| (file.name().to_owned(), file.text().as_bytes().to_vec())).collect();
    let lock = fs::read(LOCK_FILE_NAME).ok();
    let failed =
        |problem: String| Failure::error("Plan cannot be saved", format!("{}: {problem}.", path.display()));
    let bytes =
        plan_file::encode(plan, &files, lock.as_deref()).map_err(|error| failed(error.to_string()))?;
    write_private(path, &bytes).map_err(|error| failed(error.to_string()))
}

fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    #[cfg(unix)]
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    file.write_all(bytes)
}

/// Whether a file looks like a saved plan.
pub(crate) fn is_plan(bytes: &[u8]) -> bool {
    bytes.starts_with(ARCHIVE)
}

/// A saved plan with the configuration that it was made from.
pub(crate) struct SavedPlan {
    file: PlanFile,
    /// The configuration as it was.
    pub(crate) configuration: Arc<Configuration>,
    /// The plugins as they were chosen.
    pub(crate) lock: LockFile,
}

impl SavedPlan {
    /// Reads a file.
    ///
    /// # Errors
    /// Where it is no plan of this program and version.
    pub(crate) fn read(path: &Path, session: &Session) -> Outcome<Self> {
        let bytes = fs::read(path).map_err(|error| unusable(path, &error.to_string()))?;
        Self::decode(path, &bytes, session)
    }

    /// As [`SavedPlan::read`], from bytes.
    pub(crate) fn decode(path: &Path, bytes: &[u8], session: &Session) -> Outcome<Self> {
        let file = plan_file::decode(bytes).map_err(|error| unusable(path, &error.to_string()))?;
        let files = MemoryFiles::new(file.configuration.clone());
        let configuration = session.configuration_in(&files)?;
        let lock = match &file.lock_file {
            None => LockFile::default(),
            Some(bytes) => {
                let text =
                    std::str::from_utf8(bytes).map_err(|_| unusable(path, "its lock file is not UTF-8"))?;
                session.lock_file_in(text)?
            }
        };
        Ok(Self { file, configuration, lock })
    }

    /// The state that it was made from.
    pub(crate) fn previous_state(&self) -> &State {
        self.file.previous_state()
    }

    /// Refuses a plan that was made from another state than there is now.
    ///
    /// # Errors
    /// Then.
    pub(crate) fn check_fresh(&self, state: &State) -> Outcome<()> {
        let planned = self.previous_state();
        let is_same = planned.serial == state.serial && planned.lineage == state.lineage;
        if is_same {
            return Ok(());
        }
        let detail = if !planned.lineage.is_empty() && planned.lineage != state.lineage {
            "The saved plan was made from another state than the one that is here, so what it says does not fit. Make \
             a new plan."
                .to_owned()
        } else {
            format!(
                "The state has changed since the plan was made: it was at serial {} and is at serial {} now. Make a \
                 new plan.",
                planned.serial, state.serial
            )
        };
        Err(Failure::error("Saved plan is stale", detail))
    }

    /// The plan itself.
    ///
    /// # Errors
    /// Where it does not fit the plugins that are there.
    pub(crate) fn into_plan(self, path: &Path, schemas: &Schemas) -> Outcome<Plan> {
        self.file
            .into_plan(|provider| schemas.provider(&provider.provider))
            .map_err(|error: PlanFileError| unusable(path, &error.to_string()))
    }
}

fn unusable(path: &Path, problem: &str) -> Failure {
    Failure::error("Saved plan cannot be used", format!("{}: {problem}.", path.display()))
}
