//! Streams of opened files, with what goes through them counted.

use std::sync::Arc;

use wasmtime_wasi_io::async_trait;
use wasmtime_wasi_io::bytes::Bytes;
use wasmtime_wasi_io::poll::Pollable;
use wasmtime_wasi_io::streams::{
    DynInputStream, DynOutputStream, InputStream, OutputStream, StreamError, StreamResult,
};

use super::watch::{FileError, OpenFile};

/// What is read from a file.
pub(super) struct CountedInput {
    pub(super) stream: DynInputStream,
    pub(super) file: Arc<OpenFile>,
}

/// What is written to a file.
pub(super) struct CountedOutput {
    pub(super) stream: DynOutputStream,
    pub(super) file: Arc<OpenFile>,
}

fn stream_error(error: FileError) -> StreamError {
    match error {
        FileError::TooMuch(too_much) => StreamError::Trap(wasmtime::Error::new(too_much)),
        FileError::Denied(denied) => {
            let error = std::io::Error::new(std::io::ErrorKind::PermissionDenied, denied);
            StreamError::LastOperationFailed(error.into())
        }
        FileError::System(error) => StreamError::LastOperationFailed(error.into()),
    }
}

impl CountedInput {
    fn counted(&self, read: StreamResult<Bytes>) -> StreamResult<Bytes> {
        if let Ok(bytes) = &read {
            self.file.has_read(bytes.len());
        }
        read
    }
}

#[async_trait]
impl InputStream for CountedInput {
    fn read(&mut self, size: usize) -> StreamResult<Bytes> {
        self.file.check().map_err(stream_error)?;
        let read = self.stream.read(size);
        self.counted(read)
    }

    async fn blocking_read(&mut self, size: usize) -> StreamResult<Bytes> {
        self.file.check().map_err(stream_error)?;
        let read = self.stream.blocking_read(size).await;
        self.counted(read)
    }

    async fn cancel(&mut self) {
        self.stream.cancel().await;
    }
}

#[async_trait]
impl Pollable for CountedInput {
    async fn ready(&mut self) {
        // Getting ready reads ahead.
        if self.file.check().is_ok() {
            self.stream.ready().await;
        }
    }
}

#[async_trait]
impl OutputStream for CountedOutput {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        let length = bytes.len() as u64;
        self.file.check_write(length).map_err(stream_error)?;
        self.stream.write(bytes)?;
        self.file.has_written(length);
        Ok(())
    }

    async fn blocking_write_and_flush(&mut self, bytes: Bytes) -> StreamResult<()> {
        let length = bytes.len() as u64;
        self.file.check_write(length).map_err(stream_error)?;
        self.stream.blocking_write_and_flush(bytes).await?;
        self.file.has_written(length);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        self.stream.flush()
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        self.stream.check_write()
    }

    async fn cancel(&mut self) {
        self.stream.cancel().await;
    }
}

#[async_trait]
impl Pollable for CountedOutput {
    async fn ready(&mut self) {
        self.stream.ready().await;
    }
}
