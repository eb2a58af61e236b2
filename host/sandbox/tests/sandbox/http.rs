//! HTTP requests: granted requests reach the server, and other requests are not sent.

use std::sync::Arc;
use std::time::Duration;

use wardian_monitor::Outcome;
use wardian_plugin::CallContext;
use wardian_sandbox::DeclaredCapabilities;

use crate::guest::{assert_well, probe, probe_for, probe_or_failure, short};
use crate::hostile::DISGUISES;
use crate::server::{Reaching, closed, http_server, secure_server};

/// Grants a name that resolves to this machine.
fn allow(hosts: &str, port: u16) -> String {
    format!(
        r#"allow network {{
             hosts = [{hosts}]
             schemes = ["http"]
             ports = [{port}]
             addresses = ["loopback"]
           }}"#
    )
}

#[tokio::test]
async fn granted_request_arrives_and_is_recorded_for_its_resource() {
    let (port, heard) = http_server().await;
    let reaching = Reaching::new(&allow("\"api.example\"", port));
    let request = format!("http:GET|http://api.example:{port}/hello?secret=1");
    let answer = probe_for(&CallContext::new("thing.a"), &*reaching.provider, &request).await;
    assert_eq!(answer, format!("200 GET /hello at api.example:{port}"));
    let answer = probe_for(&CallContext::new("thing.b"), &*reaching.provider, &request).await;
    assert!(answer.starts_with("200"), "{answer}");
    assert_eq!(heard.connections(), 1, "a connection is used again");

    let records = reaching.records();
    let [first, second] = &*records else { panic!("{records:?}") };
    assert_eq!((first.resource.as_deref(), second.resource.as_deref()), (Some("thing.a"), Some("thing.b")));
    assert_eq!(first.target, format!("http://api.example:{port}"));
    assert_eq!(first.address.as_deref(), Some("127.0.0.1"));
    assert_eq!((first.decision, first.status), (Outcome::Allowed, Some(200)));
    assert_eq!(first.bytes_received, Some(answer.len() as u64 - 4));
    assert_eq!(first.call, "read-data-source");
    assert!(!format!("{records:?}").contains("secret"), "{records:?}");
}

#[tokio::test]
async fn https_host_must_match_its_certificate() {
    let (port, certificate) = secure_server().await;
    let rules = allow("\"api.example\", \"other.example\"", port).replace("\"http\"", "\"https\"");
    let url = |host: &str| format!("http:GET|https://{host}:{port}/x");
    let reaching = Reaching::with(&rules, short(), vec![certificate]);
    let answer = probe(&*reaching.provider, &url("api.example")).await;
    assert_eq!(answer, format!("200 GET /x at api.example:{port}"));
    let answer = probe(&*reaching.provider, &url("other.example")).await;
    assert!(answer.ends_with("failed: tls certificate error"), "{answer}");
    let unknown = Reaching::new(&rules);
    let answer = probe(&*unknown.provider, &url("api.example")).await;
    assert!(answer.ends_with("failed: tls certificate error"), "{answer}");
}

#[tokio::test]
async fn large_body_is_sent_in_chunks() {
    let (port, _) = http_server().await;
    let reaching = Reaching::new(&allow("\"api.example\"", port));
    let upload = format!("upload:20000000|http://api.example:{port}/count");
    assert_eq!(probe(&*reaching.provider, &upload).await, "200 20000000 bytes");
    assert_eq!(reaching.records()[0].bytes_sent, Some(20_000_000));
}

#[tokio::test]
async fn no_request_is_sent_without_a_grant() {
    let (port, heard) = http_server().await;
    let reaching = Reaching::new("");
    for host in ["127.0.0.1", "localhost", "api.example", "[::1]"] {
        let answer = probe(&*reaching.provider, &format!("http:GET|http://{host}:{port}/")).await;
        assert_eq!(answer, "denied", "{host}");
    }
    assert_eq!(heard.connections(), 0);
    assert!(reaching.records().iter().all(|record| record.decision == Outcome::Denied));
    assert_eq!(reaching.records().len(), 4);
    assert_well(&*reaching.provider).await;
}

#[tokio::test]
async fn address_in_unusual_notation_is_denied() {
    let (port, heard) = http_server().await;
    // The rule grants all names, but only public addresses.
    let rules =
        format!("allow network {{\n hosts = [\"**\"]\n schemes = [\"http\"]\n ports = [80, {port}]\n}}");
    let reaching = Reaching::new(&rules);
    for host in DISGUISES {
        let answer = probe(&*reaching.provider, &format!("http:GET|http://{host}:{port}/")).await;
        assert_eq!(answer, "denied", "{host}");
    }
    assert_eq!(heard.connections(), 0);
}

