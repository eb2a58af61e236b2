//! Profiles in the AWS CLI's files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use wardian_files::read_regular;

use crate::error::AwsError;
use crate::key::SigningKey;

const MAX_FILE_BYTES: u64 = 1 << 20;
pub(crate) const DEFAULT_PROFILE: &str = "default";

/// The files with profiles. Files that do not exist are empty. If a value is in several files, the
/// first one applies.
#[derive(Clone, Debug, Default)]
pub struct ProfileFiles {
    pub credentials: Vec<PathBuf>,
    pub config: Vec<PathBuf>,
}

/// The values of one profile. Its `Debug` output contains no values.
#[derive(Clone, Default)]
pub struct Profile {
    values: BTreeMap<String, String>,
}

impl std::fmt::Debug for Profile {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_set().entries(self.values.keys()).finish()
    }
}

impl Profile {
    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns the permanent or temporary key in the profile.
    pub fn key(&self) -> Option<SigningKey> {
        let (id, secret) = (self.get("aws_access_key_id")?, self.get("aws_secret_access_key")?);
        Some(SigningKey::new(id, secret, self.get("aws_session_token").map(str::to_owned)))
    }
}

impl ProfileFiles {
    /// Returns the values of a profile, which are empty if no file contains it.
    ///
    /// # Errors
    /// Returns an error if a file exists but cannot be read.
    pub fn profile(&self, name: &str) -> Result<Profile, AwsError> {
        let in_config = if name == DEFAULT_PROFILE { name.to_owned() } else { format!("profile {name}") };
        self.sections(name, &in_config)
    }

    /// Returns the values of a single sign-on session.
    ///
    /// # Errors
    /// Returns an error if a file exists but cannot be read.
    pub fn sso_session(&self, name: &str) -> Result<Profile, AwsError> {
        let none = Self { credentials: Vec::new(), config: self.config.clone() };
        none.sections("", &format!("sso-session {name}"))
    }

    fn sections(&self, in_credentials: &str, in_config: &str) -> Result<Profile, AwsError> {
        let mut values = BTreeMap::new();
        let files = self.credentials.iter().map(|path| (path, in_credentials));
        for (path, section) in files.chain(self.config.iter().map(|path| (path, in_config))) {
            for (name, value) in read_section(path, section)? {
                values.entry(name).or_insert(value);
            }
        }
        Ok(Profile { values })
    }
}

fn read_section(path: &Path, section: &str) -> Result<BTreeMap<String, String>, AwsError> {
    let bytes = match read_regular(path, MAX_FILE_BYTES) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(error) => return Err(AwsError(format!("{} cannot be read: {error}", path.display()))),
    };
    Ok(parse_section(&String::from_utf8_lossy(&bytes), section))
}

fn parse_section(text: &str, section: &str) -> BTreeMap<String, String> {
    let mut values = BTreeMap::new();
    let mut is_inside = false;
    for line in text.lines() {
        let trimmed = line.trim();
        if let Some(name) = trimmed.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            is_inside = name.split_whitespace().eq(section.split_whitespace());
        } else if is_inside
            && !line.starts_with(char::is_whitespace)
            && !trimmed.starts_with(['#', ';'])
            && let Some((name, value)) = trimmed.split_once('=')
        {
            values.insert(name.trim().to_ascii_lowercase(), value.trim().to_owned());
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profile_sections_are_parsed() {
        let text = "# comment\n[default]\naws_access_key_id = A\naws_secret_access_key=B=\n s3 =\n  x = y\n\
            [profile  other ]\nregion = eu\n[other]\naws_access_key_id=C\n";
        let values = parse_section(text, "default");
        assert_eq!(values.get("aws_access_key_id").unwrap(), "A");
        assert_eq!(values.get("aws_secret_access_key").unwrap(), "B=");
        assert!(!values.contains_key("x"));
        assert_eq!(parse_section(text, "profile other").get("region").unwrap(), "eu");
        assert_eq!(parse_section(text, "other").get("aws_access_key_id").unwrap(), "C");
        assert!(parse_section(text, "missing").is_empty());
    }

    #[test]
    fn key_is_read_from_credential_files() {
        let place = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = place.path().join(name);
            std::fs::write(&path, text).unwrap();
            vec![path]
        };
        let files = ProfileFiles {
            credentials: write(
                "credentials",
                "[default]\naws_access_key_id=A\naws_secret_access_key=s3cret\n",
            ),
            config: write(
                "config",
                "[profile p]\naws_access_key_id=B\naws_secret_access_key=s3cret\n[default]\nregion=eu\n",
            ),
        };
        let id = |profile: &str| files.profile(profile).unwrap().key().map(|key| key.id);
        assert_eq!(id("default").as_deref(), Some("A"));
        assert_eq!(id("p").as_deref(), Some("B"));
        assert_eq!(id("missing"), None);
        assert_eq!(files.profile("default").unwrap().get("region"), Some("eu"));
        let profile = files.profile("p").unwrap();
        assert!(!format!("{profile:?} {:?}", profile.key()).contains("s3cret"));
    }
}
