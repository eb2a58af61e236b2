//! Keys and signatures that the installed GnuPG creates during the test.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test ends there")]

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use wardian_openpgp::{PublicKeys, SignatureError, verify_detached};

/// Runs gpg with a separate home directory. Returns the output, or `None` if gpg is not installed.
fn gpg(home: &Path, arguments: &[&str]) -> Option<Vec<u8>> {
    let mut command = Command::new("gpg");
    command.env("GNUPGHOME", home).current_dir(home);
    command.args(["--batch", "--no-tty", "--quiet", "--pinentry-mode", "loopback", "--passphrase", ""]);
    let mut child = command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    // The output fits into the pipe's buffer, so the program exits before the output is read.
    let started = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if started.elapsed() > Duration::from_mins(2) {
            let _ = child.kill();
            panic!("gpg {arguments:?} did not end in two minutes");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "gpg {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    Some(output.stdout)
}

#[test]
fn verifies_signatures_made_by_the_installed_gnupg() {
    let directory = tempfile::tempdir().unwrap();
    let home = directory.path();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(home, std::fs::Permissions::from_mode(0o700)).unwrap();
    }
    if gpg(home, &["--version"]).is_none() {
        eprintln!("skipped: gpg is not installed");
        return;
    }
    std::fs::write(home.join("document"), "a document\n").unwrap();
    for algorithm in ["rsa2048", "ed25519", "nistp256", "nistp384", "nistp521"] {
        gpg(home, &["--quick-generate-key", algorithm, algorithm, "sign", "1d"]);
        let selected = format!("={algorithm}");
        let signature =
            gpg(home, &["--local-user", &selected, "--output", "-", "--detach-sign", "document"]).unwrap();
        let armored = String::from_utf8(gpg(home, &["--armor", "--export", &selected]).unwrap()).unwrap();
        let keys = [PublicKeys::from_armored(&armored).unwrap()];
        let verified = verify_detached(&signature, b"a document\n", &keys)
            .unwrap_or_else(|error| panic!("{algorithm}: {error}"));
        let listed = gpg(home, &["--with-colons", "--list-keys", &selected]).unwrap();
        let listed = String::from_utf8_lossy(&listed).into_owned();
        assert!(listed.contains(&format!(":{}:", verified.fingerprint)), "{listed}");
        assert_eq!(verified.expired, None);
        assert!(matches!(
            verify_detached(&signature, b"another document\n", &keys),
            Err(SignatureError::Invalid { .. })
        ));
    }
    let _ = Command::new("gpgconf").env("GNUPGHOME", home).args(["--kill", "all"]).status();
}
