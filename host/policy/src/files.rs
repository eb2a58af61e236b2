//! Reads policy files.
//!
//! A missing file means no policy. A file that exists but cannot be read causes an error, and so
//! does a dangling link, since a policy must not be skipped silently.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_lang::SourceBytes;

use crate::level::Level;
use crate::policy::{POLICY_FILE_NAME, Policy, PolicyFile};

/// Maximum size of a policy file.
const MAX_FILE_SIZE: u64 = 1 << 20;

/// The paths at which policy files are read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PolicyPaths {
    /// The organisation's file at its fixed path; optional.
    pub system: Option<PathBuf>,
    /// Another file of the organisation, at the path in an environment variable. It must exist. It
    /// does not replace the file at the fixed path, since a variable could otherwise disable that
    /// file.
    pub from_environment: Option<PathBuf>,
    /// The user's file; optional.
    pub user: Option<PathBuf>,
    /// The root module's directory, an absolute path. Its policy file is optional.
    pub root_module: PathBuf,
}

impl PolicyPaths {
    /// Returns the path of the root module's policy file.
    pub fn root_module_file(&self) -> PathBuf {
        self.root_module.join(POLICY_FILE_NAME)
    }
}

/// Reads all policy files.
///
/// # Errors
/// Returns all errors in all files.
pub fn load(policy_paths: &PolicyPaths) -> Result<Policy, Diagnostics> {
    let mut problems = Diagnostics::new();
    let mut files = Vec::new();
    let mut take = |level, path: &Path, name: String, must_exist: bool| match read_file(
        level,
        path,
        &name,
        &policy_paths.root_module,
    ) {
        Ok(Some(file)) => files.push(file),
        Ok(None) if must_exist => problems.push(unreadable(&name, &io::ErrorKind::NotFound.into())),
        Ok(None) => {}
        Err(found) => problems.extend(found),
    };
    if let Some(path) =
        policy_paths.system.as_ref().filter(|path| Some(*path) != policy_paths.from_environment.as_ref())
    {
        take(Level::Organisation, path, path.display().to_string(), false);
    }
    if let Some(path) = &policy_paths.from_environment {
        take(Level::Organisation, path, path.display().to_string(), true);
    }
    if let Some(path) = &policy_paths.user {
        take(Level::User, path, path.display().to_string(), false);
    }
    take(Level::RootModule, &policy_paths.root_module_file(), POLICY_FILE_NAME.to_owned(), false);
    // A missing policy file is protected as well, to prevent plugins from creating it.
    let PolicyPaths { system, from_environment, user, .. } = policy_paths;
    let paths = [system, from_environment, user].into_iter().flatten().cloned();
    let policy = Policy::new(&policy_paths.root_module, files, paths);
    problems.into_result(policy)
}

/// Reads a policy file; returns [`None`] if it does not exist. `name` is its display name.
///
/// # Errors
/// Returns an error if the file cannot be read, or all errors in its content.
pub fn read_file(
    level: Level,
    path: &Path,
    name: &str,
    root_module: &Path,
) -> Result<Option<PolicyFile>, Diagnostics> {
    let bytes = match read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound && fs::symlink_metadata(path).is_err() => {
            return Ok(None);
        }
        Err(error) => return Err(unreadable(name, &error).into()),
    };
    if bytes.len() as u64 > MAX_FILE_SIZE {
        let detail = format!("{name} is larger than the limit of {MAX_FILE_SIZE} bytes.");
        return Err(Diagnostic::error("Policy file too large", detail).into());
    }
    let source = SourceBytes::new(name, bytes)?;
    PolicyFile::parse(level, &source.into_file(), root_module).map(Some)
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    // Opening a named pipe would block.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(MAX_FILE_SIZE + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn unreadable(name: &str, error: &io::Error) -> Diagnostic {
    let detail = format!(
        "The policy file {name} cannot be read: {error}. Wardian does not run without it, because it \
         might deny access. Correct or remove the file."
    );
    Diagnostic::error("Policy file cannot be read", detail)
}
