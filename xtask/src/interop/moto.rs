//! Runs a server that emulates AWS: `moto`, in a Python environment under `target/` that is created
//! once and reused.

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::process;
use crate::progress::say;

/// Time limit until the server listens.
const PATIENCE: Duration = Duration::from_mins(1);

/// Returns the path of the server's program, which is installed if necessary.
pub(crate) fn installed(target: &Path, python: &Path) -> Result<PathBuf> {
    let environment = target.join("interop/python");
    let server = environment.join("bin/moto_server");
    if !server.is_file() {
        say("installing moto in target/interop");
        process::output(Command::new(python).args(["-m", "venv"]).arg(&environment))?;
        let pip = environment.join("bin/pip");
        process::output(Command::new(pip).args(["install", "--quiet", "moto[server]>=5,<6"]))?;
    }
    Ok(server)
}

/// A running server, which is stopped when dropped.
pub(crate) struct Server {
    process: Child,
    port: u16,
}

impl Server {
    pub(crate) fn start(program: &Path) -> Result<Self> {
        // Another process is unlikely to use the port before the server does.
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        let process = Command::new(program)
            .args(["-H", "127.0.0.1", "-p", &port.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("could not start {}", program.display()))?;
        let mut server = Self { process, port };
        let begun = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            if let Some(status) = server.process.try_wait()? {
                bail!("{} ended with {status}", program.display());
            }
            if begun.elapsed() > PATIENCE {
                bail!("{} is not listening after {} s", program.display(), PATIENCE.as_secs());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(server)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The process may already have ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
