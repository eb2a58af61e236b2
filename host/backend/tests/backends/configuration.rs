//! Arguments, environment variables and names of backends.

use std::time::Duration;

use wardian_backend::{UnavailableBackend, find};
use wardian_state_server::StateServer;
use wardian_value::Value;

use crate::support::{configure_with, host, text};

fn error(type_name: &str, arguments: &[(&str, Value)], variables: &[(&str, &str)]) -> String {
    configure_with(type_name, arguments, &host(variables, Duration::from_secs(1))).unwrap_err().to_string()
}

#[test]
fn unavailable_backends_are_named_with_an_alternative() {
    for name in ["oss", "cos", "oci"] {
        let Err(UnavailableBackend::Refused(reason)) = find(name) else { panic!("{name}") };
        assert!(reason.contains(name) && reason.contains("\"s3\""), "{reason}");
    }
    let Err(UnavailableBackend::Unknown(reason)) = find("htpt") else { panic!() };
    assert!(reason.contains("Did you mean \"http\"?"), "{reason}");
}

#[test]
fn missing_and_invalid_arguments_are_reported() {
    let missing = error("http", &[], &[]);
    assert!(missing.contains("\"address\"") && missing.contains("TF_HTTP_ADDRESS"), "{missing}");
    for (name, value, expected) in [
        ("address", "ftp://a/b", "only http and https"),
        ("address", "not a url", "not a URL"),
        ("lock_method", "A B", "not an HTTP method"),
        ("client_certificate_pem", "x", "client_private_key_pem"),
        ("client_ca_certificate_pem", "x", "contains no certificate"),
    ] {
        let mut arguments = vec![(name, text(value))];
        if name != "address" {
            arguments.push(("address", text("http://a.example/")));
        }
        let error = error("http", &arguments, &[]);
        assert!(error.contains(expected), "{name}: {error}");
    }
    for (name, expected) in [("bucket", "bucket"), ("key", "key"), ("region", "AWS_REGION")] {
        let arguments: Vec<_> = [("bucket", text("b")), ("key", text("k")), ("region", text("r"))]
            .into_iter()
            .filter(|(argument, _)| *argument != name)
            .collect();
        assert!(error("s3", &arguments, &[]).contains(expected), "{name}");
    }
    let s3 = |name: &'static str, value: &str| {
        let others = [("bucket", text("b")), ("key", text("k")), ("region", text("r"))];
        let arguments: Vec<_> =
            others.into_iter().filter(|(other, _)| *other != name).chain([(name, text(value))]).collect();
        error("s3", &arguments, &[])
    };
    assert!(s3("key", "/k").contains("must not start"));
    assert!(s3("key", "a/../k").contains("\"..\""));
    assert!(s3("sse_customer_key", "c2hvcnQ=").contains("32 bytes"));
    assert!(s3("access_key", "a").contains("together"));
    for (conn_str, expected) in [
        ("postgres://h/d?sslmode=prefer", "not supported"),
        ("postgres://h/d?sslmode=x", "no sslmode"),
        ("host=a,b sslmode=disable", "Several hosts"),
        ("host=a port=x sslmode=disable", "not a port"),
        ("host='a password=s3cret", "not closed"),
    ] {
        let error = error("pg", &[("conn_str", text(conn_str))], &[]);
        assert!(error.contains(expected) && !error.contains("s3cret"), "{conn_str}: {error}");
    }
}

#[tokio::test]
async fn environment_variables_replace_missing_arguments() {
    let server = StateServer::start();
    server.set_state("/state", "{}");
    server.require_credentials("Basic bWU6cw==");
    let url = server.url("/state");
    let variables =
        [("TF_HTTP_ADDRESS", url.as_str()), ("TF_HTTP_USERNAME", "me"), ("TF_HTTP_PASSWORD", "s")];
    let host = host(&variables, Duration::from_secs(10));
    let backend = configure_with("http", &[], &host).unwrap();
    assert_eq!(backend.state("default").unwrap().read().await.unwrap().bytes, b"{}");
    assert!(!format!("{backend:?}").contains("bWU6"));
}