#[tokio::test]
async fn name_that_resolves_differently_is_checked_again() {
    let (port, heard) = http_server().await;
    let rules = format!(
        "allow network {{\n hosts = [\"rebinds.example\"]\n schemes = [\"http\"]\n ports = [{port}]\n}}"
    );
    let reaching = Reaching::new(&rules);
    // The first address is reserved for documentation, so it is not public either.
    for _ in 0..3 {
        let answer = probe(&*reaching.provider, &format!("http:GET|http://rebinds.example:{port}/")).await;
        assert_eq!(answer, "denied");
    }
    assert_eq!(heard.connections(), 0);
}

#[tokio::test]
async fn ungranted_port_method_or_scheme_is_denied() {
    let (port, heard) = http_server().await;
    let (other, others) = http_server().await;
    let rules = allow("\"api.example\"", port).replace("ports", "methods = [\"GET\"]\nports");
    let reaching = Reaching::new(&rules);
    for attempt in [
        format!("POST|http://api.example:{port}/"),
        format!("DELETE|http://api.example:{port}/"),
        format!("QUERY|http://api.example:{port}/"),
        format!("GET|http://api.example:{other}/"),
        format!("GET|https://api.example:{port}/"),
        format!("GET|http://api.example.evil.example:{port}/"),
        format!("GET|http://other.example:{port}/"),
    ] {
        assert_eq!(probe(&*reaching.provider, &format!("http:{attempt}")).await, "denied", "{attempt}");
    }
    assert_eq!((heard.connections(), others.connections()), (0, 0));
    let answer = probe(&*reaching.provider, &format!("http:GET|http://API.example.:{port}/")).await;
    assert!(answer.starts_with("200"), "{answer}");
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let (port, heard) = http_server().await;
    let reaching = Reaching::new(&allow("\"api.example\"", port));
    let answer = probe(&*reaching.provider, &format!("http:GET|http://api.example:{port}/redirect")).await;
    assert_eq!(answer, "302 to http://169.254.169.254/ ");
    assert_eq!(heard.requests(), ["GET /redirect"]);
    assert_eq!(probe(&*reaching.provider, "http:GET|http://169.254.169.254/").await, "denied");
}

#[tokio::test]
async fn invalid_and_forbidden_requests_are_rejected() {
    let (port, heard) = http_server().await;
    let reaching = Reaching::new(&allow("\"api.example\"", port));
    let url = format!("http://api.example:{port}/");
    for header in
        ["host=other.example", "connection=upgrade", "upgrade=h2c", "transfer-encoding=chunked", "a b=c"]
    {
        let answer = probe(&*reaching.provider, &format!("http:GET|{url}|{header}")).await;
        assert!(answer.starts_with("refused: GET "), "{header}: {answer}");
    }
    for attempt in [
        format!("GET|http://api.example@other.example:{port}/"),
        format!("GET|http://user@api.example:{port}/"),
        format!("CONNECT|http://api.example:{port}/"),
        format!("GET|ftp://api.example:{port}/"),
        format!("GET|http://api.example:{port}:80/"),
        "GET|http:///".to_owned(),
    ] {
        let answer = probe(&*reaching.provider, &format!("http:{attempt}")).await;
        assert!(answer == "denied" || answer.starts_with("refused: "), "{attempt}: {answer}");
    }
    for path in ["http://169.254.169.254/", "x", "*"] {
        assert_eq!(probe(&*reaching.provider, &format!("raw-path:{path}|{url}")).await, "refused", "{path}");
    }
    assert_eq!(heard.connections(), 0);
}

#[tokio::test]
async fn host_adds_credential_that_guest_cannot_see() {
    let (port, heard) = http_server().await;
    let rules = format!(
        r#"{}
        credential {{
          header      = "Authorization"
          prefix      = "Bearer "
          environment = "API_TOKEN"
          hosts       = ["api.example"]
          schemes     = ["http"]
          ports       = [{port}]
        }}"#,
        allow("\"api.example\", \"other.example\"", port)
    );
    let reaching = Reaching::new(&rules);
    let answer = |host: &str, more: &str| {
        let request = format!("http:GET|http://{host}:{port}/key{more}");
        let provider = std::sync::Arc::clone(&reaching.provider);
        async move { probe(&*provider, &request).await }
    };
    assert_eq!(answer("api.example", "").await, "200 the key is true");
    assert_eq!(answer("other.example", "").await, "200 the key is false");
    assert_eq!(heard.requests().len(), 2);
    assert_eq!(answer("api.example", "|Authorization=Bearer stolen").await, "denied");
    assert_eq!(answer("api.example", "|authorization=").await, "denied");
    let answer = probe(&*reaching.provider, &format!("http:TRACE|http://api.example:{port}/")).await;
    assert_eq!(answer, "denied");
    assert_eq!(heard.requests().len(), 2);
    let records = reaching.records();
    assert_eq!(records.iter().filter(|record| record.decision == Outcome::Denied).count(), 3);
    let written = format!("{records:?}");
    assert!(!written.contains("s3cret") && !written.contains("stolen"), "{written}");
}

