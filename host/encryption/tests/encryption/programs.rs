//! Key providers and methods that are programs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use tempfile::TempDir;
use wardian_state::StateEncryption as _;

use super::{STATE, decrypted, host_with, state_encryption};

/// A key provider in the language of the shell that stores the number of the key.
const KEYS: &str = r#"#!/bin/sh
echo '{"magic":"OpenTofu-External-Key-Provider","version":1}'
input="$(cat)"
echo "$input" >> inputs
case "$input" in
null) echo '{"keys":{"encryption_key":"AQIDBAUGBwgJCgsMDQ4PEA=="},"meta":{"external_data":{"b":1,"a":["x"]}}}' ;;
*) echo '{"keys":{"encryption_key":"AgIDBAUGBwgJCgsMDQ4PEA==","decryption_key":"AQIDBAUGBwgJCgsMDQ4PEA=="},"meta":{}}' ;;
esac
"#;

/// A method that reverses nothing but proves that the key and the payload arrive.
const METHOD: &str = r#"#!/bin/sh
echo '{"magic":"OpenTofu-External-Encryption-Method","version":1}'
input="$(cat)"
case "$input" in *'"key":"AQIDBAUGBwgJCgsMDQ4PEA=="'*) ;; *) echo "no key" >&2; exit 3 ;; esac
payload="${input#*\"payload\":\"}"
payload="${payload%%\"*}"
printf '{"payload":"%s"}' "$(printf %s "$payload" | base64 -d | tr 'A-Za-z' 'N-ZA-Mn-za-m' | base64 -w0)"
"#;

fn directory(files: &[(&str, &str)]) -> TempDir {
    let directory = TempDir::new().unwrap();
    for (name, text) in files {
        let path = directory.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    directory
}

fn with_provider(command: &str) -> String {
    format!(
        "key_provider \"external\" \"a\" {{\ncommand = [{command}]\n}}\nmethod \"aes_gcm\" \"a\" {{\nkeys = \
         key_provider.external.a\n}}\nstate {{\nmethod = method.aes_gcm.a\n}}"
    )
}

#[tokio::test]
async fn program_returns_keys() {
    let directory = directory(&[("keys", KEYS)]);
    let host = || host_with(&[], directory.path());
    let configuration = with_provider("\"./keys\"");
    let first = state_encryption(&configuration, host());
    let document = first.encrypt(STATE.as_bytes(), None).await.unwrap();
    let second = state_encryption(&configuration, host());
    assert_eq!(decrypted(&second, &document).await, Ok((STATE.to_owned(), false)));
    let inputs = fs::read_to_string(directory.path().join("inputs")).unwrap();
    assert_eq!(inputs, "null\n{\"external_data\":{\"a\":[\"x\"],\"b\":1}}\n");
}

#[tokio::test]
async fn key_of_program_can_be_a_passphrase() {
    let directory = directory(&[("keys", KEYS)]);
    let configuration = "key_provider \"external\" \"a\" {\ncommand = [\"./keys\"]\n}\nkey_provider \"pbkdf2\" \"b\" \
                         {\nchain = key_provider.external.a\niterations = 200000\n}\nmethod \"aes_gcm\" \"a\" {\nkeys = \
                         key_provider.pbkdf2.b\n}\nstate {\nmethod = method.aes_gcm.a\n}";
    let document = state_encryption(configuration, host_with(&[], directory.path()))
        .encrypt(STATE.as_bytes(), None)
        .await
        .unwrap();
    for name in ["key_provider.external.a", "key_provider.pbkdf2.b"] {
        assert!(document.contains(name), "{document}");
    }
    let again = state_encryption(configuration, host_with(&[], directory.path()));
    assert_eq!(decrypted(&again, &document).await, Ok((STATE.to_owned(), false)));
}

#[tokio::test]
async fn program_encrypts_and_decrypts() {
    let directory = directory(&[("keys", KEYS), ("method", METHOD)]);
    let configuration = "key_provider \"external\" \"a\" {\ncommand = [\"./keys\"]\n}\nmethod \"external\" \"a\" \
                         {\nencrypt_command = [\"./method\"]\ndecrypt_command = [\"./method\"]\nkeys = \
                         key_provider.external.a\n}\nstate {\nmethod = method.external.a\n}";
    let target = state_encryption(configuration, host_with(&[], directory.path()));
    let document = target.encrypt(b"a text", None).await.unwrap();
    assert!(document.contains("\"encrypted_data\":\"biBncmtn\""), "{document}");
    assert_eq!(decrypted(&target, &document).await, Ok(("a text".to_owned(), false)));
    // Much more than a pipe holds.
    let long = "abc ".repeat(100_000);
    let document = target.encrypt(long.as_bytes(), None).await.unwrap();
    assert_eq!(decrypted(&target, &document).await, Ok((long, false)));
}

#[tokio::test]
async fn failures_of_programs_are_reported() {
    let header = "echo '{\"magic\":\"OpenTofu-External-Key-Provider\",\"version\":1}'";
    for (script, expected) in [
        ("exit 0".to_owned(), "it wrote no header line"),
        ("echo hello".to_owned(), "its header is not valid"),
        ("echo '{\"magic\":\"x\",\"version\":1}'".to_owned(), "the \"magic\" in its header is not"),
        (header.replace(":1}", ":2}"), "version 2"),
        (header.to_owned(), "is not valid JSON"),
        (format!("{header}; echo '{{\"keys\":{{}}}}'"), "did not return \"encryption_key\""),
        (format!("{header}; echo '{{\"keys\":{{\"encryption_key\":\"?\"}}}}'"), "is not Base64"),
        (format!("{header}; echo '{{\"keys\":{{\"encryption_key\":\"AAAA\"}}}}'"), "but the key has 3"),
        (format!("{header}; echo '{{\"keys\":{{}},\"more\":1}}'"), "is not valid JSON"),
        (format!("{header}; echo broken >&2; exit 7"), "it ended with code 7 and wrote: broken"),
        (format!("{header}; head -c 2000000 /dev/zero"), "it wrote more than 1048576 bytes"),
    ] {
        let configuration = with_provider(&format!("\"sh\", \"-c\", {script:?}"));
        let target = state_encryption(&configuration, host_with(&[], Path::new("/")));
        let failure = target.prepare().await.unwrap_err();
        assert!(failure.message.contains(expected), "{script}: {failure}");
    }
    let target = state_encryption(&with_provider("\"./absent\""), host_with(&[], Path::new("/")));
    assert!(target.prepare().await.unwrap_err().message.contains("cannot be started"));
}
