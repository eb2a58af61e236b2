//! Follows the HTTP requests of a connection without TLS, to check the host of each.
//!
//! A program can send several requests on one connection. Each request's body is skipped by its
//! declared length. What cannot be followed, such as another protocol after an upgrade, ends the
//! connection.

use crate::first_bytes::{ServerName, server_of_request};

/// Maximum number of bytes of a request's header, and of the line before a chunk.
const MAX_HEADER_BYTES: usize = 64 * 1024;
const MAX_HEADERS: usize = 128;

/// The position in the stream of requests.
enum Position {
    Header,
    /// Within a body of which this many bytes remain.
    Body(u64),
    /// Before the length of a chunk.
    ChunkLength,
    /// Within a chunk, including the line end after it.
    Chunk(u64),
    /// Within the trailers after the last chunk.
    Trailers,
}

/// Checks the requests of one connection.
pub(crate) struct HttpRequests {
    position: Position,
    /// The bytes of an incomplete header or line.
    pending: Vec<u8>,
}

/// The stream cannot be followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotFollowed;

impl HttpRequests {
    pub(crate) fn new() -> Self {
        Self { position: Position::Header, pending: Vec::new() }
    }

    /// Adds bytes of the stream, and returns the servers of the requests whose headers are now complete.
    ///
    /// # Errors
    /// Returns an error if the bytes are not a sequence of HTTP requests.
    pub(crate) fn add(&mut self, mut bytes: &[u8]) -> Result<Vec<ServerName>, NotFollowed> {
        let mut servers = Vec::new();
        while !bytes.is_empty() {
            match self.position {
                Position::Body(left) => {
                    let skipped = skip(&mut bytes, left);
                    self.position =
                        if skipped == left { Position::Header } else { Position::Body(left - skipped) };
                }
                Position::Chunk(left) => {
                    let skipped = skip(&mut bytes, left);
                    self.position =
                        if skipped == left { Position::ChunkLength } else { Position::Chunk(left - skipped) };
                }
                Position::Header => self.header(&mut bytes, &mut servers)?,
                Position::ChunkLength => self.chunk_length(&mut bytes)?,
                Position::Trailers => self.trailers(&mut bytes)?,
            }
        }
        Ok(servers)
    }

    fn header(&mut self, bytes: &mut &[u8], servers: &mut Vec<ServerName>) -> Result<(), NotFollowed> {
        let Some(header) = self.take_until_blank_line(bytes)? else { return Ok(()) };
        let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        let parsed = request.parse(&header);
        if !matches!(parsed, Ok(httparse::Status::Complete(length)) if length == header.len()) {
            return Err(NotFollowed);
        }
        if request.method.is_some_and(|method| method.eq_ignore_ascii_case("connect")) {
            return Err(NotFollowed);
        }
        servers.push(server_of_request(&request));
        self.position = body_of(&request)?;
        Ok(())
    }

    /// Moves bytes to the pending header, and returns it when it is complete.
    fn take_until_blank_line(&mut self, bytes: &mut &[u8]) -> Result<Option<Vec<u8>>, NotFollowed> {
        while let Some((byte, rest)) = bytes.split_first() {
            *bytes = rest;
            // Servers ignore empty lines before a request.
            if self.pending.is_empty() && matches!(byte, b'\r' | b'\n') {
                continue;
            }
            self.pending.push(*byte);
            if self.pending.ends_with(b"\r\n\r\n") || self.pending.ends_with(b"\n\n") {
                return Ok(Some(std::mem::take(&mut self.pending)));
            }
            if self.pending.len() > MAX_HEADER_BYTES {
                return Err(NotFollowed);
            }
        }
        Ok(None)
    }

    fn take_line(&mut self, bytes: &mut &[u8]) -> Result<Option<Vec<u8>>, NotFollowed> {
        while let Some((byte, rest)) = bytes.split_first() {
            *bytes = rest;
            self.pending.push(*byte);
            if *byte == b'\n' {
                return Ok(Some(std::mem::take(&mut self.pending)));
            }
            if self.pending.len() > MAX_HEADER_BYTES {
                return Err(NotFollowed);
            }
        }
        Ok(None)
    }

    fn chunk_length(&mut self, bytes: &mut &[u8]) -> Result<(), NotFollowed> {
        let Some(line) = self.take_line(bytes)? else { return Ok(()) };
        let Ok(httparse::Status::Complete((_, length))) = httparse::parse_chunk_size(&line) else {
            return Err(NotFollowed);
        };
        self.position = match length {
            0 => Position::Trailers,
            // The line end after the chunk is part of it.
            length => Position::Chunk(length.checked_add(2).ok_or(NotFollowed)?),
        };
        Ok(())
    }

