//! Starts Debian's `docker-registry`, an OCI registry that is independent of Wardian.

#![allow(clippy::unwrap_used, reason = "a test ends there")]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

const START_LIMIT: Duration = Duration::from_secs(30);

/// A running registry, which ends when it is dropped.
#[derive(Debug)]
pub struct DockerRegistry {
    process: Child,
    port: u16,
    _directory: TempDir,
}

impl DockerRegistry {
    /// Starts a registry. `authentication` returns the authentication section of the configuration,
    /// and can create files in a directory. If the program is not installed, prints a message and
    /// returns `None`.
    ///
    /// # Panics
    /// Panics if the registry does not listen within 30 seconds.
    pub fn start(authentication: impl FnOnce(&Path) -> String) -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        // Another process can take the port before the registry listens; then the start fails.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let config = directory.path().join("config.yml");
        let storage = directory.path().join("storage");
        let text = format!(
            "version: 0.1\nlog:\n  level: warn\nstorage:\n  filesystem:\n    rootdirectory: {}\n  delete:\n    \
             enabled: true\nhttp:\n  addr: 127.0.0.1:{port}\n{}",
            storage.display(),
            authentication(directory.path()),
        );
        fs::write(&config, text).unwrap();
        let started = Command::new("docker-registry")
            .arg("serve")
            .arg(&config)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn();
        let mut process = match started {
            Ok(process) => process,
            Err(error) => {
                println!("skipped: the program docker-registry cannot be started: {error}");
                return None;
            }
        };
        // The program blocks if nobody reads its messages.
        let messages = BufReader::new(process.stderr.take().unwrap());
        std::thread::spawn(move || messages.lines().for_each(drop));
        let deadline = Instant::now() + START_LIMIT;
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < deadline, "docker-registry does not listen after 30 seconds");
            assert!(process.try_wait().unwrap().is_none(), "docker-registry has exited");
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(Self { process, port, _directory: directory })
    }

    /// Returns `HOST:PORT`.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }
}

impl Drop for DockerRegistry {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
