//! Follows the HTTP requests of a connection without TLS, to check the host of each.
//!
//! A program can send several requests on one connection. Each request's body is skipped by its
//! declared length. What cannot be followed, such as another protocol after an upgrade, ends the
//! connection.

use crate::linux::first_bytes::{ServerName, server_of_request};

/// Maximum number of bytes of a request's header, and of a line of a chunked body.
const MAX_HEADER_BYTES: usize = 64 * 1024;
const MAX_HEADERS: usize = 128;

/// The position in the stream of requests.
enum Position {
    Header,
    /// Within a body of which this many bytes remain.
    Body(u64),
    /// Before the length of a chunk.
    ChunkLength,
    /// Within a chunk of which this many bytes remain.
    Chunk(u64),
    /// Before the line end after a chunk.
    ChunkEnd,
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

/// The result of adding bytes.
#[derive(Debug, Default)]
pub(crate) struct Followed {
    /// The servers of the requests whose headers are now complete.
    pub(crate) servers: Vec<ServerName>,
    /// The bytes that may be forwarded after the servers have been checked. Incomplete headers and lines are
    /// retained, since a server could treat them as complete.
    pub(crate) bytes: Vec<u8>,
}

impl HttpRequests {
    pub(crate) fn new() -> Self {
        Self { position: Position::Header, pending: Vec::new() }
    }

    /// Adds bytes of the stream.
    ///
    /// # Errors
    /// Returns an error if the bytes are not a sequence of HTTP requests.
    pub(crate) fn add(&mut self, mut bytes: &[u8]) -> Result<Followed, NotFollowed> {
        let mut followed = Followed::default();
        while !bytes.is_empty() {
            match self.position {
                Position::Body(left) => {
                    let left = left - pass(&mut bytes, left, &mut followed.bytes);
                    self.position = if left == 0 { Position::Header } else { Position::Body(left) };
                }
                Position::Chunk(left) => {
                    let left = left - pass(&mut bytes, left, &mut followed.bytes);
                    self.position = if left == 0 { Position::ChunkEnd } else { Position::Chunk(left) };
                }
                Position::Header => self.header(&mut bytes, &mut followed)?,
                Position::ChunkLength | Position::ChunkEnd | Position::Trailers => {
                    if let Some(line) = self.take_line(&mut bytes)? {
                        self.position = self.after_line(&line)?;
                        followed.bytes.extend(line);
                    }
                }
            }
        }
        Ok(followed)
    }

    fn header(&mut self, bytes: &mut &[u8], followed: &mut Followed) -> Result<(), NotFollowed> {
        while let Some((byte, rest)) = bytes.split_first() {
            *bytes = rest;
            self.pending.push(*byte);
            // Some servers end a line, or the header, at a line feed without a carriage return.
            if *byte == b'\n' && !self.pending.ends_with(b"\r\n") || self.pending.len() > MAX_HEADER_BYTES {
                return Err(NotFollowed);
            }
            if self.pending.ends_with(b"\r\n\r\n") {
                break;
            }
        }
        if !self.pending.ends_with(b"\r\n\r\n") {
            return Ok(());
        }
        let header = std::mem::take(&mut self.pending);
        let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        let parsed = request.parse(&header);
        if !matches!(parsed, Ok(httparse::Status::Complete(length)) if length == header.len()) {
            return Err(NotFollowed);
        }
        if request.method.is_some_and(|method| method.eq_ignore_ascii_case("connect")) {
            return Err(NotFollowed);
        }
        followed.servers.push(server_of_request(&request));
        self.position = body_of(&request)?;
        followed.bytes.extend(header);
        Ok(())
    }

    /// Moves bytes to the pending line, and returns it when it is complete, with its end.
    fn take_line(&mut self, bytes: &mut &[u8]) -> Result<Option<Vec<u8>>, NotFollowed> {
        while let Some((byte, rest)) = bytes.split_first() {
            *bytes = rest;
            self.pending.push(*byte);
            if *byte == b'\n' {
                let line = std::mem::take(&mut self.pending);
                return if line.ends_with(b"\r\n") { Ok(Some(line)) } else { Err(NotFollowed) };
            }
            if self.pending.len() > MAX_HEADER_BYTES {
                return Err(NotFollowed);
            }
        }
        Ok(None)
    }

