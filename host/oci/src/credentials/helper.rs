//! Credential helpers: programs that return a credential for a registry.
//!
//! The protocol is Docker's: `docker-credential-NAME get` reads a URL from its standard input, and
//! writes `{"ServerURL": ..., "Username": ..., "Secret": ...}`. The user name `<token>` means that the
//! secret is an identity token.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use serde::Deserialize;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;
use tokio::time::timeout;

use super::{OciCredentialsError, RegistryCredential};
use crate::reference::RegistryHost;

/// Time limit of a helper, which may ask the user to unlock a key store.
const MAX_HELPER_TIME: Duration = Duration::from_mins(1);

/// Maximum size of a helper's output.
const MAX_OUTPUT_BYTES: u64 = 64 << 10;

/// The message that a helper prints if it has no credential for a registry.
const NOT_FOUND: &str = "credentials not found";

/// The search path and the environment of helpers. By default, no helpers are found.
#[derive(Clone, Default)]
pub struct HelperPrograms {
    directories: Vec<PathBuf>,
    environment: Vec<(OsString, OsString)>,
}

impl HelperPrograms {
    /// Returns the helpers in the directories of `PATH`, in order. Each helper is started with the
    /// given environment variables.
    pub fn new(directories: Vec<PathBuf>, environment: Vec<(OsString, OsString)>) -> Self {
        Self { directories, environment }
    }

    fn path(&self, program: &str) -> Option<PathBuf> {
        let file = format!("{program}{}", std::env::consts::EXE_SUFFIX);
        self.directories
            .iter()
            .filter(|directory| directory.is_absolute())
            .map(|directory| directory.join(&file))
            .find(|path| path.is_file())
    }

    /// Runs a helper; `None` if it has no credential for the registry.
    pub(super) async fn get(
        &self,
        name: &str,
        registry: &RegistryHost,
    ) -> Result<Option<RegistryCredential>, OciCredentialsError> {
        check_name(name)?;
        let program = format!("docker-credential-{name}");
        let Some(path) = self.path(&program) else {
            return Err(OciCredentialsError::HelperNotFound { program });
        };
        let failed = |reason: String| OciCredentialsError::Helper {
            program: program.clone(),
            registry: registry.clone(),
            reason,
        };
        let mut child = Command::new(path)
            .arg("get")
            .env_clear()
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| failed(error.to_string()))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let url = server_url(registry);
        let run = async {
            if let Some(mut input) = input {
                // A helper that does not read its input has the same result as one that does.
                let _ = input.write_all(url.as_bytes()).await;
                let _ = input.shutdown().await;
            }
            let mut printed = Vec::new();
            if let Some(output) = output {
                output.take(MAX_OUTPUT_BYTES + 1).read_to_end(&mut printed).await?;
            }
            if printed.len() as u64 > MAX_OUTPUT_BYTES {
                return Ok(None);
            }
            Ok(Some((child.wait().await?, printed)))
        };
        let finished: std::io::Result<_> = timeout(MAX_HELPER_TIME, run)
            .await
            .map_err(|_| failed(format!("it did not finish within {} seconds", MAX_HELPER_TIME.as_secs())))?;
        let finished = finished.map_err(|error| failed(error.to_string()))?;
        let Some((status, printed)) = finished else {
            return Err(failed("its output is too large".to_owned()));
        };
        if !status.success() {
            let message = String::from_utf8_lossy(&printed);
            if message.contains(NOT_FOUND) {
                return Ok(None);
            }
            let message: String = message.trim().chars().take(200).collect();
            return Err(failed(if message.is_empty() { status.to_string() } else { message }));
        }
        parse(&printed).map_err(|()| failed("its output is not a credential".to_owned()))
    }
}

impl fmt::Debug for HelperPrograms {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Environment variables may contain secrets.
        formatter
            .debug_struct("HelperPrograms")
            .field("directories", &self.directories)
            .finish_non_exhaustive()
    }
}

