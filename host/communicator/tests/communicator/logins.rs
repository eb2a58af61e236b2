//! Logins with every authentication method, and the errors if no method succeeds.

use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use wardian_communicator::{CommunicatorError, ConnectionContext, FailureKind, RemoteConnection};

use crate::sshd::{PASSWORD, Records, Sshd, connection, generate, keygen, recorded, run, settings};

/// Returns the values of the block without the key.
fn plain(sshd: &Sshd) -> Vec<(&'static str, String)> {
    sshd.values().into_iter().filter(|(name, _)| *name != "private_key").collect()
}

#[track_caller]
fn assert_refused(error: &CommunicatorError, says: &str) {
    assert_eq!(error.kind(), FailureKind::Authentication, "{error}");
    assert!(error.to_string().contains(says), "{error}");
}

#[tokio::test]
async fn logs_in_with_keys_of_every_type_and_format() {
    let Some(sshd) = Sshd::start("") else { return };
    for kind in ["rsa-2048", "ecdsa-256", "ecdsa-384", "ecdsa-521", "ed25519"] {
        sshd.new_key(kind, kind, "");
        let mut texts = vec![sshd.read(kind)];
        if kind != "ed25519" {
            for form in ["PEM", "PKCS8"] {
                let name = format!("{kind}.{form}");
                std::fs::copy(sshd.path(kind), sshd.path(&name)).unwrap();
                keygen(&["-p", "-N", "", "-P", "", "-m", form, "-f", &name], sshd.directory.path());
                texts.push(sshd.read(&name));
            }
        }
        for text in texts {
            let indented = text.lines().map(|line| format!("    {line}\r\n")).collect::<Vec<_>>().concat();
            for text in [text, indented] {
                let mut values = plain(&sshd);
                values.push(("private_key", text.clone()));
                // The startup files of the shell on this machine may write output first.
                let done = run(&connection(&values), "echo in").await;
                let said = done.map(|done| done.text()).map_err(|error| format!("{kind}: {error}\n{text}"));
                assert!(said.as_ref().is_ok_and(|said| said.ends_with("in\n")), "{said:?}");
            }
        }
    }
}

#[tokio::test]
async fn logs_in_with_certificates() {
    for kind in ["ed25519", "rsa-2048", "ecdsa-256"] {
        let Some(sshd) = Sshd::start("") else { return };
        generate(&sshd.path("authority"), kind, "");
        generate(&sshd.path("mine"), kind, "");
        keygen(&["-q", "-s", "authority", "-I", "us", "-n", "root", "mine.pub"], sshd.directory.path());
        std::fs::write(sshd.path("authorized"), format!("cert-authority {}", sshd.read("authority.pub")))
            .unwrap();
        let mut values = plain(&sshd);
        values.push(("private_key", sshd.read("mine")));
        values.push(("timeout", "1s".into()));
        let refused = run(&connection(&values), "true").await.unwrap_err();
        assert_refused(&refused, "tried the private key");
        values.push(("certificate", sshd.read("mine-cert.pub")));
        assert_eq!(run(&connection(&values), "echo in").await.unwrap().text(), "in\n", "{kind}");
    }
}

#[tokio::test]
async fn logs_in_with_password() {
    let Some(sshd) = Sshd::with_password("PasswordAuthentication yes") else { return };
    let mut values = plain(&sshd);
    values.push(("password", PASSWORD.into()));
    assert_eq!(run(&connection(&values), "echo in").await.unwrap().text(), "in\n");
    values.push(("password", "wrong horse".into()));
    values.push(("timeout", "2s".into()));
    let error = run(&connection(&values), "true").await.unwrap_err();
    assert_refused(&error, "tried the password");
    assert!(!format!("{error} {error:?}").contains("wrong horse"));
}

#[tokio::test]
async fn logs_in_with_key_and_password() {
    let Some(sshd) =
        Sshd::with_password("PasswordAuthentication yes\nAuthenticationMethods publickey,password")
    else {
        return;
    };
    let mut values = sshd.values();
    values.push(("timeout", "1s".into()));
    assert_refused(&run(&connection(&values), "true").await.unwrap_err(), "tried the private key");
    values.push(("password", PASSWORD.into()));
    assert_eq!(run(&connection(&values), "echo in").await.unwrap().text(), "in\n");
}

#[tokio::test]
async fn logs_in_with_keyboard_interactive() {
    let lines =
        "UsePAM yes\nPasswordAuthentication no\nKbdInteractiveAuthentication yes\nPubkeyAuthentication no";
    let Some(sshd) = Sshd::with_password(lines) else { return };
    let mut values = plain(&sshd);
    values.push(("password", PASSWORD.into()));
    let done = run(&connection(&values), "echo in").await;
    if done.is_err() && !sshd.log().contains("Accepted") && sshd.log().contains("PAM") {
        println!("skipped: this machine's PAM does not check passwords: {}", sshd.log());
        return;
    }
    assert_eq!(done.unwrap().text(), "in\n");
    assert!(sshd.log().contains("Accepted keyboard-interactive"), "{}", sshd.log());
}

struct Agent(Child, std::path::PathBuf);

