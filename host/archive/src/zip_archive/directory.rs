//! Limits the memory that the central directory of a zip archive needs.
//!
//! The `zip` crate reads the number of entries that the directory contains, with their names, extra
//! fields and comments. Therefore, this number is checked before that crate reads the directory,
//! and the number of bytes that it reads is limited.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The end of central directory record: signature, fixed size, and maximum size with the comment.
const END_SIGNATURE: &[u8] = b"PK\x05\x06";
const END_BYTES: usize = 22;
const MAX_END_BYTES: u64 = END_BYTES as u64 + u16::MAX as u64;

/// The zip64 end of central directory locator, which precedes the end of central directory record.
const LOCATOR_SIGNATURE: &[u8] = b"PK\x06\x07";
const LOCATOR_BYTES: u64 = 20;

/// The start of the zip64 end of central directory record, up to the number of entries.
const END_64_SIGNATURE: &[u8] = b"PK\x06\x06";
const END_64_BYTES: usize = 40;

const ENTRY_SIGNATURE: &[u8] = b"PK\x01\x02";
const ENTRY_BYTES: usize = 46;

/// Returns the highest number of entries in any end of central directory record of the file. There
/// may be several such records, for example in the comment of another record.
pub(super) fn stated_entries(file: &mut File, length: u64) -> io::Result<u64> {
    let tail_start = length.saturating_sub(MAX_END_BYTES);
    file.seek(SeekFrom::Start(tail_start))?;
    let mut tail = Vec::new();
    file.by_ref().take(MAX_END_BYTES).read_to_end(&mut tail)?;
    let mut highest = 0;
    for (position, window) in tail.windows(END_BYTES).enumerate() {
        if !window.starts_with(END_SIGNATURE) {
            continue;
        }
        let count = number(window, 8, 2).max(number(window, 10, 2));
        highest = highest.max(count);
        let may_be_zip64 = count == u64::from(u16::MAX)
            || number(window, 12, 4) == u64::from(u32::MAX)
            || number(window, 16, 4) == u64::from(u32::MAX);
        if may_be_zip64 {
            highest = highest.max(stated_entries_64(file, tail_start + position as u64)?);
        }
    }
    file.rewind()?;
    Ok(highest)
}

/// Returns the number of entries in the zip64 record that precedes an end of central directory record.
fn stated_entries_64(file: &mut File, end: u64) -> io::Result<u64> {
    let Some(position) = end.checked_sub(LOCATOR_BYTES) else { return Ok(0) };
    let Some(locator) = read_record::<20>(file, position, LOCATOR_SIGNATURE)? else { return Ok(0) };
    let position = number(&locator, 8, 8).min(position);
    let Some(end) = read_record::<END_64_BYTES>(file, position, END_64_SIGNATURE)? else { return Ok(0) };
    Ok(number(&end, 24, 8).max(number(&end, 32, 8)))
}

/// Reads a record; `None` if it is not at this position.
fn read_record<const BYTES: usize>(
    file: &mut File,
    position: u64,
    signature: &[u8],
) -> io::Result<Option<[u8; BYTES]>> {
    let mut record = [0; BYTES];
    file.seek(SeekFrom::Start(position))?;
    match file.read_exact(&mut record) {
        Ok(()) => Ok(Some(record).filter(|record| record.starts_with(signature))),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns a number of `length` bytes in a record, in little-endian order.
fn number(record: &[u8], position: usize, length: usize) -> u64 {
    let bytes = record.get(position..position + length).unwrap_or_default();
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Returns the first name that occurs twice in the central directory of an archive.
pub(super) fn repeated_name(mut file: File, start: u64) -> Option<Vec<u8>> {
    file.seek(SeekFrom::Start(start)).ok()?;
    let mut file = BufReader::new(file);
    let mut known = HashSet::new();
    loop {
        let mut header = [0; ENTRY_BYTES];
        file.read_exact(&mut header).ok()?;
        if !header.starts_with(ENTRY_SIGNATURE) {
            return None;
        }
        let mut name = Vec::new();
        file.by_ref().take(number(&header, 28, 2)).read_to_end(&mut name).ok()?;
        let rest = number(&header, 30, 2) + number(&header, 32, 2);
        io::copy(&mut file.by_ref().take(rest), &mut io::sink()).ok()?;
        if known.contains(&name) {
            return Some(name);
        }
        known.insert(name);
    }
}

/// The number of bytes that may still be read for the central directory, shared by the `LimitedFile`s.
#[derive(Clone)]
pub(super) struct DirectoryBudget(Arc<Budget>);

struct Budget {
    left: AtomicU64,
    is_exceeded: AtomicBool,
}

impl DirectoryBudget {
    pub(super) fn new(bytes: u64) -> Self {
        Self(Arc::new(Budget { left: AtomicU64::new(bytes), is_exceeded: AtomicBool::new(false) }))
    }

    /// Allows reading without a limit.
    pub(super) fn remove(&self) {
        self.0.left.store(u64::MAX, Ordering::Relaxed);
    }

    pub(super) fn is_exceeded(&self) -> bool {
        self.0.is_exceeded.load(Ordering::Relaxed)
    }

    fn spend(&self, bytes: usize) -> io::Result<()> {
        let left = self.0.left.load(Ordering::Relaxed);
        if left == u64::MAX {
            return Ok(());
        }
        let rest = left.checked_sub(bytes as u64).ok_or_else(|| {
            self.0.is_exceeded.store(true, Ordering::Relaxed);
            io::Error::other("the central directory is larger than the limit")
        })?;
        self.0.left.store(rest, Ordering::Relaxed);
        Ok(())
    }
}

/// A file from which only a limited number of bytes can be read.
pub(super) struct LimitedFile {
    file: File,
    budget: DirectoryBudget,
}

impl LimitedFile {
    pub(super) fn new(file: File, budget: &DirectoryBudget) -> Self {
        Self { file, budget: budget.clone() }
    }
}

impl Read for LimitedFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.budget.spend(count)?;
        Ok(count)
    }
}

impl Seek for LimitedFile {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        self.file.seek(position)
    }
}
