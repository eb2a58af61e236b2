//! Runs a server program until the test ends.

use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

const START_LIMIT: Duration = Duration::from_mins(1);

/// A running program, which is ended when this value is dropped.
pub(crate) struct Running(Child);

impl Running {
    /// Starts a program, and waits until it accepts connections.
    pub(crate) fn start(mut command: Command, port: u16) -> Self {
        let mut child = command.spawn().unwrap();
        let deadline = Instant::now() + START_LIMIT;
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if let Some(status) = child.try_wait().unwrap() {
                panic!("{command:?} ended with {status}");
            }
            assert!(Instant::now() < deadline, "{command:?} does not accept connections");
            thread::sleep(Duration::from_millis(50));
        }
        Self(child)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns a port on which no program listens.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Returns the path of a program in the `PATH`.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|directory| directory.join(name)).find(|path| path.is_file())
}
