//! Sockets and their destinations under a policy.

use wardian_monitor::{Outcome, Record};

use crate::guest::{assert_well, probe, probe_failure};
use crate::server::{Reaching, closed, datagram_server, echo_server, giving_server};

fn allow(scheme: &str, hosts: &str, port: u16) -> String {
    format!(
        r#"allow network {{
             hosts = [{hosts}]
             schemes = ["{scheme}"]
             ports = [{port}]
             addresses = ["loopback"]
           }}"#
    )
}

#[tokio::test]
async fn connection_to_granted_address_is_allowed() {
    let (port, heard) = echo_server().await;
    let reaching = Reaching::new(&allow("tcp", "\"127.0.0.1\"", port));
    let answer = probe(&*reaching.provider, &format!("connect:127.0.0.1:{port}")).await;
    assert_eq!((answer.as_str(), heard.connections()), ("heard ping\n", 1));
    assert_eq!(reaching.decisions(), [format!("allowed tcp://127.0.0.1:{port}")]);
}

#[tokio::test]
async fn rules_for_name_apply_to_its_resolved_addresses() {
    let (port, heard) = echo_server().await;
    let reaching = Reaching::new(&allow("tcp", "\"api.example\"", port));
    let provider = &*reaching.provider;
    let answer = probe(provider, &format!("connect:127.0.0.1:{port}")).await;
    assert!(answer.starts_with("refused: "), "{answer}");
    assert_eq!(probe(provider, &format!("connect:api.example:{port}")).await, "heard ping\n");
    let answer = probe(provider, &format!("connect:api.example:{}", closed().port())).await;
    assert!(answer.starts_with("refused: "), "{answer}");
    assert_eq!(heard.connections(), 1);
    let decisions = reaching.decisions();
    assert_eq!(decisions[0], format!("denied tcp://127.0.0.1:{port}"));
    assert_eq!(
        decisions[1..3],
        ["allowed api.example".to_owned(), format!("allowed tcp://api.example:{port}")]
    );
}

#[tokio::test]
async fn names_are_resolved_if_granted() {
    let rules = format!(
        "{}\nallow network {{\n hosts = [\"other.example\"]\n schemes = [\"https\"]\n}}",
        allow("tcp", "\"api.example\"", 80)
    );
    let reaching = Reaching::new(&rules);
    let provider = &*reaching.provider;
    assert_eq!(probe(provider, "look-up:API.example.").await, "127.0.0.1");
    assert_eq!(probe(provider, "look-up:127.0.0.1").await, "127.0.0.1");
    for name in ["other.example", "inside.example", "secret-of-mine.evil.example", "bad name"] {
        let answer = probe(provider, &format!("look-up:{name}")).await;
        assert!(answer.starts_with("refused: "), "{name}: {answer}");
    }
    assert_eq!(reaching.decisions().iter().filter(|record| record.starts_with("denied")).count(), 4);
}

#[tokio::test]
async fn no_destination_is_reached_without_a_grant() {
    let (port, heard) = echo_server().await;
    let datagrams = datagram_server().await;
    for rules in [
        String::new(),
        // A grant for HTTP does not cover sockets, and a grant for TCP does not cover UDP.
        allow("http", "\"127.0.0.1\"", port),
        allow("udp", "\"127.0.0.1\"", port),
        allow("tcp", "\"127.0.0.1\"", datagrams),
        allow("tcp", "\"127.0.0.2\"", port),
    ] {
        let reaching = Reaching::new(&rules);
        for attempt in [
            format!("connect:127.0.0.1:{port}"),
            format!("connect:localhost:{port}"),
            format!("connect:[::1]:{port}"),
            format!("connect:[::ffff:127.0.0.1]:{port}"),
            "connect:169.254.169.254:80".to_owned(),
            format!("datagram:127.0.0.1:{datagrams}"),
        ] {
            let answer = probe(&*reaching.provider, &attempt).await;
            assert!(answer.starts_with("refused: "), "{rules} {attempt}: {answer}");
        }
        assert_well(&*reaching.provider).await;
    }
    assert_eq!(heard.connections(), 0);
}

