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
        let value = |name: &str| headers.iter().find(|(header, _)| header == name).map(|(_, value)| &**value);
        if value("transfer-encoding") == Some("chunked") {
            let body = read_chunks(&mut reader)?;
            return Ok(Some(Self { method, target, headers, body }));
        }
        let length: usize = value("content-length").and_then(|value| value.parse().ok()).unwrap_or_default();
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        Ok(Some(Self { method, target, headers, body }))
    }

    /// Returns the target as a URL with an arbitrary host.
    pub fn url(&self) -> url::Url {
        url::Url::parse(&format!("http://server{}", self.target)).unwrap()
    }

    /// Returns the path with percent-encoded characters decoded.
    pub fn decoded_path(&self) -> String {
        let path = self.target.split('?').next().unwrap_or_default().as_bytes();
        let mut decoded = Vec::with_capacity(path.len());
        let mut rest = path;
        while let Some((first, others)) = rest.split_first() {
            let code = others.get(..2).and_then(|code| std::str::from_utf8(code).ok());
            match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
                Some(byte) if *first == b'%' => {
                    decoded.push(byte);
                    rest = &others[2..];
                }
                _ => {
                    decoded.push(*first);
                    rest = others;
                }
            }
        }
        String::from_utf8_lossy(&decoded).into_owned()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.as_str())
    }
}

fn read_chunks(reader: &mut impl io::BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let size = usize::from_str_radix(line.trim_end(), 16).map_err(io::Error::other)?;
        let mut chunk = vec![0; size + 2];
        reader.read_exact(&mut chunk)?;
        if size == 0 {
            return Ok(body);
        }
        body.extend_from_slice(&chunk[..size]);
    }
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
