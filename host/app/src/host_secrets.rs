//! The secrets that policies bind to destinations: the user's environment variables and files. They
//! are read only when a request needs them, and are never stored.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use wardian_policy::CredentialSource;
use wardian_sandbox::{MissingSecret, Secret, Secrets};

use crate::environment::ProcessEnvironment;

/// Maximum size of a secret, which is also the maximum size of an HTTP header.
const MAX_SECRET_BYTES: u64 = 64 << 10;

/// Reads secrets from the environment and from files.
pub(crate) struct HostSecrets {
    environment: ProcessEnvironment,
}

impl HostSecrets {
    pub(crate) fn new(environment: &ProcessEnvironment) -> Self {
        Self { environment: environment.clone() }
    }
}

impl Secrets for HostSecrets {
    fn read(&self, source: &CredentialSource) -> Result<Secret, MissingSecret> {
        let text = match source {
            CredentialSource::Environment(name) => self
                .environment
                .get(name)
                .ok_or_else(|| MissingSecret(format!("the environment variable {name} is not set")))?,
            CredentialSource::File(path) => content(path)
                .map_err(|problem| MissingSecret(format!("{} cannot be read: {problem}", path.display())))?,
        };
        if text.is_empty() {
            return Err(MissingSecret("the secret is empty".to_owned()));
        }
        Ok(Secret::new(text))
    }
}

/// Returns a file's content without its trailing line break.
fn content(path: &Path) -> Result<String, String> {
    let describe = |error: std::io::Error| error.to_string();
    // Reading another kind of file, such as a pipe, could block forever.
    if !std::fs::metadata(path).map_err(describe)?.is_file() {
        return Err("it is not a file".to_owned());
    }
    let mut text = String::new();
    let read = File::open(path)
        .map_err(describe)?
        .take(MAX_SECRET_BYTES + 1)
        .read_to_string(&mut text)
        .map_err(describe)?;
    if read as u64 > MAX_SECRET_BYTES {
        return Err(format!("it is longer than {MAX_SECRET_BYTES} bytes"));
    }
    let length = text.strip_suffix('\n').map_or(text.len(), |line| line.trim_end_matches('\r').len());
    text.truncate(length);
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trailing_newline_is_removed_from_secret() {
        let place = tempfile::tempdir().unwrap();
        let environment = [("TOKEN", "from a variable"), ("EMPTY", "")];
        let environment: ProcessEnvironment =
            environment.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let secrets = HostSecrets::new(&environment);
        let variable = |name: &str| secrets.read(&CredentialSource::Environment(name.into()));
        assert_eq!(variable("TOKEN"), Ok(Secret::new("from a variable".to_owned())));
        assert!(variable("EMPTY").is_err());
        let missing = variable("ABSENT").unwrap_err().to_string();
        assert_eq!(missing, "the environment variable ABSENT is not set");
        let file = |text: &str| {
            let path = place.path().join("secret");
            std::fs::write(&path, text).unwrap();
            secrets.read(&CredentialSource::File(path))
        };
        for (text, secret) in [("s\n", "s"), ("s\r\n", "s"), ("s", "s"), ("two\nlines\n", "two\nlines")] {
            assert_eq!(file(text), Ok(Secret::new(secret.to_owned())), "{text:?}");
        }
        assert!(file("\n").is_err() && file(&"x".repeat(100_000)).is_err());
        assert!(secrets.read(&CredentialSource::File(place.path().to_owned())).is_err());
    }
}
