//! Streams of open files. Reads and writes are accesses to the file.

use wasmtime_wasi_io::streams::{StreamError, StreamResult};

use super::file_guard::{FileError, OpenFile};
use crate::capability::streams::{Meter, denied};

impl Meter for OpenFile {
    fn check_read(&self, size: usize) -> StreamResult<usize> {
        self.check().map_err(stream_error)?;
        Ok(size)
    }

    fn has_read(&self, bytes: usize) -> StreamResult<()> {
        Self::has_read(self, bytes);
        Ok(())
    }

    fn check_write(&self, bytes: usize) -> StreamResult<()> {
        Self::check_write(self, bytes as u64).map_err(stream_error)
    }

    fn has_written(&self, bytes: usize) {
        Self::has_written(self, bytes as u64);
    }
}

fn stream_error(error: FileError) -> StreamError {
    match error {
        FileError::TooMuch(too_much) => StreamError::Trap(wasmtime::Error::new(too_much)),
        FileError::Denied(reason) => denied(reason),
        FileError::System(error) => StreamError::LastOperationFailed(error.into()),
    }
}
