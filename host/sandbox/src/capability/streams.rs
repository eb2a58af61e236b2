//! Streams with a meter that checks, counts and limits reads and writes.

use std::sync::Arc;

use wasmtime_wasi_io::async_trait;
use wasmtime_wasi_io::bytes::Bytes;
use wasmtime_wasi_io::poll::Pollable;
use wasmtime_wasi_io::streams::{
    DynInputStream, DynOutputStream, InputStream, OutputStream, StreamError, StreamResult,
};

/// Counts the bytes of a file's or a connection's streams.
pub(super) trait Meter: Send + Sync + 'static {
    /// Checks a read before it is performed. Returns the number of bytes that may be read.
    fn check_read(&self, size: usize) -> StreamResult<usize>;

    /// Counts bytes that were read. If the limit is exceeded, the guest receives none of them.
    fn has_read(&self, bytes: usize) -> StreamResult<()>;

    /// Checks, before a write, whether the given number of bytes may be written.
    fn check_write(&self, bytes: usize) -> StreamResult<()>;

    /// Counts bytes that were written.
    fn has_written(&self, bytes: usize);
}

/// An input stream with a meter.
pub(super) struct CountedInput<M> {
    pub(super) stream: DynInputStream,
    pub(super) meter: Arc<M>,
}

/// An output stream with a meter.
pub(super) struct CountedOutput<M> {
    pub(super) stream: DynOutputStream,
    pub(super) meter: Arc<M>,
}

/// Returns the guest's error for an access that policy denies.
pub(super) fn denied(reason: impl std::error::Error + Send + Sync + 'static) -> StreamError {
    let error = std::io::Error::new(std::io::ErrorKind::PermissionDenied, reason);
    StreamError::LastOperationFailed(error.into())
}

impl<M: Meter> CountedInput<M> {
    fn counted(&self, read: StreamResult<Bytes>) -> StreamResult<Bytes> {
        let bytes = read?;
        self.meter.has_read(bytes.len())?;
        Ok(bytes)
    }
}

#[async_trait]
impl<M: Meter> InputStream for CountedInput<M> {
    fn read(&mut self, size: usize) -> StreamResult<Bytes> {
        let size = self.meter.check_read(size)?;
        let read = self.stream.read(size);
        self.counted(read)
    }

    async fn blocking_read(&mut self, size: usize) -> StreamResult<Bytes> {
        let size = self.meter.check_read(size)?;
        let read = self.stream.blocking_read(size).await;
        self.counted(read)
    }

    async fn cancel(&mut self) {
        self.stream.cancel().await;
    }
}

#[async_trait]
impl<M: Meter> Pollable for CountedInput<M> {
    async fn ready(&mut self) {
        // A stream that becomes ready has already read ahead.
        if self.meter.check_read(0).is_ok() {
            self.stream.ready().await;
        }
    }
}

#[async_trait]
impl<M: Meter> OutputStream for CountedOutput<M> {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        let length = bytes.len();
        self.meter.check_write(length)?;
        self.stream.write(bytes)?;
        self.meter.has_written(length);
        Ok(())
    }

    async fn blocking_write_and_flush(&mut self, bytes: Bytes) -> StreamResult<()> {
        let length = bytes.len();
        self.meter.check_write(length)?;
        self.stream.blocking_write_and_flush(bytes).await?;
        self.meter.has_written(length);
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
impl<M: Meter> Pollable for CountedOutput<M> {
    async fn ready(&mut self) {
        self.stream.ready().await;
    }
}
