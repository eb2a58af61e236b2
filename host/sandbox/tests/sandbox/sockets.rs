//! Sockets: where policy says they lead.

use crate::guest::{assert_well, probe};
use crate::server::{Reaching, closed, datagram_server, echo_server};

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
async fn a_granted_address_is_connected_to() {
    let (port, heard) = echo_server().await;
    let reaching = Reaching::new(&allow("tcp", "\"127.0.0.1\"", port));
    let answer = probe(&*reaching.provider, &format!("connect:127.0.0.1:{port}")).await;
    assert_eq!((answer.as_str(), heard.connections()), ("heard ping\n", 1));
    assert_eq!(reaching.decisions(), [format!("allowed tcp://127.0.0.1:{port}")]);
}

#[tokio::test]
async fn an_address_counts_as_the_name_that_led_to_it() {
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
async fn names_are_looked_up_where_they_are_granted() {
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
async fn nothing_is_reached_without_a_grant() {
    let (port, heard) = echo_server().await;
    let datagrams = datagram_server().await;
    for rules in [
        String::new(),
        // What is for HTTP is not for sockets, and the one kind not for the other.
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
async fn nobody_listens() {
    let everything = "allow network {\n hosts = [\"**\", \"0.0.0.0/0\", \"::/0\"]\n schemes = [\"tcp\", \"udp\"]\n ports = [\"*\"]\n addresses = [\"public\", \"private\", \"loopback\", \"link-local\"]\n}";
    let reaching = Reaching::new(everything);
    for address in ["127.0.0.1:0", "0.0.0.0:0", "0.0.0.0:8080", "[::]:0", "[::1]:0"] {
        let answer = probe(&*reaching.provider, &format!("listen:{address}")).await;
        assert!(answer.starts_with("refused: "), "{address}: {answer}");
    }
    assert!(reaching.decisions().iter().all(|record| record.starts_with("denied")));
}

#[tokio::test]
async fn a_datagram_goes_where_policy_says_and_its_answer_comes_back() {
    let port = datagram_server().await;
    let reaching = Reaching::new(&allow("udp", "\"127.0.0.1\"", port));
    assert_eq!(probe(&*reaching.provider, &format!("datagram:127.0.0.1:{port}")).await, "ping");
    assert_eq!(reaching.decisions(), [format!("allowed udp://127.0.0.1:{port}")]);
}

#[tokio::test]
async fn metadata_is_reached_under_no_name() {
    let everything = "allow network {\n hosts = [\"**\", \"0.0.0.0/0\"]\n schemes = [\"tcp\"]\n ports = [\"*\"]\n addresses = [\"public\", \"private\", \"loopback\", \"link-local\"]\n}";
    let reaching = Reaching::new(everything);
    for attempt in ["connect:metadata.example:80", "connect:169.254.169.254:80"] {
        let answer = probe(&*reaching.provider, attempt).await;
        assert!(answer.starts_with("refused: "), "{attempt}: {answer}");
    }
}

/// A guest may keep a connection that it was allowed; how many is bounded.
#[tokio::test]
async fn connections_are_counted() {
    let (port, heard) = echo_server().await;
    let reaching = Reaching::new(&allow("tcp", "\"127.0.0.1\"", port));
    assert_eq!(
        probe(&*reaching.provider, &format!("keep-connection:127.0.0.1:{port}")).await,
        "heard ping\n"
    );
    assert_eq!(probe(&*reaching.provider, "kept").await, "heard ping\n");
    let request = wardian_plugin::ReadDataSourceRequest {
        type_name: "hostile_probe".into(),
        config: crate::guest::object(&format!("connect-many:100000|127.0.0.1:{port}")),
        provider_meta: None,
        capabilities: wardian_plugin::ClientCapabilities::default(),
    };
    let response = reaching.provider.read_data_source(request).await;
    let answer = match response.state {
        Some(state) => crate::guest::text(&state, "result"),
        None => response.diagnostics[0].summary.clone(),
    };
    assert!(answer.contains("then") || answer.contains("crashed"), "{answer}");
    assert!(heard.connections() <= 501, "{}", heard.connections());
    assert_well(&*reaching.provider).await;
}
