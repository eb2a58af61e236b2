//! The content of logs and traces, which must contain no secrets.

#![allow(clippy::unwrap_used, reason = "a test ends there")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use wardian_end_to_end::Project;

/// Starts a collector on loopback. Returns its address, and the bodies of the requests.
fn collector() -> (String, Receiver<(String, Value)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (sender, received) = channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") && stream.read_line(&mut head).unwrap() > 0 {}
            let lower = head.to_lowercase();
            let length = lower.lines().find_map(|line| line.strip_prefix("content-length: "));
            let mut body = vec![0; length.unwrap().trim().parse().unwrap()];
            stream.read_exact(&mut body).unwrap();
            stream.get_mut().write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").unwrap();
            if sender.send((head, serde_json::from_slice(&body).unwrap())).is_err() {
                return;
            }
        }
    });
    (address, received)
}

fn spans(body: &Value) -> &[Value] {
    body["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap()
}

const MAIN: &str = "resource \"random_id\" \"a\" {\n  byte_length = 4\n}\n\nresource \"terraform_data\" \"b\" {\n  input = \
                    random_id.a.hex\n}\n";

#[test]
fn collector_receives_the_spans_of_a_run() {
    let project = Project::new(&[("main.tf", MAIN)]);
    project.run("init").success();
    let (address, received) = collector();
    let variables = [
        ("OTEL_TRACES_EXPORTER", "otlp"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", address.as_str()),
        ("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=a%20b"),
        ("TRACEPARENT", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
    ];
    project.run_with("apply -auto-approve", "", &variables).success();
    let (head, body) = received.recv_timeout(Duration::from_mins(1)).unwrap();
    assert!(head.starts_with("POST /v1/traces ") && head.contains("x-tenant: a b"), "{head}");
    let spans = spans(&body);
    let named = |name: &str| spans.iter().filter(|span| span["name"] == name).collect::<Vec<_>>();
    let command = named("command");
    assert_eq!(command[0]["traceId"], "0af7651916cd43dd8448eb211c80319c");
    assert_eq!(command[0]["parentSpanId"], "b7ad6b7169203331");
    let operations = named("operation");
    assert!(operations.iter().all(|span| span["parentSpanId"] == command[0]["spanId"]), "{operations:?}");
    let calls = named("call").into_iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
    for expected in ["apply-resource-change", "random_id.a", "hashicorp/random"] {
        assert!(calls.contains(expected), "{expected}: {calls}");
    }
    assert_eq!(named("write state").len(), 1);
}

#[test]
fn missing_collector_is_a_warning() {
    let project = Project::new(&[("main.tf", MAIN)]);
    project.run("init").success();
    let variables = [("OTEL_TRACES_EXPORTER", "otlp"), ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")];
    let seen = project.run_with("plan", "", &variables).success();
    assert!(seen.text().contains("Traces were not sent"), "{}", seen.text());
    let variables = [("OTEL_TRACES_EXPORTER", "zipkin")];
    let seen = project.run_with("plan", "", &variables).ended_with(1);
    assert!(seen.text().contains("OTEL_TRACES_EXPORTER is \"zipkin\""), "{}", seen.text());
}

#[test]
fn log_names_the_dependency_for_which_a_node_waited() {
    // Both resources wait for the same provider, so the last dependency of the second one is the first.
    let main = "resource \"terraform_data\" \"a\" {}\nresource \"terraform_data\" \"b\" {\n  input = terraform_data.a.id\n}\n";
    let project = Project::new(&[("main.tf", main)]);
    project.run("init").success();
    let seen = project.run_with("plan", "", &[("TF_LOG", "debug")]).success();
    let visit = seen.errors.lines().find(|line| line.contains("node=\"terraform_data.b\""));
    assert!(visit.is_some_and(|line| line.contains("after=\"terraform_data.a\"")), "{}", seen.errors);
}

/// Twenty secrets, each in a different location.
#[test]
fn secrets_are_in_neither_logs_nor_traces_nor_crash_reports() {
    let main = r#"
variable "by_default" {
  default   = "S3CRET-01"
  sensitive = true
}
variable "by_environment" { sensitive = true }
variable "by_argument" { sensitive = true }
variable "by_file" { sensitive = true }
variable "by_tfvars" { sensitive = true }
variable "by_auto_tfvars" { sensitive = true }
variable "ephemeral" {
  default   = "S3CRET-07"
  sensitive = true
  ephemeral = true
}
locals {
  derived = "${sensitive("S3CRET-08")}-derived"
  checked = sensitive("S3CRET-16")
  several = { for name in ["a"] : name => sensitive("S3CRET-09") }
}
module "m" {
  source = "./m"
  given  = sensitive("S3CRET-10")
}
resource "terraform_data" "input" {
  input            = [var.by_default, var.by_environment, var.by_argument, var.by_file, var.by_tfvars, var.by_auto_tfvars]
  triggers_replace = [local.derived, local.several]
}
resource "local_sensitive_file" "file" {
  filename = "secret.txt"
  content  = sensitive("S3CRET-11")
}
resource "random_id" "keepers" {
  byte_length = 4
  keepers     = { secret = sensitive("S3CRET-12") }
}
resource "terraform_data" "provisioned" {
  provisioner "local-exec" {
    command     = "echo \"$SECRET\" ${sensitive("S3CRET-13")}"
    environment = { SECRET = sensitive("S3CRET-14") }
  }
  lifecycle {
    postcondition {
      condition     = self.id != sensitive("S3CRET-15")
      error_message = "never shown"
    }
  }
}
check "secret" {
  assert {
    condition     = terraform_data.input.id == local.checked
    error_message = "the check fails"
  }
}
output "secret" {
  value     = "${module.m.secret} ${sensitive("S3CRET-17")}"
  sensitive = true
}
"#;
    let module = "variable \"given\" {\n  sensitive = true\n}\noutput \"secret\" {\n  value     = var.given\n  sensitive = \
                  true\n}\n";
    let project = Project::new(&[
        ("main.tf", main),
        ("m/main.tf", module),
        ("terraform.tfvars", "by_tfvars = \"S3CRET-05\"\n"),
        ("x.auto.tfvars", "by_auto_tfvars = \"S3CRET-06\"\n"),
        ("file.tfvars", "by_file = \"S3CRET-04\"\n"),
    ]);
    project.run("init").success();
    let (address, received) = collector();
    let variables = [
        ("TF_LOG", "trace"),
        ("TF_VAR_by_environment", "S3CRET-02"),
        ("WARDIAN_PLAN_PASSPHRASE", "S3CRET-18"),
        ("OTEL_TRACES_EXPORTER", "otlp"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", address.as_str()),
        ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=S3CRET-19"),
        ("TF_TOKEN_example_com", "S3CRET-20"),
    ];
    let arguments = "-var=by_argument=S3CRET-03 -var-file=file.tfvars";
    let mut logs = String::new();
    for command in ["plan", "apply -auto-approve", "plan", "destroy -auto-approve"] {
        let seen = project.run_with(&format!("{command} {arguments}"), "", &variables);
        assert!(seen.errors.contains("wardian::call"), "the log has calls:\n{}", seen.text());
        logs.push_str(&seen.errors);
        let (_, body) = received.recv_timeout(Duration::from_mins(1)).unwrap();
        assert!(!spans(&body).is_empty());
        logs.push_str(&body.to_string());
    }
    if cfg!(debug_assertions) {
        project.run_with("crash -text=S3CRET-03", "", &variables).ended_with(11);
        let files = std::fs::read_dir(project.path("")).unwrap().map(|file| file.unwrap().path());
        let report = files.filter(|path| path.to_string_lossy().contains("wardian-crash-")).last().unwrap();
        logs.push_str(&std::fs::read_to_string(report).unwrap());
    }
    let found = logs.lines().find(|line| line.contains("S3CRET"));
    assert_eq!(found, None);
}
