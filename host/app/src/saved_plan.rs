//! Saved plans: written by `plan -out`, applied by `apply FILE`, shown by `show FILE`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

use wardian_config::{Configuration, MemoryFiles};
use wardian_diagnostic::{Diagnostics, SourceFile, system_reason};
use wardian_encryption::{TargetEncryption, has_identity, is_encrypted};
use wardian_engine::plan_file::{self, PlanFile, PlanFileError, PlanOrigin, sealed};
use wardian_engine::{Plan, Schemas};
use wardian_files::read_regular;
use wardian_install::lock_file::{LOCK_FILE_NAME, LockFile};
use wardian_state::{Decrypted, State, StateEncryption as _};

use crate::context::AppContext;
use crate::encryption::encryption_error;
use crate::error::AppError;
use crate::module_manifest;

/// Maximum size of the dependency lock file.
const MAX_LOCK_FILE_SIZE: u64 = 64 << 20;
/// The name of the module manifest among the configuration files of a plan.
pub(crate) const MODULE_MANIFEST: &str = ".terraform/modules/modules.json";
/// The first bytes of a plan file, which is a zip archive.
const ARCHIVE: &[u8] = b"PK\x03\x04";

/// The encryption of a plan file.
#[derive(Clone, Copy)]
pub enum PlanProtection<'a> {
    None,
    /// The encryption of the configuration.
    Encryption(&'a TargetEncryption),
    /// The passphrase of `-encrypt`.
    Passphrase(&'a str),
}

/// Writes a plan to a file that only its owner can read, because the plan contains sensitive
/// values. The plan is encrypted if there is an encryption of plans or a passphrase; the former has
/// precedence.
///
/// # Errors
/// Returns an error if the file cannot be written.
pub async fn write(
    path: &Path,
    plan: &Plan,
    configuration: &Configuration,
    data_directory: &Path,
    workspace: &str,
    plugins: &BTreeMap<String, String>,
    protection: PlanProtection<'_>,
) -> Result<(), AppError> {
    let file_text = |file: &Arc<SourceFile>| (file.name().to_owned(), file.text().as_bytes().to_vec());
    let installed = module_manifest::read_installed_modules(data_directory);
    let manifest = (!installed.is_empty())
        .then(|| (MODULE_MANIFEST.to_owned(), module_manifest::manifest_of(&installed)));
    let origin = PlanOrigin {
        configuration: configuration.files().map(file_text).chain(manifest).collect(),
        lock_file: read_regular(Path::new(LOCK_FILE_NAME), MAX_LOCK_FILE_SIZE).ok(),
        workspace: workspace.to_owned(),
        plugins: plugins.clone(),
    };
    let failed =
        |problem: String| AppError::new("Plan cannot be saved", format!("{}: {problem}.", path.display()));
    let mut bytes = plan_file::encode(plan, &origin).map_err(|error| failed(error.to_string()))?;
    match protection {
        PlanProtection::None => {}
        PlanProtection::Encryption(encryption) => {
            let encrypted = encryption.encrypt_bytes(&bytes).await;
            let encrypted =
                encrypted.map_err(|failure| encryption_error("Plan cannot be saved", &failure))?;
            bytes = encrypted.into_bytes();
        }
        PlanProtection::Passphrase(passphrase) => {
            bytes = sealed::seal(&bytes, passphrase).map_err(|error| failed(error.to_string()))?;
        }
    }
    write_private(path, &bytes).map_err(|error| failed(system_reason(&error)))
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

/// Returns whether a file's content begins with the signature of a saved plan.
pub fn is_plan(bytes: &[u8]) -> bool {
    bytes.starts_with(ARCHIVE) || sealed::is_sealed(bytes) || is_encrypted_by_configuration(bytes)
}

/// Reads a file.
///
/// # Errors
/// Returns an error if the file cannot be read.
pub fn read(path: &Path) -> Result<Vec<u8>, AppError> {
    fs::read(path).map_err(|error| {
        if error.kind() == io::ErrorKind::IsADirectory {
            return is_directory(path);
        }
        unusable(path, &system_reason(&error))
    })
}

/// Returns whether a file's content is an encrypted plan.
pub fn is_sealed(bytes: &[u8]) -> bool {
    sealed::is_sealed(bytes)
}

/// Returns whether a file's content is a plan that the encryption of a configuration has encrypted.
fn is_encrypted_by_configuration(bytes: &[u8]) -> bool {
    is_encrypted(bytes) && !has_identity(bytes)
}

/// Decrypts the content of a file with the encryption of the directory's configuration. Content with a
/// passphrase is returned unchanged.
///
/// # Errors
/// Returns an error if the content cannot be decrypted, or is not encrypted although it must be.
pub async fn decrypt<'a>(
    path: &Path,
    bytes: &'a [u8],
    context: &AppContext,
) -> Result<Cow<'a, [u8]>, AppError> {
    if sealed::is_sealed(bytes) {
        return Ok(Cow::Borrowed(bytes));
    }
    let encryption = context.plan_encryption()?;
    if !is_encrypted_by_configuration(bytes) {
        return match encryption {
            Some(encryption) if !encryption.accepts_plain() && bytes.starts_with(ARCHIVE) => {
                Err(unusable(path, "it is not encrypted, and the configuration accepts only encrypted plans"))
            }
            _ => Ok(Cow::Borrowed(bytes)),
        };
    }
    let encryption = encryption.ok_or_else(|| {
        unusable(path, "it is encrypted, and the configuration in this directory has no encryption for plans")
    })?;
    let decrypted = encryption.decrypt(bytes).await;
    match decrypted.map_err(|failure| encryption_error("Saved plan cannot be used", &failure))? {
        Decrypted::Text { plain, .. } => Ok(Cow::Owned(plain)),
        Decrypted::Plain => Ok(Cow::Borrowed(bytes)),
    }
}

