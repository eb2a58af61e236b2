//! Programs that some scenarios need: `git daemon`, sshd, Mercurial, and an object store.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends there")]

use std::fs;
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use wardian_state_server::free_port;

use crate::install_setup::GitCommit;
use crate::sshd::Sshd;

const PATIENCE: Duration = Duration::from_mins(1);

/// The programs of one scenario, which are stopped when this value is dropped.
#[derive(Default)]
pub(super) struct Programs {
    git_daemon: Option<GitDaemon>,
    sshd: Option<Sshd>,
    moto: Option<Moto>,
}

impl Programs {
    /// Starts programs. If one is missing, prints the reason and returns [`None`].
    pub(super) fn start(needed: &[String], git: &Path) -> Option<Self> {
        let mut programs = Self::default();
        for name in needed {
            match name.as_str() {
                "git-daemon" => programs.git_daemon = Some(GitDaemon::start(git)?),
                "sshd" => programs.sshd = Some(Sshd::start()?),
                "moto" => programs.moto = Some(Moto::start()?),
                other => panic!("what is {other}?"),
            }
        }
        Some(programs)
    }

    fn names(&self) -> Vec<(&'static str, String)> {
        let mut names = Vec::new();
        if let Some(daemon) = &self.git_daemon {
            names.push(("[GIT]", format!("git://127.0.0.1:{}", daemon.port)));
        }
        if let Some(sshd) = &self.sshd {
            names.push(("[SSH_KEY]", sshd.path("id").display().to_string()));
            names.push(("[SSH]", format!("ssh://root@127.0.0.1:{}", sshd.port())));
        }
        if let Some(moto) = &self.moto {
            names.push(("[S3]", moto.url()));
        }
        names
    }

    /// Replaces placeholders with their values.
    pub(super) fn replaced(&self, text: &str) -> String {
        self.names().iter().fold(text.to_owned(), |text, (name, value)| text.replace(name, value))
    }

    /// Replaces text that differs from run to run with placeholders.
    pub(super) fn named(&self, text: &str) -> String {
        self.names().iter().fold(text.to_owned(), |text, (name, value)| text.replace(value, name))
    }

    /// Stores an object in the object store.
    pub(super) fn store(&self, bucket: &str, key: &str, content: &[u8]) {
        let moto = self.moto.as_ref().unwrap();
        moto.put(&format!("/{bucket}"), &[]);
        moto.put(&format!("/{bucket}/{key}"), content);
    }
}

/// Creates a Mercurial repository `DIRECTORY/NAME`; returns [`None`] if `hg` is not installed.
pub(super) fn create_mercurial_repository(directory: &Path, name: &str, commits: &[GitCommit]) -> Option<()> {
    let repository = directory.join(name);
    fs::create_dir_all(&repository).unwrap();
    let hg = |arguments: &[&str]| {
        let mut command = Command::new("hg");
        command.args(arguments).current_dir(&repository).env("HGRCPATH", "").env("HGUSER", "Tester");
        command.stdin(Stdio::null()).output()
    };
    if hg(&["init"]).is_err() {
        println!("skipped: there is no `hg` (Debian's mercurial)");
        return None;
    }
    for commit in commits {
        for (path, text) in &commit.files {
            let file = repository.join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text.as_deref().unwrap_or_default()).unwrap();
        }
        let committed = hg(&["commit", "--addremove", "--message=change", "--date=0 0"]).unwrap();
        assert!(committed.status.success(), "{}", String::from_utf8_lossy(&committed.stderr));
        if let Some(tag) = &commit.tag {
            hg(&["tag", "--date=0 0", tag]).unwrap();
        }
    }
    Some(())
}

/// Waits until a program listens on a port of this machine. Returns false on a timeout.
fn waits_for(process: &mut Child, port: u16) -> bool {
    let started = Instant::now();
    while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
        if !matches!(process.try_wait(), Ok(None)) || started.elapsed() > PATIENCE {
            let _ = process.kill();
            let _ = process.wait();
            return false;
        }
        sleep(Duration::from_millis(10));
    }
    true
}

/// An object store: the program `moto_server`.
struct Moto {
    process: Child,
    port: u16,
}

impl Moto {
    fn start() -> Option<Self> {
        let port = free_port();
        let installed =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/interop/python/bin/moto_server");
        let program = if installed.is_file() { installed } else { PathBuf::from("moto_server") };
        let process = Command::new(program)
            .args(["-H", "127.0.0.1", "-p", &port.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let mut process = match process {
            Ok(process) => process,
            Err(error) => {
                println!("skipped: there is no `moto_server`: {error}");
                return None;
            }
        };
        if !waits_for(&mut process, port) {
            println!("skipped: `moto_server` does not run");
            return None;
        }
        Some(Self { process, port })
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Sends a request without a signature, which this server does not need.
    fn put(&self, path: &str, content: &[u8]) {
        use std::io::{Read as _, Write as _};
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).unwrap();
        let head = format!(
            "PUT {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            self.port,
            content.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(content).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
}

impl Drop for Moto {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A running `git daemon`.
struct GitDaemon {
    process: Child,
    port: u16,
}

impl GitDaemon {
    /// Starts a daemon; returns [`None`] if git does not include the daemon.
    fn start(directory: &Path) -> Option<Self> {
        let port = free_port();
        let mut process = Command::new("git")
            .args(["daemon", "--listen=127.0.0.1", "--export-all", "--reuseaddr"])
            .arg(format!("--port={port}"))
            .arg(format!("--base-path={}", directory.display()))
            .env("GIT_CONFIG_COUNT", "1")
            .env("GIT_CONFIG_KEY_0", "safe.directory")
            .env("GIT_CONFIG_VALUE_0", "*")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        if !waits_for(&mut process, port) {
            println!("skipped: `git daemon` does not run");
            return None;
        }
        Some(Self { process, port })
    }
}

impl Drop for GitDaemon {
    fn drop(&mut self) {
        // `git daemon` starts another process, and forwards the signal to it.
        if let Some(id) = i32::try_from(self.process.id()).ok().and_then(rustix::process::Pid::from_raw) {
            let _ = rustix::process::kill_process(id, rustix::process::Signal::TERM);
        }
        let _ = self.process.wait();
    }
}
