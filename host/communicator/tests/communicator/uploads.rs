//! Uploads of files and directories.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Instant;

use wardian_communicator::{FailureKind, RemoteConnection};

use crate::sshd::Sshd;

/// Starts two machines: one with scp, and one with only SFTP.
fn both() -> Vec<Sshd> {
    ["", "SetEnv PATH=/nonexistent"].into_iter().filter_map(Sshd::start).collect()
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

async fn refused(connection: &RemoteConnection, path: &str) -> String {
    let error = connection.upload(path, b"x".repeat(5000), None).await.unwrap_err();
    assert_eq!(error.kind(), FailureKind::Failed, "{error}");
    error.to_string()
}

#[tokio::test]
async fn upload_writes_content_and_mode() {
    for sshd in both() {
        let connection = sshd.connection();
        let there = sshd.path("it's a \"directory\" $HOME");
        std::fs::create_dir(&there).unwrap();
        for (name, content, wanted, expected) in [
            ("plain", b"hello".to_vec(), None, 0o644),
            ("empty", vec![], None, 0o644),
            ("-script", b"#!/bin/sh\n".to_vec(), Some(0o755), 0o755),
            ("secret", vec![0, 255, b'\n'], Some(0o600), 0o600),
            ("large", vec![7; 300_000], None, 0o644),
        ] {
            let path = there.join(name);
            connection.upload(&text(&path), content.clone(), wanted).await.unwrap();
            assert_eq!((std::fs::read(&path).unwrap(), mode(&path)), (content, expected), "{name}");
        }
        // An existing file keeps its mode and its content is replaced.
        let path = there.join("plain");
        set_mode(&path, 0o640);
        connection.upload(&text(&path), b"x".to_vec(), None).await.unwrap();
        assert_eq!((std::fs::read(&path).unwrap(), mode(&path)), (b"x".to_vec(), 0o640));
        // The path is relative to the login directory, which is not the test's directory.
        let name = format!("wardian-test-{}", sshd.port);
        connection.upload(&name, b"home".to_vec(), None).await.unwrap();
        let home = Path::new("/root").join(&name);
        assert_eq!(std::fs::read(&home).unwrap(), b"home");
        std::fs::remove_file(home).unwrap();
        assert_eq!(sshd.log().matches("Accepted publickey").count(), 1);
    }
}

#[tokio::test]
async fn failed_upload_reports_reason() {
    for sshd in both() {
        let connection = sshd.connection();
        let missing = text(&sshd.path("no/such/directory/file"));
        let said = refused(&connection, &missing).await.to_lowercase();
        assert!(
            (said.contains("no such") || said.contains("does not exist"))
                && said.contains(&missing.to_lowercase()),
            "{said}"
        );
        let said = refused(&connection, "/dev/full").await;
        assert!(said.contains("No space left") || said.contains("Failure"), "{said}");
        let said = refused(&connection, &text(sshd.directory.path())).await;
        assert!(said.contains("directory") || said.contains("Failure"), "{said}");
        assert!(refused(&connection, "/").await.contains("is not a file path"));
        // The connection remains usable.
        connection.upload(&text(&sshd.path("new")), b"x".to_vec(), None).await.unwrap();
        assert_eq!(sshd.log().matches("Accepted publickey").count(), 1);
    }
}

#[tokio::test]
async fn uploads_directory_with_or_without_name() {
    for sshd in both() {
        let connection = sshd.connection();
        let source = sshd.path("source");
        std::fs::create_dir_all(source.join("sub/deep")).unwrap();
        std::fs::create_dir(source.join("empty")).unwrap();
        std::fs::write(source.join("a"), "a").unwrap();
        std::fs::write(source.join("nothing"), "").unwrap();
        std::fs::write(source.join("sub/deep/b"), vec![1; 200_000]).unwrap();
        set_mode(&source.join("a"), 0o600);
        set_mode(&source.join("sub"), 0o700);
        std::os::unix::fs::symlink("a", source.join("link")).unwrap();
        std::os::unix::fs::symlink("sub", source.join("sublink")).unwrap();
        for (from, root) in [(text(&source), "with/source"), (text(&source) + "/", "without")] {
            let destination = sshd.path(root.split('/').next().unwrap());
            std::fs::create_dir(&destination).unwrap();
            connection.upload_path(&from, &text(&destination)).await.unwrap();
            let root = sshd.path(root);
            let mut names: Vec<_> = root
                .read_dir()
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            assert_eq!(names, ["a", "empty", "link", "nothing", "sub", "sublink"]);
            assert_eq!(std::fs::read(root.join("link")).unwrap(), b"a");
            assert_eq!(std::fs::read(root.join("nothing")).unwrap(), b"");
            for deep in ["sub/deep/b", "sublink/deep/b"] {
                assert_eq!(std::fs::read(root.join(deep)).unwrap(), vec![1; 200_000]);
            }
            assert_eq!((mode(&root.join("a")), mode(&root.join("sub"))), (0o644, 0o755));
        }
        // A single file is written to exactly this path.
        let path = sshd.path("renamed");
        connection.upload_path(&text(&source.join("a")), &text(&path)).await.unwrap();
        assert_eq!((std::fs::read(&path).unwrap(), mode(&path)), (b"a".to_vec(), 0o644));
    }
}

#[tokio::test]
async fn unreadable_source_is_an_error() {
    for sshd in both() {
        let connection = sshd.connection();
        let destination = text(sshd.directory.path());
        let error = connection.upload_path("/srv/no/such/file", &destination).await.unwrap_err();
        assert_eq!(error.kind(), FailureKind::NotFound);
        assert!(sshd.log().matches("Accepted").count() == 0, "nothing is connected to for that");
        let error = connection.upload_path("/dev/null", &destination).await.unwrap_err();
        assert!(error.to_string().contains("neither a file nor a directory"), "{error}");

        let source = sshd.path("looping");
        std::fs::create_dir(&source).unwrap();
        std::os::unix::fs::symlink(".", source.join("self")).unwrap();
        let error = connection.upload_path(&text(&source), &destination).await.unwrap_err();
        assert!(error.to_string().contains("forms a cycle"), "{error}");

        let source = sshd.path("dangling");
        std::fs::create_dir(&source).unwrap();
        std::os::unix::fs::symlink("/srv/absent", source.join("link")).unwrap();
        let error = connection.upload_path(&text(&source), &destination).await.unwrap_err();
        assert!(error.to_string().contains("dangling/link"), "{error}");
        connection.upload(&text(&sshd.path("new")), b"x".to_vec(), None).await.unwrap();
    }
}

/// In this test, sshd records the requested commands and runs them in a directory that represents
/// the root of all drives.
#[tokio::test]
async fn windows_target_uses_windows_paths() {
    let drives = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(drives.path().join("C:/windows/temp")).unwrap();
    let log = drives.path().join("log");
    let script = drives.path().join("force");
    let text = format!(
        "#!/bin/sh\ncd {}\ntest -t 1 && echo terminal >> log\n\
         printf '%s\\n' \"$SSH_ORIGINAL_COMMAND\" >> log\nexec sh -c \"$SSH_ORIGINAL_COMMAND\"\n",
        drives.path().display()
    );
    std::fs::write(&script, text).unwrap();
    set_mode(&script, 0o755);
    set_mode(drives.path(), 0o755);
    let Some(sshd) = Sshd::start(&format!("ForceCommand {}", script.display())) else { return };
    let mut values = sshd.values();
    values.push(("target_platform", "windows".into()));
    let connection = crate::sshd::connection(&values);
    let path = connection.script_path();
    let number = path.strip_prefix("C:/windows/temp/terraform_").and_then(|rest| rest.strip_suffix(".cmd"));
    assert!(number.is_some_and(|number| number.parse::<u32>().is_ok()), "{path}");
    connection.upload(&path, b"dir".to_vec(), None).await.unwrap();
    assert_eq!(std::fs::read(drives.path().join(&path)).unwrap(), b"dir");
    assert_eq!(crate::sshd::run(&connection, "echo on").await.unwrap().text(), "on\n");
    let asked = std::fs::read_to_string(log).unwrap();
    assert_eq!(asked, "scp -dt -- \"C:/windows/temp\"\necho on\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn uploads_a_hundred_megabytes() {
    for (way, sshd) in ["scp", "sftp"].into_iter().zip(both()) {
        let connection = sshd.connection();
        connection.upload(&text(&sshd.path("warm")), vec![], None).await.unwrap();
        let (source, destination) = (sshd.path("large"), sshd.path("copied"));
        let content: Vec<u8> =
            (0..100_u32 << 20).map(|byte| byte.wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect();
        std::fs::write(&source, &content).unwrap();
        let began = Instant::now();
        connection.upload_path(&text(&source), &text(&destination)).await.unwrap();
        let ours = began.elapsed();
        assert!(std::fs::read(&destination).unwrap() == content);
        let began = Instant::now();
        let theirs = std::process::Command::new("scp")
            .args(["-q", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-O"])
            .args(["-i", &text(&sshd.path("id")), "-P", &sshd.port.to_string()])
            .arg(&source)
            .arg(format!("root@127.0.0.1:{}", text(&sshd.path("theirs"))))
            .status();
        println!("100 MB by {way}: {ours:?}; the program scp: {:?} ({theirs:?})", began.elapsed());
    }
}
