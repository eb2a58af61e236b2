//! Connections over WinRM to a fake Windows machine.

use std::sync::Arc;
use std::time::{Duration, Instant};

use wardian_access::ExitStatus;
use wardian_communicator::{CommandEvent, FailureKind, TargetPlatform};
use wardian_winrm_machine::{Certified, PASSWORD, Proof, Server, USER};

use crate::sshd::{Records, connection, free_port, recorded, run};

fn values(server: &Server, more: &[(&'static str, &str)]) -> Vec<(&'static str, String)> {
    let mut values = vec![
        ("type", "winrm".to_owned()),
        ("host", "127.0.0.1".into()),
        ("port", server.port.to_string()),
        ("user", USER.into()),
        ("password", PASSWORD.into()),
        ("timeout", "5s".into()),
    ];
    values.extend(more.iter().map(|(name, value)| (*name, (*value).to_owned())));
    values
}

fn ntlm() -> [(&'static str, &'static str); 2] {
    [("use_ntlm", "true"), ("user", r"CORP\Operator")]
}

#[tokio::test]
async fn commands_return_output_and_exit_codes() {
    for (proof, more) in [(Proof::Basic, &[][..]), (Proof::Ntlm, &ntlm())] {
        let server = Server::start(proof, None).await;
        let records = Arc::<Records>::default();
        let connection = recorded(&values(&server, more), &records);
        assert_eq!(connection.platform(), TargetPlatform::Windows);
        let done = run(&connection, "several parts").await.unwrap();
        assert_eq!((done.text().as_str(), done.stderr.as_slice()), ("one\r\ntwo", b"oops\r\n".as_slice()));
        assert_eq!(done.status, Some(ExitStatus::Code(3)));
        let done = run(&connection, "binary").await.unwrap();
        assert_eq!((done.stdout, done.status), ((0..=255).collect(), Some(ExitStatus::Code(-1))));
        for number in 0..20 {
            let command = format!("echo{number} \"a\" & b > c");
            assert_eq!(run(&connection, &command).await.unwrap().text(), format!("ran {command}\n"));
        }
        connection.close().await;
        drop(connection);
        let state = server.state.lock().unwrap();
        assert_eq!((state.connections, &*state.shells), (1, &["SHELL-0".to_owned()][..]));
        assert_eq!(state.deleted, state.shells);
        let ended = records.ended.lock().unwrap();
        assert!(ended.len() == 1 && ended[0].sent > 1000 && ended[0].received > 1000, "{ended:?}");
        let asked = records.asked.lock().unwrap();
        assert_eq!(*asked, [format!("127.0.0.1 {}", server.port), "127.0.0.1 at 127.0.0.1".into()]);
    }
}

#[tokio::test]
async fn dropped_command_is_terminated() {
    let server = Server::start(Proof::Basic, None).await;
    let connection = connection(&values(&server, &[]));
    let mut command = connection.execute("endless").await.unwrap();
    for _ in 0..20 {
        assert_eq!(command.next_event().await.unwrap(), Some(CommandEvent::Stdout(b"again\n".to_vec())));
    }
    drop(command);
    let began = Instant::now();
    while server.state.lock().unwrap().terminated.is_empty() {
        assert!(began.elapsed() < Duration::from_secs(10));
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(server.state.lock().unwrap().terminated, ["COMMAND-0"]);
    assert_eq!(run(&connection, "x").await.unwrap().text(), "ran x\n");
}

#[tokio::test]
async fn cancelled_read_preserves_events() {
    let server = Server::start(Proof::Basic, None).await;
    let connection = connection(&values(&server, &[]));
    let mut command = connection.execute("several parts").await.unwrap();
    let (mut text, mut status) = (Vec::new(), None);
    while status.is_none() {
        match tokio::time::timeout(Duration::from_micros(50), command.next_event()).await {
            Err(_) => {}
            Ok(Ok(Some(CommandEvent::Stdout(bytes)))) => text.extend(bytes),
            Ok(Ok(Some(CommandEvent::Exited(ended)))) => status = Some(ended),
            Ok(other) => assert!(matches!(other, Ok(Some(CommandEvent::Stderr(_)))), "{other:?}"),
        }
    }
    assert_eq!(text, b"one\r\ntwo");
}

#[tokio::test]
async fn uploads_arrive_unchanged() {
    let server = Server::start(Proof::Basic, None).await;
    let connection = connection(&values(&server, &[]));
    let content: Vec<u8> = (0..40_000_u32).map(|number| number.to_le_bytes()[0]).collect();
    connection.upload("C:/Temp/it's a \u{2019}file.cmd", content.clone(), None).await.unwrap();
    connection.upload("C:/Temp/empty", vec![], None).await.unwrap();
    let source = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(source.path().join("sub/none")).unwrap();
    std::fs::write(source.path().join("a"), &content).unwrap();
    std::fs::write(source.path().join("sub/b"), "b").unwrap();
    std::fs::write(source.path().join("sub/nothing"), "").unwrap();
    let path = source.path().to_str().unwrap();
    connection.upload_path(path, "C:/all").await.unwrap();
    connection.upload_path(&format!("{path}/a"), "C:/one").await.unwrap();
    {
        let state = server.state.lock().unwrap();
        let found: Vec<(&str, usize)> =
            state.files.iter().map(|(path, content)| (path.as_str(), content.len())).collect();
        assert_eq!(
            found,
            [
                ("C:/Temp/empty", 0),
                ("C:/Temp/it's a \u{2019}file.cmd", 40_000),
                ("C:/all\\a", 40_000),
                ("C:/all\\sub\\b", 1),
                ("C:/all\\sub\\nothing", 0),
                ("C:/one", 40_000),
            ]
        );
        assert!(state.files.values().all(|file| file.len() < 2 || *file == content));
        assert_eq!(state.directories, ["C:/all", "C:/all\\sub", "C:/all\\sub\\none"]);
    }
    let error = connection.upload("Z:/x", b"x".to_vec(), None).await.unwrap_err();
    assert_eq!(error.kind(), FailureKind::Failed);
    assert!(
        error.to_string().contains("did not write Z:/x") && error.to_string().contains("Cannot find drive"),
        "{error}"
    );
}

#[tokio::test]
async fn timeout_reports_wrong_password() {
    for (proof, more, says) in [
        (Proof::Basic, &[][..], "tried the password with basic authentication; it offers Basic"),
        (Proof::Ntlm, &ntlm(), "tried the password with NTLM; it offers Negotiate"),
        (Proof::Basic, &ntlm(), "it does not offer NTLM; it offers Basic"),
        (Proof::Ntlm, &[], "with basic authentication; it offers Negotiate"),
    ] {
        let server = Server::start(proof, None).await;
        let more = [more, &[("password", "hidden"), ("timeout", "800ms")]].concat();
        let error = run(&connection(&values(&server, &more)), "x").await.unwrap_err();
        assert_eq!(error.kind(), FailureKind::Authentication);
        assert!(error.to_string().contains(says), "{error}");
        assert!(!format!("{error} {error:?}").contains("hidden"));
        assert!(server.state.lock().unwrap().shells.is_empty());
    }
}

#[tokio::test]
async fn tls_accepts_only_configured_certificates() {
    let Certified { acceptor, certificate: right } = Certified::new();
    let wrong = Certified::new().certificate;
    let server = Server::start(Proof::Ntlm, Some(acceptor)).await;
    for (more, says) in [
        (("cacert", right.as_str()), None),
        (("insecure", "true"), None),
        (("cacert", wrong.as_str()), Some("TLS failed")),
        (("cacert", "nonsense"), Some("cacert contains no certificate")),
        (("insecure", "false"), Some("127.0.0.1")),
    ] {
        let more = [&ntlm()[..], &[("https", "true"), ("timeout", "900ms"), more]].concat();
        let done = run(&connection(&values(&server, &more)), "x").await;
        match says {
            None => assert_eq!(done.unwrap().text(), "ran x\n"),
            Some(says) => {
                let error = done.unwrap_err();
                assert!(error.to_string().contains(says), "{error}");
            }
        }
    }
}

#[tokio::test]
async fn failed_commands_and_lost_connections_are_errors() {
    let server = Server::start(Proof::Basic, None).await;
    let machine = connection(&values(&server, &[]));
    let error = run(&machine, "forbidden").await.unwrap_err();
    assert!(error.to_string().contains("did not start the command: Access is denied."), "{error}");

    let mut command = machine.execute("lost").await.unwrap();
    assert_eq!(command.next_event().await.unwrap(), Some(CommandEvent::Stdout(b"begun\n".to_vec())));
    let error = command.next_event().await.unwrap_err();
    assert_eq!(error.kind(), FailureKind::Disconnected);
    assert!(error.to_string().contains("while a command was running"), "{error}");
    drop(command);
    // The next operation creates a new shell, as it does if the server has deleted the old one.
    assert_eq!(run(&machine, "x").await.unwrap().text(), "ran x\n");
    server.state.lock().unwrap().forgets = true;
    assert_eq!(run(&machine, "y").await.unwrap().text(), "ran y\n");
    assert_eq!(server.state.lock().unwrap().shells.len(), 3);

    let absent = [("port", &*free_port().to_string()), ("timeout", "600ms")]
        .map(|(name, value)| (name, value.to_owned()));
    let mut nowhere = values(&server, &[]);
    nowhere.extend(absent);
    let error = run(&connection(&nowhere), "x").await.unwrap_err();
    assert_eq!(error.kind(), FailureKind::Disconnected);
    assert!(error.to_string().contains("refused"), "{error}");
}

/// Starts a machine that responds to every request with `head`, followed by endless repetitions of
/// `more`.
async fn odd_machine(head: &'static str, more: &'static [u8]) -> u16 {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut request = [0; 64];
                let _ = stream.read(&mut request).await;
                let _ = stream.write_all(head.as_bytes()).await;
                while !more.is_empty() && stream.write_all(&more.repeat(1000)).await.is_ok() {}
            });
        }
    });
    port
}

#[tokio::test]
async fn malformed_responses_are_errors() {
    for (head, more, says) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", &b"<a>"[..], "the response is too large"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", b"", "without returning its ID"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n\u{e9}", b"", "without returning its ID"),
        ("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", b"", "HTTP status 404"),
        ("SSH-2.0-OpenSSH\r\n", b"", "is not an HTTP server"),
        ("HTTP/1.1 200 OK\r\nX: ", b"x", "is not an HTTP server"),
        ("", b"", "was lost"),
    ] {
        let port = odd_machine(head, more).await.to_string();
        let values: Vec<(&str, String)> = [
            ("type", "winrm"),
            ("host", "127.0.0.1"),
            ("port", &port),
            ("password", "hidden"),
            ("timeout", "1s"),
        ]
        .map(|(name, value)| (name, value.to_owned()))
        .into();
        let began = Instant::now();
        let error = run(&connection(&values), "x").await.unwrap_err();
        assert!(error.to_string().contains(says), "{head:?}: {error}");
        assert!(began.elapsed() < Duration::from_secs(15));
    }
}
