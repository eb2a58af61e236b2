//! Documents that `vectors/vectors.py` has computed, and documents that it decrypts.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use wardian_state::{StateEncryption as _, StateIdentity};

use super::{STATE, decrypted, encryption, host, state_encryption};

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/vectors.py")
}

#[tokio::test]
async fn recorded_documents_are_decrypted() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("../vectors/vectors.json")).unwrap();
    assert!(!cases.is_empty());
    for case in &cases {
        let text = |name: &str| case[name].as_str().unwrap();
        let encryption = encryption(text("configuration"), host());
        let target = if text("target") == "plan" { encryption.plan() } else { encryption.state() };
        let target = target.unwrap().unwrap();
        let found = decrypted(&target, text("document")).await;
        assert_eq!(found, Ok((text("content").to_owned(), false)), "{}", text("name"));
    }
}

#[tokio::test]
async fn written_documents_are_decrypted_by_another_program() {
    let passphrase = "correct-horse-battery-staple";
    for arguments in ["", "hash_function = \"sha256\"\niterations = 200000\nkey_length = 24\nsalt_length = 9"]
    {
        let configuration = format!(
            "key_provider \"pbkdf2\" \"p\" {{\npassphrase = \"{passphrase}\"\n{arguments}\n}}
             method \"aes_gcm\" \"m\" {{\nkeys = key_provider.pbkdf2.p\n}}
             state {{\nmethod = method.aes_gcm.m\n}}"
        );
        let target = state_encryption(&configuration, host());
        let identity = StateIdentity { lineage: "l", serial: 3 };
        let document = target.encrypt(STATE.as_bytes(), Some(identity)).await.unwrap();
        let can_run = Command::new("python3").args(["-c", "import cryptography"]).output();
        if !can_run.is_ok_and(|output| output.status.success()) {
            eprintln!("skipped: python3 with the package \"cryptography\" is not installed");
            return;
        }
        let mut child = Command::new("python3")
            .arg(script())
            .args(["open", passphrase])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(document.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        assert_eq!(String::from_utf8(output.stdout).unwrap(), STATE);
    }
}
