//! Parses the block's strings into settings.

use std::time::Duration;

use wardian_value::duration::GoDuration;

use super::{
    AgentUse, ConnectionMethod, ConnectionSettings, Hop, Proxy, ProxyScheme, ServerCertificate,
    SettingsError, SshSettings, TargetPlatform, WinRmAuthentication, WinRmSettings, WinRmTransport, keys,
};
use crate::secret::SecretString;

const TIMEOUT: Duration = Duration::from_mins(5);
const UNIX_SCRIPT: &str = "/tmp/terraform_%RAND%.sh";
const WINDOWS_SCRIPT: &str = "C:/windows/temp/terraform_%RAND%.cmd";
const WINRM_SCRIPT: &str = "C:/Temp/terraform_%RAND%.cmd";

/// The block's values by argument name.
pub(crate) struct Values<'a> {
    value: &'a dyn Fn(&str) -> Option<String>,
}

fn problem(argument: &'static str, problem: impl Into<String>) -> SettingsError {
    SettingsError { argument, problem: problem.into() }
}

impl<'a> Values<'a> {
    pub(crate) fn new(value: &'a dyn Fn(&str) -> Option<String>) -> Self {
        Self { value }
    }

    fn text(&self, argument: &'static str) -> Option<String> {
        (self.value)(argument).filter(|text| !text.is_empty())
    }

    fn secret(&self, argument: &'static str) -> Option<SecretString> {
        self.text(argument).map(SecretString::new)
    }

    fn port(&self, argument: &'static str) -> Result<Option<u16>, SettingsError> {
        let Some(text) = self.text(argument) else { return Ok(None) };
        match text.trim().parse::<u16>() {
            // Port 0 means the default.
            Ok(0) => Ok(None),
            Ok(port) => Ok(Some(port)),
            Err(_) => Err(problem(argument, format!("{text:?} is not a port; use a number from 1 to 65535"))),
        }
    }

    fn is_set(&self, argument: &'static str) -> Result<Option<bool>, SettingsError> {
        match self.text(argument).as_deref() {
            None => Ok(None),
            Some("true" | "1") => Ok(Some(true)),
            Some("false" | "0") => Ok(Some(false)),
            Some(other) => Err(problem(argument, format!("{other:?} is neither true nor false"))),
        }
    }

    fn host(&self, argument: &'static str) -> Result<Option<String>, SettingsError> {
        let Some(text) = self.text(argument) else { return Ok(None) };
        let host = text.trim().trim_start_matches('[').trim_end_matches(']');
        let is_host = !host.is_empty()
            && host.chars().all(|character| !character.is_whitespace() && !character.is_control())
            && !host.contains(['/', '@', '\\']);
        if !is_host {
            return Err(problem(argument, format!("{text:?} is neither a host name nor an address")));
        }
        Ok(Some(host.to_owned()))
    }

    fn timeout(&self) -> Result<Duration, SettingsError> {
        let Some(text) = self.text("timeout") else { return Ok(TIMEOUT) };
        let wrong = || problem("timeout", format!("{text:?} is not a duration such as \"90s\" or \"5m\""));
        GoDuration::parse(&text).ok().and_then(GoDuration::to_std).ok_or_else(wrong)
    }
}

pub(crate) fn read(values: &Values<'_>) -> Result<ConnectionSettings, SettingsError> {
    match values.text("type").as_deref() {
        None | Some("ssh") => read_ssh(values),
        Some("winrm") => read_winrm(values),
        Some(other) => {
            Err(problem("type", format!("{other:?} is not a connection type; use \"ssh\" or \"winrm\"")))
        }
    }
}

fn required_host(values: &Values<'_>) -> Result<String, SettingsError> {
    values.host("host")?.ok_or_else(|| problem("host", "the machine's name or address is missing or empty"))
}

fn read_ssh(values: &Values<'_>) -> Result<ConnectionSettings, SettingsError> {
    let platform = match values.text("target_platform").as_deref() {
        None | Some("unix") => TargetPlatform::Unix,
        Some("windows") => TargetPlatform::Windows,
        Some(other) => {
            let text = format!("{other:?} is not a platform; use \"unix\" or \"windows\"");
            return Err(problem("target_platform", text));
        }
    };
    let default_script = match platform {
        TargetPlatform::Unix => UNIX_SCRIPT,
        TargetPlatform::Windows => WINDOWS_SCRIPT,
    };
    let private = values.text("private_key").map(|text| keys::private("private_key", &text)).transpose()?;
    let certificate = values.text("certificate");
    let key = match private {
        Some(private) => Some(keys::certified(private, "certificate", certificate.as_deref())?),
        None if certificate.is_some() => {
            return Err(problem("certificate", "a certificate requires its key in private_key"));
        }
        None => None,
    };
    let target = Hop {
        host: required_host(values)?,
        port: values.port("port")?.unwrap_or(22),
        user: values.text("user").unwrap_or_else(|| "root".into()),
        password: values.secret("password"),
        key,
        host_key: values.text("host_key").map(|text| keys::public("host_key", &text)).transpose()?,
        host_key_argument: "host_key",
    };
    let agent = match values.is_set("agent")? {
        None => AgentUse::IfAvailable,
        Some(true) => AgentUse::Required,
        Some(false) => AgentUse::Never,
    };
    let method = ConnectionMethod::Ssh(Box::new(SshSettings {
        bastion: bastion(values, &target)?,
        target,
        proxy: proxy(values)?,
        agent,
        agent_identity: values.text("agent_identity"),
    }));
    Ok(ConnectionSettings {
        method,
        timeout: values.timeout()?,
        script_path: values.text("script_path").unwrap_or_else(|| default_script.into()),
        platform,
    })
}

