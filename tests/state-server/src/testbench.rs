//! Google's testbench for clients of Cloud Storage (github.com/googleapis/storage-testbench).

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;

use crate::program::{Running, free_port};

/// The variable with the path of `gunicorn` in a Python environment that contains the testbench.
const VARIABLE: &str = "WARDIAN_STORAGE_TESTBENCH";

/// A running server with the bucket [`Gcs::BUCKET`](crate::Gcs::BUCKET).
pub struct StorageTestbench {
    port: u16,
    _running: Running,
}

impl StorageTestbench {
    /// Starts a server. Prints the reason and returns [`None`] if the testbench is not installed.
    pub fn start() -> Option<Self> {
        let Some(program) = std::env::var_os(VARIABLE).map(PathBuf::from) else {
            eprintln!(
                "skipped: {VARIABLE} does not name the program gunicorn of a Python environment with Google's \
                 storage-testbench"
            );
            return None;
        };
        let port = free_port();
        let bind = format!("--bind=127.0.0.1:{port}");
        let running = Running::start(&program, &[&bind, "--threads=10", "testbench:run()"], None, None, port);
        let body = format!("{{\"name\":\"{}\"}}", crate::Gcs::BUCKET);
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let request = format!(
            "POST /storage/v1/b?project=p HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nconnection: close\r\ncontent-type: \
             application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        assert!(response.starts_with("HTTP/1.1 200"), "{response}");
        Some(Self { port, _running: running })
    }

    /// Returns the value of `STORAGE_EMULATOR_HOST`.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}