#[tokio::test]
async fn request_without_its_credential_is_not_sent() {
    let (port, heard) = http_server().await;
    let rules = format!(
        "{}\ncredential {{\n header = \"X-Key\"\n environment = \"ABSENT\"\n hosts = [\"api.example\"]\n \
         schemes = [\"http\"]\n ports = [{port}]\n}}",
        allow("\"api.example\"", port)
    );
    let reaching = Reaching::new(&rules);
    let answer = probe(&*reaching.provider, &format!("http:GET|http://api.example:{port}/")).await;
    assert_eq!((answer.as_str(), heard.connections()), ("denied", 0));
    let records = reaching.records();
    let [record] = &*records else { panic!("{records:?}") };
    let reason = record.reason.as_deref().unwrap_or_default();
    assert!(reason.starts_with("the header x-key that /srv/policy.hcl:"), "{reason}");
}

#[tokio::test]
async fn endless_response_is_rejected_at_limit() {
    let (port, _) = http_server().await;
    let rules = format!("{}\nlimits {{\n response_size = \"1 MiB\"\n}}", allow("\"api.example\"", port));
    for rules in [rules, allow("\"api.example\"", port)] {
        let reaching = Reaching::new(&rules);
        let answer = probe(&*reaching.provider, &format!("http:GET|http://api.example:{port}/endless")).await;
        assert!(answer.to_lowercase().contains("failed: http response body size"), "{answer}");
        let received = reaching.records()[0].bytes_received.unwrap_or_default();
        assert!(received <= 64 << 20, "{received}");
        assert_well(&*reaching.provider).await;
    }
}

#[tokio::test]
async fn ten_thousand_concurrent_requests_crash_the_guest() {
    let (port, heard) = http_server().await;
    let reaching = Reaching::new(&allow("\"api.example\"", port));
    let request = format!("many:10000|http://api.example:{port}/");
    let answer = probe_or_failure(&*reaching.provider, &request).await;
    assert!(answer.contains("Plugin crashed"), "{answer}");
    assert!(heard.connections() <= 32, "{}", heard.connections());
    assert_well(&*reaching.provider).await;
    let answer = probe(&*reaching.provider, &format!("many:100|http://api.example:{port}/")).await;
    assert_eq!(answer, "100 of 100 answered");
}

#[tokio::test]
async fn concurrent_requests_are_limited_by_policy() {
    let (port, heard) = http_server().await;
    let rules = format!("{}\nlimits {{\n concurrent_requests = 2\n}}", allow("\"api.example\"", port));
    let reaching = Reaching::new(&rules);
    let answer = probe(&*reaching.provider, &format!("many:10|http://api.example:{port}/busy")).await;
    assert_eq!(answer, "10 of 10 answered");
    assert_eq!((heard.requests().len(), heard.most_at_once()), (10, 2));
}

#[tokio::test]
async fn request_ends_with_its_call() {
    let (port, heard) = http_server().await;
    let rules = format!("{}\nlimits {{\n concurrent_requests = 1\n}}", allow("\"api.example\"", port));
    let reaching = Reaching::new(&rules);
    let provider = &*reaching.provider;
    assert_eq!(
        probe(provider, &format!("keep-body:http://api.example:{port}/endless")).await,
        "kept after xxxxx"
    );
    // The permit is available again, although the guest still holds the handle.
    let answer = probe(provider, &format!("http:GET|http://api.example:{port}/")).await;
    assert!(answer.starts_with("200"), "{answer}");
    let answer = probe(provider, "kept").await;
    assert!(answer.contains("then StreamError::LastOperationFailed"), "{answer}");

    assert_eq!(probe(provider, &format!("keep-answer:http://api.example:{port}/slow")).await, "kept");
    let answer = probe(provider, "kept").await;
    assert!(answer.starts_with("refused: ErrorCode::ConnectionTerminated"), "{answer}");
    assert!(heard.requests().len() <= 3, "{:?}", heard.requests());
    assert_well(provider).await;
}