/// Reads the bastion. Missing values default to the target's, except for the host key.
fn bastion(values: &Values<'_>, target: &Hop) -> Result<Option<Hop>, SettingsError> {
    let Some(host) = values.host("bastion_host")? else { return Ok(None) };
    let private = values.text("bastion_private_key");
    let private = private.map(|text| keys::private("bastion_private_key", &text)).transpose()?;
    let certificate = values.text("bastion_certificate");
    let key = match (private, certificate, &target.key) {
        (Some(private), certificate, _) => {
            Some(keys::certified(private, "bastion_certificate", certificate.as_deref())?)
        }
        (None, None, key) => key.clone(),
        (None, Some(certificate), Some(key)) => {
            Some(keys::certified(key.private.clone(), "bastion_certificate", Some(&certificate))?)
        }
        (None, Some(_), None) => {
            let text = "a certificate requires its key in bastion_private_key";
            return Err(problem("bastion_certificate", text));
        }
    };
    let host_key = values.text("bastion_host_key");
    Ok(Some(Hop {
        host,
        port: values.port("bastion_port")?.unwrap_or(target.port),
        user: values.text("bastion_user").unwrap_or_else(|| target.user.clone()),
        password: values.secret("bastion_password").or_else(|| target.password.clone()),
        key,
        host_key: host_key.map(|text| keys::public("bastion_host_key", &text)).transpose()?,
        host_key_argument: "bastion_host_key",
    }))
}

fn proxy(values: &Values<'_>) -> Result<Option<Proxy>, SettingsError> {
    let Some(host) = values.host("proxy_host")? else { return Ok(None) };
    let scheme = match values.text("proxy_scheme").as_deref() {
        None | Some("http") => ProxyScheme::Http,
        Some("https") => ProxyScheme::Https,
        Some("socks5") => ProxyScheme::Socks5,
        Some(other) => {
            let text = format!("{other:?} is not a proxy protocol; use http, https or socks5");
            return Err(problem("proxy_scheme", text));
        }
    };
    let usual = match scheme {
        ProxyScheme::Http => 80,
        ProxyScheme::Https => 443,
        ProxyScheme::Socks5 => 1080,
    };
    let port = values.port("proxy_port")?.unwrap_or(usual);
    let user = values.text("proxy_user_name");
    Ok(Some(Proxy { scheme, host, port, user, password: values.secret("proxy_user_password") }))
}

fn read_winrm(values: &Values<'_>) -> Result<ConnectionSettings, SettingsError> {
    if values.text("target_platform").is_some_and(|platform| platform != "windows") {
        return Err(problem("target_platform", "a WinRM connection always has the platform \"windows\""));
    }
    let transport = if values.is_set("https")?.unwrap_or(false) {
        WinRmTransport::Https(match (values.is_set("insecure")?.unwrap_or(false), values.text("cacert")) {
            (true, _) => ServerCertificate::Any,
            (false, Some(authorities)) => ServerCertificate::Authorities(authorities),
            (false, None) => ServerCertificate::SystemRoots,
        })
    } else {
        WinRmTransport::Http
    };
    let usual = match transport {
        WinRmTransport::Http => 5985,
        WinRmTransport::Https(_) => 5986,
    };
    let authentication = match values.is_set("use_ntlm")? {
        Some(true) => WinRmAuthentication::Ntlm,
        _ => WinRmAuthentication::Basic,
    };
    let method = ConnectionMethod::WinRm(Box::new(WinRmSettings {
        host: required_host(values)?,
        port: values.port("port")?.unwrap_or(usual),
        user: values.text("user").unwrap_or_else(|| "Administrator".into()),
        password: values.secret("password").unwrap_or_else(|| SecretString::new("")),
        transport,
        authentication,
    }));
    Ok(ConnectionSettings {
        method,
        timeout: values.timeout()?,
        script_path: values.text("script_path").unwrap_or_else(|| WINRM_SCRIPT.into()),
        platform: TargetPlatform::Windows,
    })
}
