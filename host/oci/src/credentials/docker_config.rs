//! Files in the format of Docker's `config.json`, which Podman and other programs also use.
//!
//! | key | content |
//! |---|---|
//! | `auths` | by `HOST[:PORT][/PATH]`: `auth`, the base64 encoding of `USER:PASSWORD`; or `identitytoken`; or `registrytoken` |
//! | `credHelpers` | by `HOST[:PORT]`: the name of a helper |
//! | `credsStore` | the name of the helper for all other registries |
//!
//! For some registries, Docker writes URLs as keys, such as `https://index.docker.io/v1/` for
//! Docker Hub; such a key applies to the whole registry. A file in the oldest format, `.dockercfg`,
//! consists of the content of `auths`. Other keys, and entries without a credential, are ignored.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::Deserialize;

use super::{
    CredentialKind, CredentialsScope, HiddenText, OciCredentialsError, RegistryCredential, Source,
    Specificity,
};
use crate::reference::{RegistryHost, Repository};

/// Maximum size of a file.
const MAX_CONFIG_BYTES: u64 = 1 << 20;

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The credentials in a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct CredentialsConfig {
    auths: Vec<(CredentialsScope, Source)>,
    helpers: BTreeMap<RegistryHost, String>,
    store: Option<String>,
}

#[derive(Deserialize)]
struct ConfigDocument {
    #[serde(default)]
    auths: Option<BTreeMap<String, Option<AuthEntry>>>,
    #[serde(default, rename = "credHelpers")]
    helpers: Option<BTreeMap<String, Option<String>>>,
    #[serde(default, rename = "credsStore")]
    store: Option<String>,
}

#[derive(Deserialize)]
struct AuthEntry {
    #[serde(default)]
    auth: Option<String>,
    #[serde(default)]
    username: Option<String>,
    #[serde(default)]
    password: Option<String>,
    #[serde(default, rename = "identitytoken")]
    identity: Option<String>,
    #[serde(default, rename = "registrytoken")]
    registry: Option<String>,
}

/// Reads a file; `None` if it does not exist.
pub(super) fn read_config(path: &Path) -> Result<Option<CredentialsConfig>, OciCredentialsError> {
    let failed = |source| OciCredentialsError::Read { path: path.to_owned(), source };
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(failed(source)),
    };
    let mut bytes = Vec::new();
    file.take(MAX_CONFIG_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    let syntax = |reason: String| OciCredentialsError::Syntax { path: path.to_owned(), reason };
    if bytes.len() as u64 > MAX_CONFIG_BYTES {
        return Err(syntax("it is larger than 1 MiB".to_owned()));
    }
    let is_oldest_format = path.file_name().is_some_and(|name| name == ".dockercfg");
    CredentialsConfig::parse(&bytes, is_oldest_format).map(Some).map_err(syntax)
}

impl CredentialsConfig {
    pub(super) fn parse(bytes: &[u8], is_oldest_format: bool) -> Result<Self, String> {
        if bytes.trim_ascii().is_empty() {
            return Ok(Self::default());
        }
        // The messages of the JSON parser can contain values of the document.
        let reason = |error: serde_json::Error| {
            let kind = if error.is_data() { "unexpected type" } else { "syntax error" };
            format!("{kind} in line {}", error.line())
        };
        let document = if is_oldest_format {
            let auths = serde_json::from_slice(bytes).map_err(reason)?;
            ConfigDocument { auths: Some(auths), helpers: None, store: None }
        } else {
            serde_json::from_slice(bytes).map_err(reason)?
        };
        let auths = document.auths.unwrap_or_default().into_iter().filter_map(|(key, entry)| {
            let scope = scope(&key)?;
            Some((scope, entry?.source(&key)?))
        });
        let helpers = document.helpers.unwrap_or_default().into_iter().filter_map(|(key, helper)| {
            let scope = scope(&key).filter(CredentialsScope::is_registry)?;
            Some((scope.registry, helper.filter(|helper| !helper.is_empty())?))
        });
        Ok(Self {
            auths: auths.collect(),
            helpers: helpers.collect(),
            store: document.store.filter(|store| !store.is_empty()),
        })
    }

    /// Returns the sources that match a repository.
    pub(super) fn sources(&self, repository: &Repository) -> impl Iterator<Item = (Specificity, Source)> {
        let auths = self
            .auths
            .iter()
            .filter_map(|(scope, source)| Some((scope.specificity(repository)?, source.clone())));
        let helper = self.helpers.get(repository.registry()).into_iter();
        let helper = helper.map(|helper| (Specificity::Registry, Source::Helper(helper.clone())));
        let store = self.store.iter().map(|store| (Specificity::Everything, Source::Helper(store.clone())));
        auths.chain(helper).chain(store)
    }
}

/// Parses a key of `auths` or `credHelpers`.
fn scope(key: &str) -> Option<CredentialsScope> {
    let rest = key.strip_prefix("https://").or_else(|| key.strip_prefix("http://"));
    let Some(rest) = rest else { return CredentialsScope::parse(key).ok() };
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    matches!(path.trim_end_matches('/'), "" | "v1" | "v2")
        .then(|| CredentialsScope::parse(host).ok())
        .flatten()
}

