//! A disk that is too small for a download.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

use wardian_digest::Sha256Digest;
use wardian_download::{FetchError, Target};

use crate::server::{Reply, Server, downloader, within_limit};

/// The variable that contains the directory on the small disk, in the process that uses it.
const DIRECTORY_VARIABLE: &str = "WARDIAN_TEST_SMALL_DISK";

/// Mounts a small disk, which is visible only to this process, and runs this test there.
const SCRIPT: &str = "mount -t tmpfs -o size=1m none \"$WARDIAN_TEST_SMALL_DISK\" || exit 77\n\
    exec \"$0\" --exact full_disk::full_disk_is_an_error --nocapture";

/// The exit code of a test process with a failed test.
const TEST_FAILED: i32 = 101;

#[test]
fn full_disk_is_an_error() {
    if let Some(directory) = std::env::var_os(DIRECTORY_VARIABLE) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        return runtime.block_on(within_limit(download_too_much(Path::new(&directory))));
    }
    let directory = tempfile::tempdir().unwrap();
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", SCRIPT])
        .arg(std::env::current_exe().unwrap())
        .env(DIRECTORY_VARIABLE, directory.path())
        .output();
    match output {
        Err(error) => println!("skipped: cannot start unshare: {error}"),
        Ok(output) if output.status.success() => {}
        Ok(output) if output.status.code() == Some(TEST_FAILED) => {
            panic!("{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
        }
        Ok(output) => {
            println!(
                "skipped: cannot mount a small disk: {}",
                String::from_utf8_lossy(&output.stderr).trim()
            );
        }
    }
}

async fn download_too_much(directory: &Path) {
    let content = vec![7; 4 << 20];
    let expected = Some(Sha256Digest::hash(&content));
    let server = Server::start(move |_| Reply::new(200, "etag: \"1\"\r\n", &content)).await;
    let path = directory.join("package.zip");
    for expected in [None, expected] {
        let target = Target { path: &path, expected, max_bytes: 8 << 20, size: None, label: "package" };
        let error = downloader().download(server.get("/"), target).await.unwrap_err();
        let FetchError::Write { source, .. } = &error else { panic!("{error}") };
        assert_eq!(source.kind(), ErrorKind::StorageFull, "{error}");
        assert!(error.to_string().contains("free some space"), "{error}");
        assert_eq!(fs::read_dir(directory).unwrap().count(), 0, "nothing remains");
    }
    println!("the disk was full");
}
