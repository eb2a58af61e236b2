//! Runs a server program until the test's process ends.

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const START_LIMIT: Duration = Duration::from_mins(1);

/// Runs the program in its arguments until its standard input is closed, and then removes the
/// directory in its first argument. Servers are shared by tests and therefore never dropped, but the
/// system closes the input when the test's process ends.
const GUARD: &str = "directory=$1; shift; \"$@\" </dev/null & program=$!; cat >/dev/null; kill -INT $program; for wait in 1 2 3 \
                     4 5 6 7 8 9 10; do kill -0 $program || break; sleep 0.2; done; kill -KILL $program; test -z \
                     \"$directory\" || rm -rf \"$directory\"";

/// A running program.
pub(crate) struct Running {
    guard: Child,
    /// The program ends when this value is dropped, or when the process ends.
    input: Option<ChildStdin>,
}

impl Running {
    /// Starts a program with an account, and waits until it accepts connections. The directory is
    /// removed when the program has ended.
    pub(crate) fn start(
        program: &Path,
        arguments: &[&str],
        account: Option<(u32, u32)>,
        directory: Option<&Path>,
        port: u16,
    ) -> Self {
        let mut command = Command::new("sh");
        command
            .args(["-c", GUARD, "sh"])
            .arg(directory.unwrap_or(Path::new("")))
            .arg(program)
            .args(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        run_as(&mut command, account);
        let mut guard = command.spawn().unwrap();
        let input = guard.stdin.take();
        let mut running = Self { guard, input };
        let deadline = Instant::now() + START_LIMIT;
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if let Some(status) = running.guard.try_wait().unwrap() {
                panic!("{} ended with {status}", program.display());
            }
            assert!(Instant::now() < deadline, "{} does not accept connections", program.display());
            thread::sleep(Duration::from_millis(50));
        }
        running
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.guard.wait();
    }
}

/// Sets the account of a command, in a directory that it can read.
pub(crate) fn run_as(command: &mut Command, account: Option<(u32, u32)>) {
    use std::os::unix::process::CommandExt as _;
    command.current_dir("/").env("LC_ALL", "C");
    if let Some((user, group)) = account {
        command.uid(user).gid(group);
    }
}

/// Returns a port on which no program listens. It is below the range from which systems assign ports, so no
/// other server receives it before the caller's program listens.
///
/// # Panics
/// Panics if each of many ports is in use.
pub fn free_port() -> u16 {
    const PORTS: std::ops::Range<u32> = 10_000..30_000;
    static OFFSET: LazyLock<AtomicU32> =
        LazyLock::new(|| AtomicU32::new(std::process::id().wrapping_mul(97)));
    let mut ports = std::iter::repeat_with(|| {
        let offset = OFFSET.fetch_add(1, Ordering::Relaxed);
        u16::try_from(PORTS.start + offset % (PORTS.end - PORTS.start)).unwrap()
    });
    let port = ports.by_ref().take(1_000).find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok());
    port.expect("no free port was found")
}

/// Returns the path of a program in the `PATH`.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|directory| directory.join(name)).find(|path| path.is_file())
}
