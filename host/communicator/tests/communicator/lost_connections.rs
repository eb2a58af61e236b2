//! Unreachable machines and lost connections.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use wardian_communicator::{CommandEvent, ConnectionContext, FailureKind, RemoteConnection, Resolver};

use crate::sshd::{Records, Sshd, connection, free_port, recorded, run, settings};

fn values(port: u16, timeout: &str) -> Vec<(&'static str, String)> {
    vec![
        ("host", "127.0.0.1".into()),
        ("port", port.to_string()),
        ("password", "secret".into()),
        ("timeout", timeout.into()),
    ]
}

async fn failure(values: &[(&str, String)]) -> (FailureKind, String) {
    let error = run(&connection(values), "true").await.unwrap_err();
    assert!(!format!("{error:?}").contains("secret"));
    (error.kind(), error.to_string())
}

#[tokio::test]
async fn retries_an_unreachable_machine() {
    let began = Instant::now();
    let (kind, said) = failure(&values(free_port(), "1200ms")).await;
    assert_eq!(kind, FailureKind::Disconnected);
    assert!(
        said.contains("within 1 s: could not connect to 127.0.0.1:") && said.contains("refused"),
        "{said}"
    );
    assert!(began.elapsed() > Duration::from_millis(400) && began.elapsed() < Duration::from_secs(15));
}

#[tokio::test]
async fn silent_or_garbage_server_is_an_error() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let began = Instant::now();
    let (kind, said) = failure(&values(port, "1s")).await;
    assert_eq!(kind, FailureKind::Disconnected, "{said}");
    assert!(began.elapsed() < Duration::from_secs(15));
    let (silent, _) = listener.accept().await.unwrap();
    drop(silent);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
        }
    });
    let (_, said) = failure(&values(port, "1s")).await;
    assert!(said.contains("within 1 s: "), "{said}");
}

#[tokio::test]
async fn endless_banner_is_an_error() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move { while stream.write_all(&[b'x'; 4096]).await.is_ok() {} });
        }
    });
    let began = Instant::now();
    let (kind, said) = failure(&values(port, "1s")).await;
    assert!(began.elapsed() < Duration::from_secs(15), "{kind:?} {said}");
}

struct Book(Vec<IpAddr>);

#[async_trait]
impl Resolver for Book {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        if name == "machine.example" { Ok(self.0.clone()) } else { Err(io::ErrorKind::NotFound.into()) }
    }
}

#[tokio::test]
async fn denied_machine_receives_no_connection() {
    let Some(sshd) = Sshd::start("") else { return };
    let port = sshd.port;
    let attempt = async |host: &str, refuses: &str, addresses: &[&str]| {
        let records = Arc::<Records>::default();
        records.refuses.lock().unwrap().push(refuses.to_owned());
        let mut values = sshd.values();
        values.push(("host", host.into()));
        values.push(("timeout", "1s".into()));
        let mut context = ConnectionContext::new(records.clone());
        context.resolver = Arc::new(Book(addresses.iter().map(|address| address.parse().unwrap()).collect()));
        let done = run(&RemoteConnection::new(settings(&values), context), "echo in").await;
        let asked = records.asked.lock().unwrap().clone();
        (done.map(|done| done.text()).map_err(|error| (error.kind(), error.to_string())), asked)
    };
    let (done, asked) = attempt("machine.example", &format!("machine.example {port}"), &["127.0.0.1"]).await;
    assert_eq!(done.unwrap_err(), (FailureKind::Denied, "no rule allows it".into()));
    assert_eq!(asked.len(), 1, "nothing is looked up: {asked:?}");

    let (done, _) = attempt("machine.example", "machine.example at 127.0.0.1", &["::ffff:127.0.0.1"]).await;
    let (kind, said) = done.unwrap_err();
    assert_eq!(kind, FailureKind::Denied);
    assert_eq!(said, "machine.example resolves to 127.0.0.1: no rule allows it");

    let (done, _) =
        attempt("machine.example", "machine.example at 127.0.0.9", &["127.0.0.9", "127.0.0.1"]).await;
    assert_eq!(done.unwrap(), "in\n");
    let (done, _) = attempt("127.0.0.1", "127.0.0.1 at 127.0.0.1", &[]).await;
    assert_eq!(done.unwrap_err().0, FailureKind::Denied);
    let (done, _) = attempt("other.example", "", &[]).await;
    let (kind, said) = done.unwrap_err();
    assert_eq!(kind, FailureKind::Disconnected);
    assert!(said.contains("other.example cannot be resolved"), "{said}");
}

