//! Describes a connection attempt: destination and method. The description states whether a secret
//! is set, but never contains the secret.

use std::fmt::Write as _;

use wardian_communicator::{
    AgentUse, ConnectionMethod, ConnectionSettings, Hop, ServerCertificate, SshSettings, TargetPlatform,
    WinRmAuthentication, WinRmSettings, WinRmTransport,
};

/// The message that is shown once a connection is established.
pub(super) const CONNECTED: &str = "Connected!";

/// Returns the message that is shown before each attempt.
pub(super) fn attempt(settings: &ConnectionSettings, there_is_an_agent: bool) -> String {
    let mut text = String::new();
    // Writing into a string cannot fail.
    let _ = match &settings.method {
        ConnectionMethod::Ssh(ssh) => by_ssh(&mut text, ssh, settings.platform, there_is_an_agent),
        ConnectionMethod::WinRm(winrm) => by_winrm(&mut text, winrm),
    };
    text
}

fn by_ssh(
    text: &mut String,
    ssh: &SshSettings,
    platform: TargetPlatform,
    there_is_an_agent: bool,
) -> std::fmt::Result {
    let is_agent_asked = there_is_an_agent && ssh.agent != AgentUse::Never;
    text.push_str("Connecting to remote host via SSH...");
    hop(text, &ssh.target, is_agent_asked)?;
    let platform = match platform {
        TargetPlatform::Unix => "unix",
        TargetPlatform::Windows => "windows",
    };
    write!(text, "\n  Target Platform: {platform}")?;
    if let Some(bastion) = &ssh.bastion {
        text.push_str("\nUsing configured bastion host...");
        hop(text, bastion, is_agent_asked)?;
    }
    if let Some(proxy) = &ssh.proxy {
        text.push_str("\nUsing configured proxy host...");
        write!(text, "\n  ProxyHost: {}\n  ProxyPort: {}", proxy.host, proxy.port)?;
        write!(text, "\n  ProxyUserName: {}", proxy.user.as_deref().unwrap_or_default())?;
        write!(text, "\n  ProxyUserPassword: {}", proxy.password.is_some())?;
    }
    Ok(())
}

fn hop(text: &mut String, hop: &Hop, is_agent_asked: bool) -> std::fmt::Result {
    write!(text, "\n  Host: {}\n  User: {}", hop.host, hop.user)?;
    write!(text, "\n  Password: {}", hop.password.is_some())?;
    write!(text, "\n  Private key: {}", hop.key.is_some())?;
    write!(text, "\n  Certificate: {}", hop.key.as_ref().is_some_and(|key| key.is_certified()))?;
    write!(text, "\n  SSH Agent: {is_agent_asked}")?;
    write!(text, "\n  Checking Host Key: {}", hop.host_key.is_some())
}

fn by_winrm(text: &mut String, winrm: &WinRmSettings) -> std::fmt::Result {
    let certificate = match &winrm.transport {
        WinRmTransport::Http => None,
        WinRmTransport::Https(certificate) => Some(certificate),
    };
    text.push_str("Connecting to remote host via WinRM...");
    write!(text, "\n  Host: {}\n  Port: {}\n  User: {}", winrm.host, winrm.port, winrm.user)?;
    write!(text, "\n  Password: {}", winrm.has_password())?;
    write!(text, "\n  HTTPS: {}", certificate.is_some())?;
    write!(text, "\n  Insecure: {}", matches!(certificate, Some(ServerCertificate::Any)))?;
    write!(text, "\n  NTLM: {}", winrm.authentication == WinRmAuthentication::Ntlm)?;
    write!(text, "\n  CACert: {}", matches!(certificate, Some(ServerCertificate::Authorities(_))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(values: &[(&str, &str)]) -> String {
        let value = |name: &str| {
            values.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        attempt(&ConnectionSettings::read(value).unwrap(), true)
    }

    #[test]
    fn describes_ssh_with_bastion_and_proxy() {
        let text = shown(&[
            ("host", "10.0.0.1"),
            ("password", "hush"),
            ("bastion_host", "b"),
            ("bastion_user", "joe"),
            ("proxy_host", "p"),
            ("proxy_port", "3128"),
            ("proxy_user_password", "hush"),
        ]);
        let expected = "\
Connecting to remote host via SSH...
  Host: 10.0.0.1
  User: root
  Password: true
  Private key: false
  Certificate: false
  SSH Agent: true
  Checking Host Key: false
  Target Platform: unix
Using configured bastion host...
  Host: b
  User: joe
  Password: true
  Private key: false
  Certificate: false
  SSH Agent: true
  Checking Host Key: false
Using configured proxy host...
  ProxyHost: p
  ProxyPort: 3128
  ProxyUserName: 
  ProxyUserPassword: true";
        assert_eq!(text, expected);
    }

    #[test]
    fn describes_winrm() {
        let text = shown(&[
            ("type", "winrm"),
            ("host", "w"),
            ("https", "true"),
            ("insecure", "1"),
            ("password", "hush"),
        ]);
        let expected = "\
Connecting to remote host via WinRM...
  Host: w
  Port: 5986
  User: Administrator
  Password: true
  HTTPS: true
  Insecure: true
  NTLM: false
  CACert: false";
        assert_eq!(text, expected);
    }
}