/// A saved plan with its configuration.
pub struct SavedPlan {
    file: PlanFile,
    /// The configuration from which the plan was created.
    pub configuration: Arc<Configuration>,
    /// The warnings of the configuration.
    pub warnings: Diagnostics,
    /// The selected plugins.
    pub lock: LockFile,
}

impl SavedPlan {
    /// Decodes the content of a file. If [`is_sealed`] returns true for the content, the passphrase
    /// is required.
    ///
    /// # Errors
    /// Returns an error if the content is not a plan of this version of Wardian.
    pub fn decode(
        path: &Path,
        bytes: &[u8],
        passphrase: Option<&str>,
        context: &AppContext,
    ) -> Result<Self, AppError> {
        let opened = match passphrase {
            Some(passphrase) => {
                let opened = sealed::open(bytes, passphrase);
                Cow::Owned(opened.map_err(|error| unusable(path, &error.to_string()))?)
            }
            None => Cow::Borrowed(bytes),
        };
        if !opened.starts_with(ARCHIVE) {
            return Err(is_no_plan(path));
        }
        let mut file = plan_file::decode(&opened).map_err(|error| unusable(path, &error.to_string()))?;
        let files = MemoryFiles::new(std::mem::take(&mut file.origin.configuration));
        let (configuration, warnings) = context.configuration_in(&files)?;
        if warnings.has_errors() {
            return Err(warnings.into());
        }
        let lock = match &file.origin.lock_file {
            None => LockFile::default(),
            Some(bytes) => {
                let text =
                    std::str::from_utf8(bytes).map_err(|_| unusable(path, "its lock file is not UTF-8"))?;
                context.lock_file_in(text)?
            }
        };
        Ok(Self { file, configuration, warnings, lock })
    }

    /// Returns the state from which the plan was created.
    pub fn previous_state(&self) -> &State {
        self.file.previous_state()
    }

    /// Checks that the state has not changed since the plan was created.
    ///
    /// # Errors
    /// Returns an error if the state has changed.
    pub fn check_fresh(&self, state: &State) -> Result<(), AppError> {
        let planned = self.previous_state();
        let is_same = planned.serial == state.serial && planned.lineage == state.lineage;
        if is_same {
            return Ok(());
        }
        self.check_lineage(state)?;
        let detail = format!(
            "The state has changed since the plan was created: its serial was {} and is now {}. Create a \
             new plan.",
            planned.serial, state.serial
        );
        Err(AppError::new("Saved plan is stale", detail))
    }