#[tokio::test]
async fn connection_errors_are_reported() {
    let (port, _) = http_server().await;
    let nobody = closed().port();
    let reaching = Reaching::new(&format!(
        "{}\nallow network {{\n hosts = [\"unknown.example\"]\n schemes = [\"http\"]\n}}",
        allow("\"api.example\"", nobody)
    ));
    let answer = probe(&*reaching.provider, &format!("http:GET|http://api.example:{nobody}/")).await;
    assert!(answer.ends_with("failed: connection refused"), "{answer}");
    let answer = probe(&*reaching.provider, "http:GET|http://unknown.example/").await;
    assert!(answer.ends_with("failed: dns error"), "{answer}");
    let rules = allow("\"api.example\"", port).replace("\"http\"", "\"https\"");
    let answer =
        probe(&*Reaching::new(&rules).provider, &format!("http:GET|https://api.example:{port}/")).await;
    assert!(answer.ends_with("failed: tls protocol error"), "{answer}");
}

#[tokio::test]
async fn plain_interface_has_the_same_policy_and_records() {
    let (port, heard) = http_server().await;
    let reaching = Reaching::new(&allow("\"api.example\"", port));
    let request = format!("plain:GET|http://api.example:{port}/hello?secret=1");
    let answer = probe_for(&CallContext::new("thing.a"), &*reaching.provider, &request).await;
    assert_eq!(answer, format!("200 GET /hello at api.example:{port}"));
    let denied = probe(&*reaching.provider, &format!("plain:GET|http://other.example:{port}/")).await;
    assert_eq!(denied, "denied");
    for (method, url) in
        [("GET", "ftp://api.example/"), ("GET", "/x"), ("G T", "http://api.example/"), ("GET", "\u{0}")]
    {
        let answer = probe(&*reaching.provider, &format!("plain:{method}|{url}")).await;
        assert!(answer.starts_with("refused: "), "{method} {url}: {answer}");
    }
    assert_eq!(heard.connections(), 1);
    let records = reaching.records();
    assert_eq!(records[0].resource.as_deref(), Some("thing.a"));
    assert_eq!((records[0].decision, records[0].status), (Outcome::Allowed, Some(200)));
    assert_eq!(records[1].decision, Outcome::Denied);
    assert!(!format!("{records:?}").contains("secret"), "{records:?}");
}

#[tokio::test]
async fn interrupt_ends_a_request_of_the_plain_interface() {
    let (port, heard) = http_server().await;
    let reaching = Reaching::new(&allow("\"api.example\"", port));
    let slow = tokio::spawn({
        let provider = Arc::clone(&reaching.provider);
        async move { probe(&*provider, &format!("plain:GET|http://api.example:{port}/slow")).await }
    });
    while heard.requests().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let _ = reaching.provider.stop().await;
    assert_eq!(slow.await.unwrap(), "interrupted");
    // Later requests are sent, so that a plugin can clean up.
    let answer = probe(&*reaching.provider, &format!("plain:DELETE|http://api.example:{port}/x")).await;
    assert!(answer.starts_with("200 DELETE /x"), "{answer}");
}

#[tokio::test]
async fn plain_interface_streams_request_bodies() {
    let (port, _) = http_server().await;
    let reaching = Reaching::new(&allow("\"api.example\"", port));
    let upload = format!("plain-upload:20000000|http://api.example:{port}/count");
    assert_eq!(probe(&*reaching.provider, &upload).await, "200 20000000 bytes");
    assert_eq!(reaching.records()[0].bytes_sent, Some(20_000_000));
    // The server does not take an abandoned body for a complete one.
    let abandoned = format!("plain-abandoned:http://api.example:{port}/count");
    assert_eq!(probe(&*reaching.provider, &abandoned).await, "abandoned");
    assert_well(&*reaching.provider).await;
    assert!(reaching.records().iter().skip(1).all(|record| record.status != Some(200)));
}

#[tokio::test]
async fn undeclared_network_is_denied_despite_a_grant() {
    let (port, heard) = http_server().await;
    let nothing = DeclaredCapabilities { network: false, filesystem: false };
    let reaching = Reaching::declaring(&allow("\"api.example\"", port), nothing);
    for verb in ["http", "plain"] {
        let answer = probe(&*reaching.provider, &format!("{verb}:GET|http://api.example:{port}/")).await;
        assert_eq!(answer, "denied", "{verb}");
    }
    let answer = probe(&*reaching.provider, &format!("connect:127.0.0.1:{port}")).await;
    assert!(!answer.contains("connected"), "{answer}");
    assert_eq!(heard.connections(), 0);
    let records = reaching.records();
    assert!(records.len() >= 3 && records.iter().all(|record| record.decision == Outcome::Denied));
    assert!(format!("{records:?}").contains("does not declare the capability network"), "{records:?}");
}
