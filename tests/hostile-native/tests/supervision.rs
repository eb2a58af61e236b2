//! Ordinary programs under supervision: what policy allows works without changes to the programs.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "the test has failed")]
#![cfg(target_os = "linux")]

mod support;

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread;

use support::{Allowing, Run};

/// A server that answers each connection with this text after it has received a line.
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
    let allowing = Allowing::http("api.test", port);
    let run = Run::new(&python, &["-I", "-c", &script]).supervised(&allowing).await;
    println!("{}\n{}\n{:?}", run.stdout, run.stderr, allowing.records());
    assert!(run.stdout.starts_with("b'hello'\n"), "{run:?}");
    assert!(!run.stdout.contains("succeeded"), "{run:?}");
    let records = allowing.records();
    assert!(records.iter().any(|record| record == &format!("connect api.test 127.0.0.1:{port} http")));
    assert!(records.iter().any(|record| record == &format!("denied 127.0.0.1:{other}")));
    assert!(records.iter().any(|record| record == "denied look-up secret.other.test"));
    assert!(records.iter().any(|record| record == "denied program /bin/true"));
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
    let run = Run::new(&curl, &["-sS", "--max-time", "20", &url]).supervised(&allowing).await;
    assert_eq!(run.stdout, "hello", "{run:?}");
}
