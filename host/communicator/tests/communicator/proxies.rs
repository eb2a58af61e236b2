//! Connections through bastions and proxies.

use std::sync::Arc;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use wardian_communicator::FailureKind;

use crate::sshd::{Records, Sshd, connection, free_port, recorded, run};

/// Returns the values for a target whose name only the bastion resolves.
fn behind(bastion: &Sshd, target: &Sshd) -> Vec<(&'static str, String)> {
    let mut values = target.values();
    values.push(("host", "localhost".into()));
    values.push(("bastion_host", "127.0.0.1".into()));
    values.push(("bastion_port", bastion.port.to_string()));
    values.push(("bastion_private_key", bastion.read("id")));
    values
}

#[tokio::test]
async fn bastion_connects_to_target() {
    let (Some(bastion), Some(target)) = (Sshd::start(""), Sshd::start("ListenAddress ::1")) else { return };
    let records = Arc::<Records>::default();
    let mut values = behind(&bastion, &target);
    values.push(("host_key", target.read("host.pub")));
    values.push(("bastion_host_key", bastion.read("host.pub")));
    let connection = recorded(&values, &records);
    assert_eq!(run(&connection, "echo in").await.unwrap().text(), "in\n");
    let path = target.path("copied");
    connection.upload(path.to_str().unwrap(), vec![1; 5 << 20], None).await.unwrap();
    assert_eq!(std::fs::read(path).unwrap().len(), 5 << 20);
    assert_eq!(
        *records.asked.lock().unwrap(),
        [
            format!("localhost {}", target.port),
            format!("127.0.0.1 {}", bastion.port),
            "127.0.0.1 at 127.0.0.1".into()
        ]
    );
    assert_eq!(bastion.log().matches("Accepted publickey").count(), 1);
}

#[tokio::test]
async fn bastion_errors_name_the_bastion() {
    let (Some(bastion), Some(target)) = (Sshd::start(""), Sshd::start("")) else { return };
    let failure = async |name: &'static str, value: String| {
        let mut values = behind(&bastion, &target);
        values.push(("timeout", "2s".into()));
        values.push((name, value));
        let error = run(&connection(&values), "true").await.unwrap_err();
        (error.kind(), error.to_string())
    };
    let (kind, said) = failure("bastion_host_key", target.read("host.pub")).await;
    assert_eq!(kind, FailureKind::Authentication);
    assert!(said.contains("bastion_host_key is ssh-ed25519"), "{said}");
    let (kind, said) = failure("bastion_private_key", target.read("id")).await;
    assert_eq!(kind, FailureKind::Authentication);
    assert!(said.contains(&format!("127.0.0.1:{} did not accept", bastion.port)), "{said}");
    let (kind, said) = failure("port", free_port().to_string()).await;
    assert_eq!(kind, FailureKind::Disconnected);
    assert!(said.contains("could not connect to it"), "{said}");

    let before = bastion.log().matches("Accepted").count();
    let records = Arc::<Records>::default();
    records.refuses.lock().unwrap().push(format!("localhost {}", target.port));
    let error = run(&recorded(&behind(&bastion, &target), &records), "true").await.unwrap_err();
    assert_eq!(error.kind(), FailureKind::Denied);
    assert_eq!(bastion.log().matches("Accepted").count(), before, "nobody is connected to in vain");
}

#[tokio::test]
async fn target_in_other_network_is_reached_through_bastion() {
    let (Some(keys), Some(target)) = (Sshd::start(""), Sshd::in_a_network_of_its_own()) else { return };
    // The bastion is between the two machines: it accepts connections from this machine, and
    // connects to the target in the other network.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (config, log, inside) = (keys.path("config"), keys.path("bastion-log"), target.id().to_string());
    let serving = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let stream = stream.into_std().unwrap();
            stream.set_nonblocking(false).unwrap();
            let stream = std::os::fd::OwnedFd::from(stream);
            let mut command = std::process::Command::new("nsenter");
            command
                .args(["-t", &inside, "-n", "/usr/sbin/sshd", "-i", "-f"])
                .arg(&config)
                .arg("-E")
                .arg(&log);
            command.stdin(stream.try_clone().unwrap()).stdout(stream);
            let mut child = command.spawn().unwrap();
            drop(command);
            std::thread::spawn(move || child.wait());
        }
    });
    let mut values = target.values();
    values.push(("timeout", "2s".into()));
    let error = run(&connection(&values), "true").await.unwrap_err();
    assert!(error.to_string().contains("refused"), "it is not to be reached from here: {error}");
    values.push(("timeout", "10s".into()));
    values.push(("bastion_host", "127.0.0.1".into()));
    values.push(("bastion_port", port.to_string()));
    values.push(("bastion_private_key", keys.read("id")));
    let connection = connection(&values);
    assert_eq!(run(&connection, "echo in").await.unwrap().text(), "in\n");
    let path = target.path("copied");
    connection.upload(path.to_str().unwrap(), vec![1; 1 << 20], None).await.unwrap();
    assert_eq!(std::fs::read(path).unwrap().len(), 1 << 20);
    serving.abort();
}

