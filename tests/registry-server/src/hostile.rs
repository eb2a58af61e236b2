//! Archives that an installer must reject, in provider packages and module packages.

use serde::Deserialize;

use crate::tar_archive::{TarEntry, entries, gzip};
use crate::zip_archive::{ZipEntry, zip};

const LINK: u32 = 0o120_777;
const DEVICE: u32 = 0o020_644;
const PIPE: u32 = 0o010_644;

/// The fault of an archive. If a format cannot express a kind, the most similar kind is used.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum HostileArchive {
    /// A name that leads out of the directory.
    Slip,
    AbsoluteName,
    Backslash,
    /// A name with a null byte.
    NullByte,
    /// A link to a file outside of the directory.
    Link,
    /// A link to a directory outside of the target directory, and a file below the link.
    FileThroughLink,
    HardLink,
    Device,
    Pipe,
    /// Two entries of the same name.
    Duplicate,
    /// A directory and a file of the same name.
    FileIsDirectory,
    /// 600 MB of zeros in a zip file, 200 MB in a tar file.
    Bomb,
    /// 1,000 entries that share the data of one entry of 1 MB.
    Overlap,
    /// More entries than an installer accepts.
    TooMany,
    /// An entry that is larger than its headers state.
    WrongSize,
    Encrypted,
    /// A setuid executable.
    Setuid,
    TooDeep,
    LongName,
    /// The archive is truncated.
    CutOff,
    /// Not an archive.
    Garbage,
    /// No entry is an executable.
    NoExecutable,
    Empty,
}

impl HostileArchive {
    /// All kinds, for tests that try each of them.
    pub const ALL: [Self; 23] = [
        Self::Slip,
        Self::AbsoluteName,
        Self::Backslash,
        Self::NullByte,
        Self::Link,
        Self::FileThroughLink,
        Self::HardLink,
        Self::Device,
        Self::Pipe,
        Self::Duplicate,
        Self::FileIsDirectory,
        Self::Bomb,
        Self::Overlap,
        Self::TooMany,
        Self::WrongSize,
        Self::Encrypted,
        Self::Setuid,
        Self::TooDeep,
        Self::LongName,
        Self::CutOff,
        Self::Garbage,
        Self::NoExecutable,
        Self::Empty,
    ];

    /// Returns the name of the kind.
    pub fn name(self) -> &'static str {
        self.texts().0
    }

    /// Returns a description of the fault.
    pub fn title(self) -> &'static str {
        self.texts().1
    }

    fn texts(self) -> (&'static str, &'static str) {
        match self {
            Self::Slip => ("slip", "a name that leads out of the directory"),
            Self::AbsoluteName => ("absolute-name", "an absolute name"),
            Self::Backslash => ("backslash", "a name with backslashes"),
            Self::NullByte => ("null-byte", "a name with a null byte"),
            Self::Link => ("link", "a link to a file outside"),
            Self::FileThroughLink => ("file-through-link", "a file below a link"),
            Self::HardLink => ("hard-link", "a hard link to a file outside"),
            Self::Device => ("device", "a device"),
            Self::Pipe => ("pipe", "a pipe"),
            Self::Duplicate => ("duplicate", "two files of one name"),
            Self::FileIsDirectory => ("file-is-directory", "a name that is a file and a directory"),
            Self::Bomb => ("bomb", "600 MB of zeros in 600 kB"),
            Self::Overlap => ("overlap", "1,000 files that share their data"),
            Self::TooMany => ("too-many", "more files than the limit"),
            Self::WrongSize => ("wrong-size", "a file that is larger than stated"),
            Self::Encrypted => ("encrypted", "an encrypted file"),
            Self::Setuid => ("setuid", "a setuid executable"),
            Self::TooDeep => ("too-deep", "500 nested directories"),
            Self::LongName => ("long-name", "a name of 2,000 bytes"),
            Self::CutOff => ("cut-off", "an archive that ends in the middle"),
            Self::Garbage => ("garbage", "an HTML page"),
            Self::NoExecutable => ("no-executable", "no executable"),
            Self::Empty => ("empty", "no files"),
        }
    }
}

/// Returns an archive with this fault, in the format that the file extension selects. The archive
/// also contains a file that would be used without the fault.
pub(crate) fn archive(kind: HostileArchive, extension: &str, file: &str) -> Vec<u8> {
    match extension {
        "zip" => zipped(kind, file),
        "tar" => tarred(kind, file),
        "tar.gz" | "tgz" => gzip(&tarred(kind, file)),
        other => panic!("there are no hostile archives of the format {other}"),
    }
}

