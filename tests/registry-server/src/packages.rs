//! Builds the packages of releases. The bytes of a package depend only on its description.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use sha2::{Digest as _, Sha256};

use crate::description::PackageContent;
use crate::hostile;
use crate::zip_archive::{ZipEntry, ZipWriter, zip};

const CHUNK: usize = 1 << 20;
/// The maximum size of content in memory. Larger content remains on disk.
const MAX_IN_MEMORY: u64 = 1 << 22;

/// Bytes that the server sends, with their digest.
#[derive(Clone, Debug)]
pub(crate) struct Blob {
    pub(crate) data: BlobData,
    /// SHA-256, in hexadecimal digits.
    pub(crate) sha256: String,
    pub(crate) size: u64,
}

#[derive(Clone, Debug)]
pub(crate) enum BlobData {
    Memory(Bytes),
    File(PathBuf),
}

impl Blob {
    pub(crate) fn new(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        Self {
            sha256: hex::encode(Sha256::digest(&bytes)),
            size: bytes.len() as u64,
            data: BlobData::Memory(bytes),
        }
    }

    pub(crate) fn from_file(path: &Path) -> Self {
        let opened = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let size = opened.metadata().unwrap().len();
        if size <= MAX_IN_MEMORY {
            return Self::new(std::fs::read(path).unwrap());
        }
        let mut reader = BufReader::with_capacity(CHUNK, opened);
        let mut digest = Sha256::new();
        let mut buffer = vec![0; CHUNK];
        loop {
            let read = reader.read(&mut buffer).unwrap();
            if read == 0 {
                break;
            }
            digest.update(&buffer[..read]);
        }
        Self { sha256: hex::encode(digest.finalize()), size, data: BlobData::File(path.to_owned()) }
    }

    pub(crate) fn bytes(&self) -> Bytes {
        match &self.data {
            BlobData::Memory(bytes) => bytes.clone(),
            BlobData::File(path) => std::fs::read(path).unwrap().into(),
        }
    }
}

/// Builds the native package of a release. Large packages are written to `directory`.
pub(crate) fn native(
    content: &PackageContent,
    provider: &str,
    version: &str,
    platform: Option<&str>,
    directory: &Path,
) -> Blob {
    let executable = format!("terraform-provider-{provider}_v{version}");
    let script = || {
        let platform = platform.map_or(String::new(), |platform| format!(" {platform}"));
        let text = format!("#!/bin/sh\n# {provider} {version}{platform}\nexit 1\n");
        ZipEntry::new(&executable, text, 0o755)
    };
    match content {
        PackageContent::Script => Blob::new(zip(&[script()])),
        PackageContent::Files(files) => {
            let entries: Vec<ZipEntry> = files
                .iter()
                .map(|(name, text)| {
                    let permissions = if name.starts_with("terraform-provider-") { 0o755 } else { 0o644 };
                    ZipEntry::new(name, text.as_str(), permissions)
                })
                .collect();
            Blob::new(zip(&entries))
        }
        PackageContent::Program { path, padding } => {
            let program = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            padded(ZipEntry::new(&executable, program, 0o755), *padding, platform, directory)
        }
        PackageContent::Padded(padding) => padded(script(), *padding, platform, directory),
        PackageContent::Hostile(kind) => Blob::new(hostile::archive(*kind, "zip", &executable)),
    }
}

/// Returns a zip file that contains a component in place of the executable.
pub(crate) fn component_zip(provider: &str, version: &str, component: &[u8]) -> Blob {
    let name = format!("terraform-provider-{provider}_v{version}.wasm");
    Blob::new(zip(&[ZipEntry::new(&name, component, 0o644)]))
}

fn padded(program: ZipEntry, padding: u64, platform: Option<&str>, directory: &Path) -> Blob {
    let name = hex::encode(Sha256::digest(
        [&program.name[..], &padding.to_le_bytes(), platform.unwrap_or_default().as_bytes()].concat(),
    ));
    let path = directory.join(format!("{name}.zip"));
    let file = File::options().read(true).write(true).create(true).truncate(true).open(&path).unwrap();
    let mut writer = ZipWriter::new(BufWriter::with_capacity(CHUNK, file));
    writer.add(&program);
    writer.add_chunks("padding", Noise::new(padding, program.name.len() as u64));
    let mut out = writer.finish();
    out.flush().unwrap();
    out.rewind().unwrap();
    Blob::from_file(&path)
}

/// Bytes that cannot be compressed, the same in every run.
struct Noise {
    rest: u64,
    state: u64,
}

impl Noise {
    fn new(bytes: u64, seed: u64) -> Self {
        Self { rest: bytes, state: seed | 1 }
    }
}

impl Iterator for Noise {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        if self.rest == 0 {
            return None;
        }
        let length = usize::try_from(self.rest).unwrap_or(CHUNK).min(CHUNK);
        self.rest -= length as u64;
        let mut chunk = Vec::with_capacity(length + 8);
        while chunk.len() < length {
            self.state ^= self.state << 13;
            self.state ^= self.state >> 7;
            self.state ^= self.state << 17;
            chunk.extend_from_slice(&self.state.to_le_bytes());
        }
        chunk.truncate(length);
        Some(chunk)
    }
}