impl Agent {
    fn start(sshd: &Sshd, keys: &[&str]) -> Self {
        let socket = sshd.path("agent");
        let _ = std::fs::remove_file(&socket);
        let child =
            Command::new("ssh-agent").arg("-D").arg("-a").arg(&socket).stdout(Stdio::null()).spawn().unwrap();
        let began = Instant::now();
        while !socket.exists() && began.elapsed() < Duration::from_secs(5) {
            std::thread::sleep(Duration::from_millis(10));
        }
        for key in keys {
            let adding =
                Command::new("ssh-add").arg(sshd.path(key)).env("SSH_AUTH_SOCK", &socket).output().unwrap();
            assert!(adding.status.success());
        }
        Self(child, socket)
    }

    fn connection(&self, values: &[(&str, String)]) -> RemoteConnection {
        let mut context = ConnectionContext::new(Arc::<Records>::default());
        context.agent = Some(self.1.clone());
        RemoteConnection::new(settings(values), context)
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn logs_in_with_agent() {
    let Some(sshd) = Sshd::start("MaxAuthTries 3\nLogLevel VERBOSE") else { return };
    sshd.new_key("rsa", "rsa-2048", "");
    let strangers = ["s1", "s2", "s3", "s4"];
    for stranger in strangers {
        generate(&sshd.path(stranger), "ed25519", "");
    }
    let values = plain(&sshd);
    for key in ["id", "rsa"] {
        let agent = Agent::start(&sshd, &["s1", key]);
        assert_eq!(run(&agent.connection(&values), "echo in").await.unwrap().text(), "in\n");
    }
    // The server closes the connection after too many rejected keys, so the accepted key must be
    // tried first.
    let agent = Agent::start(&sshd, &["s1", "s2", "s3", "s4", "rsa"]);
    let with = |more: &[(&'static str, &str)]| {
        let more = more.iter().map(|(name, value)| (*name, (*value).to_owned()));
        plain(&sshd).into_iter().chain(more).collect::<Vec<_>>()
    };
    let error = run(&agent.connection(&with(&[("timeout", "1s")])), "true").await.unwrap_err();
    assert_refused(&error, "closed the connection");
    for identity in [sshd.path("rsa").to_str().unwrap(), &sshd.read("rsa.pub")] {
        let values = with(&[("agent_identity", identity)]);
        assert_eq!(run(&agent.connection(&values), "echo in").await.unwrap().text(), "in\n");
    }
    let error =
        run(&agent.connection(&with(&[("agent", "false"), ("timeout", "1s")])), "true").await.unwrap_err();
    assert_refused(&error, "no credentials are available");
}

#[tokio::test]
async fn logs_in_with_agent_certificate() {
    let Some(sshd) = Sshd::start("") else { return };
    generate(&sshd.path("authority"), "ed25519", "");
    generate(&sshd.path("mine"), "rsa-2048", "");
    keygen(&["-q", "-s", "authority", "-I", "us", "-n", "root", "mine.pub"], sshd.directory.path());
    std::fs::write(sshd.path("authorized"), format!("cert-authority {}", sshd.read("authority.pub")))
        .unwrap();
    let agent = Agent::start(&sshd, &["mine"]);
    assert_eq!(run(&agent.connection(&plain(&sshd)), "echo in").await.unwrap().text(), "in\n");
}

#[tokio::test]
async fn required_agent_must_exist() {
    let Some(sshd) = Sshd::start("") else { return };
    let mut values = plain(&sshd);
    values.push(("agent", "true".into()));
    values.push(("timeout", "1m".into()));
    let began = Instant::now();
    assert_refused(&run(&connection(&values), "true").await.unwrap_err(), "SSH_AUTH_SOCK is not set");
    let mut context = ConnectionContext::new(Arc::<Records>::default());
    context.agent = Some("/srv/no/such/socket".into());
    let error = run(&RemoteConnection::new(settings(&values), context), "true").await.unwrap_err();
    assert_refused(&error, "/srv/no/such/socket");
    assert!(began.elapsed() < Duration::from_secs(15), "waiting would not help");
}

#[tokio::test]
async fn retries_until_the_user_exists() {
    let Some(sshd) = Sshd::start("") else { return };
    std::fs::write(sshd.path("authorized"), "").unwrap();
    let records = Arc::<Records>::default();
    let mut values = sshd.values();
    values.push(("timeout", "20s".into()));
    let connection = recorded(&values, &records);
    let later = async {
        tokio::time::sleep(Duration::from_millis(1200)).await;
        std::fs::copy(sshd.path("id.pub"), sshd.path("authorized")).unwrap();
    };
    let (done, ()) = tokio::join!(run(&connection, "echo in"), later);
    assert_eq!(done.unwrap().text(), "in\n");
    assert!(*records.attempts.lock().unwrap() >= 2);
}

#[tokio::test]
async fn timeout_reports_rejected_key() {
    let Some(sshd) = Sshd::start("") else { return };
    generate(&sshd.path("other"), "ed25519", "");
    let mut values = sshd.values();
    values.push(("private_key", sshd.read("other")));
    values.push(("timeout", "2s".into()));
    let error = run(&connection(&values), "true").await.unwrap_err();
    assert_refused(&error, "did not accept the user \"root\": tried the private key");
    assert!(error.to_string().contains("within 2 s"), "{error}");
}
