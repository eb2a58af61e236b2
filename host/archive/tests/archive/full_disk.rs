//! A disk that is too small for an archive.

#![cfg(unix)]

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

use wardian_archive::{ArchiveError, ArchiveFormat, ArchiveLimits, unpack};

use crate::builders::{TarEntry, ZipEntry, compress, tar, zip};

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
        return unpack_too_much(Path::new(&directory));
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

fn unpack_too_much(directory: &Path) {
    let content = vec![7; 4 << 20];
    let files = [TarEntry::file("one", "1"), TarEntry::file("sub/large", &content)];
    let archives = [
        (ArchiveFormat::TarGzip, compress(&tar(&files), ArchiveFormat::TarGzip)),
        (
            ArchiveFormat::Zip,
            zip(&[ZipEntry::stored("one", b"1"), ZipEntry::deflated("sub/large", &content)]),
        ),
    ];
    for (format, archive) in archives {
        let path = directory.join("archive");
        fs::write(&path, archive).unwrap();
        let target = directory.join("target");
        let result = unpack(&path, format, &target, &ArchiveLimits::for_module_package());
        let error = result.map(drop).unwrap_err();
        let ArchiveError::Write { source, .. } = &error.problem else { panic!("{error}") };
        assert_eq!(source.kind(), ErrorKind::StorageFull, "{error}");
        assert!(error.to_string().contains("free some space"), "{error}");
        assert!(!target.exists());
    }
    println!("the disk was full");
}