/// Starts an HTTP proxy that requires `me:secret` and forwards all connections to one port.
async fn http_proxy(port: u16) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let here = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut stream = BufReader::new(stream);
                let (mut request, mut proven) = (String::new(), false);
                loop {
                    let mut line = String::new();
                    stream.read_line(&mut line).await.unwrap();
                    proven |= line.trim() == "Proxy-Authorization: Basic bWU6c2VjcmV0";
                    request += &line;
                    if line.trim().is_empty() {
                        break;
                    }
                }
                if !proven {
                    let answer = "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n";
                    stream.write_all(answer.as_bytes()).await.unwrap();
                } else if request
                    .starts_with("CONNECT machine.example:22 HTTP/1.1\r\nHost: machine.example:22\r\n")
                {
                    stream.write_all(b"HTTP/1.1 200 OK\r\nVia: test\r\n\r\n").await.unwrap();
                    pass(stream.into_inner(), port).await;
                } else {
                    stream.write_all(b"HTTP/1.1 403 Forbidden\r\n\r\n").await.unwrap();
                }
            });
        }
    });
    here
}

async fn pass(mut stream: TcpStream, port: u16) {
    let mut server = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let _ = tokio::io::copy_bidirectional(&mut stream, &mut server).await;
}

/// Starts a SOCKS proxy that requires `me:secret` and forwards all connections to one port.
async fn socks_proxy(port: u16) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let here = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut head = [0; 2];
                stream.read_exact(&mut head).await.unwrap();
                let mut methods = vec![0; head[1].into()];
                stream.read_exact(&mut methods).await.unwrap();
                if !methods.contains(&2) {
                    return stream.write_all(&[5, 0xff]).await.unwrap();
                }
                stream.write_all(&[5, 2]).await.unwrap();
                let mut proof = [0; 11];
                stream.read_exact(&mut proof).await.unwrap();
                let is_right = &proof == b"\x01\x02me\x06secret";
                stream.write_all(&[1, u8::from(!is_right)]).await.unwrap();
                let mut request = vec![0; 4 + 1 + 15 + 2];
                if stream.read_exact(&mut request).await.is_err() {
                    return;
                }
                assert_eq!(request, b"\x05\x01\x00\x03\x0fmachine.example\x00\x16");
                stream.write_all(&[5, 0, 0, 1, 127, 0, 0, 1, 9, 9]).await.unwrap();
                pass(stream, port).await;
            });
        }
    });
    here
}

#[tokio::test]
async fn proxies_connect_to_target() {
    let Some(sshd) = Sshd::start("") else { return };
    for (scheme, proxy) in [("http", http_proxy(sshd.port).await), ("socks5", socks_proxy(sshd.port).await)] {
        let values = |more: &[(&'static str, &str)]| {
            let mut values = sshd.values();
            for (name, value) in [
                ("host", "machine.example"),
                ("port", "22"),
                ("timeout", "2s"),
                ("proxy_scheme", scheme),
                ("proxy_host", "127.0.0.1"),
                ("proxy_port", &proxy.to_string()),
            ]
            .iter()
            .chain(more)
            {
                values.push((name, (*value).to_owned()));
            }
            values
        };
        let right = [("proxy_user_name", "me"), ("proxy_user_password", "secret")];
        let records = Arc::<Records>::default();
        assert_eq!(run(&recorded(&values(&right), &records), "echo in").await.unwrap().text(), "in\n");
        assert_eq!(
            *records.asked.lock().unwrap(),
            ["machine.example 22".into(), format!("127.0.0.1 {proxy}"), "127.0.0.1 at 127.0.0.1".into()]
        );
        let wrong = [("proxy_user_name", "me"), ("proxy_user_password", "hidden")];
        for (more, says) in [(&wrong[..], "proxy_user_password"), (&[], "")] {
            let error = run(&connection(&values(more)), "true").await.unwrap_err();
            assert_eq!(error.kind(), FailureKind::Disconnected);
            let said = error.to_string();
            assert!(said.contains(&format!("proxy 127.0.0.1:{proxy} did not connect")), "{said}");
            assert!(said.contains(says) && !format!("{error:?}").contains("hidden"), "{said}");
        }
    }
}

#[tokio::test]
async fn bastion_is_reached_through_proxy() {
    let (Some(bastion), Some(target)) = (Sshd::start(""), Sshd::start("ListenAddress ::1")) else { return };
    let proxy = http_proxy(bastion.port).await;
    let mut values = behind(&bastion, &target);
    for (name, value) in [
        ("bastion_host", "machine.example"),
        ("bastion_port", "22"),
        ("proxy_host", "127.0.0.1"),
        ("proxy_port", &proxy.to_string()),
        ("proxy_user_name", "me"),
        ("proxy_user_password", "secret"),
    ] {
        values.push((name, value.to_owned()));
    }
    assert_eq!(run(&connection(&values), "echo in").await.unwrap().text(), "in\n");
}

#[tokio::test]
async fn rejects_proxy_with_untrusted_certificate() {
    let certified = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::try_from(certified.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certified.cert.der().clone()], key)
        .unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            assert!(acceptor.accept(stream).await.is_err(), "the client sent data");
        }
    });
    let values = [
        ("host", "machine.example".to_owned()),
        ("timeout", "900ms".into()),
        ("proxy_scheme", "https".into()),
        ("proxy_host", "127.0.0.1".into()),
        ("proxy_port", port.to_string()),
        ("proxy_user_name", "me".into()),
    ];
    let error = run(&connection(&values), "true").await.unwrap_err();
    assert_eq!(error.kind(), FailureKind::Disconnected);
    let said = error.to_string();
    // On a system without root certificates, the error reports that they are missing.
    assert!(said.contains("TLS failed") || said.contains("no root certificates"), "{said}");
}