/// Checks that a helper's name can be part of a program's name.
pub(super) fn check_name(name: &str) -> Result<(), OciCredentialsError> {
    let is_valid = !name.is_empty()
        && name.len() <= 100
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    if is_valid { Ok(()) } else { Err(OciCredentialsError::HelperName { name: name.to_owned() }) }
}

/// Returns the URL under which helpers store the credentials of a registry.
fn server_url(registry: &RegistryHost) -> String {
    if registry.is_docker_hub() {
        "https://index.docker.io/v1/".to_owned()
    } else {
        format!("https://{registry}")
    }
}

fn parse(output: &[u8]) -> Result<Option<RegistryCredential>, ()> {
    #[derive(Deserialize)]
    struct Output {
        #[serde(rename = "Username", default)]
        user: String,
        #[serde(rename = "Secret")]
        secret: String,
    }
    let output: Output = serde_json::from_slice(output).map_err(|_| ())?;
    Ok(match (output.user.as_str(), output.secret.is_empty()) {
        (_, true) => None,
        ("<token>", false) => Some(RegistryCredential::from_identity_token(output.secret)),
        (_, false) => Some(RegistryCredential::from_password(output.user, output.secret)),
    })
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    async fn run(script: &str, registry: &str) -> Result<Option<RegistryCredential>, OciCredentialsError> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("docker-credential-own");
        fs::write(&path, format!("#!/bin/sh\n{script}")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let environment = vec![
            (OsString::from("PATH"), OsString::from("/usr/bin:/bin")),
            (OsString::from("EXPECTED"), OsString::from("yes")),
        ];
        let programs = HelperPrograms::new(vec![directory.path().to_owned()], environment);
        loop {
            let result = programs.get("own", &RegistryHost::parse(registry).unwrap()).await;
            // A process that another test has just forked may still have the script open.
            match &result {
                Err(error) if error.to_string().contains("Text file busy") => {
                    tokio::time::sleep(std::time::Duration::from_millis(10)).await;
                }
                _ => return result,
            }
        }
    }

    #[tokio::test]
    async fn helper_receives_the_registry_and_returns_a_credential() {
        let script = r#"[ "$1" = get ] && [ "$EXPECTED" = yes ] || exit 2
            printf '{"ServerURL":"%s","Username":"me","Secret":"%s"}' x "$(cat)""#;
        let expected = |password: &str| Some(RegistryCredential::from_password("me", password));
        assert_eq!(run(script, "example.com:5000").await.unwrap(), expected("https://example.com:5000"));
        assert_eq!(run(script, "docker.io").await.unwrap(), expected("https://index.docker.io/v1/"));
    }

    #[tokio::test]
    async fn identity_tokens_and_missing_credentials_are_recognized() {
        let token = r#"echo '{"Username":"<token>","Secret":"t"}'"#;
        let expected = Some(RegistryCredential::from_identity_token("t"));
        assert_eq!(run(token, "h").await.unwrap(), expected);
        let none = "echo 'credentials not found in native keychain'; exit 1";
        assert_eq!(run(none, "h").await.unwrap(), None);
    }

    #[tokio::test]
    async fn failures_are_reported_without_secrets() {
        for (script, expected) in [
            ("echo locked; exit 1", "failed for h: locked"),
            ("exit 3", "exit status: 3"),
            ("echo 's3cret'", "its output is not a credential"),
            ("exec head -c 100000 /dev/zero", "too large"),
        ] {
            let error = run(script, "h").await.unwrap_err().to_string();
            assert!(error.contains(expected) && !error.contains("s3cret"), "{error}");
        }
        let error =
            HelperPrograms::default().get("own", &RegistryHost::parse("h").unwrap()).await.unwrap_err();
        assert!(matches!(error, OciCredentialsError::HelperNotFound { .. }));
        for name in ["", "a/b", "../x", "a b"] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }
}
