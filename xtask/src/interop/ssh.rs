//! Measures the provisioner `file` with OpenSSH's server on a loopback address: the time to copy
//! 100 MB, compared with `scp`.
//!
//! `file` and `scp` are measured several times, alternately, and the fastest run of each is used,
//! since other load on the machine can only make a run slower. The time of the same run with one
//! byte is subtracted from Wardian's time, to measure only the copy.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::measure;
use crate::process;
use crate::progress::say;
use crate::workspace::Workspace;

const SSHD: &str = "/usr/sbin/sshd";
const BYTES: u64 = 100_000_000;
const TIMES: usize = 5;
/// The target: the maximum time, as a multiple of the time of `scp`.
const MAX_RATIO: f64 = 2.0;

/// A server that runs until it is dropped.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn run(workspace: &Workspace) -> Result<ExitCode> {
    if !Path::new(SSHD).exists() {
        say(&format!("skipped: there is no {SSHD} (Debian's openssh-server)"));
        return Ok(ExitCode::SUCCESS);
    }
    let place = workspace.own_target().join("interop/ssh");
    if place.exists() {
        fs::remove_dir_all(&place)?;
    }
    fs::create_dir_all(place.join("there"))?;
    let (_server, port) = start(&place)?;
    // The content is not repetitive, since repetitive content could be compressed during the
    // transfer.
    fs::write(place.join("large"), (0..BYTES).map(scattered).collect::<Vec<u8>>())?;
    fs::write(place.join("small"), "x")?;
    let wardian = workspace.host_program("wardian");
    let copy = |source: &str| -> Result<Duration> {
        let directory = place.join("project");
        if directory.exists() {
            fs::remove_dir_all(&directory)?;
        }
        fs::create_dir(&directory)?;
        fs::write(directory.join("main.tf"), configuration(port, source))?;
        let mut command = Command::new(&wardian);
        process::without_settings(command.args(["apply", "-auto-approve"]).current_dir(&directory));
        Ok(measure::once(&mut command)?.wall)
    };
    let scp = || -> Result<Duration> {
        let mut command = Command::new("scp");
        command.args(["-q", "-i", "id", "-P", &port.to_string(), "-o", "StrictHostKeyChecking=no"]);
        command.args(["-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR", "large"]);
        command.arg(format!("127.0.0.1:{}", place.join("there/scp").display())).current_dir(&place);
        Ok(measure::once(&mut command)?.wall)
    };
    copy("small")?;
    let [mut by_scp, mut with_large, mut with_small] = [Duration::MAX; 3];
    for _ in 0..TIMES {
        by_scp = by_scp.min(scp()?);
        with_large = with_large.min(copy("large")?);
        with_small = with_small.min(copy("small")?);
    }
    let by_us = with_large.saturating_sub(with_small);
    let ratio = by_us.as_secs_f64() / by_scp.as_secs_f64();
    say(&format!(
        "\n100 MB by scp                  {:>7.0} ms\n100 MB by provisioner \"file\"   {:>7.0} ms  (the run \
         {:.0} ms, with one byte {:.0} ms)\ntimes scp                      {ratio:>7.2}     (at most {MAX_RATIO})",
        milliseconds(by_scp),
        milliseconds(by_us),
        milliseconds(with_large),
        milliseconds(with_small),
    ));
    Ok(if ratio <= MAX_RATIO { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn scattered(at: u64) -> u8 {
    let [.., last] = at.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes();
    last
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

fn configuration(port: u16, source: &str) -> String {
    format!(
        r#"resource "terraform_data" "it" {{
  connection {{
    host        = "127.0.0.1"
    port        = {port}
    private_key = file("../id")
    agent       = false
    timeout     = "20s"
  }}
  provisioner "file" {{
    source      = "../{source}"
    destination = abspath("../there/ours")
  }}
}}
"#
    )
}

/// Starts a server with separate keys.
fn start(place: &Path) -> Result<(Server, u16)> {
    for name in ["host", "id"] {
        let mut command = Command::new("ssh-keygen");
        command.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(place.join(name));
        measure::once(&mut command)?;
    }
    fs::copy(place.join("id.pub"), place.join("authorized"))?;
    // The directory that sshd uses for unauthenticated connections.
    fs::create_dir_all("/run/sshd")
        .context("could not create /run/sshd; run as root, because otherwise sshd accepts no logins")?;
    let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
    let configuration = format!(
        "Port {port}\nListenAddress 127.0.0.1\nHostKey {0}/host\nPidFile none\nAuthorizedKeysFile {0}/authorized\n\
         StrictModes no\nPermitRootLogin yes\nUsePAM no\nSubsystem sftp internal-sftp\n",
        place.display()
    );
    fs::write(place.join("config"), configuration)?;
    let mut command = Command::new(SSHD);
    command.args(["-D", "-f"]).arg(place.join("config")).arg("-E").arg(place.join("log"));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let server = Server(command.spawn()?);
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(20) {
        if TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return Ok((server, port));
        }
        sleep(Duration::from_millis(10));
    }
    bail!("sshd did not start:\n{}", fs::read_to_string(place.join("log")).unwrap_or_default())
}
