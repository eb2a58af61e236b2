//! Sends the body of a response: completely or in part, immediately or slowly.

use std::fmt;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Response};
use http_body::{Body, Frame};
use tokio::sync::mpsc;

use crate::answer::Answer;
use crate::packages::BlobData;

const CHUNK: usize = 1 << 16;

/// The way in which the body of a response is sent.
#[derive(Debug, Default)]
pub(crate) struct Delivery {
    pub(crate) ending: Ending,
    /// The number of bytes that are sent in one step, and the pause after each step.
    pub(crate) pace: Option<(usize, Duration)>,
}

/// The action after the content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Ending {
    #[default]
    Complete,
    CutAfter(u64),
    StallAfter(u64),
    Endless,
    /// A body of this many bytes follows.
    Filled(u64),
}

/// The server closes the connection in the middle of a body.
#[derive(Debug)]
pub(crate) struct Cut;

impl fmt::Display for Cut {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the server ends the connection on purpose")
    }
}

impl std::error::Error for Cut {}

/// The body of a response.
pub(crate) struct ServedBody(mpsc::Receiver<Result<Bytes, Cut>>);

impl Body for ServedBody {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        self.0.poll_recv(context).map(|chunk| chunk.map(|chunk| chunk.map(Frame::data)))
    }
}

/// Returns the HTTP response for an answer. A separate task sends its body.
pub(crate) fn response(answer: Answer, delivery: Delivery, request: &HeaderMap) -> Response<ServedBody> {
    let size = match &answer.content {
        BlobData::Memory(bytes) => bytes.len() as u64,
        BlobData::File(path) => std::fs::metadata(path).unwrap().len(),
    };
    let range = if answer.status == 200 { range(&answer, request, size) } else { None };
    let (start, end) = range.unwrap_or((0, size));
    let mut builder = Response::builder().status(if range.is_some() { 206 } else { answer.status });
    for (name, value) in &answer.headers {
        builder = builder.header(name, value);
    }
    if range.is_some() {
        builder = builder.header("Content-Range", format!("bytes {start}-{}/{size}", end - 1));
    }
    let length = end - start;
    match delivery.ending {
        Ending::Endless => {}
        Ending::Filled(size) => builder = builder.header("Content-Length", size),
        // Responses with these status codes have no body.
        _ if matches!(answer.status, 204 | 304) => {}
        _ => builder = builder.header("Content-Length", length),
    }
    let (sender, receiver) = mpsc::channel(2);
    tokio::spawn(send(answer.content, start, length, delivery, sender));
    builder.body(ServedBody(receiver)).unwrap()
}

/// Returns the requested range, if there is a valid one.
fn range(answer: &Answer, request: &HeaderMap, size: u64) -> Option<(u64, u64)> {
    let text = |name: &str| request.get(name).and_then(|value| value.to_str().ok());
    if text("if-range").is_some_and(|expected| answer.get("ETag") != Some(expected)) {
        return None;
    }
    let (start, end) = text("range")?.strip_prefix("bytes=")?.split_once('-')?;
    let start: u64 = start.parse().ok()?;
    let end = end.parse().map_or(size, |end: u64| (end + 1).min(size));
    (answer.get("Accept-Ranges").is_some() && start < end).then_some((start, end))
}

async fn send(
    content: BlobData,
    start: u64,
    length: u64,
    delivery: Delivery,
    sender: mpsc::Sender<Result<Bytes, Cut>>,
) {
    let (chunk, pause) = delivery.pace.unwrap_or((CHUNK, Duration::ZERO));
    let limit = match delivery.ending {
        Ending::CutAfter(bytes) | Ending::StallAfter(bytes) => bytes.min(length),
        _ => length,
    };
    let mut file = match &content {
        BlobData::File(path) => {
            let mut file = std::fs::File::open(path).unwrap();
            file.seek(SeekFrom::Start(start)).unwrap();
            Some(file)
        }
        BlobData::Memory(_) => None,
    };
    let mut sent = 0;
    while sent < limit {
        let count = usize::try_from(limit - sent).unwrap_or(chunk).min(chunk);
        let bytes = match (&content, &mut file) {
            (BlobData::Memory(bytes), _) => {
                let from = usize::try_from(start + sent).unwrap();
                bytes.slice(from..from + count)
            }
            (BlobData::File(_), Some(file)) => {
                let mut buffer = vec![0; count];
                file.read_exact(&mut buffer).unwrap();
                buffer.into()
            }
            (BlobData::File(_), None) => return,
        };
        sent += count as u64;
        if sender.send(Ok(bytes)).await.is_err() {
            return;
        }
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
    }
    match delivery.ending {
        Ending::Complete => {}
        Ending::CutAfter(_) => {
            // Give the connection time to send the preceding bytes.
            tokio::time::sleep(Duration::from_millis(20)).await;
            let _ = sender.send(Err(Cut)).await;
        }
        // Wait until the client closes the connection.
        Ending::StallAfter(_) => sender.closed().await,
        Ending::Endless => {
            let filler = Bytes::from(vec![b' '; CHUNK]);
            while sender.send(Ok(filler.clone())).await.is_ok() {}
        }
        Ending::Filled(mut rest) => {
            let filler = Bytes::from(vec![b'x'; CHUNK]);
            while rest > 0 {
                let count = usize::try_from(rest).unwrap_or(CHUNK).min(CHUNK);
                rest -= count as u64;
                if sender.send(Ok(filler.slice(..count))).await.is_err() {
                    return;
                }
            }
        }
    }
}
