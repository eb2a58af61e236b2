//! Arguments of a `connection` block, valid and invalid.

use std::time::Duration;

use wardian_communicator::{
    AgentUse, ConnectionMethod, ConnectionSettings, ProxyScheme, ServerCertificate, SettingsError,
    SshSettings, TargetPlatform, WinRmAuthentication, WinRmSettings, WinRmTransport,
};

use crate::sshd::{generate, keygen};

fn read(values: &[(&str, &str)]) -> Result<ConnectionSettings, SettingsError> {
    ConnectionSettings::read(|name| {
        values.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    })
}

fn ssh(values: &[(&str, &str)]) -> SshSettings {
    match read(values).unwrap().method {
        ConnectionMethod::Ssh(ssh) => *ssh,
        ConnectionMethod::WinRm(_) => panic!("WinRM"),
    }
}

fn winrm(values: &[(&str, &str)]) -> WinRmSettings {
    match read(&[&[("type", "winrm"), ("host", "h")], values].concat()).unwrap().method {
        ConnectionMethod::WinRm(winrm) => *winrm,
        ConnectionMethod::Ssh(_) => panic!("SSH"),
    }
}

#[test]
fn absent_arguments_have_defaults() {
    let settings = read(&[("host", "h"), ("user", "")]).unwrap();
    assert_eq!((settings.timeout, settings.platform), (Duration::from_mins(5), TargetPlatform::Unix));
    let path = settings.new_script_path();
    let number = path.strip_prefix("/tmp/terraform_").unwrap().strip_suffix(".sh").unwrap();
    assert!(number.parse::<i32>().is_ok_and(|number| number >= 0), "{path}");
    assert_ne!(path, settings.new_script_path());
    let ConnectionMethod::Ssh(ssh) = settings.method else { panic!() };
    assert_eq!((&*ssh.target.user, ssh.target.port, ssh.agent), ("root", 22, AgentUse::IfAvailable));
    assert!(ssh.bastion.is_none() && ssh.proxy.is_none() && ssh.target.host_key.is_none());

    let windows = read(&[("host", "h"), ("target_platform", "windows")]).unwrap();
    assert!(windows.script_path == "C:/windows/temp/terraform_%RAND%.cmd");
    let settings = read(&[("host", "h"), ("type", "winrm")]).unwrap();
    assert_eq!(settings.platform, TargetPlatform::Windows);
    assert!(settings.script_path == "C:/Temp/terraform_%RAND%.cmd");
    let settings = winrm(&[]);
    assert_eq!((&*settings.user, settings.port), ("Administrator", 5985));
    assert!(matches!(settings.transport, WinRmTransport::Http));
    assert_eq!(settings.authentication, WinRmAuthentication::Basic);
    let settings = winrm(&[("https", "true"), ("use_ntlm", "true")]);
    assert!(matches!(settings.transport, WinRmTransport::Https(ServerCertificate::SystemRoots)));
    assert_eq!((settings.port, settings.authentication), (5986, WinRmAuthentication::Ntlm));
    let settings = winrm(&[("https", "true"), ("insecure", "true"), ("cacert", "x"), ("port", "99")]);
    assert!(matches!(settings.transport, WinRmTransport::Https(ServerCertificate::Any)));
    assert_eq!(settings.port, 99);
}

#[test]
fn bastion_defaults_to_target() {
    let values = [("host", "h"), ("user", "me"), ("password", "p"), ("port", "2222"), ("bastion_host", "b")];
    let bastion = ssh(&values).bastion.unwrap();
    assert_eq!((&*bastion.host, &*bastion.user, bastion.port), ("b", "me", 2222));
    assert!(bastion.password.is_some() && bastion.host_key.is_none());
    let more = [("bastion_user", "you"), ("bastion_port", "22")];
    let bastion = ssh(&[&values[..], &more].concat()).bastion.unwrap();
    assert_eq!((&*bastion.user, bastion.port), ("you", 22));
}