    /// Checks that the plan was created for a version of this state.
    ///
    /// # Errors
    /// Returns an error if the lineage differs.
    pub fn check_lineage(&self, state: &State) -> Result<(), AppError> {
        let planned = self.previous_state();
        if planned.lineage.is_empty() || planned.lineage == state.lineage {
            return Ok(());
        }
        let detail = "The saved plan was created from a state with a different lineage, so it cannot be applied to \
                      this state. Create a new plan.";
        Err(AppError::new("Saved plan is stale", detail))
    }

    /// Checks that the plan was created in the selected workspace.
    ///
    /// # Errors
    /// Returns an error if the plan was created in another workspace.
    pub fn check_workspace(&self, present: &str) -> Result<(), AppError> {
        let planned = &self.file.origin.workspace;
        if planned == present {
            return Ok(());
        }
        Err(AppError::new(
            "Saved plan is for another workspace",
            format!(
                "The plan was created in the workspace \"{planned}\", but the selected workspace is \
                 \"{present}\". Select that workspace, or create a new plan."
            ),
        ))
    }

    /// Checks that the plan was created with the currently installed plugins and with the versions
    /// in the directory's lock file.
    ///
    /// # Errors
    /// Returns an error if the plan was created with different plugins or versions.
    pub fn check_plugins(
        &self,
        context: &AppContext,
        plugins: &BTreeMap<String, String>,
    ) -> Result<(), AppError> {
        let planned = &self.file.origin;
        let mut problems = Diagnostics::new();
        for (address, digest) in &planned.plugins {
            if plugins.get(address).is_some_and(|present| present != digest) {
                problems.error(
                    "Saved plan was created with a different plugin",
                    format!(
                        "The installed plugin for {address} differs from the plugin with which the plan was \
                         created, so its changes may differ from the plan. Create a new plan, or install \
                         that plugin again."
                    ),
                );
            }
        }
        // If the plan is applied in another directory, the lock file in the plan may be the only
        // one.
        if Path::new(LOCK_FILE_NAME).is_file() {
            let present = context.lock_file()?;
            for (address, planned) in &self.lock.providers {
                let version = present.providers.get(address).map(|present| &present.version);
                if version.is_some_and(|version| *version != planned.version) {
                    problems.error(
                        "Inconsistent dependency lock file",
                        format!(
                            "The plan was created with {} {}, but the lock file selects a different version. \
                             Create a new plan, or return to that version.",
                            address.for_display(),
                            planned.version
                        ),
                    );
                }
            }
        }
        Ok(problems.into_result(())?)
    }

    /// Decodes the plan.
    ///
    /// # Errors
    /// Returns an error if the plan does not match the schemas of the installed plugins.
    pub fn into_plan(self, path: &Path, schemas: &Schemas) -> Result<Plan, AppError> {
        self.file
            .into_plan(|provider| schemas.provider(&provider.provider))
            .map_err(|error: PlanFileError| unusable(path, &error.to_string()))
    }
}

fn unusable(path: &Path, problem: &str) -> AppError {
    AppError::new("Saved plan cannot be used", format!("{}: {problem}.", path.display()))
}

fn is_directory(path: &Path) -> AppError {
    AppError::new(
        "Saved plan cannot be used",
        format!(
            "{} is a directory, not a saved plan. To use the configuration in another directory, put the \
             option -chdir=DIR before the command.",
            path.display()
        ),
    )
}

fn is_no_plan(path: &Path) -> AppError {
    let name = path.display();
    let detail = if path.extension().is_some_and(|extension| extension == "tf" || extension == "tfvars") {
        format!(
            "{name} is a configuration file, not a saved plan. Every command reads all configuration files \
             in the directory: run the command without this argument."
        )
    } else {
        format!("{name} is not a saved plan, which `plan -out=FILE` writes.")
    };
    AppError::new("Saved plan cannot be used", detail)
}
