//! Ordinary programs under supervision: what policy allows works without changes to the programs.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "the test has failed")]
#![cfg(target_os = "linux")]

mod support;

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread;

use support::{Allowing, Level, Run};
use wardian_confinement::{DirectoryView, ViewEntry};

/// Starts a server that answers each connection with this text after it has received a line.
fn server(text: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut bytes = [0; 1024];
            let _ = stream.read(&mut bytes);
            let _ = stream.write_all(text.as_bytes());
        }
    });
    port
}

const RESPONSE: &str = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello";

#[tokio::test(flavor = "multi_thread")]
async fn python_resolves_connects_and_is_denied_everything_else() {
    if !support::is_supported() {
        return;
    }
    let Some(python) = support::find("python3") else { return };
    let port = server(RESPONSE);
    let other = server(RESPONSE);
    let script = format!(
        r#"
import fcntl, socket, stat, urllib.request, os, subprocess
print(urllib.request.urlopen("http://api.test:{port}/").read())
for attempt in (
    lambda: urllib.request.urlopen("http://127.0.0.1:{other}/").read(),
    lambda: urllib.request.urlopen("http://secret.other.test:{port}/").read(),
    lambda: socket.create_connection(("127.0.0.1", {other})),
    lambda: subprocess.run(["/bin/true"]),
    lambda: open("/etc/shadow"),
    lambda: os.setsid(),
    # With the privileges of root, a device would be the whole disk.
    lambda: os.mknod(os.environ["TMPDIR"] + "/disk", 0o600 | stat.S_IFBLK, os.makedev(254, 0)),
    lambda: os.chroot(os.environ["TMPDIR"]),
    lambda: os.setuid(12345),
    # The kernel treats raw sockets of this family as datagram sockets, which send to any path.
    lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW),
    lambda: fcntl.fcntl(socket.socketpair()[0], fcntl.F_SETOWN, os.getppid()),
    lambda: os.setpriority(os.PRIO_USER, 0, 5),
    lambda: os.listxattr("/etc/shadow"),
    lambda: os.chmod(os.environ["TMPDIR"], 0o4755),
    lambda: os.chmod("/proc/self/cwd/..", 0o777),
):
    try:
        print("succeeded", attempt())
    except Exception as error:
        print("blocked", error)
"#
    );
    for level in Level::ALL.into_iter().filter(|level| level.is_supervised() && level.is_supported()) {
        let allowing = Allowing::http("api.test", port);
        let run = Run::new(&python, &["-I", "-c", &script]).at_level(level, &allowing).await;
        println!("{}\n{}\n{:?}", run.stdout, run.stderr, allowing.records());
        assert!(run.stdout.starts_with("b'hello'\n"), "{level:?} {run:?}");
        assert!(!run.stdout.contains("succeeded"), "{level:?} {run:?}");
        let records = allowing.records();
        assert!(records.iter().any(|record| record == &format!("connect api.test 127.0.0.1:{port} http")));
        assert!(records.iter().any(|record| record == &format!("denied 127.0.0.1:{other}")));
        assert!(records.iter().any(|record| record == "denied look-up secret.other.test"));
        assert!(records.iter().any(|record| record == "denied program /bin/true"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn curl_resolves_and_connects() {
    if !support::is_supported() {
        return;
    }
    let Some(curl) = support::find("curl") else { return };
    let port = server(RESPONSE);
    let allowing = Allowing::http("api.test", port);
    let url = format!("http://api.test:{port}/");
    for level in Level::ALL.into_iter().filter(|level| level.is_supervised() && level.is_supported()) {
        let run = Run::new(&curl, &["-sS", "--max-time", "20", &url]).at_level(level, &allowing).await;
        assert_eq!(run.stdout, "hello", "{level:?} {run:?}");
    }
}

/// The program sees the entries that are granted, and neither the others nor those that appear later.
#[tokio::test(flavor = "multi_thread")]
async fn part_of_a_directory_is_visible() {
    for level in [Level::Namespaced, Level::Full].into_iter().filter(|level| level.is_supported()) {
        see_part_of_a_directory(level).await;
    }
}

async fn see_part_of_a_directory(level: Level) {
    let Some(python) = support::find("python3") else { return };
    let directory = tempfile::tempdir().unwrap();
    let granted = directory.path().canonicalize().unwrap();
    std::fs::create_dir_all(granted.join("sub/deep")).unwrap();
    for file in ["main.tf", "secret", "sub/readable", "sub/key.pem", "sub/deep/file"] {
        std::fs::write(granted.join(file), file).unwrap();
    }
    std::os::unix::fs::symlink("main.tf", granted.join("link")).unwrap();
    let whole = || ViewEntry::Whole;
    let sub = BTreeMap::from([("readable".into(), whole()), ("deep".into(), whole())]);
    let entries = BTreeMap::from([
        ("main.tf".into(), whole()),
        ("link".into(), whole()),
        ("removed-since".into(), whole()),
        ("sub".into(), ViewEntry::Partial(sub)),
    ]);
    let view = DirectoryView { directory: granted.clone(), entries };
    let script = r#"
import os, sys, time
os.chdir(sys.argv[1])
for parent, directories, files in os.walk("."):
    print(parent, sorted(directories), sorted(files))
def show(path):
    try:
        print(path, open(path).read())
    except OSError as error:
        print(path, error.strerror)
def attempt(change, *arguments):
    try:
        change(*arguments)
        print("changed", arguments)
    except OSError:
        pass
for path in ("main.tf", "link", "sub/readable", "sub/deep/file", "secret", "sub/key.pem"):
    show(path)
attempt(open, "new", "w")
attempt(open, "sub/new", "w")
attempt(open, "main.tf", "a")
attempt(os.remove, "link")
attempt(os.mkdir, "directory")
print("waiting", flush=True)
limit = time.time() + 60
while not os.path.exists("sub/deep/signal") and time.time() < limit:
    time.sleep(0.01)
for path in ("secret", "main.tf", "sub/deep/signal"):
    show(path)
"#;
    let allowing = Allowing::http("api.test", 1);
    let path = granted.display().to_string();
    let run = Run::new(&python, &["-I", "-c", script, &path]).with_view(view);
    // While the program runs, others replace a hidden and a visible file, as the host does with states.
    let replace = async {
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        for (file, content) in [("secret", "new secret"), ("main.tf", "new content")] {
            let temporary = granted.join("temporary");
            std::fs::write(&temporary, content).unwrap();
            std::fs::rename(&temporary, granted.join(file)).unwrap();
        }
        std::fs::write(granted.join("sub/deep/signal"), "go").unwrap();
    };
    let (seen, ()) = tokio::join!(run.at_level(level, &allowing), replace);
    println!("{}\n{}\n{:?}", seen.stdout, seen.stderr, allowing.records());
    let expected = "\
. ['sub'] ['link', 'main.tf']
./sub ['deep'] ['readable']
./sub/deep [] ['file']
main.tf main.tf
link main.tf
sub/readable sub/readable
sub/deep/file sub/deep/file
secret No such file or directory
sub/key.pem No such file or directory
waiting
secret No such file or directory
main.tf main.tf
sub/deep/signal go
";
    assert_eq!(seen.stdout, expected);
    assert!(!granted.join("new").exists() && granted.join("link").is_symlink());
    let denied = format!("denied read {}", granted.join("secret").display());
    assert!(allowing.records().contains(&denied) || level == Level::Namespaced, "{:?}", allowing.records());
}
