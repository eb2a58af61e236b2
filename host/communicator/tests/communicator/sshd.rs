//! An sshd instance for one test, with separate keys, and test helpers.

use std::fs::Metadata;
use std::net::{IpAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use wardian_access::{ConnectProgress, ConnectionAuthority, Denied, ExitStatus, FinishedConnection};
use wardian_communicator::{
    CommandEvent, CommunicatorError, ConnectionContext, ConnectionSettings, RemoteConnection,
};

const SSHD: &str = "/usr/sbin/sshd";
/// Root's password if [`Sshd::with_password`] is used, and its hash.
pub const PASSWORD: &str = "correct horse";
const HASH: &str =
    "$6$wardian$7lnHDi3n4/T1jmwsXWrM72z.o3f.NiwVNb7enBP2BYcBNXwpnd1qv2CHDObO9.D9jv30liSk5ov.CpxuRg78G0";

pub struct Sshd {
    pub directory: TempDir,
    pub port: u16,
    child: Child,
}

#[derive(Clone, Copy)]
enum Reached {
    FromHere,
    InItsNetwork,
}

/// Prints the reason why a test cannot run on this machine.
fn skipped(reason: &str) -> Option<Sshd> {
    println!("skipped: {reason}");
    None
}

impl Sshd {
    /// Starts an sshd that accepts the key `id` in its directory. If this machine has no sshd or
    /// cannot run it, prints the reason and returns `None`.
    pub fn start(lines: &str) -> Option<Self> {
        Self::start_by(lines, Reached::FromHere, |directory| {
            let mut command = Command::new(SSHD);
            command.args(["-D", "-f"]).arg(directory.join("config")).arg("-E").arg(directory.join("log"));
            command
        })
    }

    /// Starts an sshd with a password for root, without changing this machine's password.
    pub fn with_password(lines: &str) -> Option<Self> {
        if !Command::new("unshare").args(["-m", "true"]).status().is_ok_and(|status| status.success()) {
            return skipped("no mount namespace of its own, in which root could have a password");
        }
        Self::start_by(lines, Reached::FromHere, |directory| {
            std::fs::write(directory.join("shadow"), format!("root:{HASH}:19000:0:99999:7:::\n")).unwrap();
            let mut command = Command::new("unshare");
            let script = "mount --bind \"$0/shadow\" /etc/shadow && \
                          exec /usr/sbin/sshd -D -f \"$0/config\" -E \"$0/log\"";
            command.args(["-m", "sh", "-c", script]).arg(directory);
            command
        })
    }

    fn start_by(lines: &str, reached: Reached, command: impl Fn(&Path) -> Command) -> Option<Self> {
        if !Path::new(SSHD).exists() {
            return skipped("there is no /usr/sbin/sshd (Debian's openssh-server)");
        }
        if !rustix::process::geteuid().is_root() {
            return skipped("only root's sshd can log anybody in");
        }
        // sshd's privilege separation directory.
        std::fs::create_dir_all("/run/sshd").ok()?;
        let directory = TempDir::new().unwrap();
        let path = directory.path();
        for (name, kind) in [("host", "ed25519"), ("id", "ed25519")] {
            generate(&path.join(name), kind, "");
        }
        std::fs::copy(path.join("id.pub"), path.join("authorized")).unwrap();
        // Another test may take the port before sshd does.
        for _ in 0..5 {
            let port = free_port();
            let config = format!(
                "{lines}\nPort {port}\nListenAddress 127.0.0.1\nHostKey {0}/host\nPidFile none\n\
                 AuthorizedKeysFile {0}/authorized\nStrictModes no\nPermitRootLogin yes\nUsePAM no\n\
                 PermitUserEnvironment no\nPrintMotd no\nMaxStartups 100\nSubsystem sftp internal-sftp\n",
                path.display()
            );
            std::fs::write(path.join("config"), config).unwrap();
            let mut child = command(path)
                .process_group(0)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let began = Instant::now();
            while began.elapsed() < Duration::from_secs(5) && child.try_wait().unwrap().is_none() {
                let listens = match reached {
                    Reached::FromHere => TcpStream::connect(("127.0.0.1", port)).is_ok(),
                    Reached::InItsNetwork => std::fs::read_to_string(path.join("log"))
                        .is_ok_and(|log| log.contains("Server listening")),
                };
                if listens {
                    return Some(Self { directory, port, child });
                }
                std::thread::sleep(Duration::from_millis(10));
            }
            let _ = child.kill();
            let _ = child.wait();
        }
        let log = std::fs::read_to_string(path.join("log")).unwrap_or_default();
        panic!("sshd does not start: {log}");
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// Creates a key in the directory and allows it to log in.
    pub fn new_key(&self, name: &str, kind: &str, passphrase: &str) {
        generate(&self.path(name), kind, passphrase);
        let authorized = self.read("authorized") + &self.read(&format!("{name}.pub"));
        std::fs::write(self.path("authorized"), authorized).unwrap();
    }

    /// Returns the block's values for a login with the default key.
    pub fn values(&self) -> Vec<(&'static str, String)> {
        vec![
            ("host", "127.0.0.1".into()),
            ("port", self.port.to_string()),
            ("private_key", self.read("id")),
            ("timeout", "5s".into()),
        ]
    }

    pub fn connection(&self) -> RemoteConnection {
        connection(&self.values())
    }

    /// Returns the process ID of the sshd, which identifies its namespaces.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Starts an sshd that is reachable only from its own network namespace.
    pub fn in_a_network_of_its_own() -> Option<Self> {
        let mut command = Command::new("unshare");
        if !command.args(["-n", "ip", "link", "show"]).output().is_ok_and(|done| done.status.success()) {
            return skipped("no network namespace of its own, or no ip to make use of one");
        }
        Self::start_by("", Reached::InItsNetwork, |directory| {
            let mut command = Command::new("unshare");
            let script = "ip link set lo up && exec /usr/sbin/sshd -D -f \"$0/config\" -E \"$0/log\"";
            command.args(["-n", "sh", "-c", script]).arg(directory);
            command
        })
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    /// Kills the processes that serve sessions.
    pub fn end_sessions(&self) {
        let _ = Command::new("pkill").args(["-KILL", "-P", &self.child.id().to_string()]).status();
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        self.end_sessions();
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn generate(path: &Path, kind: &str, passphrase: &str) {
    let (kind, bits) = kind.split_once('-').unwrap_or((kind, ""));
    let mut command = Command::new("ssh-keygen");
    command.args(["-q", "-t", kind, "-C", "a comment", "-N", passphrase, "-f"]).arg(path);
    if !bits.is_empty() {
        command.args(["-b", bits]);
    }
    assert!(command.status().unwrap().success());
}

pub fn keygen(arguments: &[&str], directory: &Path) {
    let done = Command::new("ssh-keygen").args(arguments).current_dir(directory).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

pub fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}

pub fn settings(values: &[(&str, String)]) -> ConnectionSettings {
    let value =
        |name: &str| values.iter().rev().find(|(known, _)| *known == name).map(|(_, value)| value.clone());
    ConnectionSettings::read(value).unwrap()
}

pub fn connection(values: &[(&str, String)]) -> RemoteConnection {
    RemoteConnection::new(settings(values), ConnectionContext::new(Arc::<Records>::default()))
}

pub fn recorded(values: &[(&str, String)], records: &Arc<Records>) -> RemoteConnection {
    RemoteConnection::new(settings(values), ConnectionContext::new(records.clone()))
}

/// An authority that records requests and denies the configured ones.
#[derive(Default)]
pub struct Records {
    pub asked: Mutex<Vec<String>>,
    pub ended: Mutex<Vec<FinishedConnection>>,
    pub attempts: Mutex<u32>,
    pub refuses: Mutex<Vec<String>>,
    pub writable_directories: Mutex<Vec<PathBuf>>,
}

impl Records {
    fn decide(&self, what: String) -> Result<(), Denied> {
        let refused = self.refuses.lock().unwrap().contains(&what);
        self.asked.lock().unwrap().push(what);
        if refused { Err(Denied::new("no rule allows it")) } else { Ok(()) }
    }
}

impl ConnectionAuthority for Records {
    fn may_connect(&self, host: &str, port: u16) -> Result<(), Denied> {
        self.decide(format!("{host} {port}"))
    }

    fn may_connect_at(&self, host: &str, _: u16, address: IpAddr) -> Result<(), Denied> {
        self.decide(format!("{host} at {address}"))
    }

    fn may_read(&self, path: &Path) -> Result<(), Denied> {
        self.decide(format!("read {}", path.display()))
    }

    fn may_look(&self, path: &Path) -> Result<(), Denied> {
        self.decide(format!("look at {}", path.display()))
    }

    fn may_read_opened(&self, path: &Path, _: &Metadata) -> Result<(), Denied> {
        self.decide(format!("read opened {}", path.display()))
    }

    fn writable_directories(&self) -> Vec<PathBuf> {
        self.writable_directories.lock().unwrap().clone()
    }

    fn report_progress(&self, progress: &ConnectProgress<'_>) {
        if let ConnectProgress::Connecting { attempt, .. } = progress {
            *self.attempts.lock().unwrap() = *attempt;
        }
    }

    fn finished(&self, ended: &FinishedConnection) {
        self.ended.lock().unwrap().push(ended.clone());
    }
}

#[derive(Debug, Default)]
pub struct Done {
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub status: Option<ExitStatus>,
}

impl Done {
    pub fn text(&self) -> String {
        String::from_utf8(self.stdout.clone()).unwrap()
    }
}

pub async fn run(connection: &RemoteConnection, command: &str) -> Result<Done, CommunicatorError> {
    let mut command = connection.execute(command).await?;
    let mut done = Done::default();
    while let Some(event) = command.next_event().await? {
        assert_eq!(done.status, None, "nothing comes after the end");
        match event {
            CommandEvent::Stdout(bytes) => done.stdout.extend(bytes),
            CommandEvent::Stderr(bytes) => done.stderr.extend(bytes),
            CommandEvent::Exited(status) => done.status = Some(status),
        }
    }
    Ok(done)
}
