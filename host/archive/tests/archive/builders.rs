//! Writes archives, including invalid ones.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder};
use lzma_rust2::{XzOptions, XzWriter};
use tar::{EntryType, Header};
use wardian_archive::ArchiveFormat;

pub fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

pub fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// An entry of a zip archive, with every value of its headers.
#[derive(Clone)]
pub struct ZipEntry {
    pub name: Vec<u8>,
    pub data: Vec<u8>,
    pub method: u16,
    pub flags: u16,
    pub crc: u32,
    pub size: u32,
    pub mode: u32,
    pub comment: Vec<u8>,
    /// The position of the local header, if it differs from the position of the entry.
    pub offset: Option<u32>,
}

impl ZipEntry {
    pub fn stored(name: &str, content: &[u8]) -> Self {
        Self {
            name: name.as_bytes().to_vec(),
            data: content.to_vec(),
            method: 0,
            flags: 0x800,
            crc: crc32(content),
            size: u32::try_from(content.len()).unwrap(),
            mode: 0o100_644,
            comment: Vec::new(),
            offset: None,
        }
    }

    pub fn deflated(name: &str, content: &[u8]) -> Self {
        Self { data: deflate(content), method: 8, ..Self::stored(name, content) }
    }

    pub fn with_mode(self, mode: u32) -> Self {
        Self { mode, ..self }
    }

    fn common(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(20_u16.to_le_bytes());
        bytes.extend(self.flags.to_le_bytes());
        bytes.extend(self.method.to_le_bytes());
        bytes.extend([0; 4]);
        bytes.extend(self.crc.to_le_bytes());
        bytes.extend(u32::try_from(self.data.len()).unwrap().to_le_bytes());
        bytes.extend(self.size.to_le_bytes());
        bytes.extend(u16::try_from(self.name.len()).unwrap().to_le_bytes());
        bytes.extend(0_u16.to_le_bytes());
        bytes
    }
}

pub fn zip(entries: &[ZipEntry]) -> Vec<u8> {
    zip_with_comment(entries, b"")
}

pub fn zip_with_comment(entries: &[ZipEntry], comment: &[u8]) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for entry in entries {
        let position = u32::try_from(bytes.len()).unwrap();
        bytes.extend(b"PK\x03\x04");
        bytes.extend(entry.common());
        bytes.extend(&entry.name);
        bytes.extend(&entry.data);
        directory.extend(b"PK\x01\x02");
        directory.extend([20, 3]);
        directory.extend(entry.common());
        directory.extend(u16::try_from(entry.comment.len()).unwrap().to_le_bytes());
        directory.extend([0; 4]);
        directory.extend((entry.mode << 16).to_le_bytes());
        directory.extend(entry.offset.unwrap_or(position).to_le_bytes());
        directory.extend(&entry.name);
        directory.extend(&entry.comment);
    }
    let start = u32::try_from(bytes.len()).unwrap();
    bytes.extend(&directory);
    bytes.extend(zip_end(u16::try_from(entries.len()).unwrap(), directory.len(), start, comment));
    bytes
}

/// Returns an end of central directory record.
pub fn zip_end(count: u16, size: usize, start: u32, comment: &[u8]) -> Vec<u8> {
    let mut bytes = b"PK\x05\x06\0\0\0\0".to_vec();
    bytes.extend(count.to_le_bytes());
    bytes.extend(count.to_le_bytes());
    bytes.extend(u32::try_from(size).unwrap().to_le_bytes());
    bytes.extend(start.to_le_bytes());
    bytes.extend(u16::try_from(comment.len()).unwrap().to_le_bytes());
    bytes.extend(comment);
    bytes
}

/// An entry of a tar archive. The size in its header can differ from the size of its data.
#[derive(Clone)]
pub struct TarEntry {
    pub name: Vec<u8>,
    pub entry_type: EntryType,
    pub link: Vec<u8>,
    pub mode: u32,
    pub size: u64,
    pub data: Vec<u8>,
}

impl TarEntry {
    pub fn new(name: impl AsRef<[u8]>, entry_type: EntryType, data: impl AsRef<[u8]>) -> Self {
        let data = data.as_ref().to_vec();
        let (name, link) = (name.as_ref().to_vec(), Vec::new());
        Self { name, entry_type, link, mode: 0o644, size: data.len() as u64, data }
    }

    pub fn file(name: impl AsRef<[u8]>, content: impl AsRef<[u8]>) -> Self {
        Self::new(name, EntryType::Regular, content)
    }

    pub fn link(name: &str, entry_type: EntryType, target: &str) -> Self {
        Self { link: target.as_bytes().to_vec(), ..Self::new(name, entry_type, "") }
    }

    /// Returns an extended header with one pax record.
    pub fn pax(key: &str, value: &str) -> Self {
        Self::new("pax", EntryType::XHeader, pax_record(key, value))
    }

    pub fn with_mode(self, mode: u32) -> Self {
        Self { mode, ..self }
    }
}

pub fn pax_record(key: &str, value: &str) -> Vec<u8> {
    let rest = format!(" {key}={value}\n");
    let mut length = rest.len();
    while length != rest.len() + length.to_string().len() {
        length = rest.len() + length.to_string().len();
    }
    format!("{length}{rest}").into_bytes()
}

/// Returns the headers and data of entries, without the end of the archive.
pub fn tar_entries(entries: &[TarEntry]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for entry in entries {
        let mut header = Header::new_gnu();
        header.as_old_mut().name[..entry.name.len()].copy_from_slice(&entry.name);
        header.as_old_mut().linkname[..entry.link.len()].copy_from_slice(&entry.link);
        header.set_entry_type(entry.entry_type);
        header.set_mode(entry.mode);
        header.set_size(entry.size);
        header.set_cksum();
        bytes.extend(header.as_bytes());
        bytes.extend(&entry.data);
        bytes.resize(bytes.len().next_multiple_of(512), 0);
    }
    bytes
}

pub fn tar(entries: &[TarEntry]) -> Vec<u8> {
    [tar_entries(entries), vec![0; 1024]].concat()
}

/// Compresses the content of an archive.
pub fn compress(tar: &[u8], format: ArchiveFormat) -> Vec<u8> {
    match format {
        ArchiveFormat::Zip | ArchiveFormat::Tar => tar.to_vec(),
        ArchiveFormat::TarGzip => {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(tar).unwrap();
            encoder.finish().unwrap()
        }
        ArchiveFormat::TarBzip2 => {
            let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
            encoder.write_all(tar).unwrap();
            encoder.finish().unwrap()
        }
        ArchiveFormat::TarXz => {
            let mut encoder = XzWriter::new(Vec::new(), XzOptions::with_preset(0)).unwrap();
            encoder.write_all(tar).unwrap();
            encoder.finish().unwrap()
        }
    }
}

pub const TAR_FORMATS: [ArchiveFormat; 4] =
    [ArchiveFormat::Tar, ArchiveFormat::TarGzip, ArchiveFormat::TarBzip2, ArchiveFormat::TarXz];
