//! moto, a server that implements services of Amazon Web Services.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;

use crate::program::{Running, find, free_port};
use crate::request::{Request, Response};
use crate::state_server::TestService;

/// The variable with the path of `moto_server`, if it is not in the `PATH`.
const VARIABLE: &str = "WARDIAN_MOTO_SERVER";

/// Passes the requests to a [`StateServer`](crate::StateServer), which has faults, on to moto.
pub struct MotoService(pub &'static Moto);

impl TestService for MotoService {
    fn process(&self, request: &Request) -> Response {
        let mut stream = TcpStream::connect(("127.0.0.1", self.0.port)).unwrap();
        let mut head = format!("{} {} HTTP/1.1\r\nconnection: close\r\n", request.method, request.target);
        let is_passed = |name: &str| !matches!(name, "connection" | "content-length" | "transfer-encoding");
        for (name, value) in request.headers.iter().filter(|(name, _)| is_passed(name)) {
            head.extend([name, ": ", value, "\r\n"]);
        }
        let length = request.body.len();
        stream.write_all(format!("{head}content-length: {length}\r\n\r\n").as_bytes()).unwrap();
        stream.write_all(&request.body).unwrap();
        let mut response = Vec::new();
        stream.read_to_end(&mut response).unwrap();
        let end = response.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
        let head = String::from_utf8_lossy(&response[..end]).into_owned();
        let mut lines = head.lines();
        let status = lines.next().unwrap_or_default().split_whitespace().nth(1);
        let mut answer =
            Response::new(status.and_then(|text| text.parse().ok()).unwrap(), &response[end + 4..]);
        for (name, value) in lines.filter_map(|line| line.split_once(": ")) {
            if is_passed(&name.to_ascii_lowercase()) {
                answer = answer.with_header(name, value);
            }
        }
        answer
    }
}

/// A running server.
pub struct Moto {
    port: u16,
    _running: Running,
}

impl Moto {
    /// Starts a server. Prints the reason and returns [`None`] if moto is not installed.
    pub fn start() -> Option<Self> {
        let named = std::env::var_os(VARIABLE).map(PathBuf::from);
        let Some(program) = named.or_else(|| find("moto_server")) else {
            eprintln!(
                "skipped: moto_server is not installed; install it with `pip install 'moto[server]'`, or name it in \
                 {VARIABLE}"
            );
            return None;
        };
        let port = free_port();
        let running =
            Running::start(&program, &["-H", "127.0.0.1", "-p", &port.to_string()], None, None, port);
        Some(Self { port, _running: running })
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub fn create_bucket(&self, name: &str) {
        let (status, body) = self.request("PUT", &format!("/{name}"), "s3", &[], "");
        assert_eq!(status, 200, "{body}");
    }

    /// Creates a lock table.
    pub fn create_table(&self, name: &str) {
        let body = format!(
            "{{\"TableName\":\"{name}\",\"AttributeDefinitions\":[{{\"AttributeName\":\"LockID\",\"AttributeType\":\"S\"\
             }}],\"KeySchema\":[{{\"AttributeName\":\"LockID\",\"KeyType\":\"HASH\"}}],\"BillingMode\":\
             \"PAY_PER_REQUEST\"}}"
        );
        let (status, text) = self.table("CreateTable", &body);
        assert_eq!(status, 200, "{text}");
    }

    /// Creates a key of the Key Management Service, and returns its ID.
    pub fn create_key(&self) -> String {
        let headers =
            [("x-amz-target", "TrentService.CreateKey"), ("content-type", "application/x-amz-json-1.1")];
        let (status, body) = self.request("POST", "/", "kms", &headers, "{}");
        assert_eq!(status, 200, "{body}");
        let (_, after) = body.split_once("\"KeyId\"").unwrap();
        after.split('"').nth(1).unwrap().to_owned()
    }

    /// Calls an action of DynamoDB.
    pub fn table(&self, action: &str, body: &str) -> (u16, String) {
        let target = format!("DynamoDB_20120810.{action}");
        let headers = [("x-amz-target", &*target), ("content-type", "application/x-amz-json-1.0")];
        self.request("POST", "/", "dynamodb", &headers, body)
    }

    /// Returns an object.
    pub fn object(&self, path: &str) -> Option<String> {
        let (status, body) = self.request("GET", &format!("/{path}"), "s3", &[], "");
        (status == 200).then_some(body)
    }

    /// Replaces an object.
    pub fn put_object(&self, path: &str, content: &str) {
        let (status, body) = self.request("PUT", &format!("/{path}"), "s3", &[], content);
        assert_eq!(status, 200, "{body}");
    }

    fn request(
        &self,
        method: &str,
        path: &str,
        service: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> (u16, String) {
        let mut head = format!(
            "{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{}\r\nconnection: close\r\ncontent-length: {}\r\n\
             authorization: AWS4-HMAC-SHA256 Credential=x/20260101/us-east-1/{service}/aws4_request, \
             SignedHeaders=host, Signature=x\r\n",
            self.port,
            body.len()
        );
        for (name, value) in headers {
            head.extend([*name, ": ", *value, "\r\n"]);
        }
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.write_all(format!("{head}\r\n{body}").as_bytes()).unwrap();
        let mut response = Vec::new();
        stream.read_to_end(&mut response).unwrap();
        let response = String::from_utf8_lossy(&response).into_owned();
        let status = response.split_whitespace().nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        let body = response.split_once("\r\n\r\n").map_or("", |(_, body)| body).to_owned();
        (status, body)
    }
}