#[tokio::test]
async fn listening_is_denied() {
    let everything = "allow network {\n hosts = [\"**\", \"0.0.0.0/0\", \"::/0\"]\n schemes = [\"tcp\", \"udp\"]\n ports = [\"*\"]\n addresses = [\"public\", \"private\", \"loopback\", \"link-local\"]\n}";
    let reaching = Reaching::new(everything);
    for address in ["127.0.0.1:0", "0.0.0.0:0", "0.0.0.0:8080", "[::]:0", "[::1]:0"] {
        let answer = probe(&*reaching.provider, &format!("listen:{address}")).await;
        assert!(answer.starts_with("refused: "), "{address}: {answer}");
    }
    assert!(reaching.decisions().iter().all(|record| record.starts_with("denied")));
}

#[tokio::test]
async fn granted_datagram_receives_response() {
    let port = datagram_server().await;
    let reaching = Reaching::new(&allow("udp", "\"127.0.0.1\"", port));
    assert_eq!(probe(&*reaching.provider, &format!("datagram:127.0.0.1:{port}")).await, "ping");
    assert_eq!(reaching.decisions(), [format!("allowed udp://127.0.0.1:{port}")]);
}

#[tokio::test]
async fn metadata_address_is_denied_under_all_names() {
    let everything = "allow network {\n hosts = [\"**\", \"0.0.0.0/0\"]\n schemes = [\"tcp\"]\n ports = [\"*\"]\n addresses = [\"public\", \"private\", \"loopback\", \"link-local\"]\n}";
    let reaching = Reaching::new(everything);
    for attempt in ["connect:metadata.example:80", "connect:169.254.169.254:80"] {
        let answer = probe(&*reaching.provider, attempt).await;
        assert!(answer.starts_with("refused: "), "{attempt}: {answer}");
    }
}

/// Returns the recorded byte counts of each access that was performed: sent, then received.
fn bytes(reaching: &Reaching) -> Vec<(Option<u64>, Option<u64>)> {
    let used = |record: &Record| {
        let is_used = record.decision == Outcome::Allowed;
        assert_eq!(record.microseconds.is_some(), is_used, "{record:?}");
        is_used
    };
    let records = reaching.records().into_iter().filter(used);
    records.map(|record| (record.bytes_sent, record.bytes_received)).collect()
}

#[tokio::test]
async fn connection_is_one_access_with_byte_counts() {
    let (port, _) = echo_server().await;
    let rules = allow("tcp", "\"127.0.0.1\"", port);
    for how in ["connect", "connect-nonblocking"] {
        let reaching = Reaching::new(&rules);
        assert_eq!(probe(&*reaching.provider, &format!("{how}:127.0.0.1:{port}")).await, "heard ping\n");
        assert_eq!(bytes(&reaching), [(Some(5), Some(11))], "{how}");
        let record = reaching.records().remove(0);
        assert_eq!(record.target, format!("tcp://127.0.0.1:{port}"));
        assert_eq!(
            (record.call.as_str(), record.address.as_deref()),
            ("read-data-source", Some("127.0.0.1"))
        );
    }
}

#[tokio::test]
async fn concurrent_connections_are_counted_separately() {
    let (port, heard) = echo_server().await;
    let reaching = Reaching::new(&allow("tcp", "\"127.0.0.1\"", port));
    let attempt = format!("connect-two:127.0.0.1:{port}|127.0.0.1:{port}");
    assert_eq!(probe(&*reaching.provider, &attempt).await, "heard one\nheard number two\n");
    assert_eq!(heard.connections(), 2);
    // The second connection ends first.
    assert_eq!(bytes(&reaching), [(Some(11), Some(17)), (Some(4), Some(10))]);
    let attempt = format!("connect-two:127.0.0.1:{}|127.0.0.1:{port}", closed().port());
    assert_eq!(probe(&*reaching.provider, &attempt).await, "refused: access-deniedheard number two\n");
    assert_eq!(bytes(&reaching).len(), 3);
}