    fn trailers(&mut self, bytes: &mut &[u8]) -> Result<(), NotFollowed> {
        let Some(line) = self.take_line(bytes)? else { return Ok(()) };
        if matches!(&*line, b"\r\n" | b"\n") {
            self.position = Position::Header;
        }
        Ok(())
    }
}

fn skip(bytes: &mut &[u8], most: u64) -> u64 {
    let skipped = bytes.len().min(usize::try_from(most).unwrap_or(usize::MAX));
    *bytes = &bytes[skipped..];
    skipped as u64
}

/// Returns the position after a request's header. Ambiguous lengths are rejected, since the server could
/// interpret them differently.
fn body_of(request: &httparse::Request<'_, '_>) -> Result<Position, NotFollowed> {
    let values = |name: &'static str| {
        request.headers.iter().filter(move |header| header.name.eq_ignore_ascii_case(name))
    };
    if values("upgrade").next().is_some() {
        return Err(NotFollowed);
    }
    let mut encodings = values("transfer-encoding");
    let mut lengths = values("content-length");
    match (encodings.next(), encodings.next(), lengths.next(), lengths.next()) {
        (None, None, None, None) => Ok(Position::Header),
        (Some(encoding), None, None, None)
            if encoding.value.trim_ascii().eq_ignore_ascii_case(b"chunked") =>
        {
            Ok(Position::ChunkLength)
        }
        (None, None, Some(length), None) => {
            let text = str::from_utf8(length.value).map_err(|_| NotFollowed)?.trim_ascii();
            if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(NotFollowed);
            }
            match text.parse() {
                Ok(0) => Ok(Position::Header),
                Ok(length) => Ok(Position::Body(length)),
                Err(_) => Err(NotFollowed),
            }
        }
        _ => Err(NotFollowed),
    }
}

#[cfg(test)]
mod tests {
    use wardian_access::Host;

    use super::*;

    fn servers(text: &str, chunk: usize) -> Result<Vec<String>, NotFollowed> {
        let mut requests = HttpRequests::new();
        let mut all = Vec::new();
        for part in text.as_bytes().chunks(chunk) {
            for server in requests.add(part)? {
                all.push(match server {
                    ServerName::Host(Host::Name(name)) => name.into(),
                    other => format!("{other:?}"),
                });
            }
        }
        Ok(all)
    }

    const REQUESTS: &str = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n\
        POST /x HTTP/1.1\r\nHost: b.test\r\nContent-Length: 30\r\n\r\nGET / HTTP/1.1\r\nHost: no.test\r\n\
        \r\nPUT /y HTTP/1.1\r\nHost: c.test\r\nTransfer-Encoding: chunked\r\n\r\n\
        1f;x=y\r\nGET / HTTP/1.1\r\nHost: no.test\r\n\r\n0\r\nTrailer: 1\r\n\r\n\
        GET / HTTP/1.1\r\nHost: d.test\r\n\r\n";

    #[test]
    fn hosts_of_all_requests_are_found() {
        let text = REQUESTS.replace("no.test\r\n\r\nPUT", "no.test\r\nPUT");
        for chunk in [1, 2, 7, 1_000] {
            let expected = ["a.test", "b.test", "c.test", "d.test"].map(str::to_owned).to_vec();
            assert_eq!(servers(&text, chunk), Ok(expected), "{chunk}");
        }
    }

    #[test]
    fn ambiguous_or_other_data_is_rejected() {
        for header in [
            "Content-Length: 1\r\nContent-Length: 2",
            "Content-Length: 1\r\nTransfer-Encoding: chunked",
            "Transfer-Encoding: gzip, chunked",
            "Content-Length: +5",
            "Content-Length: 99999999999999999999",
            "Content-Length:",
            "Upgrade: websocket",
        ] {
            let text = format!("POST / HTTP/1.1\r\nHost: a.test\r\n{header}\r\n\r\n");
            assert_eq!(servers(&text, 10), Err(NotFollowed), "{header}");
        }
        for text in
            ["\x16\x03\x01\0\n\n", "SSH-2.0\r\n\r\n", "CONNECT a.test:80 HTTP/1.1\r\nHost: a.test\r\n\r\n"]
        {
            assert_eq!(servers(text, 3), Err(NotFollowed), "{text:?}");
        }
        let endless = format!("GET /{}", "a".repeat(2 * MAX_HEADER_BYTES));
        assert_eq!(servers(&endless, 1_000), Err(NotFollowed));
    }
}
