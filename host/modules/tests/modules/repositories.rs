//! Repositories and archives for tests.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs a program, and returns its output.
#[track_caller]
pub(crate) fn run(program: &str, directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(directory)
        .env("HOME", directory)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_AUTHOR_NAME", "a")
        .env("GIT_AUTHOR_EMAIL", "a@a.example")
        .env("GIT_COMMITTER_NAME", "a")
        .env("GIT_COMMITTER_EMAIL", "a@a.example")
        .env("HGUSER", "a")
        .env("HGPLAIN", "1")
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Returns whether a program is installed. If it is missing, prints the reason why a test is skipped.
pub(crate) fn has_program(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_found = std::env::split_paths(&path).any(|directory| directory.join(program).is_file());
    if !is_found {
        println!("skipped: {program} is not installed");
    }
    is_found
}

/// A Git repository with a working tree.
pub(crate) struct Repository {
    pub(crate) path: PathBuf,
}

impl Repository {
    pub(crate) fn new(path: &Path) -> Self {
        fs::create_dir_all(path).unwrap();
        run("git", path, &["init", "--quiet", "--initial-branch=main", "."]);
        Self { path: path.to_owned() }
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        run("git", &self.path, arguments)
    }

    pub(crate) fn write(&self, name: &str, content: &str) {
        write_file(&self.path.join(name), content);
    }

    /// Commits all files. Returns the ID of the commit.
    pub(crate) fn commit(&self) -> String {
        self.git(&["add", "--all", "--force"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message=m"]);
        self.git(&["rev-parse", "HEAD"])
    }
}

pub(crate) fn write_file(path: &Path, content: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

/// Returns a zip archive with files that are stored without compression.
pub(crate) fn zip(files: &[(&str, &str)]) -> Vec<u8> {
    let mut archive = Vec::new();
    let mut directory = Vec::new();
    for (name, content) in files {
        let offset = u32::try_from(archive.len()).unwrap();
        let size = u32::try_from(content.len()).unwrap().to_le_bytes();
        let length = u16::try_from(name.len()).unwrap().to_le_bytes();
        let checksum = crc32(content.as_bytes()).to_le_bytes();
        let common =
            [&[20, 0, 0, 0, 0, 0, 0, 0, 0x21, 0][..], &checksum, &size, &size, &length, &[0, 0]].concat();
        archive.write_all(b"PK\x03\x04").unwrap();
        archive.write_all(&common).unwrap();
        archive.write_all(name.as_bytes()).unwrap();
        archive.write_all(content.as_bytes()).unwrap();
        directory.extend_from_slice(b"PK\x01\x02\x14\x00");
        directory.extend_from_slice(&common);
        directory.extend_from_slice(&[0; 10]);
        directory.extend_from_slice(&offset.to_le_bytes());
        directory.extend_from_slice(name.as_bytes());
    }
    let offset = u32::try_from(archive.len()).unwrap().to_le_bytes();
    let size = u32::try_from(directory.len()).unwrap().to_le_bytes();
    let count = u16::try_from(files.len()).unwrap().to_le_bytes();
    archive.extend_from_slice(&directory);
    archive.extend_from_slice(b"PK\x05\x06\0\0\0\0");
    archive.extend_from_slice(&[&count[..], &count, &size, &offset, &[0, 0]].concat());
    archive
}

fn crc32(bytes: &[u8]) -> u32 {
    let mut checksum = u32::MAX;
    for byte in bytes {
        checksum ^= u32::from(*byte);
        for _ in 0..8 {
            checksum = (checksum >> 1) ^ (0xedb8_8320 & (checksum & 1).wrapping_neg());
        }
    }
    !checksum
}

/// Creates an archive of a directory with `tar`.
pub(crate) fn tar(directory: &Path, compression: &str) -> Vec<u8> {
    let output = Command::new("tar")
        .args(["--create", compression, "--directory"])
        .arg(directory)
        .arg(".")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}
