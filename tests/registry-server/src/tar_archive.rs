//! Writes tar files in the format `ustar`, including invalid ones.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

/// An entry of a tar file.
pub(crate) struct TarEntry<'a> {
    pub(crate) name: &'a str,
    pub(crate) content: &'a [u8],
    pub(crate) mode: u32,
    /// The type: `0` for a regular file, `1` for a hard link, `2` for a symbolic link, `3` for a
    /// device, `5` for a directory.
    pub(crate) kind: u8,
    pub(crate) link: &'a str,
}

impl<'a> TarEntry<'a> {
    pub(crate) fn file(name: &'a str, content: &'a [u8]) -> Self {
        Self { name, content, mode: 0o644, kind: b'0', link: "" }
    }

    pub(crate) fn special(name: &'a str, kind: u8, link: &'a str) -> Self {
        Self { name, content: &[], mode: 0o644, kind, link }
    }
}

/// Returns a tar file of regular files.
pub fn tar<'a>(files: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Vec<u8> {
    entries(files.into_iter().map(|(name, content)| TarEntry::file(name, content)))
}

pub(crate) fn entries<'a>(entries: impl IntoIterator<Item = TarEntry<'a>>) -> Vec<u8> {
    let mut out = Vec::new();
    for entry in entries {
        out.extend(header(&entry));
        out.extend(entry.content);
        out.resize(out.len().next_multiple_of(512), 0);
    }
    out.resize(out.len() + 1024, 0);
    out
}

fn header(entry: &TarEntry<'_>) -> [u8; 512] {
    let mut header = [0; 512];
    let mut put = |at: usize, bytes: &[u8]| header[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, entry.name.as_bytes());
    put(100, format!("{:07o}\0", entry.mode).as_bytes());
    put(108, b"0000000\x000000000\0");
    put(124, format!("{:011o}\0", entry.content.len()).as_bytes());
    put(136, b"00000000000\0        ");
    put(156, &[entry.kind]);
    put(157, entry.link.as_bytes());
    put(257, b"ustar\x0000");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    header
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}