fn zipped(kind: HostileArchive, file: &str) -> Vec<u8> {
    let entry = |name: &str, content: &[u8]| ZipEntry::new(name, content, 0o644);
    let with_mode = |name: &str, content: &str, mode| ZipEntry { mode, ..entry(name, content.as_bytes()) };
    // A comment for the shell and for Terraform.
    let good = ZipEntry::new(file, "#!/bin/sh\n", 0o755);
    let mut all = vec![good.clone()];
    match kind {
        HostileArchive::Slip => all.push(entry("../../../escaped", b"escaped")),
        HostileArchive::AbsoluteName => all.push(entry("/tmp/escaped-absolute", b"escaped")),
        HostileArchive::Backslash => all.push(entry("..\\..\\escaped", b"escaped")),
        HostileArchive::NullByte => all.push(entry("a\0b", b"odd")),
        HostileArchive::Link | HostileArchive::HardLink => {
            all.push(with_mode("link", "../../../../../../../../etc/passwd", LINK));
        }
        HostileArchive::FileThroughLink => {
            all.push(with_mode("link", "../../..", LINK));
            all.push(entry("link/escaped", b"escaped"));
        }
        HostileArchive::Device => all.push(with_mode("device", "", DEVICE)),
        HostileArchive::Pipe => all.push(with_mode("pipe", "", PIPE)),
        HostileArchive::Duplicate => all.push(ZipEntry::new(file, "#!/bin/sh\necho second\n", 0o755)),
        HostileArchive::FileIsDirectory => all.extend([entry("a", b"file"), entry("a/b", b"below")]),
        HostileArchive::Bomb => {
            all.push(ZipEntry { is_compressed: true, ..entry("zeros", &vec![0; 600_000_000]) });
        }
        HostileArchive::Overlap => {
            all.push(entry("data", &vec![0; 1_000_000]));
            for number in 0..1000 {
                let data = entry(&format!("copy-{number}"), &vec![0; 1_000_000]);
                all.push(ZipEntry { data_of: Some(1), ..data });
            }
        }
        HostileArchive::TooMany => {
            all.extend((0..60_000).map(|number| entry(&format!("many/{number}"), b"")));
        }
        HostileArchive::WrongSize => {
            let large = vec![b'x'; 1_000_000];
            all.push(ZipEntry { stated_size: Some(10), is_compressed: true, ..entry("large", &large) });
        }
        HostileArchive::Encrypted => all.push(ZipEntry { is_encrypted: true, ..entry("secret", b"secret") }),
        HostileArchive::Setuid => all[0].mode |= 0o4000,
        HostileArchive::TooDeep => all.push(entry(&format!("{}end", "d/".repeat(500)), b"deep")),
        HostileArchive::LongName => all.push(entry(&"n".repeat(2000), b"long")),
        HostileArchive::CutOff => {
            let mut bytes = zip(&all);
            bytes.truncate(bytes.len() / 2);
            return bytes;
        }
        HostileArchive::Garbage => return b"<html><body>Sign in</body></html>".to_vec(),
        HostileArchive::NoExecutable => all = vec![entry("README.md", b"nothing")],
        HostileArchive::Empty => all = Vec::new(),
    }
    zip(&all)
}

fn tarred(kind: HostileArchive, file: &str) -> Vec<u8> {
    let content = b"#!/bin/sh\n";
    let good = || TarEntry { mode: 0o755, ..TarEntry::file(file, content) };
    let all = |more: Vec<TarEntry<'_>>| entries(std::iter::once(good()).chain(more));
    match kind {
        HostileArchive::Slip | HostileArchive::Backslash => {
            all(vec![TarEntry::file("../../../escaped", b"escaped")])
        }
        HostileArchive::AbsoluteName => all(vec![TarEntry::file("/tmp/escaped-absolute", b"escaped")]),
        HostileArchive::NullByte | HostileArchive::Garbage => b"<html><body>Sign in</body></html>".repeat(40),
        HostileArchive::Link => all(vec![TarEntry::special("link", b'2', "../../../../../../../etc/passwd")]),
        HostileArchive::FileThroughLink => {
            all(vec![TarEntry::special("link", b'2', "../../.."), TarEntry::file("link/escaped", b"escaped")])
        }
        HostileArchive::HardLink => all(vec![TarEntry::special("link", b'1', "/etc/passwd")]),
        HostileArchive::Device => all(vec![TarEntry::special("device", b'3', "")]),
        HostileArchive::Pipe => all(vec![TarEntry::special("pipe", b'6', "")]),
        HostileArchive::Duplicate => all(vec![TarEntry::file(file, b"second")]),
        HostileArchive::FileIsDirectory => {
            all(vec![TarEntry::file("a", b"file"), TarEntry::file("a/b", b"below")])
        }
        HostileArchive::Bomb | HostileArchive::Overlap | HostileArchive::WrongSize => {
            all(vec![TarEntry::file("zeros", &vec![0; 200_000_000])])
        }
        HostileArchive::TooMany => {
            let names: Vec<String> = (0..120_000).map(|number| format!("many/{number}")).collect();
            all(names.iter().map(|name| TarEntry::file(name, b"")).collect())
        }
        HostileArchive::Encrypted | HostileArchive::CutOff => {
            let mut bytes = all(vec![TarEntry::file("large", &[b'x'; 4000])]);
            bytes.truncate(2000);
            bytes
        }
        HostileArchive::Setuid => entries([TarEntry { mode: 0o4755, ..good() }]),
        HostileArchive::TooDeep | HostileArchive::LongName => {
            all(vec![TarEntry::file(&format!("{}end", "d/".repeat(48)), b"deep")])
        }
        HostileArchive::NoExecutable => entries([TarEntry::file("README.md", b"nothing")]),
        HostileArchive::Empty => entries([]),
    }
}