#[tokio::test]
async fn connection_lost_during_command_is_an_error() {
    let Some(sshd) = Sshd::start("") else { return };
    let connection = sshd.connection();
    let mut command = connection.execute("echo begun; sleep 30").await.unwrap();
    assert_eq!(command.next_event().await.unwrap(), Some(CommandEvent::Stdout(b"begun\n".to_vec())));
    sshd.end_sessions();
    let error = command.next_event().await.unwrap_err();
    assert_eq!(error.kind(), FailureKind::Disconnected);
    assert!(error.to_string().contains("while a command was running"), "{error}");
    // The next operation opens a new connection.
    assert_eq!(run(&connection, "echo on").await.unwrap().text(), "on\n");
    assert_eq!(sshd.log().matches("Accepted publickey").count(), 2);
}

#[tokio::test]
async fn connection_lost_between_commands_is_reopened() {
    let Some(sshd) = Sshd::start("") else { return };
    let records = Arc::<Records>::default();
    let connection = recorded(&sshd.values(), &records);
    for _ in 0..3 {
        assert_eq!(run(&connection, "echo on").await.unwrap().text(), "on\n");
        sshd.end_sessions();
    }
    drop(connection);
    assert_eq!(sshd.log().matches("Accepted publickey").count(), 3);
    assert_eq!(records.ended.lock().unwrap().len(), 3);
}

/// The way in which a connection fails after a number of bytes were sent to the machine.
#[derive(Clone, Copy)]
enum Fate {
    Cut,
    Frozen,
}

/// Starts a relay to the machine that fails after a number of bytes.
async fn relay(port: u16, after: u64, fate: Fate) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let here = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let (client, _) = listener.accept().await.unwrap();
        drop(listener);
        let server = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let (mut from_client, mut to_client) = client.into_split();
        let (mut from_server, mut to_server) = server.into_split();
        let back = tokio::spawn(async move { tokio::io::copy(&mut from_server, &mut to_client).await });
        let _ = tokio::io::copy(&mut (&mut from_client).take(after), &mut to_server).await;
        if let Fate::Frozen = fate {
            back.abort();
            let _ = back.await;
            tokio::time::sleep(Duration::from_mins(1)).await;
        } else {
            back.abort();
        }
    });
    here
}

#[tokio::test]
async fn connection_lost_during_upload_is_an_error() {
    for lines in ["", "SetEnv PATH=/nonexistent"] {
        for fate in [Fate::Cut, Fate::Frozen] {
            let Some(sshd) = Sshd::start(lines) else { return };
            let mut values = sshd.values();
            values.push(("port", relay(sshd.port, 10 << 20, fate).await.to_string()));
            let mut context = ConnectionContext::new(Arc::<Records>::default());
            context.keep_alive = Duration::from_millis(200);
            let connection = RemoteConnection::new(settings(&values), context);
            let path = sshd.path("copied").to_str().unwrap().to_owned();
            let began = Instant::now();
            let error = connection.upload(&path, vec![1; 40 << 20], None).await.unwrap_err();
            assert_eq!(error.kind(), FailureKind::Disconnected, "{error}");
            assert!(error.to_string().contains("the copy is not complete"), "{error}");
            assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
        }
    }
}

#[tokio::test]
async fn silent_command_keeps_the_connection() {
    let Some(sshd) = Sshd::start("") else { return };
    let mut context = ConnectionContext::new(Arc::<Records>::default());
    context.keep_alive = Duration::from_millis(100);
    let connection = RemoteConnection::new(settings(&sshd.values()), context);
    assert_eq!(run(&connection, "sleep 2; echo on").await.unwrap().text(), "on\n");
}
