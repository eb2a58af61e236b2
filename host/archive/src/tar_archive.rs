//! Reads tar archives.
//!
//! The `tar` crate parses headers and finds entries. Extended headers (GNU long names and pax
//! headers) are read here, because that crate reads them without a limit and ignores the lengths of
//! pax records.

use std::fs::File;
use std::io::{self, Read};

use tar::{Archive, Entry, EntryType};

use crate::decoder::{StreamState, TarStream};
use crate::entry_name::EntryName;
use crate::error::{ArchiveError, shown_name};
use crate::extraction::{Extraction, FileEntry};
use crate::format::ArchiveFormat;
use crate::limits::ArchiveLimits;

/// Maximum size of an extended header.
const MAX_EXTENDED_HEADER_BYTES: u64 = 64 * 1024;

/// Values of extended headers that apply to the next entry.
#[derive(Default)]
struct Extended {
    name: Option<Vec<u8>>,
    link_target: Option<Vec<u8>>,
    size: Option<u64>,
    is_sparse: bool,
}

/// Writes the entries of an archive whose packed size is `packed` bytes.
pub(crate) fn extract_tar(
    file: File,
    packed: u64,
    format: ArchiveFormat,
    limits: &ArchiveLimits,
    extraction: &mut Extraction<'_>,
) -> Result<(), ArchiveError> {
    let limit = limits.max_unpacked_from(packed);
    let stream = TarStream::new(file, format, limit);
    let reading = Reading { format, limit, limits, state: &stream.state() };
    let mut archive = Archive::new(stream);
    let mut extended = Extended::default();
    let mut count = 0;
    for entry in archive.entries().map_err(|error| reading.error(error))?.raw(true) {
        let mut entry = entry.map_err(|error| reading.error(error))?;
        count += 1;
        // Extended headers are counted as well, so the limit allows two of them for each entry.
        if count > limits.max_entries.saturating_mul(3) {
            return Err(ArchiveError::TooManyEntries { limit: limits.max_entries });
        }
        let entry_type = entry.header().entry_type();
        match entry_type {
            EntryType::GNULongName => extended.name = Some(reading.long_name(&mut entry)?),
            EntryType::GNULongLink => extended.link_target = Some(reading.long_name(&mut entry)?),
            EntryType::XHeader => {
                let records = reading.extended_header(&mut entry)?;
                extended.add_pax(&records)?;
            }
            EntryType::XGlobalHeader => {
                // Git stores the commit in such a header. Values that change entries are not used
                // in practice, and programs interpret them differently.
                let records = reading.extended_header(&mut entry)?;
                let mut global = Extended::default();
                global.add_pax(&records)?;
                if !global.is_empty() {
                    return Err(ArchiveError::ExtendedHeader("a global header changes names or sizes"));
                }
            }
            _ => reading.extract(entry, std::mem::take(&mut extended), extraction)?,
        }
    }
    if !extended.is_empty() {
        return Err(ArchiveError::Incomplete("no entry follows its last extended header"));
    }
    // Without compression, only the missing end marker shows that the archive is truncated.
    if format == ArchiveFormat::Tar && reading.state.is_at_end.get() {
        return Err(ArchiveError::Incomplete("the end-of-archive marker is missing"));
    }
    // The checksums of the compressed data follow the last entry.
    io::copy(&mut archive.into_inner(), &mut io::sink()).map_err(|error| reading.error(error))?;
    Ok(())
}

/// The state while an archive is being read.
struct Reading<'a> {
    format: ArchiveFormat,
    /// Maximum size of the content.
    limit: u64,
    limits: &'a ArchiveLimits,
    state: &'a StreamState,
}

