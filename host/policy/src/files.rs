//! The border: where policy files are read.
//!
//! A file that is not there is no file; a file that is there and cannot be read is an
//! error, as is a link that leads nowhere: nobody means a policy to be left out.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_lang::SourceBytes;

use crate::policy::{Level, POLICY_FILE_NAME, Policy, PolicyFile};

/// The largest file that is read.
const MOST_BYTES: u64 = 1 << 20;

/// Where policies are looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PolicyPlaces {
    /// The organisation's file at its fixed place; it need not be there.
    pub system: Option<PathBuf>,
    /// A further file of the organisation's that the environment names; it must be
    /// there. It does not replace the one at the fixed place: who sets a variable could
    /// otherwise be rid of that.
    pub named: Option<PathBuf>,
    /// The person's file; it need not be there.
    pub user: Option<PathBuf>,
    /// The root module's directory, absolute. Its file need not be there.
    pub root_module: PathBuf,
}

impl PolicyPlaces {
    /// The root module's file.
    pub fn root_module_file(&self) -> PathBuf {
        self.root_module.join(POLICY_FILE_NAME)
    }
}

/// Reads all files that there are.
///
/// # Errors
/// All that is wrong with any of them.
pub fn load(places: &PolicyPlaces) -> Result<Policy, Diagnostics> {
    let mut problems = Diagnostics::new();
    let mut files = Vec::new();
    let mut paths = Vec::new();
    let mut take = |level, path: &Path, name: String, must_exist: bool| match read_file(
        level,
        path,
        &name,
        &places.root_module,
    ) {
        Ok(Some(file)) => {
            files.push(file);
            paths.push(path.to_owned());
        }
        Ok(None) if must_exist => problems.push(unreadable(&name, &io::ErrorKind::NotFound.into())),
        Ok(None) => {}
        Err(found) => problems.extend(found),
    };
    if let Some(path) = places.system.as_ref().filter(|path| Some(*path) != places.named.as_ref()) {
        take(Level::Organisation, path, path.display().to_string(), false);
    }
    if let Some(path) = &places.named {
        take(Level::Organisation, path, path.display().to_string(), true);
    }
    if let Some(path) = &places.user {
        take(Level::User, path, path.display().to_string(), false);
    }
    take(Level::RootModule, &places.root_module_file(), POLICY_FILE_NAME.to_owned(), false);
    let policy = Policy::new(&places.root_module, files, paths);
    problems.into_result(policy)
}

/// Reads one file; [`None`] where there is none. `name` is what people know it by.
///
/// # Errors
/// Where it cannot be read, and all that is wrong with it.
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
    if bytes.len() as u64 > MOST_BYTES {
        let detail = format!("{name} is larger than {MOST_BYTES} bytes. A policy is for people to read.");
        return Err(Diagnostic::error("Policy file too large", detail).into());
    }
    let source = SourceBytes::new(name, bytes)?;
    PolicyFile::parse(level, &source.into_file(), root_module).map(Some)
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    // A pipe would wait for a writer.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn unreadable(name: &str, error: &io::Error) -> Diagnostic {
    let detail = format!(
        "The policy file {name} cannot be read: {error}. Without it nothing runs, since it might forbid that. Mend or \
         remove it."
    );
    Diagnostic::error("Policy file cannot be read", detail)
}
