//! Reads a program's output in chunks: complete lines if the program writes lines, with at most
//! one chunk in memory.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::Receiver;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout};

use crate::event::CommandEvent;
use crate::line_buffer::LineBuffer;

/// After the program has exited, its output is considered complete if nothing is received for this
/// period, even if another process holds the output open.
const QUIET_PERIOD: Duration = Duration::from_secs(1);
/// Limits for the output of other processes after the program has exited: the maximum duration, and
/// the number of bytes after which it applies. A pipe's buffer is smaller than this number of
/// bytes, so the program's own output is always complete.
const MAX_FOREIGN_DURATION: Duration = Duration::from_secs(5);
const MAX_PIPE_BUFFER: usize = 1 << 20;

/// Forwards the output until it ends, or until it is complete after the program has exited.
pub(crate) async fn forward(
    mut pipe: Receiver,
    event: fn(Vec<u8>) -> CommandEvent,
    events: mpsc::Sender<CommandEvent>,
    mut ended: watch::Receiver<bool>,
    written: Arc<AtomicU64>,
) {
    let mut lines = LineBuffer::default();
    let mut end: Option<(Instant, usize)> = None;
    loop {
        let read = match &mut end {
            None => tokio::select! {
                biased;
                read = read(&mut pipe, &mut lines) => read,
                _ = ended.wait_for(|ended| *ended) => {
                    end = Some((Instant::now(), 0));
                    continue;
                }
            },
            Some((since, after)) => {
                if *after > MAX_PIPE_BUFFER && since.elapsed() > MAX_FOREIGN_DURATION {
                    break;
                }
                let Ok(read) = timeout(QUIET_PERIOD, read(&mut pipe, &mut lines)).await else { break };
                *after += *read.as_ref().unwrap_or(&0);
                read
            }
        };
        if read.is_err() || matches!(read, Ok(0)) {
            break;
        }
        let Some(piece) = lines.take_lines() else { continue };
        written.fetch_add(piece.len() as u64, Ordering::Relaxed);
        if events.send(event(piece)).await.is_err() {
            return;
        }
    }
    if let Some(rest) = lines.finish() {
        written.fetch_add(rest.len() as u64, Ordering::Relaxed);
        let _ = events.send(event(rest)).await;
    }
}

/// Reads more bytes into the buffer. Cancel safe.
async fn read(pipe: &mut Receiver, lines: &mut LineBuffer) -> io::Result<usize> {
    let (buffer, free) = lines.free_space();
    pipe.take(free as u64).read_buf(buffer).await
}
