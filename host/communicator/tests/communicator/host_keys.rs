//! Verification of host keys and host certificates.

use std::time::{Duration, Instant};

use wardian_communicator::FailureKind;

use crate::sshd::{Sshd, connection, generate, keygen, run};

async fn outcome(sshd: &Sshd, host: &str, host_key: String) -> Result<String, String> {
    let mut values = sshd.values();
    values.push(("host", host.into()));
    values.push(("host_key", host_key));
    values.push(("timeout", "1m".into()));
    let began = Instant::now();
    let done = run(&connection(&values), "echo in").await;
    assert!(began.elapsed() < Duration::from_secs(30), "waiting does not change a key");
    match done {
        Ok(done) => Ok(done.text()),
        Err(error) => {
            assert_eq!(error.kind(), FailureKind::Authentication, "{error}");
            Err(error.to_string())
        }
    }
}

#[tokio::test]
async fn accepts_only_known_host_key() {
    let Some(sshd) = Sshd::start("") else { return };
    generate(&sshd.path("other"), "ed25519", "");
    assert_eq!(outcome(&sshd, "127.0.0.1", sshd.read("host.pub")).await, Ok("in\n".into()));
    let line = format!("[127.0.0.1]:22 {}", sshd.read("host.pub"));
    assert_eq!(outcome(&sshd, "127.0.0.1", line).await, Ok("in\n".into()));
    let error = outcome(&sshd, "127.0.0.1", sshd.read("other.pub")).await.unwrap_err();
    assert!(error.contains("host_key is ssh-ed25519 SHA256:"), "{error}");
    assert!(!sshd.log().contains("Failed publickey"), "nothing is proven to a stranger");
}

#[tokio::test]
async fn server_presents_host_key_of_the_expected_type() {
    let Some(sshd) = Sshd::start("") else { return };
    for kind in ["rsa-2048", "ecdsa-256"] {
        generate(&sshd.path(kind), kind, "");
    }
    let more =
        format!("HostKey {}\nHostKey {}", sshd.path("rsa-2048").display(), sshd.path("ecdsa-256").display());
    let Some(other) = Sshd::start(&more) else { return };
    std::fs::copy(sshd.path("authorized"), other.path("authorized")).unwrap();
    for key in [sshd.read("rsa-2048.pub"), sshd.read("ecdsa-256.pub"), other.read("host.pub")] {
        let mut values = sshd.values();
        values.push(("port", other.port.to_string()));
        values.push(("host_key", key));
        assert_eq!(run(&connection(&values), "echo in").await.unwrap().text(), "in\n");
    }
}

#[tokio::test]
async fn accepts_host_certificates_signed_by_trusted_authority() {
    for kind in ["ed25519", "rsa-2048"] {
        let keys = tempfile::tempdir().unwrap();
        let at = |name: &str| keys.path().join(name);
        for name in ["authority", "stranger", "machine"] {
            generate(&at(name), kind, "");
        }
        let sign = |name: &str, arguments: &[&str]| {
            std::fs::copy(at("machine"), at(name)).unwrap();
            std::fs::copy(at("machine.pub"), at(&format!("{name}.pub"))).unwrap();
            let name = format!("{name}.pub");
            let all = [&["-q", "-s", "authority", "-I", "m"], arguments, &[&name]].concat();
            keygen(&all, keys.path());
        };
        sign("good", &["-h", "-n", "127.0.0.1,machine.example"]);
        sign("elsewhere", &["-h", "-n", "other.example"]);
        sign("expired", &["-h", "-n", "127.0.0.1", "-V", "20200101:20200102"]);
        sign("user", &["-n", "127.0.0.1"]);
        let authority = std::fs::read_to_string(at("authority.pub")).unwrap();
        let stranger = std::fs::read_to_string(at("stranger.pub")).unwrap();
        let machine = std::fs::read_to_string(at("machine.pub")).unwrap();
        for (name, known, says) in [
            ("good", &authority, None),
            ("good", &machine, None),
            ("good", &stranger, Some("another authority")),
            ("elsewhere", &authority, Some("is for other.example and not for 127.0.0.1")),
            ("expired", &authority, Some("not currently valid")),
            ("user", &authority, Some("is not a host certificate")),
        ] {
            let lines = format!(
                "HostKey {}\nHostCertificate {}",
                at(name).display(),
                at(&format!("{name}-cert.pub")).display()
            );
            let Some(sshd) = Sshd::start(&lines) else { return };
            let outcome = outcome(&sshd, "127.0.0.1", known.clone()).await;
            match says {
                None => assert_eq!(outcome, Ok("in\n".into()), "{kind} {name}"),
                Some(says) => {
                    let error = outcome.unwrap_err();
                    // An sshd cannot present a certificate without a principal.
                    assert!(error.contains(says) || name == "user", "{kind} {name}: {error}");
                }
            }
        }
    }
}
