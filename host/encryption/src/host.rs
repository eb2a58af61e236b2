//! The environment in which key providers work.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use wardian_access::HttpAuthority;
use wardian_download::{Downloader, DownloaderOptions, NetworkAccess};
use wardian_network::proxy::ProxySettings;
use wardian_network::{OperatorAuthority, TlsRoots};
use wardian_value::Value;

/// Whether the configuration may start programs and send requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EncryptionTrust {
    #[default]
    Trusted,
    Untrusted,
}

/// The environment of key providers and methods, which the caller provides.
#[derive(Clone, Debug, Default)]
pub struct EncryptionHost {
    /// The environment variables.
    pub variables: Arc<BTreeMap<String, String>>,
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// The directory of the configuration, an absolute path.
    pub directory: PathBuf,
    pub http: HttpSettings,
    pub trust: EncryptionTrust,
    /// The rules for key providers of an untrusted configuration; without rules, none sends requests.
    pub rules: Option<Arc<dyn KeyServiceRules>>,
}

/// Decides which key providers of an untrusted configuration may send requests.
pub trait KeyServiceRules: fmt::Debug + Send + Sync {
    /// Returns the environment of a key provider with these arguments, which are all arguments that are set.
    ///
    /// # Errors
    /// Returns the reason if the key provider must not be used, as the end of a sentence.
    fn permit(
        &self,
        type_name: &str,
        arguments: &Value,
        host: &EncryptionHost,
    ) -> Result<EncryptionHost, String>;
}

impl EncryptionHost {
    /// Returns the value of an environment variable that is set and not empty.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        self.variables.get(name).filter(|value| !value.is_empty()).cloned()
    }

    /// Returns the value of the first of these variables that is set and not empty.
    pub(crate) fn first_variable(&self, names: &[&str]) -> Option<String> {
        names.iter().find_map(|name| self.variable(name))
    }

    /// Returns the complete environment of a program.
    pub(crate) fn program_environment(&self) -> Vec<(OsString, OsString)> {
        self.variables.iter().map(|(name, value)| (name.into(), value.into())).collect()
    }
}

/// The settings of the HTTP clients of key providers.
#[derive(Clone)]
pub struct HttpSettings {
    /// The proxies, or the reason why the settings in the environment are invalid.
    pub proxies: Result<ProxySettings, String>,
    pub user_agent: String,
    /// Authorizes and records the requests.
    pub authority: Arc<dyn HttpAuthority>,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            proxies: Ok(ProxySettings::default()),
            user_agent: DownloaderOptions::default().user_agent,
            authority: Arc::new(OperatorAuthority),
        }
    }
}

impl fmt::Debug for HttpSettings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("HttpSettings").finish_non_exhaustive()
    }
}

impl HttpSettings {
    /// Returns a client that trusts these root certificates.
    ///
    /// # Errors
    /// Returns an error if the settings of proxies are invalid.
    pub(crate) fn client(&self, roots: TlsRoots) -> Result<Downloader, String> {
        let proxies = self.proxies.clone();
        let proxies = proxies.map_err(|reason| format!("the settings of proxies are invalid: {reason}"))?;
        Ok(Downloader::new(DownloaderOptions {
            proxies,
            roots,
            user_agent: self.user_agent.clone(),
            network: NetworkAccess::Online,
            authority: Arc::clone(&self.authority),
            ..DownloaderOptions::default()
        }))
    }
}
