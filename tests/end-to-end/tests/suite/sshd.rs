//! Runs a temporary sshd with its own keys on the loopback address, to serve as the provisioned
//! machine. Its files are in a directory on this machine.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends there")]

use std::fs;
use std::net::TcpStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use wardian_end_to_end::Project;
use wardian_state_server::free_port;

const SSHD: &str = "/usr/sbin/sshd";
/// The password of root for [`Sshd::with_password`], and its hash.
const PASSWORD: &str = "correct horse";
const HASH: &str =
    "$6$wardian$7lnHDi3n4/T1jmwsXWrM72z.o3f.NiwVNb7enBP2BYcBNXwpnd1qv2CHDObO9.D9jv30liSk5ov.CpxuRg78G0";

pub struct Sshd {
    directory: TempDir,
    port: u16,
    child: Child,
}

fn skipped(reason: &str) -> Option<Sshd> {
    println!("skipped: {reason}");
    None
}

impl Sshd {
    /// Starts a server that accepts the key `id` in its directory. If this machine has no sshd or
    /// cannot run it, prints the reason and returns `None`.
    pub fn start() -> Option<Self> {
        Self::start_with("")
    }

    /// Starts a server that accepts a password for root, without changing the password of this
    /// machine.
    pub fn with_password() -> Option<Self> {
        Self::start_with("mount --bind \"$0/shadow\" /etc/shadow && ")
    }

    /// Starts a server whose directory `small` has a capacity of 64 KiB.
    pub fn with_little_room() -> Option<Self> {
        Self::start_with("mkdir -p \"$0/small\" && mount -t tmpfs -o size=64k none \"$0/small\" && ")
    }

    /// Starts a server after a shell command has prepared its file system.
    fn start_with(mounting: &str) -> Option<Self> {
        if !Path::new(SSHD).exists() {
            return skipped("there is no /usr/sbin/sshd (Debian's openssh-server)");
        }
        if !rustix::process::geteuid().is_root() {
            return skipped("only root's sshd can log anybody in");
        }
        let has_namespaces = Command::new("unshare").args(["-m", "true"]).status();
        if !mounting.is_empty() && !has_namespaces.is_ok_and(|status| status.success()) {
            return skipped("no mount namespace of its own");
        }
        // sshd's privilege separation directory.
        fs::create_dir_all("/run/sshd").ok()?;
        let directory = TempDir::new().unwrap();
        let path = directory.path();
        for name in ["host", "id", "other"] {
            generate(&path.join(name));
        }
        fs::copy(path.join("id.pub"), path.join("authorized")).unwrap();
        fs::create_dir(path.join("there")).unwrap();
        fs::write(path.join("shadow"), format!("root:{HASH}:19000:0:99999:7:::\n")).unwrap();
        // Another test may take the port before sshd does.
        for _ in 0..5 {
            let port = free_port();
            let config = format!(
                "Port {port}\nListenAddress 127.0.0.1\nHostKey {0}/host\nPidFile none\n\
                 AuthorizedKeysFile {0}/authorized\nStrictModes no\nPermitRootLogin yes\nUsePAM no\n\
                 PrintMotd no\nMaxStartups 100\nSubsystem sftp internal-sftp\nTrustedUserCAKeys {0}/other.pub\n",
                path.display()
            );
            fs::write(path.join("config"), config).unwrap();
            let script = format!("{mounting} exec {SSHD} -D -f \"$0/config\" -E \"$0/log\"");
            let mut command = Command::new(if mounting.is_empty() { "sh" } else { "unshare" });
            if !mounting.is_empty() {
                command.args(["-m", "sh"]);
            }
            command.args(["-c", &script]).arg(path).process_group(0);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            let mut child = command.spawn().unwrap();
            let began = Instant::now();
            while began.elapsed() < Duration::from_secs(20) && child.try_wait().unwrap().is_none() {
                if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                    return Some(Self { directory, port, child });
                }
                std::thread::sleep(Duration::from_millis(10));
            }
            let _ = child.kill();
            let _ = child.wait();
        }
        let log = fs::read_to_string(path.join("log")).unwrap_or_default();
        panic!("sshd does not start: {log}");
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    /// Returns the number of logins.
    pub fn logins(&self) -> usize {
        self.log().matches("Accepted ").count()
    }

    /// Kills the server's processes that serve sessions.
    pub fn end_sessions(&self) {
        let _ = Command::new("pkill").args(["-KILL", "-P", &self.child.id().to_string()]).status();
    }

    /// Creates a project with a configuration in which words in capitals are replaced: `KEY` with a
    /// connection block that contains the right key, `PORT` and `PASSWORD` with their values,
    /// `THERE` with a directory on the machine, and `PLACE` with the directory of the machine's own
    /// files.
    pub fn project(&self, configuration: &str) -> Project {
        let project = Project::new(&[("main.tf", &self.filled(configuration))]);
        for name in ["id", "other", "host.pub", "other.pub"] {
            project.write(&format!("keys/{name}"), fs::read(self.path(name)).unwrap());
        }
        self.certify(&project);
        project
    }

    pub fn filled(&self, text: &str) -> String {
        let key = "connection {\n    host = \"127.0.0.1\"\n    port = PORT\n    private_key = file(\"keys/id\")\n    \
                   timeout = \"20s\"\n    agent = false\n  }";
        text.replace("KEY", key)
            .replace("PORT", &self.port.to_string())
            .replace("PASSWORD", PASSWORD)
            .replace("THERE", self.path("there").to_str().unwrap())
            .replace("PLACE", self.path("").to_str().unwrap().trim_end_matches('/'))
    }

    /// Replaces values that are specific to this machine.
    pub fn emptied(&self, text: &str) -> String {
        text.replace(self.path("there").to_str().unwrap(), "THERE")
            .replace(self.path("").to_str().unwrap().trim_end_matches('/'), "PLACE")
            .replace(&self.port.to_string(), "PORT")
    }

    /// Creates a key that is not authorized, and a certificate for it from a trusted authority.
    fn certify(&self, project: &Project) {
        let certified = self.path("certified");
        if !certified.exists() {
            generate(&certified);
            let signing = Command::new("ssh-keygen")
                .args(["-q", "-s", "other", "-I", "a test", "-n", "root", "certified.pub"])
                .current_dir(self.path(""))
                .status();
            assert!(signing.unwrap().success());
        }
        for name in ["certified", "certified-cert.pub"] {
            project.write(&format!("keys/{name}"), fs::read(self.path(name)).unwrap());
        }
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        self.end_sessions();
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn generate(path: &Path) {
    let mut command = Command::new("ssh-keygen");
    command.args(["-q", "-t", "ed25519", "-N", "", "-C", "a test", "-f"]).arg(path);
    assert!(command.status().unwrap().success());
}
