//! What a `connection` block says.
//!
//! The block's values come as text, under the names that the language has for them. What
//! is absent or empty has its default:
//!
//! | argument | SSH | WinRM |
//! |---|---|---|
//! | `user` | `root` | `Administrator` |
//! | `port` | 22 | 5985, and 5986 with `https` |
//! | `timeout` | `5m` | `5m` |
//! | `target_platform` | `unix` | always Windows |
//! | `script_path` | `/tmp/terraform_%RAND%.sh`, `C:/windows/temp/terraform_%RAND%.cmd` | `C:/Temp/terraform_%RAND%.cmd` |
//! | `agent` | where the caller has one | |
//! | `bastion_user`, `_password`, `_private_key`, `_port` | as without `bastion_` | |
//! | `bastion_certificate` | `certificate`, with its key | |

mod duration;
mod keys;
mod reading;

use std::sync::Arc;
use std::time::Duration;

use russh::keys::{Certificate, PrivateKey, PublicKey};

use crate::secret::Secret;

/// How to connect with one machine, and where scripts go there.
#[derive(Clone, Debug)]
pub struct ConnectionSettings {
    /// In which way.
    pub method: Method,
    /// How long the machine is waited for.
    pub timeout: Duration,
    /// Where a script is put, with `%RAND%` for a number.
    pub script_path: String,
    /// What kind of machine it is.
    pub platform: TargetPlatform,
}

/// What kind of machine is provisioned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetPlatform {
    /// Unix.
    Unix,
    /// Windows.
    Windows,
}

/// The protocol, and what it needs.
#[derive(Clone, Debug)]
pub enum Method {
    /// SSH.
    Ssh(Box<SshSettings>),
    /// Windows Remote Management.
    WinRm(Box<WinRmSettings>),
}

/// A connection by SSH.
#[derive(Clone, Debug)]
pub struct SshSettings {
    /// The machine that is provisioned.
    pub target: Hop,
    /// The machine that the connection goes through.
    pub bastion: Option<Hop>,
    /// The proxy that the first of them is reached by.
    pub proxy: Option<Proxy>,
    /// Whether an agent is asked for keys.
    pub agent: AgentUse,
    /// The agent's key that is tried first: its comment, its public half, or a path of
    /// that.
    pub agent_identity: Option<String>,
}

/// A machine that is logged in to.
#[derive(Clone, Debug)]
pub struct Hop {
    /// Its name or address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// As whom.
    pub user: String,
    /// With which password.
    pub password: Option<Secret>,
    /// With which key, and what an authority says of it.
    pub key: Option<Key>,
    /// Its own key, or that of the authority that signed it. Where there is none, any
    /// machine is believed.
    pub host_key: Option<PublicKey>,
    /// The argument that holds `host_key`.
    pub(crate) host_key_argument: &'static str,
}

/// A key to log in with.
#[derive(Clone)]
pub struct Key {
    pub(crate) private: Arc<PrivateKey>,
    pub(crate) certificate: Option<Certificate>,
}

impl Key {
    /// Whether an authority has signed it.
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

/// Whether an agent is asked for keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentUse {
    /// Where the caller has one.
    IfThere,
    /// It was asked for, so it must be there.
    Required,
    /// Not at all.
    Never,
}

/// How the first machine is reached.
#[derive(Clone, Debug)]
pub struct Proxy {
    /// What it speaks.
    pub scheme: ProxyScheme,
    /// Its name or address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Whom it is told that we are.
    pub user: Option<String>,
    /// And the proof.
    pub password: Option<Secret>,
}

/// What a proxy speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyScheme {
    /// HTTP's `CONNECT`.
    Http,
    /// The same inside of TLS.
    Https,
    /// SOCKS, version 5.
    Socks5,
}

/// A connection by WinRM.
#[derive(Clone, Debug)]
pub struct WinRmSettings {
    /// The machine's name or address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// As whom.
    pub user: String,
    /// The proof.
    pub password: Secret,
    /// With TLS or without.
    pub transport: WinRmTransport,
    /// In which way the password is proven.
    pub authentication: WinRmAuthentication,
}

impl WinRmSettings {
    /// Whether there is a password.
    pub fn has_password(&self) -> bool {
        !self.password.reveal().is_empty()
    }
}

/// What WinRM's HTTP runs over.
#[derive(Clone, Debug)]
pub enum WinRmTransport {
    /// TCP. With basic authentication the password is there to be read.
    Http,
    /// TLS.
    Https(ServerCertificate),
}

/// Whose certificate is believed.
#[derive(Clone, Debug)]
pub enum ServerCertificate {
    /// One that the system's authorities vouch for.
    OfSystem,
    /// One that these vouch for: PEM.
    Of(String),
    /// Any.
    Any,
}

/// In which way WinRM's password is proven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WinRmAuthentication {
    /// By saying it.
    Basic,
    /// By NTLM, version 2.
    Ntlm,
}

/// An argument of the block that cannot be used. Its value is shown where it is no
/// secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{argument}: {problem}")]
pub struct SettingsError {
    /// The argument's name.
    pub argument: &'static str,
    /// What is wrong, and what to do.
    pub problem: String,
}

impl ConnectionSettings {
    /// Reads the values of a block; `value` gives that of one argument.
    ///
    /// # Errors
    /// Where one of them cannot be used, or one that must be there is not.
    pub fn read(value: impl Fn(&str) -> Option<String>) -> Result<Self, SettingsError> {
        reading::read(&reading::Values::new(&value))
    }

    /// Where a script is put: another place each time, if the path has `%RAND%`.
    pub fn new_script_path(&self) -> String {
        // A number that nobody can take before; without one of the system's, the
        // machine's clock has to do.
        let number = getrandom::u32().unwrap_or_else(|_| {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            now.map(|now| now.subsec_nanos()).unwrap_or_default()
        });
        self.script_path.replace("%RAND%", &(number >> 1).to_string())
    }

    /// The machine that is provisioned.
    pub fn host(&self) -> &str {
        match &self.method {
            Method::Ssh(ssh) => &ssh.target.host,
            Method::WinRm(winrm) => &winrm.host,
        }
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        match &self.method {
            Method::Ssh(ssh) => ssh.target.port,
            Method::WinRm(winrm) => winrm.port,
        }
    }
}

/// `host:port`, with brackets where the host is an address with colons.
pub(crate) fn place(host: &str, port: u16) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}