impl Reading<'_> {
    /// Converts an error of the reader to the reason for rejecting the archive.
    fn error(&self, source: io::Error) -> ArchiveError {
        if !self.state.is_too_large.get() {
            return ArchiveError::Damaged { format: self.format, source };
        }
        let limit = self.limit;
        if limit < self.limits.max_unpacked_bytes {
            ArchiveError::Ratio { limit, ratio: self.limits.max_ratio }
        } else {
            ArchiveError::UnpackedTooLarge { limit }
        }
    }

    fn extended_header(&self, entry: &mut Entry<'_, TarStream>) -> Result<Vec<u8>, ArchiveError> {
        let size = entry.size();
        if size > MAX_EXTENDED_HEADER_BYTES {
            return Err(ArchiveError::ExtendedHeader("it is larger than 64 KiB"));
        }
        let mut content = Vec::new();
        entry.read_to_end(&mut content).map_err(|error| self.error(error))?;
        if content.len() as u64 != size {
            return Err(ArchiveError::Incomplete("an extended header is truncated"));
        }
        Ok(content)
    }

    /// Reads a NUL-terminated name.
    fn long_name(&self, entry: &mut Entry<'_, TarStream>) -> Result<Vec<u8>, ArchiveError> {
        let mut name = self.extended_header(entry)?;
        if name.last() == Some(&0) {
            name.pop();
        }
        Ok(name)
    }

    fn extract(
        &self,
        mut entry: Entry<'_, TarStream>,
        extended: Extended,
        extraction: &mut Extraction<'_>,
    ) -> Result<(), ArchiveError> {
        let header = entry.header();
        let raw = extended.name.unwrap_or_else(|| header.path_bytes().into_owned());
        let shown = || shown_name(&raw);
        let entry_type = header.entry_type();
        if extended.is_sparse || entry_type.is_gnu_sparse() {
            return Err(ArchiveError::SparseFile { name: shown() });
        }
        if extended.size.is_some_and(|size| size != entry.size()) {
            return Err(ArchiveError::ExtendedHeader("its size differs from the size of the entry"));
        }
        let mode = header.mode().map_err(|error| self.error(error))?;
        let name = EntryName::parse(&raw, self.limits)?;
        match entry_type {
            EntryType::Directory => match name {
                Some(name) => extraction.add_directory(&name),
                None => Ok(()),
            },
            EntryType::Regular | EntryType::Continuous => {
                let Some(name) = name else { return Err(ArchiveError::UnsafeName { name: shown() }) };
                // Before POSIX, directories were files whose name ends with a slash.
                if raw.ends_with(b"/") {
                    return extraction.add_directory(&name);
                }
                let file = FileEntry { name, mode: Some(mode), size: entry.size() };
                extraction.add_file(file, &mut entry, |error| self.error(error))
            }
            EntryType::Symlink => {
                let Some(name) = name else { return Err(ArchiveError::UnsafeName { name: shown() }) };
                let target = match extended.link_target {
                    Some(target) => target,
                    None => header.link_name_bytes().unwrap_or_default().into_owned(),
                };
                extraction.add_link(name, &target)
            }
            EntryType::Link => Err(ArchiveError::HardLink { name: shown() }),
            _ => Err(ArchiveError::SpecialEntry { name: shown() }),
        }
    }
}

impl Extended {
    fn is_empty(&self) -> bool {
        self.name.is_none() && self.link_target.is_none() && self.size.is_none() && !self.is_sparse
    }

    /// Adds the records of a pax header: `LENGTH KEY=VALUE\n`, with the length of the record.
    fn add_pax(&mut self, records: &[u8]) -> Result<(), ArchiveError> {
        let mut rest = records;
        while !rest.is_empty() {
            let (key, value, after) =
                next_pax_record(rest).ok_or(ArchiveError::ExtendedHeader("a pax record is invalid"))?;
            rest = after;
            match key {
                b"path" => self.name = Some(value.to_owned()),
                b"linkpath" => self.link_target = Some(value.to_owned()),
                b"size" => {
                    let size = std::str::from_utf8(value).ok().and_then(|size| size.parse().ok());
                    self.size = Some(size.ok_or(ArchiveError::ExtendedHeader("a size is invalid"))?);
                }
                _ if key.starts_with(b"GNU.sparse.") => self.is_sparse = true,
                _ => {}
            }
        }
        Ok(())
    }
}

/// Returns the key and the value of the first record, and the records after it.
fn next_pax_record(records: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let blank = records.iter().position(|byte| *byte == b' ')?;
    let length: usize = std::str::from_utf8(records.get(..blank)?).ok()?.parse().ok()?;
    let (record, after) = records.split_at_checked(length)?;
    let record = record.get(blank + 1..)?.strip_suffix(b"\n")?;
    let equals = record.iter().position(|byte| *byte == b'=')?;
    Some((record.get(..equals)?, record.get(equals + 1..)?, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pax_records_must_have_their_declared_length() {
        let mut extended = Extended::default();
        extended.add_pax(b"18 path=a\nb/../c=d\n11 size=12\n20 comment=anything\n").unwrap_err();
        extended.add_pax(b"19 path=a\nb/../c=d\n11 size=12\n20 comment=anything").unwrap_err();
        let mut extended = Extended::default();
        extended.add_pax(b"19 path=a\nb/../c=d\n11 size=12\n20 comment=anything\n").unwrap();
        assert_eq!((extended.name.as_deref(), extended.size), (Some(&b"a\nb/../c=d"[..]), Some(12)));
        assert!(!extended.is_sparse && extended.link_target.is_none());
        for invalid in [
            &b"path=a\n"[..],
            b"8 path=a\n",
            b"99 path=a\n",
            b"0 \n",
            b"2 \n",
            b"-1 a=b\n",
            b"9 size=x\n",
            b"18446744073709551616 a=b\n",
            b" \n",
            b"7 path\n\n",
        ] {
            assert!(Extended::default().add_pax(invalid).is_err(), "{}", invalid.escape_ascii());
        }
        extended.add_pax(b"25 GNU.sparse.major=1\n\n\n").unwrap_err();
        extended.add_pax(b"22 GNU.sparse.major=1\n").unwrap();
        assert!(extended.is_sparse);
    }
}
