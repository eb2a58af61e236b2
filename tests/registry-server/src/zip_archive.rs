//! Writes zip files, including invalid ones: names, modes and sizes are written without checks.
//!
//! The bytes depend only on the entries, so the hashes of packages are the same in every run.

use std::io::{Cursor, Seek, SeekFrom, Write};

use flate2::Compression;
use flate2::write::DeflateEncoder;

/// The date 1980-01-01 in the format of MS-DOS.
const DATE: u16 = 0x21;
pub(crate) const REGULAR: u32 = 0o100_000;

/// An entry of a zip file.
#[derive(Clone, Debug)]
pub struct ZipEntry {
    pub name: Vec<u8>,
    pub content: Vec<u8>,
    /// The type and permissions of the file, as in Unix.
    pub mode: u32,
    pub is_compressed: bool,
    /// The size in the headers; `None` for the real size.
    pub stated_size: Option<u32>,
    /// The number of another entry. The central directory refers to its data instead of this
    /// entry's data.
    pub data_of: Option<usize>,
    pub is_encrypted: bool,
}

impl ZipEntry {
    /// Creates an entry that is stored without compression.
    pub fn new(name: &str, content: impl Into<Vec<u8>>, permissions: u32) -> Self {
        Self {
            name: name.as_bytes().to_vec(),
            content: content.into(),
            mode: REGULAR | permissions,
            is_compressed: false,
            stated_size: None,
            data_of: None,
            is_encrypted: false,
        }
    }
}

/// Returns a zip file of entries.
pub fn zip(entries: &[ZipEntry]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for entry in entries {
        writer.add(entry);
    }
    writer.finish().into_inner()
}

struct Listed {
    name: Vec<u8>,
    flags: u16,
    method: u16,
    checksum: u32,
    packed: u32,
    size: u32,
    mode: u32,
    offset: u32,
}

/// Writes entries one after the other.
pub(crate) struct ZipWriter<W: Write + Seek> {
    out: W,
    listed: Vec<Listed>,
}

impl<W: Write + Seek> ZipWriter<W> {
    pub(crate) fn new(out: W) -> Self {
        Self { out, listed: Vec::new() }
    }

    pub(crate) fn add(&mut self, entry: &ZipEntry) {
        let checksum = crc32fast::hash(&entry.content);
        let packed = if entry.is_compressed {
            let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
            encoder.write_all(&entry.content).unwrap();
            encoder.finish().unwrap()
        } else {
            entry.content.clone()
        };
        let size = entry.stated_size.unwrap_or_else(|| u32::try_from(entry.content.len()).unwrap());
        let offset = match entry.data_of {
            Some(other) => self.listed[other].offset,
            None => u32::try_from(self.out.stream_position().unwrap()).unwrap(),
        };
        let listed = Listed {
            name: entry.name.clone(),
            // The name is UTF-8.
            flags: if entry.is_encrypted { 0x801 } else { 0x800 },
            method: if entry.is_compressed { 8 } else { 0 },
            checksum,
            packed: u32::try_from(packed.len()).unwrap(),
            size,
            mode: entry.mode,
            offset,
        };
        if entry.data_of.is_none() {
            self.out.write_all(&local_header(&listed)).unwrap();
            self.out.write_all(&packed).unwrap();
        }
        self.listed.push(listed);
    }

    /// Adds a stored entry whose content is produced in chunks.
    pub(crate) fn add_chunks(&mut self, name: &str, chunks: impl Iterator<Item = Vec<u8>>) {
        let offset = self.out.stream_position().unwrap();
        let mut listed = Listed {
            name: name.as_bytes().to_vec(),
            flags: 0x800,
            method: 0,
            checksum: 0,
            packed: 0,
            size: 0,
            mode: REGULAR | 0o644,
            offset: u32::try_from(offset).unwrap(),
        };
        self.out.write_all(&local_header(&listed)).unwrap();
        let mut checksum = crc32fast::Hasher::new();
        for chunk in chunks {
            checksum.update(&chunk);
            listed.size += u32::try_from(chunk.len()).unwrap();
            self.out.write_all(&chunk).unwrap();
        }
        listed.checksum = checksum.finalize();
        listed.packed = listed.size;
        let end = self.out.stream_position().unwrap();
        self.out.seek(SeekFrom::Start(offset)).unwrap();
        self.out.write_all(&local_header(&listed)).unwrap();
        self.out.seek(SeekFrom::Start(end)).unwrap();
        self.listed.push(listed);
    }

    pub(crate) fn finish(mut self) -> W {
        let start = u32::try_from(self.out.stream_position().unwrap()).unwrap();
        for listed in &self.listed {
            self.out.write_all(&central_header(listed)).unwrap();
        }
        let end = u32::try_from(self.out.stream_position().unwrap()).unwrap();
        let count = u16::try_from(self.listed.len()).unwrap();
        let mut trailer = b"PK\x05\x06\0\0\0\0".to_vec();
        trailer.extend(count.to_le_bytes());
        trailer.extend(count.to_le_bytes());
        trailer.extend((end - start).to_le_bytes());
        trailer.extend(start.to_le_bytes());
        trailer.extend([0, 0]);
        self.out.write_all(&trailer).unwrap();
        self.out
    }
}

/// Returns the fields that the local and the central header have in common.
fn fields(listed: &Listed) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(20u16.to_le_bytes());
    bytes.extend(listed.flags.to_le_bytes());
    bytes.extend(listed.method.to_le_bytes());
    bytes.extend([0, 0]);
    bytes.extend(DATE.to_le_bytes());
    bytes.extend(listed.checksum.to_le_bytes());
    bytes.extend(listed.packed.to_le_bytes());
    bytes.extend(listed.size.to_le_bytes());
    bytes.extend(u16::try_from(listed.name.len()).unwrap().to_le_bytes());
    bytes.extend([0, 0]);
    bytes
}

fn local_header(listed: &Listed) -> Vec<u8> {
    [b"PK\x03\x04", &fields(listed)[..], &listed.name].concat()
}

fn central_header(listed: &Listed) -> Vec<u8> {
    // The entry is declared as created on Unix, because readers then use its mode.
    let mut bytes = [b"PK\x01\x02\x14\x03", &fields(listed)[..]].concat();
    bytes.extend([0; 6]);
    bytes.extend((listed.mode << 16).to_le_bytes());
    bytes.extend(listed.offset.to_le_bytes());
    bytes.extend(&listed.name);
    bytes
}
