//! Decompresses tar archives.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::rc::Rc;

use bzip2::bufread::MultiBzDecoder;
use flate2::bufread::MultiGzDecoder;
use lzma_rust2::XzReader;

use crate::format::ArchiveFormat;

const BUFFER_BYTES: usize = 64 * 1024;

/// Maximum memory of the xz decoder, sufficient for the dictionary of the highest preset (`-9`,
/// 64 MiB). The dictionary grows with the content, so a small archive never needs that much.
const MAX_XZ_KIBIBYTES: u32 = 80 * 1024;

/// The decompressed content of an archive, up to a limit.
pub(crate) struct TarStream {
    inner: Box<dyn Read>,
    left: u64,
    state: Rc<StreamState>,
}

/// The status of a stream that is being read, shared with the stream's reader.
#[derive(Default)]
pub(crate) struct StreamState {
    /// Whether the content is larger than the limit.
    pub(crate) is_too_large: Cell<bool>,
    /// Whether the end of the content was reached.
    pub(crate) is_at_end: Cell<bool>,
    /// Whether reading failed. Decoders must not be used after an error.
    has_failed: Cell<bool>,
}

impl TarStream {
    pub(crate) fn new(file: File, format: ArchiveFormat, limit: u64) -> Self {
        let packed = BufReader::with_capacity(BUFFER_BYTES, file);
        let inner: Box<dyn Read> = match format {
            ArchiveFormat::Zip | ArchiveFormat::Tar => Box::new(packed),
            ArchiveFormat::TarGzip => Box::new(MultiGzDecoder::new(packed)),
            ArchiveFormat::TarBzip2 => Box::new(MultiBzDecoder::new(packed)),
            ArchiveFormat::TarXz => Box::new(XzReader::new_mem_limit(packed, true, MAX_XZ_KIBIBYTES)),
        };
        Self { inner, left: limit, state: Rc::default() }
    }

    pub(crate) fn state(&self) -> Rc<StreamState> {
        Rc::clone(&self.state)
    }
}

impl Read for TarStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.state.is_at_end.get() || buffer.is_empty() {
            return Ok(0);
        }
        if self.state.has_failed.get() {
            return Err(io::Error::other("an earlier read failed"));
        }
        let count = self.inner.read(buffer).inspect_err(|error| {
            self.state.has_failed.set(error.kind() != io::ErrorKind::Interrupted);
        })?;
        self.state.is_at_end.set(count == 0);
        match self.left.checked_sub(count as u64) {
            Some(left) => {
                self.left = left;
                Ok(count)
            }
            None => {
                self.state.has_failed.set(true);
                self.state.is_too_large.set(true);
                Err(io::Error::other("the content is larger than the limit"))
            }
        }
    }
}