#[tokio::test]
async fn failed_connection_is_an_access_without_bytes() {
    let nobody = closed().port();
    let (port, _) = echo_server().await;
    for (attempt, port, reported) in [
        ("connect", nobody, "refused: Connection refused (os error 14)"),
        ("connect-and-drop", port, "it is dropped"),
        ("connect-again", port, "then not-in-progress"),
    ] {
        let reaching = Reaching::new(&allow("tcp", "\"127.0.0.1\"", port));
        assert_eq!(probe(&*reaching.provider, &format!("{attempt}:127.0.0.1:{port}")).await, reported);
        assert_eq!(bytes(&reaching), [(None, None)], "{attempt}");
        assert_well(&*reaching.provider).await;
    }
}

#[tokio::test]
async fn connection_made_by_failed_call_is_recorded() {
    let (port, _) = echo_server().await;
    let reaching = Reaching::new(&format!(
        "limits {{\n concurrent_requests = 1\n}}\n{}",
        allow("tcp", "\"127.0.0.1\"", port)
    ));
    for round in 1..=2 {
        let told = probe_failure(&*reaching.provider, &format!("connect-and-trap:127.0.0.1:{port}")).await;
        assert!(told.contains("crashed"), "{told}");
        assert_eq!(bytes(&reaching), vec![(Some(5), Some(11)); round]);
    }
    assert_well(&*reaching.provider).await;
}

#[tokio::test]
async fn connection_kept_open_is_an_access_in_each_call() {
    let (port, heard) = echo_server().await;
    let reaching = Reaching::new(&allow("tcp", "\"127.0.0.1\"", port));
    let keep = format!("keep-connection:127.0.0.1:{port}");
    assert_eq!(probe(&*reaching.provider, &keep).await, "heard ping\n");
    assert_eq!(bytes(&reaching), [(Some(5), Some(11))], "recorded when the call is over");
    assert_eq!(probe(&*reaching.provider, "kept").await, "heard ping\n");
    assert_eq!(bytes(&reaching), [(Some(5), Some(11)); 2]);
    assert_eq!(heard.connections(), 1);
}

#[tokio::test]
async fn each_datagram_destination_is_one_access_per_call() {
    let port = datagram_server().await;
    let reaching = Reaching::new(&allow("udp", "\"127.0.0.1\"", port));
    let provider = &*reaching.provider;
    assert_eq!(probe(provider, &format!("datagrams:3|127.0.0.1:{port}")).await, "3 answered");
    assert_eq!(bytes(&reaching), [(Some(12), Some(12))]);
    assert_eq!(probe(provider, &format!("datagram-connected:127.0.0.1:{port}")).await, "onethree");
    assert_eq!(bytes(&reaching), [(Some(12), Some(12)), (Some(8), Some(8))]);
}

#[tokio::test]
async fn received_bytes_of_connection_are_limited_per_call() {
    let limits = "limits {\n response_size = \"100 KiB\"\n}\n";
    for (gives, reported, denied) in [
        (Some(100 << 10), "102400 bytes", 0),
        (Some((100 << 10) + 1), "bytes, then refused", 1),
        (None, "bytes, then refused", 1),
    ] {
        let port = giving_server(gives).await;
        let reaching = Reaching::new(&format!("{limits}{}", allow("tcp", "\"127.0.0.1\"", port)));
        let answer = probe(&*reaching.provider, &format!("drain:127.0.0.1:{port}")).await;
        assert!(answer.ends_with(reported), "{answer}");
        let got: u64 = answer.split(' ').next().unwrap().parse().unwrap();
        assert!(got <= 100 << 10, "{answer}");
        let denials: Vec<Record> =
            reaching.records().into_iter().filter(|record| record.decision == Outcome::Denied).collect();
        assert_eq!(denials.len(), denied, "{denials:?}");
        for record in denials {
            assert_eq!(record.target, format!("tcp://127.0.0.1:{port}"));
            let reason = record.reason.unwrap();
            assert_eq!(
                reason,
                "more than 102400 bytes were received from this peer in one call, which /srv/policy.hcl:3 sets"
            );
        }
        let (sent, received) = bytes(&reaching)[0];
        assert_eq!(sent, None);
        assert!(received.unwrap() >= got && received.unwrap() <= (100 << 10) + 1, "{received:?}");
    }
}

