//! Saved plans: written by `plan -out`, carried out by `apply FILE`, shown by
//! `show FILE`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

use wardian_config::{Configuration, MemoryFiles};
use wardian_diagnostic::{Diagnostics, SourceFile};
use wardian_engine::plan_file::{self, PlanFile, PlanFileError, Surroundings, sealed};
use wardian_engine::{Plan, Schemas, StopSignal};
use wardian_install::lock_file::{LOCK_FILE_NAME, LockFile};
use wardian_state::State;

use crate::failure::{Failure, Outcome};
use crate::interrupt;
use crate::operation::Operation;
use crate::session::Session;

/// The first bytes of the archive that a plan file is.
const ARCHIVE: &[u8] = b"PK\x03\x04";

/// Writes a plan so that only its owner can read it: it holds secrets. With a
/// passphrase, only who knows that can.
///
/// # Errors
/// Where it cannot be written.
pub(crate) fn write(
    path: &Path,
    plan: &Plan,
    operation: &Operation,
    passphrase: Option<&str>,
) -> Outcome<()> {
    let file_text = |file: &Arc<SourceFile>| (file.name().to_owned(), file.text().as_bytes().to_vec());
    let surroundings = Surroundings {
        configuration: operation.configuration().files().map(file_text).collect(),
        lock_file: fs::read(LOCK_FILE_NAME).ok(),
        workspace: operation.run.workspace.to_string(),
        plugins: operation.plugins.clone(),
    };
    let failed =
        |problem: String| Failure::error("Plan cannot be saved", format!("{}: {problem}.", path.display()));
    let mut bytes = plan_file::encode(plan, &surroundings).map_err(|error| failed(error.to_string()))?;
    if let Some(passphrase) = passphrase {
        bytes = sealed::seal(&bytes, passphrase).map_err(|error| failed(error.to_string()))?;
    }
    write_private(path, &bytes).map_err(|error| failed(error.to_string()))
}

/// The passphrase for a new plan file: the environment's, or one that is typed twice.
///
/// # Errors
/// Where there is none, or the two are not the same.
pub(crate) async fn new_passphrase(session: &Session, stop: &StopSignal) -> Outcome<String> {
    if let Some(passphrase) = session.environment.plan_passphrase() {
        return Ok(passphrase);
    }
    let first = ask_passphrase(session, stop, "Passphrase for the plan file: ").await?;
    if first != ask_passphrase(session, stop, "The same once more: ").await? {
        return Err(Failure::error(
            "Passphrases differ",
            "The two passphrases are not the same, so that the plan was not saved.",
        ));
    }
    Ok(first)
}

async fn ask_passphrase(session: &Session, stop: &StopSignal, question: &str) -> Outcome<String> {
    let answer = interrupt::unless_stopped(stop, session.shell.ask_secret(question)).await;
    match answer.ok_or_else(Failure::interrupted)? {
        Ok(Some(passphrase)) if !passphrase.is_empty() => Ok(passphrase),
        Ok(_) => Err(Failure::error(
            "No passphrase",
            "An encrypted plan file needs a passphrase, and none was given. Where nobody can be asked, set \
             WARDIAN_PLAN_PASSPHRASE.",
        )),
        Err(error) => {
            Err(Failure::error("No passphrase", format!("The passphrase cannot be read: {error}.")))
        }
    }
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
    bytes.starts_with(ARCHIVE) || sealed::is_sealed(bytes)
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
    pub(crate) async fn read(path: &Path, session: &Session, stop: Option<&StopSignal>) -> Outcome<Self> {
        let bytes = fs::read(path).map_err(|error| unusable(path, &error.to_string()))?;
        Self::decode(path, &bytes, session, stop).await
    }

    /// As [`SavedPlan::read`], from bytes. Asks for a passphrase where one is needed,
    /// until somebody wants the command to end.
    pub(crate) async fn decode(
        path: &Path,
        bytes: &[u8],
        session: &Session,
        stop: Option<&StopSignal>,
    ) -> Outcome<Self> {
        let opened = if sealed::is_sealed(bytes) {
            let passphrase = match session.environment.plan_passphrase() {
                Some(passphrase) => passphrase,
                None => {
                    let stop = match stop {
                        Some(stop) => stop.clone(),
                        None => interrupt::listen(&session.shell)?,
                    };
                    ask_passphrase(session, &stop, "Passphrase of the plan file: ").await?
                }
            };
            let opened = sealed::open(bytes, &passphrase);
            Cow::Owned(opened.map_err(|error| unusable(path, &error.to_string()))?)
        } else {
            Cow::Borrowed(bytes)
        };
        let mut file = plan_file::decode(&opened).map_err(|error| unusable(path, &error.to_string()))?;
        let files = MemoryFiles::new(std::mem::take(&mut file.surroundings.configuration));
        let configuration = session.configuration_in(&files)?;
        let lock = match &file.surroundings.lock_file {
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

    /// Refuses a plan that was made in another workspace: its state is not the one that
    /// is here.
    ///
    /// # Errors
    /// Then.
    pub(crate) fn check_workspace(&self, present: &str) -> Outcome<()> {
        let planned = &self.file.surroundings.workspace;
        if planned == present {
            return Ok(());
        }
        Err(Failure::error(
            "Saved plan is of another workspace",
            format!(
                "The plan was made in the workspace \"{planned}\", and this is \"{present}\". Change to that one, or make \
                 a new plan."
            ),
        ))
    }

    /// Refuses a plan that was made with other plugins than there are, or by another
    /// choice of plugins than the directory's.
    ///
    /// # Errors
    /// Then.
    pub(crate) fn check_plugins(&self, session: &Session, plugins: &BTreeMap<String, String>) -> Outcome<()> {
        let planned = &self.file.surroundings;
        let mut problems = Diagnostics::new();
        for (address, digest) in &planned.plugins {
            if plugins.get(address).is_some_and(|present| present != digest) {
                problems.error(
                    "Saved plan was made with another plugin",
                    format!(
                        "The plugin for {address} is not the one that the plan was made with: their contents differ. What \
                         it planned, another one need not do. Make a new plan, or install that plugin again."
                    ),
                );
            }
        }
        // Where the plan is carried out elsewhere there may be no choice but its own.
        if Path::new(LOCK_FILE_NAME).is_file() {
            let present = session.lock_file()?;
            for (address, planned) in &self.lock.providers {
                let version = present.providers.get(address).map(|present| &present.version);
                if version.is_some_and(|version| *version != planned.version) {
                    problems.error(
                        "Inconsistent dependency lock file",
                        format!(
                            "The plan was made with {} {}, and the lock file here chooses another version. Make a new plan, \
                             or go back to that version.",
                            address.for_display(),
                            planned.version
                        ),
                    );
                }
            }
        }
        Ok(problems.into_result(())?)
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
