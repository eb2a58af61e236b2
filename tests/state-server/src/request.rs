//! HTTP/1.1 requests and responses.

use std::io::{self, BufRead as _, BufReader, Read, Write};

/// A request.
#[derive(Clone, Debug)]
pub struct Request {
    pub method: String,
    /// The path with the query.
    pub target: String,
    /// The headers; their names are in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// A response.
#[derive(Clone, Debug)]
pub struct Response {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Request {
    /// Reads a request; [`None`] if the connection ends before it.
    pub(crate) fn read(stream: &mut dyn Read) -> io::Result<Option<Self>> {
        Self::read_unless(stream, |_| false)
    }

    /// Reads a request, or only a half of its body if `is_cut` returns true for the request without its
    /// body. In that case, returns [`None`].
    pub(crate) fn read_unless(
        stream: &mut dyn Read,
        is_cut: impl FnOnce(&Self) -> bool,
    ) -> io::Result<Option<Self>> {
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let mut words = line.split_whitespace();
        let (method, target) =
            (words.next().unwrap_or_default().to_owned(), words.next().unwrap_or_default().to_owned());
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut request = Self { method, target, headers, body: Vec::new() };
        if is_cut(&request) {
            let length = request.header("content-length").and_then(|value| value.parse::<usize>().ok());
            reader.read_exact(&mut vec![0; length.unwrap_or(2) / 2])?;
            return Ok(None);
        }
        if request.header("transfer-encoding") == Some("chunked") {
            request.body = read_chunks(&mut reader)?;
        } else {
            let length = request.header("content-length").and_then(|value| value.parse().ok());
            request.body = vec![0; length.unwrap_or_default()];
            reader.read_exact(&mut request.body)?;
        }
        Ok(Some(request))
    }

    /// Returns the path without the query. It is not decoded.
    pub fn path(&self) -> &str {
        self.target.split_once('?').map_or(&*self.target, |(path, _)| path)
    }

    /// Returns the decoded value of a parameter of the query.
    pub fn parameter(&self, name: &str) -> Option<String> {
        let (_, query) = self.target.split_once('?')?;
        parameters(query).into_iter().find(|(parameter, _)| parameter == name).map(|(_, value)| value)
    }

    /// Returns the parameters of a body that is a form.
    pub fn form(&self) -> Vec<(String, String)> {
        parameters(&String::from_utf8_lossy(&self.body))
    }

    /// Returns the target as a URL with an arbitrary host.
    pub fn url(&self) -> url::Url {
        url::Url::parse(&format!("http://server{}", self.target)).unwrap()
    }

    /// Returns the path with percent-encoded characters decoded.
    pub fn decoded_path(&self) -> String {
        percent_decode(self.path())
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.as_str())
    }
}

pub(crate) fn read_chunks(reader: &mut dyn io::BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let length = usize::from_str_radix(line.trim(), 16).map_err(io::Error::other)?;
        let mut chunk = vec![0; length + 2];
        reader.read_exact(&mut chunk)?;
        if length == 0 {
            return Ok(body);
        }
        body.extend_from_slice(&chunk[..length]);
    }
}

fn parameters(text: &str) -> Vec<(String, String)> {
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    let decode = |text: &str| percent_decode(&text.replace('+', " "));
    pairs
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(a, b)| (decode(a), decode(b)))
        .collect()
}

/// Decodes `%XX` in a path or a query.
pub(crate) fn percent_decode(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let code = tail.get(..2).filter(|_| *first == b'%').and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

impl Response {
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, headers: Vec::new(), body: body.into() }
    }

    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Writes at most `limit` bytes of the body.
    pub(crate) fn write(&self, stream: &mut dyn Write, limit: usize) -> io::Result<()> {
        let mut head = format!("HTTP/1.1 {} x\r\ncontent-length: {}\r\n", self.status, self.body.len());
        for (name, value) in &self.headers {
            head.extend([name, ": ", value, "\r\n"]);
        }
        head.push_str("connection: close\r\n\r\n");
        stream.write_all(head.as_bytes())?;
        stream.write_all(self.body.get(..limit).unwrap_or(&self.body))?;
        stream.flush()
    }
}