#[tokio::test]
async fn received_bytes_of_datagrams_are_limited_per_call() {
    let port = datagram_server().await;
    let limits = "limits {\n response_size = \"10 B\"\n}\n";
    let reaching = Reaching::new(&format!("{limits}{}", allow("udp", "\"127.0.0.1\"", port)));
    let attempt = format!("datagrams:5|127.0.0.1:{port}");
    for round in 1..=2 {
        assert_eq!(probe(&*reaching.provider, &attempt).await, "2 answered, then refused");
        assert_eq!(bytes(&reaching), vec![(Some(12), Some(12)); round]);
    }
}

#[tokio::test]
async fn concurrent_connections_share_the_request_limit() {
    let (port, heard) = echo_server().await;
    let limits = "limits {\n concurrent_requests = 2\n}\n";
    let reaching = Reaching::new(&format!("{limits}{}", allow("tcp", "\"127.0.0.1\"", port)));
    let provider = &*reaching.provider;
    let answer = probe(provider, &format!("connect-many:5|127.0.0.1:{port}")).await;
    assert!(answer.starts_with("2 open, then "), "{answer}");
    assert!(heard.connections() <= 2);
    let records = reaching.records();
    let denied = records.iter().find(|record| record.decision == Outcome::Denied).unwrap();
    let reason = "it has 2 open connections, the maximum number, which /srv/policy.hcl:3 sets";
    assert_eq!(denied.reason.as_deref(), Some(reason));
    // There is no limit on successive connections.
    assert_eq!(probe(provider, &format!("connect-each:10|127.0.0.1:{port}")).await, "10 done");
}

#[tokio::test]
async fn connections_of_concurrent_calls_wait_for_each_other() {
    let (port, heard) = echo_server().await;
    let limits = "limits {\n concurrent_requests = 1\n}\n";
    let reaching = Reaching::new(&format!("{limits}{}", allow("tcp", "\"127.0.0.1\"", port)));
    let attempt = format!("connect-each:20|127.0.0.1:{port}");
    let (one, two) = tokio::join!(probe(&*reaching.provider, &attempt), probe(&*reaching.provider, &attempt));
    assert_eq!((one.as_str(), two.as_str()), ("20 done", "20 done"));
    assert_eq!((heard.connections(), reaching.records().len()), (40, 40));
}

/// A guest may keep an allowed connection open, but the number of open connections is limited.
#[tokio::test]
async fn open_connections_are_limited() {
    let (port, heard) = echo_server().await;
    let reaching = Reaching::new(&allow("tcp", "\"127.0.0.1\"", port));
    assert_eq!(
        probe(&*reaching.provider, &format!("keep-connection:127.0.0.1:{port}")).await,
        "heard ping\n"
    );
    assert_eq!(probe(&*reaching.provider, "kept").await, "heard ping\n");
    let answer = probe(&*reaching.provider, &format!("connect-many:100000|127.0.0.1:{port}")).await;
    assert!(answer.starts_with("32 open, then "), "{answer}");
    assert!(heard.connections() <= 33, "{}", heard.connections());
    assert_well(&*reaching.provider).await;
}
