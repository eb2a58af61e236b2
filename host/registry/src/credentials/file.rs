//! The file `credentials.tfrc.json`, in which `login` stores tokens.
//!
//! The file is a JSON object: `{"credentials": {"HOST": {"token": "..."}}}`. Other properties are
//! preserved. It is replaced atomically, with permissions for this user only, in Terraform's
//! format.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use wardian_cache::AtomicWrite;

use super::TokenFileError;
use crate::access_token::AccessToken;
use crate::service_host::ServiceHost;

const MAX_FILE_BYTES: u64 = 1 << 20;
const CREDENTIALS: &str = "credentials";

/// The file `credentials.tfrc.json`. It need not exist.
#[derive(Clone, Debug)]
pub struct TokenFile {
    path: PathBuf,
}

impl TokenFile {
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the tokens in the file by host. Hosts without a token are omitted.
    ///
    /// # Errors
    /// Returns an error if the file exists and cannot be read.
    pub fn tokens(&self) -> Result<BTreeMap<String, String>, TokenFileError> {
        let document = self.read()?;
        let hosts = document.get(CREDENTIALS).and_then(Value::as_object).into_iter().flatten();
        let token = |about: &Value| Some(about.get("token")?.as_str()?.to_owned());
        Ok(hosts.filter_map(|(host, about)| Some((host.clone(), token(about)?))).collect())
    }

    pub(super) fn contains(&self, host: &ServiceHost) -> Result<bool, TokenFileError> {
        let document = self.read()?;
        let hosts = document.get(CREDENTIALS).and_then(Value::as_object);
        Ok(hosts.is_some_and(|hosts| hosts.keys().any(|name| is_host(name, host))))
    }

    pub(super) fn store(&self, host: &ServiceHost, token: &AccessToken) -> Result<(), TokenFileError> {
        let mut document = self.read()?;
        let hosts = self.hosts(&mut document)?;
        hosts.retain(|name, _| !is_host(name, host));
        let about = Map::from_iter([("token".to_owned(), Value::from(token.reveal()))]);
        hosts.insert(host.as_ascii().to_owned(), Value::Object(about));
        self.write(&document)
    }

    /// Removes the token of a host. Returns whether there was one.
    pub(super) fn remove(&self, host: &ServiceHost) -> Result<bool, TokenFileError> {
        let mut document = self.read()?;
        let hosts = self.hosts(&mut document)?;
        let count = hosts.len();
        hosts.retain(|name, _| !is_host(name, host));
        if hosts.len() == count {
            return Ok(false);
        }
        self.write(&document).map(|()| true)
    }

    fn hosts<'a>(
        &self,
        document: &'a mut Map<String, Value>,
    ) -> Result<&'a mut Map<String, Value>, TokenFileError> {
        let hosts = document.entry(CREDENTIALS).or_insert_with(|| Value::Object(Map::new()));
        hosts.as_object_mut().ok_or_else(|| self.invalid("\"credentials\" is not an object"))
    }

    fn read(&self) -> Result<Map<String, Value>, TokenFileError> {
        let failed = |source| TokenFileError::Read { path: self.path.clone(), source };
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Map::new()),
            Err(error) => return Err(failed(error)),
        };
        let mut text = Vec::new();
        let length = file.take(MAX_FILE_BYTES + 1).read_to_end(&mut text).map_err(failed)?;
        if u64::try_from(length).unwrap_or(u64::MAX) > MAX_FILE_BYTES {
            return Err(TokenFileError::TooLarge { path: self.path.clone(), limit: MAX_FILE_BYTES });
        }
        // The parser's message would contain parts of the text, which may be a token.
        let position = |error: serde_json::Error| {
            self.invalid(&format!(
                "it is not a JSON object (line {}, column {})",
                error.line(),
                error.column()
            ))
        };
        serde_json::from_slice(&text).map_err(position)
    }

    fn write(&self, document: &Map<String, Value>) -> Result<(), TokenFileError> {
        let failed = |source| TokenFileError::Write { path: self.path.clone(), source };
        let text = serde_json::to_vec_pretty(document).map_err(|error| failed(error.into()))?;
        if let Some(directory) = self.path.parent() {
            fs::create_dir_all(directory).map_err(failed)?;
        }
        AtomicWrite::new().private().write(&self.path, &[&text]).map_err(failed)
    }

    fn invalid(&self, problem: &str) -> TokenFileError {
        TokenFileError::Invalid { path: self.path.clone(), problem: problem.to_owned() }
    }
}

/// Returns whether a name in the file denotes the host in any notation.
fn is_host(name: &str, host: &ServiceHost) -> bool {
    ServiceHost::parse(name).is_ok_and(|named| named == *host)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn host(text: &str) -> ServiceHost {
        ServiceHost::parse(text).unwrap()
    }

    fn token(text: &str) -> AccessToken {
        AccessToken::new(text).unwrap()
    }

    #[test]
    fn credentials_file_has_terraform_format() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("new/credentials.tfrc.json");
        let file = TokenFile::new(&path);
        assert!(file.tokens().unwrap().is_empty());
        file.store(&host("localhost:8812"), &token("abc")).unwrap();
        // The content that Terraform 1.11.4 writes.
        let expected =
            "{\n  \"credentials\": {\n    \"localhost:8812\": {\n      \"token\": \"abc\"\n    }\n  }\n}";
        assert_eq!(fs::read_to_string(&path).unwrap(), expected);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn other_entries_are_preserved() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("credentials.tfrc.json");
        let old = r#"{"credentials":{"other.host":{"token":"t1","x":1},"Bücher.example":{"token":"old"}},"unknown":{"a":1}}"#;
        fs::write(&path, old).unwrap();
        let file = TokenFile::new(&path);
        let book_host = host("bücher.example");
        assert!(file.contains(&book_host).unwrap());
        file.store(&book_host, &token("new")).unwrap();
        let read = |path: &Path| -> Value { serde_json::from_slice(&fs::read(path).unwrap()).unwrap() };
        let expected = serde_json::json!({
            "credentials": {"other.host": {"token": "t1", "x": 1}, "xn--bcher-kva.example": {"token": "new"}},
            "unknown": {"a": 1},
        });
        assert_eq!(read(&path), expected);
        assert!(file.remove(&book_host).unwrap());
        assert!(!file.remove(&book_host).unwrap());
        assert_eq!(file.tokens().unwrap(), BTreeMap::from([("other.host".to_owned(), "t1".to_owned())]));
    }

    #[test]
    fn invalid_file_is_reported_and_not_changed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("credentials.tfrc.json");
        let file = TokenFile::new(&path);
        for text in ["", "[]", "{\"credentials\": {\"a\": \"s3cret", "{\"credentials\": []}"] {
            fs::write(&path, text).unwrap();
            let error = file.store(&host("a.example"), &token("s3cret")).unwrap_err().to_string();
            assert!(
                error.contains("is not a valid credentials file") && !error.contains("s3cret"),
                "{error}"
            );
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        fs::write(&path, " ".repeat(2 << 20)).unwrap();
        assert!(matches!(file.tokens(), Err(TokenFileError::TooLarge { .. })));
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(matches!(file.tokens(), Err(TokenFileError::Read { .. })));
    }
}
