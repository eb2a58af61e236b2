//! Output in pieces: whole lines where lines are written, and never more than a piece in
//! memory.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::Receiver;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout};

use crate::run::Event;

/// The largest piece of output. A longer line is cut.
const PIECE: usize = 32 << 10;
/// How long nothing must have come after the program's end, for its output to be
/// complete where something else still holds it.
const QUIET: Duration = Duration::from_secs(1);
/// How long at most somebody else's output is taken for the program's, and from how many
/// bytes on: a pipe holds no more than this that the program itself can have written.
const LATEST: Duration = Duration::from_secs(5);
const MOST_IN_PIPE: usize = 1 << 20;

/// Reads to the end of the output, or to what counts as that once the program has ended.
pub(crate) async fn forward(
    pipe: Receiver,
    event: fn(Vec<u8>) -> Event,
    events: mpsc::Sender<Event>,
    mut ended: watch::Receiver<bool>,
    written: Arc<AtomicU64>,
) {
    let mut pieces = Pieces { pipe, held: Vec::new() };
    let mut end: Option<(Instant, usize)> = None;
    loop {
        let read = match &mut end {
            None => tokio::select! {
                biased;
                read = pieces.read() => read,
                _ = ended.wait_for(|ended| *ended) => {
                    end = Some((Instant::now(), 0));
                    continue;
                }
            },
            Some((since, after)) => {
                if *after > MOST_IN_PIPE && since.elapsed() > LATEST {
                    break;
                }
                let Ok(read) = timeout(QUIET, pieces.read()).await else { break };
                *after += *read.as_ref().unwrap_or(&0);
                read
            }
        };
        if read.is_err() || matches!(read, Ok(0)) {
            break;
        }
        let Some(piece) = pieces.complete() else { continue };
        written.fetch_add(piece.len() as u64, Ordering::Relaxed);
        if events.send(event(piece)).await.is_err() {
            return;
        }
    }
    if !pieces.held.is_empty() {
        written.fetch_add(pieces.held.len() as u64, Ordering::Relaxed);
        let _ = events.send(event(pieces.held)).await;
    }
}

struct Pieces {
    pipe: Receiver,
    /// What was read and not handed on, at most a piece.
    held: Vec<u8>,
}

impl Pieces {
    /// Reads some more. Nothing is lost where this is not waited for.
    async fn read(&mut self) -> io::Result<usize> {
        self.held.reserve_exact(PIECE.saturating_sub(self.held.len()));
        let room = PIECE.saturating_sub(self.held.len());
        let mut limited = (&mut self.pipe).take(room as u64);
        limited.read_buf(&mut self.held).await
    }

    /// All whole lines, or what there is where no line ends in a piece.
    fn complete(&mut self) -> Option<Vec<u8>> {
        let end = match self.held.iter().rposition(|byte| *byte == b'\n') {
            Some(last) => last + 1,
            None if self.held.len() >= PIECE => self.held.len(),
            None => return None,
        };
        let rest = self.held.get(end..).map(<[u8]>::to_vec).unwrap_or_default();
        let mut piece = std::mem::replace(&mut self.held, rest);
        piece.truncate(end);
        Some(piece)
    }
}