    /// Returns the position after a line that is part of a chunked body.
    fn after_line(&self, line: &[u8]) -> Result<Position, NotFollowed> {
        let content = line.strip_suffix(b"\r\n").ok_or(NotFollowed)?;
        match self.position {
            Position::ChunkEnd if content.is_empty() => Ok(Position::ChunkLength),
            Position::ChunkLength => match chunk_length(content)? {
                0 => Ok(Position::Trailers),
                length => Ok(Position::Chunk(length)),
            },
            Position::Trailers if content.is_empty() => Ok(Position::Header),
            Position::Trailers => Ok(Position::Trailers),
            _ => Err(NotFollowed),
        }
    }
}

/// Parses the length of a chunk. Extensions, which clients do not send, are rejected.
fn chunk_length(digits: &[u8]) -> Result<u64, NotFollowed> {
    if digits.is_empty() || digits.len() > 15 || !digits.iter().all(u8::is_ascii_hexdigit) {
        return Err(NotFollowed);
    }
    let text = str::from_utf8(digits).map_err(|_| NotFollowed)?;
    u64::from_str_radix(text, 16).map_err(|_| NotFollowed)
}

/// Moves at most this many bytes, and returns their number.
fn pass(bytes: &mut &[u8], most: u64, passed: &mut Vec<u8>) -> u64 {
    let length = bytes.len().min(usize::try_from(most).unwrap_or(usize::MAX));
    let (first, rest) = bytes.split_at(length);
    passed.extend(first);
    *bytes = rest;
    length as u64
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
            if request.version == Some(1) && encoding.value.trim_ascii().eq_ignore_ascii_case(b"chunked") =>
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

    /// Returns the names of the servers and the forwarded bytes.
    fn servers(text: &str, chunk: usize) -> Result<(Vec<String>, String), NotFollowed> {
        let mut requests = HttpRequests::new();
        let (mut all, mut sent) = (Vec::new(), Vec::new());
        for part in text.as_bytes().chunks(chunk) {
            let followed = requests.add(part)?;
            sent.extend(followed.bytes);
            for server in followed.servers {
                all.push(match server {
                    ServerName::Host(Host::Name(name)) => name.into(),
                    other => format!("{other:?}"),
                });
            }
        }
        Ok((all, String::from_utf8(sent).unwrap()))
    }

    const REQUESTS: &str = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n\
        POST /x HTTP/1.1\r\nHost: b.test\r\nContent-Length: 31\r\n\r\n\
        GET / HTTP/1.1\r\nHost: no.test\r\nPUT /y HTTP/1.1\r\nHost: c.test\r\nTransfer-Encoding: chunked\r\n\r\n\
        1F\r\nGET / HTTP/1.1\r\nHost: no.test\r\n\r\n0\r\nTrailer: 1\r\n\r\n\
        GET / HTTP/1.1\r\nHost: d.test\r\n\r\n";

    #[test]
    fn hosts_of_all_requests_are_found() {
        for chunk in [1, 2, 7, 1_000] {
            let expected = ["a.test", "b.test", "c.test", "d.test"].map(str::to_owned).to_vec();
            assert_eq!(servers(REQUESTS, chunk), Ok((expected, REQUESTS.to_owned())), "{chunk}");
        }
    }

    #[test]
    fn incomplete_headers_are_not_sent_on() {
        let first = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";
        for rest in ["GET /x\r\n", "GET / HTTP/1.1\r\nHost: no.test\r\n", "\r"] {
            let (_, sent) = servers(&format!("{first}{rest}"), 1_000).unwrap();
            assert_eq!(sent, first, "{rest:?}");
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
            "Bare: 1\nLine: 2",
        ] {
            let text = format!("POST / HTTP/1.1\r\nHost: a.test\r\n{header}\r\n\r\n");
            assert_eq!(servers(&text, 10), Err(NotFollowed), "{header}");
        }
        let chunked = "POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n";
        for body in
            ["1\r\nA\n100\r\n", "1\r\nABC\r\n", "\r\n", "1;x=y\r\nA\r\n", "1\nA\r\n", "g\r\n", " 1\r\nA\r\n"]
        {
            assert_eq!(servers(&format!("{chunked}{body}"), 4), Err(NotFollowed), "{body:?}");
        }
        for text in [
            "\x16\x03\x01\0\n\n",
            "SSH-2.0\r\n\r\n",
            "CONNECT a.test:80 HTTP/1.1\r\nHost: a.test\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: no.test\n\r\n",
            "GET / HTTP/1.1\nHost: no.test\n\n",
            "POST / HTTP/1.0\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n",
        ] {
            assert_eq!(servers(text, 3), Err(NotFollowed), "{text:?}");
        }
        let endless = format!("GET /{}", "a".repeat(2 * MAX_HEADER_BYTES));
        assert_eq!(servers(&endless, 1_000), Err(NotFollowed));
    }
}
