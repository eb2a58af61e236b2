//! The settings of a `connection` block.
//!
//! The block's values are strings, keyed by Terraform's argument names. Absent or empty values
//! have these defaults:
//!
//! | argument | SSH | WinRM |
//! |---|---|---|
//! | `user` | `root` | `Administrator` |
//! | `port` | 22 | 5985, or 5986 with `https` |
//! | `timeout` | `5m` | `5m` |
//! | `target_platform` | `unix` | always Windows |
//! | `script_path` | `/tmp/terraform_%RAND%.sh`, `C:/windows/temp/terraform_%RAND%.cmd` | `C:/Temp/terraform_%RAND%.cmd` |
//! | `agent` | used if the caller provides one | |
//! | `bastion_user`, `_password`, `_private_key`, `_port` | the value of the argument without `bastion_` | |
//! | `bastion_certificate` | `certificate`, with its key | |

mod keys;
mod parse;

use std::sync::Arc;
use std::time::Duration;

use russh::keys::{Certificate, PrivateKey, PublicKey};

use crate::secret::SecretString;

/// The method to connect to a machine, and the remote path of scripts.
#[derive(Clone, Debug)]
pub struct ConnectionSettings {
    pub method: ConnectionMethod,
    /// The duration for which connections are retried.
    pub timeout: Duration,
    /// Remote path of a script, with `%RAND%` for a random number.
    pub script_path: String,
    pub platform: TargetPlatform,
}

/// The operating system family of the target machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetPlatform {
    Unix,
    Windows,
}

/// The protocol and its settings.
#[derive(Clone, Debug)]
pub enum ConnectionMethod {
    Ssh(Box<SshSettings>),
    /// Windows Remote Management.
    WinRm(Box<WinRmSettings>),
}

#[derive(Clone, Debug)]
pub struct SshSettings {
    /// The machine to provision.
    pub target: Hop,
    /// The jump host.
    pub bastion: Option<Hop>,
    /// The proxy through which the first machine is reached.
    pub proxy: Option<Proxy>,
    /// Whether to use keys from an agent.
    pub agent: AgentUse,
    /// The agent's key to try first, identified by its comment, its public key, or the path of its
    /// public key file.
    pub agent_identity: Option<String>,
}

/// A machine to log in to.
#[derive(Clone, Debug)]
pub struct Hop {
    /// Name or address.
    pub host: String,
    pub port: u16,
    pub user: String,
    pub password: Option<SecretString>,
    /// The private key, with its certificate if there is one.
    pub key: Option<Key>,
    /// The machine's public key, or the public key of the authority that signed it. `None` accepts
    /// any machine.
    pub host_key: Option<PublicKey>,
    /// Name of the argument with `host_key`.
    pub(crate) host_key_argument: &'static str,
}

/// A private key to log in with.
#[derive(Clone)]
pub struct Key {
    pub(crate) private: Arc<PrivateKey>,
    pub(crate) certificate: Option<Certificate>,
}

impl Key {
    /// Whether the key has a certificate.
    pub fn is_certified(&self) -> bool {
        self.certificate.is_some()
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let with = if self.certificate.is_some() { ", with a certificate" } else { "" };
        write!(formatter, "Key({}{with})", self.private.algorithm())
    }
}

/// Whether to use keys from an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentUse {
    /// Uses an agent if the caller provides one.
    IfAvailable,
    /// Always uses an agent; a missing agent is an error.
    Required,
    Never,
}

/// The proxy through which the first machine is reached.
#[derive(Clone, Debug)]
pub struct Proxy {
    pub scheme: ProxyScheme,
    /// Name or address.
    pub host: String,
    pub port: u16,
    pub user: Option<String>,
    pub password: Option<SecretString>,
}

/// The proxy's protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyScheme {
    /// HTTP `CONNECT`.
    Http,
    /// HTTP `CONNECT` over TLS.
    Https,
    /// SOCKS version 5.
    Socks5,
}

/// Settings of a WinRM connection.
#[derive(Clone, Debug)]
pub struct WinRmSettings {
    /// Name or address.
    pub host: String,
    pub port: u16,
    pub user: String,
    pub password: SecretString,
    pub transport: WinRmTransport,
    pub authentication: WinRmAuthentication,
}

impl WinRmSettings {
    /// Whether the password is not empty.
    pub fn has_password(&self) -> bool {
        !self.password.reveal().is_empty()
    }
}

/// The transport of WinRM's HTTP messages.
#[derive(Clone, Debug)]
pub enum WinRmTransport {
    /// Plain TCP. Basic authentication sends the password unencrypted.
    Http,
    Https(ServerCertificate),
}

/// The server certificates that are accepted.
#[derive(Clone, Debug)]
pub enum ServerCertificate {
    /// Certificates that are verified with the system's root certificates.
    SystemRoots,
    /// Certificates that are verified with these root certificates, in PEM format.
    Authorities(String),
    /// Any certificate.
    Any,
}

/// The authentication method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WinRmAuthentication {
    /// HTTP basic authentication.
    Basic,
    /// NTLM version 2.
    Ntlm,
}

/// An invalid argument of the block. The message contains the value, unless it is a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{argument}: {problem}")]
pub struct SettingsError {
    pub argument: &'static str,
    /// The problem and its solution.
    pub problem: String,
}

impl ConnectionSettings {
    /// Reads the settings of a block. `value` returns the value of an argument.
    ///
    /// # Errors
    /// Returns an error if an argument is invalid or a required argument is missing.
    pub fn read(value: impl Fn(&str) -> Option<String>) -> Result<Self, SettingsError> {
        parse::read(&parse::Values::new(&value))
    }

    /// Returns the remote path for a script: a new path for each call if the path contains `%RAND%`.
    pub fn new_script_path(&self) -> String {
        // The number is unpredictable; if the system's random generator fails, it is derived from
        // the clock.
        let number = getrandom::u32().unwrap_or_else(|_| {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            now.map(|now| now.subsec_nanos()).unwrap_or_default()
        });
        self.script_path.replace("%RAND%", &(number >> 1).to_string())
    }

    pub fn host(&self) -> &str {
        match &self.method {
            ConnectionMethod::Ssh(ssh) => &ssh.target.host,
            ConnectionMethod::WinRm(winrm) => &winrm.host,
        }
    }

    pub fn port(&self) -> u16 {
        match &self.method {
            ConnectionMethod::Ssh(ssh) => ssh.target.port,
            ConnectionMethod::WinRm(winrm) => winrm.port,
        }
    }
}

/// Formats `host:port`, with brackets around an IPv6 address.
pub(crate) fn endpoint(host: &str, port: u16) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}