impl AuthEntry {
    /// Returns the credential; `None` if there is none.
    fn source(self, key: &str) -> Option<Source> {
        let present = |text: Option<String>| text.filter(|text| !text.is_empty());
        if let Some(token) = present(self.identity) {
            return Some(Source::Value(RegistryCredential::from_identity_token(token)));
        }
        if let Some(token) = present(self.registry) {
            return Some(Source::Value(RegistryCredential::from_access_token(token, None)));
        }
        if let Some(auth) = present(self.auth) {
            let decoded = BASE64.decode(auth.trim()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
            return Some(match decoded.as_deref().and_then(|text| text.split_once(':')) {
                Some((user, password)) => Source::Value(RegistryCredential(CredentialKind::Password {
                    user: user.to_owned(),
                    password: HiddenText::new(password.trim_end_matches('\0')),
                })),
                None => Source::Invalid(key.to_owned()),
            });
        }
        let (user, password) = (present(self.username)?, present(self.password)?);
        Some(Source::Value(RegistryCredential::from_password(user, password)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn best(text: &str, repository: &str) -> Option<Source> {
        let config = CredentialsConfig::parse(text.as_bytes(), false).unwrap();
        let repository = Repository::parse(repository).unwrap();
        let mut sources: Vec<_> = config.sources(&repository).collect();
        sources.sort_by_key(|source| std::cmp::Reverse(source.0));
        sources.into_iter().next().map(|(_, source)| source)
    }

    fn password(user: &str, password: &str) -> Source {
        Source::Value(RegistryCredential::from_password(user, password))
    }

    #[test]
    fn entries_are_selected_by_host_and_path() {
        let text = r#"{
            "auths": {
                "example.com": {"auth": "YTox"},
                "example.com/team": {"auth": "Yjoy"},
                "example.com/team/one": {"auth": "Yzoz"},
                "example.com/Bad": {"auth": "eDp4"},
                "other.example:5000": {}
            },
            "credHelpers": {"other.example:5000": "own"},
            "credsStore": "all",
            "HttpHeaders": {"x": 1}
        }"#;
        assert_eq!(best(text, "example.com/x"), Some(password("a", "1")));
        assert_eq!(best(text, "example.com/team"), Some(password("b", "2")));
        assert_eq!(best(text, "example.com/teams"), Some(password("a", "1")));
        assert_eq!(best(text, "example.com/team/one/x"), Some(password("c", "3")));
        assert_eq!(best(text, "other.example:5000/x"), Some(Source::Helper("own".to_owned())));
        assert_eq!(best(text, "other.example/x"), Some(Source::Helper("all".to_owned())));
    }

    #[test]
    fn docker_hub_keys_are_recognized() {
        for key in
            ["https://index.docker.io/v1/", "index.docker.io", "docker.io", "https://registry-1.docker.io"]
        {
            let text = format!(r#"{{"auths":{{"{key}":{{"auth":"YTpiOmM"}}}}}}"#);
            assert_eq!(best(&text, "docker.io/acme/x"), Some(password("a", "b:c")), "{key}");
        }
    }

    #[test]
    fn tokens_take_precedence_and_empty_entries_are_ignored() {
        let entry = |entry: &str| best(&format!(r#"{{"auths":{{"h":{entry}}}}}"#), "h/x");
        let identity = Some(Source::Value(RegistryCredential::from_identity_token("t")));
        assert_eq!(entry(r#"{"auth":"MDA6","identitytoken":"t"}"#), identity);
        let access = Some(Source::Value(RegistryCredential::from_access_token("t", None)));
        assert_eq!(entry(r#"{"registrytoken":"t"}"#), access);
        assert_eq!(entry(r#"{"username":"a","password":"b"}"#), Some(password("a", "b")));
        for empty in ["{}", "null", r#"{"auth":""}"#, r#"{"email":"x"}"#] {
            assert_eq!(entry(empty), None, "{empty}");
        }
        for bad in [r#"{"auth":"!"}"#, r#"{"auth":"YQ=="}"#, r#"{"auth":"/////w=="}"#] {
            assert_eq!(entry(bad), Some(Source::Invalid("h".to_owned())), "{bad}");
        }
    }

    #[test]
    fn errors_do_not_reveal_the_content() {
        let error = CredentialsConfig::parse(br#"{"auths":{"h":"s3cret"}}"#, false).unwrap_err();
        assert_eq!(error, "unexpected type in line 1");
        let error = CredentialsConfig::parse(b"{\"auths\":\ns3cret", false).unwrap_err();
        assert_eq!(error, "syntax error in line 2");
    }

    #[test]
    fn oldest_config_format_is_parsed() {
        let config = CredentialsConfig::parse(br#"{"h":{"auth":"YTox","email":"x"}}"#, true).unwrap();
        assert_eq!(config.auths.len(), 1);
        assert_eq!(CredentialsConfig::parse(b" \n", false).unwrap(), CredentialsConfig::default());
    }

    proptest! {
        #[test]
        fn parsing_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = CredentialsConfig::parse(&bytes, false);
        }
    }
}