#[test]
fn reads_all_arguments() {
    let proxy =
        ssh(&[("host", "[2001:db8::1]"), ("proxy_host", "p"), ("proxy_scheme", "socks5")]).proxy.unwrap();
    assert_eq!((proxy.scheme, proxy.port), (ProxyScheme::Socks5, 1080));
    assert_eq!(ssh(&[("host", "[2001:db8::1]")]).target.host, "2001:db8::1");
    assert_eq!(read(&[("host", "h"), ("timeout", "1m30s")]).unwrap().timeout, Duration::from_secs(90));
    assert_eq!(ssh(&[("host", "h"), ("agent", "false")]).agent, AgentUse::Never);
    assert_eq!(ssh(&[("host", "h"), ("port", "0")]).target.port, 22);
}

#[test]
fn error_names_invalid_argument() {
    for (argument, value, says) in [
        ("type", "telnet", "not a connection type"),
        ("host", "", "missing"),
        ("host", "a b", "neither a host name nor an address"),
        ("host", "user@machine", "neither a host name nor an address"),
        ("port", "65536", "is not a port"),
        ("timeout", "soon", "is not a duration"),
        ("target_platform", "dos", "is not a platform"),
        ("agent", "maybe", "neither true nor false"),
        ("private_key", "/srv/keys/id", "file("),
        (
            "private_key",
            "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----",
            "cannot be read",
        ),
        ("certificate", "ssh-ed25519-cert-v01@openssh.com AAAA", "requires its key in private_key"),
        ("host_key", "nonsense", "not a public key"),
        ("bastion_port", "x", ""),
        ("proxy_scheme", "socks4", "http, https or socks5"),
    ] {
        let values = [(argument, value), ("host", "h"), ("bastion_host", "b"), ("proxy_host", "p")];
        let error = read(&values).unwrap_err();
        assert_eq!(error.argument, argument, "{error}");
        assert!(error.problem.contains(says), "{error}");
    }
}

#[test]
fn invalid_key_error_explains_the_correction() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    if std::process::Command::new("ssh-keygen").arg("-?").output().is_err() {
        println!("skipped: there is no ssh-keygen");
        return;
    }
    generate(&path("openssh"), "rsa-2048", "a passphrase");
    for form in ["PEM", "PKCS8"] {
        std::fs::copy(path("openssh"), path(form)).unwrap();
        keygen(&["-p", "-P", "a passphrase", "-N", "another one", "-m", form, "-f", form], directory.path());
    }
    for name in ["openssh", "PEM", "PKCS8"] {
        let key = std::fs::read_to_string(path(name)).unwrap();
        let error = read(&[("host", "h"), ("private_key", &key)]).unwrap_err();
        assert!(error.problem.contains("protected by a passphrase"), "{name}: {error}");
    }
    generate(&path("one"), "ed25519", "");
    generate(&path("two"), "ed25519", "");
    keygen(&["-q", "-s", "one", "-I", "x", "two.pub"], directory.path());
    let text = |name: &str| std::fs::read_to_string(path(name)).unwrap();
    let (key, certificate) = (text("one"), text("two-cert.pub"));
    let error = read(&[("host", "h"), ("private_key", &key), ("certificate", &certificate)]).unwrap_err();
    assert_eq!(error.argument, "certificate");
    assert!(error.problem.contains("does not match the private key"), "{error}");
}

#[test]
fn debug_output_and_errors_hide_secrets() {
    let directory = tempfile::tempdir().unwrap();
    generate(&directory.path().join("key"), "ed25519", "");
    let key = std::fs::read_to_string(directory.path().join("key")).unwrap();
    let values = [
        ("host", "h"),
        ("password", "hidden-1"),
        ("private_key", &key),
        ("bastion_host", "b"),
        ("bastion_password", "hidden-2"),
        ("proxy_host", "p"),
        ("proxy_user_password", "hidden-3"),
    ];
    let shown = format!("{:?}", read(&values).unwrap());
    assert!(!shown.contains("hidden") && shown.contains("Key(ssh-ed25519)"), "{shown}");
    let shown = format!("{:?}", winrm(&[("password", "hidden-4")]));
    assert!(!shown.contains("hidden"), "{shown}");
}
