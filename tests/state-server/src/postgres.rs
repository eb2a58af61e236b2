//! Starts a PostgreSQL server for tests.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::PathBuf;
use std::process::Command;

use crate::program::{Running, find, free_port, run_as};

/// The user name of the server's administrator.
const ADMINISTRATOR: &str = "postgres";
/// The directory in which Debian installs the programs of each version.
const DEBIAN_DIRECTORY: &str = "/usr/lib/postgresql";

/// A running server with the password `secret`.
pub struct Postgres {
    data: PathBuf,
    programs: PathBuf,
    port: u16,
    account: Option<(u32, u32)>,
    _running: Running,
}

/// A running pgbouncer.
pub struct Pooler {
    port: u16,
    _running: Running,
}

impl Pooler {
    /// Returns the connection string of the administrator through the pooler.
    pub fn connection_string(&self) -> String {
        format!("postgres://{ADMINISTRATOR}:secret@127.0.0.1:{}/postgres?sslmode=disable", self.port)
    }
}

impl Postgres {
    /// Starts a server. Prints the reason and returns [`None`] if PostgreSQL is not installed, or if
    /// the process runs as root and there is no account for the server.
    pub fn start() -> Option<Self> {
        let Some(programs) = programs() else {
            eprintln!("skipped: PostgreSQL is not installed");
            return None;
        };
        let account = match account() {
            Ok(account) => account,
            Err(reason) => {
                eprintln!("skipped: {reason}");
                return None;
            }
        };
        let directory = tempfile::tempdir().unwrap().keep();
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o755)).unwrap();
        let (data, password) = (directory.join("data"), directory.join("password"));
        fs::create_dir(&data).unwrap();
        fs::write(&password, "secret").unwrap();
        if let Some((user, group)) = account {
            for path in [&directory, &data, &password] {
                chown(path, Some(user), Some(group)).unwrap();
            }
        }
        let mut initialize = Command::new(programs.join("initdb"));
        run_as(&mut initialize, account);
        initialize
            .args(["--auth-host=scram-sha-256", "--auth-local=trust", "--no-sync", "--encoding=UTF8", "-U"])
            .arg(ADMINISTRATOR)
            .arg("--pwfile")
            .arg(&password)
            .arg("-D")
            .arg(&data);
        let output = initialize.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let port = free_port();
        let (path, port_text) = (data.display().to_string(), port.to_string());
        let options = ["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-k", &path];
        let arguments = [&["-D", &path, "-p", &port_text][..], &options[..]].concat();
        let running = Running::start(&programs.join("postgres"), &arguments, account, Some(&directory), port);
        let server = Self { data, programs, port, account, _running: running };
        server.wait_until_ready();
        Some(server)
    }

    /// Returns the connection string of the administrator.
    pub fn connection_string(&self) -> String {
        self.connection_string_for(ADMINISTRATOR, "secret")
    }

    pub fn connection_string_for(&self, user: &str, password: &str) -> String {
        format!("postgres://{user}:{password}@127.0.0.1:{}/postgres?sslmode=disable", self.port)
    }

    /// Creates a database, and returns its connection string. Terraform's lock on the creation of rows
    /// belongs to a database, so tests that run concurrently need separate ones.
    pub fn create_database(&self, name: &str) -> String {
        self.execute(&format!("CREATE DATABASE {name}"));
        self.connection_string().replace("/postgres?", &format!("/{name}?"))
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Starts pgbouncer in transaction mode before the server. Prints the reason and returns [`None`]
    /// if it is not installed.
    pub fn start_pooler(&self) -> Option<Pooler> {
        // Debian installs it in a directory that is not on the `PATH` of users.
        let debian = Some(PathBuf::from("/usr/sbin/pgbouncer")).filter(|path| path.is_file());
        let Some(program) = find("pgbouncer").or(debian) else {
            eprintln!("skipped: pgbouncer is not installed");
            return None;
        };
        let directory = tempfile::tempdir().unwrap().keep();
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o755)).unwrap();
        let port = free_port();
        let (settings, users) = (directory.join("pgbouncer.ini"), directory.join("users"));
        fs::write(&users, format!("\"{ADMINISTRATOR}\" \"secret\"\n")).unwrap();
        let text = format!(
            "[databases]\n* = host=127.0.0.1 port={}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n\
             unix_socket_dir =\nauth_type = plain\nauth_file = {}\npool_mode = transaction\ndefault_pool_size = 2\n",
            self.port,
            users.display()
        );
        fs::write(&settings, text).unwrap();
        let arguments = [settings.to_str().unwrap()];
        let running = Running::start(&program, &arguments, self.account, Some(&directory), port);
        Some(Pooler { port, _running: running })
    }

    /// Returns the directory that contains the server's socket.
    pub fn socket_directory(&self) -> PathBuf {
        self.data.clone()
    }

    /// Runs statements as the administrator, and returns the output without headers.
    pub fn execute(&self, sql: &str) -> String {
        self.execute_in("postgres", sql)
    }

    /// Runs statements in a database.
    pub fn execute_in(&self, database: &str, sql: &str) -> String {
        let output = self.psql(database, sql);
        assert!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }

    fn psql(&self, database: &str, sql: &str) -> std::process::Output {
        let mut command = Command::new(self.programs.join("psql"));
        run_as(&mut command, self.account);
        command
            .args(["-X", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d"])
            .arg(self.connection_string().replace("/postgres?", &format!("/{database}?")))
            .args(["-c", sql])
            .output()
            .unwrap()
    }

    fn wait_until_ready(&self) {
        for _ in 0..200 {
            if self.psql("postgres", "SELECT 1").status.success() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        panic!("the server accepts no sessions");
    }
}

fn programs() -> Option<PathBuf> {
    if let Some(found) = find("initdb") {
        return found.canonicalize().ok()?.parent().map(PathBuf::from);
    }
    let mut versions: Vec<PathBuf> =
        fs::read_dir(DEBIAN_DIRECTORY).ok()?.flatten().map(|entry| entry.path()).collect();
    versions.sort();
    versions.pop().map(|version| version.join("bin")).filter(|path| path.join("initdb").is_file())
}

/// Returns the account of the server if it is not the account of this process: PostgreSQL does not
/// run as root.
fn account() -> Result<Option<(u32, u32)>, String> {
    let own = fs::metadata("/proc/self").map(|metadata| std::os::unix::fs::MetadataExt::uid(&metadata));
    if own.is_ok_and(|user| user != 0) {
        return Ok(None);
    }
    let accounts = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let line = accounts.lines().find(|line| line.starts_with("postgres:"));
    let mut fields = line.unwrap_or_default().split(':').skip(2).map(str::parse);
    match (fields.next(), fields.next()) {
        (Some(Ok(user)), Some(Ok(group))) => Ok(Some((user, group))),
        _ => Err("PostgreSQL does not run as root, and there is no account \"postgres\"".to_owned()),
    }
}
