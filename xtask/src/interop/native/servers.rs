//! The servers of `tests/interop/native/servers.py`, in one process.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::python::Python;
use crate::process;

/// The running servers, which are stopped when dropped.
pub(super) struct Servers {
    process: Child,
    /// The ports and the name that the servers printed.
    printed: Value,
    log: PathBuf,
    /// The directory with the certificates of the servers and of the client.
    pub(super) certificates: PathBuf,
}

impl Servers {
    pub(super) fn start(place: &Path, sources: &Path, python: &Python) -> Result<Self> {
        let (certificates, log) = (place.join("certificates"), place.join("servers.log"));
        fs::create_dir_all(&certificates)?;
        let mut create = Command::new(&python.interpreter);
        process::output(create.arg("-B").arg(sources.join("certificates.py")).arg(&certificates))?;
        let errors = fs::File::create(place.join("servers.errors"))?;
        let mut process = Command::new(&python.interpreter)
            .arg("-B")
            .arg(sources.join("servers.py"))
            .args([&certificates, &log])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn()
            .context("could not start the servers")?;
        let mut line = String::new();
        if let Some(output) = process.stdout.take() {
            BufReader::new(output).read_line(&mut line)?;
        }
        let failed = || format!("the servers did not start, see {}", place.join("servers.errors").display());
        let mut servers = Self { process, printed: Value::Null, log, certificates };
        servers.printed = serde_json::from_str(&line).with_context(failed)?;
        Ok(servers)
    }

    pub(super) fn port(&self, server: &str) -> u16 {
        self.printed["ports"][server].as_u64().and_then(|port| port.try_into().ok()).unwrap_or_default()
    }

    /// Returns a host name, or otherwise an address, of the servers of gRPC and HTTP/2.
    pub(super) fn name(&self) -> &str {
        self.printed["name"].as_str().unwrap_or("127.0.0.1")
    }

    /// Returns the number of records of all servers.
    pub(super) fn position(&self) -> Result<usize> {
        Ok(self.all_records()?.len())
    }

    /// Returns the records of a server since a position.
    pub(super) fn records(&self, server: &str, since: usize) -> Result<Vec<Value>> {
        let records = self.all_records()?.into_iter().skip(since);
        Ok(records.filter(|record| record["server"] == server).collect())
    }

    fn all_records(&self) -> Result<Vec<Value>> {
        let text = fs::read_to_string(&self.log)?;
        text.lines()
            .map(|line| serde_json::from_str(line).context("a line of the servers' log is not JSON"))
            .collect()
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        // The process may already have ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
