//! Backends and key providers that the organisation's policy opens to untrusted configurations, and the
//! attacks that it must not open.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends there")]

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use wardian_end_to_end::{Project, Seen};
use wardian_state_server::{Postgres, Request, Response, StateServer, TestService};

/// The operator's credentials: `operator:top-secret-password`.
const CREDENTIALS: &str = "Basic b3BlcmF0b3I6dG9wLXNlY3JldC1wYXNzd29yZA==";
const VARIABLES: [(&str, &str); 2] =
    [("TF_HTTP_USERNAME", "operator"), ("TF_HTTP_PASSWORD", "top-secret-password")];

const MAIN: &str = "resource \"terraform_data\" \"a\" {\n  input = \"stored\"\n}\noutput \"secret\" {\n  value     = \
                    \"hidden-value\"\n  sensitive = true\n}\noutput \"plain\" {\n  value = \"plain-value\"\n}\n";

fn unwrapped(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c == '│').filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

/// A server that requires the operator's credentials and contains a state at `/state`.
fn server() -> StateServer {
    let server = StateServer::start();
    server.require_credentials(CREDENTIALS);
    let project = Project::new(&[("main.tf", MAIN), ("backend.tf", &server.block("/state"))]);
    project.run_with("init", "", &VARIABLES).success();
    project.run_with("apply -auto-approve", "", &VARIABLES).success();
    server
}

/// The organisation's policy for the state at `/state`.
fn policy(server: &StateServer) -> String {
    let url = server.url("/state");
    format!(
        "otherwise = \"defer\"\n\nuntrusted_backend \"http\" {{\n  reason = \"SEC-4\"\n  require {{\n    address = \"{url}\"\n  \
         }}\n  accept {{\n    lock_address = \"{url}\"\n    unlock_address = \"{url}\"\n    retry_wait_min = \"*\"\n    \
         retry_wait_max = \"*\"\n  }}\n}}\n"
    )
}

/// Runs a command on an untrusted configuration with the organisation's policy and the operator's
/// credentials.
fn run(project: &Project, line: &str, policy: &str) -> Seen {
    project.write("organisation/policy.hcl", policy);
    let path = project.path("organisation/policy.hcl").display().to_string();
    let variables = [&VARIABLES[..], &[("WARDIAN_POLICY", &*path)]].concat();
    project.run_with(&format!("-chdir=configuration {line}"), "", &variables)
}

fn audit_records(project: &Project) -> Vec<Value> {
    let text = project.read("configuration/audit.log");
    let records = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    records.filter(|record| record["plugin"] == "wardian").collect()
}

#[test]
fn named_backend_is_read_and_neither_locked_nor_changed() {
    let server = server();
    let stored = server.state("/state");
    let before = server.requests().len();
    let project = Project::new(&[
        ("configuration/main.tf", MAIN),
        ("configuration/backend.tf", &server.block("/state")),
        // The record is part of the pull request, and names another server.
        (
            "configuration/.terraform/terraform.tfstate",
            "{\"version\":3,\"backend\":{\"type\":\"http\",\"config\":{\"address\":\"http://192.0.2.1/\"},\"hash\":1}}",
        ),
    ]);
    let policy = policy(&server);
    run(&project, "init -untrusted", &policy).success();
    let seen = run(&project, "plan -untrusted -audit-log=audit.log", &policy).success();
    // A sensitive output is always shown as changed.
    assert!(seen.out.contains("No\ninfrastructure is changed"), "{}", seen.text());
    assert!(
        !seen.text().contains("State not read") && !seen.text().contains("hidden-value"),
        "{}",
        seen.text()
    );
    let requests = &server.requests()[before..];
    assert!(!requests.is_empty() && requests.iter().all(|request| request.method == "GET"), "{requests:?}");
    assert_eq!((server.state("/state"), server.lock_of("/state")), (stored, None));
    let records = audit_records(&project);
    assert!(!records.is_empty());
    for record in &records {
        assert_eq!((record["call"].as_str(), record["access"].as_str()), (Some("backend"), Some("GET")));
        assert_eq!(
            record["rule"].as_str().map(|rule| rule.ends_with("policy.hcl:3")),
            Some(true),
            "{record}"
        );
    }
    // A held lock is not a reason to wait, because nothing is written.
    server.set_lock("/state", Some("{\"ID\":\"x\"}"));
    run(&project, "plan -untrusted", &policy).success();
    assert_eq!(server.lock_of("/state").as_deref(), Some("{\"ID\":\"x\"}"));
}

#[test]
fn other_locations_and_other_arguments_open_nothing() {
    let (server, attacker) = (server(), StateServer::start());
    attacker.set_state("/state", "{}");
    let before = server.requests().len();
    let base = server.block("/state");
    let project = Project::new(&[("configuration/main.tf", MAIN)]);
    let with = |argument: &str| base.replace("    retry_wait_min = 0\n", &format!("    {argument}\n"));
    let (there, here) = (attacker.url("/state"), server.url("/state"));
    for (block, reason) in [
        (server.block("/other"), "the value of \"address\" does not match"),
        (attacker.block("/state"), "the value of \"address\" does not match"),
        (server.block("/state/../other"), "the value of \"address\" does not match"),
        (
            base.replace(&format!(" address = \"{here}\""), &format!(" address = \"{here}@evil.example\"")),
            "address",
        ),
        (base.replace("lock_address = \"", &format!("lock_address = \"{there}?")), "lock_address"),
        (with("skip_cert_verification = true"), "sets \"skip_cert_verification\""),
        (with("client_ca_certificate_pem = \"x\""), "sets \"client_ca_certificate_pem\""),
        (with("username = \"x\""), "sets \"username\""),
        (with("update_method = \"GET\""), "sets \"update_method\""),
        (
            format!("terraform {{\n  backend \"http\" {{\n    lock_address = \"{here}\"\n  }}\n}}\n"),
            "does not set \"address\"",
        ),
        (
            format!("terraform {{\n  backend \"consul\" {{\n    path = \"{here}\"\n  }}\n}}\n"),
            "no untrusted_backend block",
        ),
    ] {
        project.write("configuration/backend.tf", &block);
        let seen = run(&project, "plan -untrusted", &policy(&server));
        let text = unwrapped(&seen.text());
        assert!(text.contains("State not read") && text.contains(reason), "{block}\n{}", seen.text());
        assert!(text.contains("terraform_data.a will be created"), "{block}\n{text}");
    }
    assert_eq!((server.requests().len(), attacker.requests().len()), (before, 0));
    // Neither the user nor the configuration can name a backend.
    project.write("configuration/backend.tf", &base);
    project.write("configuration/wardian.policy.hcl", policy(&server));
    let seen = run(&project, "plan -untrusted", "otherwise = \"defer\"\n").ended_with(1);
    assert!(unwrapped(&seen.errors).contains("Only a policy of the organisation"), "{}", seen.text());
    assert_eq!(server.requests().len(), before);
}

#[test]
fn remote_state_of_a_named_backend_keeps_its_secrets() {
    let server = server();
    let stored = server.state("/state");
    let data = |url: String| {
        format!(
            "data \"terraform_remote_state\" \"other\" {{\n  backend = \"http\"\n  config = {{\n    address = \"{url}\"\n  }}\n}}\n\
             output \"plain\" {{\n  value = data.terraform_remote_state.other.outputs.plain\n}}\noutput \"secret\" {{\n  value = \
             nonsensitive(data.terraform_remote_state.other.outputs.secret)\n}}\noutput \"length\" {{\n  value = \
             length(nonsensitive(data.terraform_remote_state.other.outputs.secret))\n}}\n"
        )
    };
    let project = Project::new(&[("configuration/main.tf", &data(server.url("/state")))]);
    let before = server.requests().len();
    let seen = run(&project, "plan -untrusted -audit-log=audit.log", &policy(&server)).success();
    assert!(seen.out.contains("plain-value") && !seen.text().contains("hidden-value"), "{}", seen.text());
    assert!(!seen.out.contains("12"), "the length of the secret is not shown: {}", seen.out);
    assert!(server.requests()[before..].iter().all(|request| request.method == "GET"));
    assert_eq!(server.state("/state"), stored);
    assert!(audit_records(&project).iter().all(|record| record["access"] == "GET"));
    // The control: the operator's own configuration receives the value.
    let seen = project.run_with("-chdir=configuration plan", "", &VARIABLES).success();
    assert!(seen.out.contains("hidden-value"), "{}", seen.text());
    let before = server.requests().len();
    project.write("configuration/main.tf", data(server.url("/other")));
    let seen = run(&project, "plan -untrusted", &policy(&server)).ended_with(1);
    assert!(unwrapped(&seen.errors).contains("Backend not permitted"), "{}", seen.text());
    assert_eq!(server.requests().len(), before);
}

/// A server with the requests of OpenBao's transit engine. The ciphertext is the key.
struct Transit;

impl TestService for Transit {
    fn process(&self, request: &Request) -> Response {
        if request.header("x-vault-token") != Some("s.operator") {
            return Response::new(403, "{\"errors\":[\"permission denied\"]}");
        }
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let key = STANDARD.encode([7; 32]);
        let plaintext = match body["ciphertext"].as_str() {
            Some(ciphertext) => ciphertext.trim_start_matches("vault:v1:").to_owned(),
            None => key.clone(),
        };
        let data = json!({ "data": { "plaintext": plaintext, "ciphertext": format!("vault:v1:{key}") } });
        Response::new(200, data.to_string()).with_header("content-type", "application/json")
    }
}

#[test]
fn named_key_provider_decrypts_the_state() {
    let (bao, attacker) =
        (StateServer::start_service(Arc::new(Transit)), StateServer::start_service(Arc::new(Transit)));
    let server = StateServer::start();
    let encryption = |arguments: &str| {
        format!(
            "terraform {{\n  encryption {{\n    key_provider \"openbao\" \"main\" {{\n{arguments}\n    }}\n    method \"aes_gcm\" \
             \"main\" {{\n      keys = key_provider.openbao.main\n    }}\n    state {{\n      method   = method.aes_gcm.main\n      \
             enforced = true\n    }}\n  }}\n}}\n"
        )
    };
    let named = encryption("key_name = \"states\"");
    let project = Project::new(&[
        ("configuration/main.tf", MAIN),
        ("configuration/backend.tf", &server.block("/state")),
        ("configuration/encryption.tf", &named),
    ]);
    let address = bao.url("");
    let variables = [("BAO_ADDR", &*address), ("BAO_TOKEN", "s.operator")];
    project.run_with("-chdir=configuration init", "", &variables).success();
    project.run_with("-chdir=configuration apply -auto-approve", "", &variables).success();
    let key_rule = "untrusted_key_provider \"openbao\" {\n  require {\n    key_name = \"states\"\n  }\n}\n";
    let plan = |policy: &str| {
        project.write("organisation/policy.hcl", policy);
        let path = project.path("organisation/policy.hcl").display().to_string();
        let variables = [&variables[..], &[("WARDIAN_POLICY", &*path)]].concat();
        let line = "-chdir=configuration plan -untrusted -audit-log=audit.log";
        project.run_with(line, "", &variables)
    };
    let backends = policy(&server);
    let seen = plan(&backends).ended_with(1);
    let text = unwrapped(&seen.errors);
    assert!(text.contains("Key provider not permitted") && text.contains("untrusted_key_provider"), "{text}");
    let seen = plan(&format!("{backends}{key_rule}")).success();
    assert!(seen.out.contains("No\ninfrastructure is changed"), "{}", seen.text());
    let rules = audit_records(&project);
    assert!(
        rules.iter().any(|record| record["call"] == "encryption" && record["rule"].is_string()),
        "{rules:?}"
    );
    let count = bao.requests().len();
    for arguments in [
        format!("key_name = \"states\"\naddress = \"{}\"", attacker.url("")),
        "key_name = \"states\"\ntransit_engine_path = \"other\"".to_owned(),
        "key_name = \"other\"".to_owned(),
    ] {
        project.write("configuration/encryption.tf", encryption(&arguments));
        let seen = plan(&format!("{backends}{key_rule}")).ended_with(1);
        assert!(seen.errors.contains("Key provider not permitted"), "{arguments}: {}", seen.text());
    }
    assert_eq!((bao.requests().len(), attacker.requests().len()), (count, 0));
}

#[test]
fn databases_are_read_without_changes_and_their_connections_are_recorded() {
    let Some(server) = Postgres::start() else { return };
    for (name, schema) in [("pg", "terraform_remote_state"), ("postgres", "wardian")] {
        let conn = server.connection_string();
        let backend =
            format!("terraform {{\n  backend \"{name}\" {{\n    schema_name = \"{schema}\"\n  }}\n}}\n");
        let project =
            Project::new(&[("configuration/main.tf", MAIN), ("configuration/backend.tf", &backend)]);
        let rule = |schema: &str| {
            format!(
                "otherwise = \"defer\"\nuntrusted_backend \"{name}\" {{\n  require {{\n    schema_name = \"{schema}\"\n  \
                 }}\n}}\n"
            )
        };
        let command = |line: &str, policy: &str| {
            project.write("organisation/policy.hcl", policy);
            let path = project.path("organisation/policy.hcl").display().to_string();
            let variables = [("PG_CONN_STR", &*conn), ("WARDIAN_POLICY", &*path)];
            project.run_with(&format!("-chdir=configuration {line}"), "", &variables)
        };
        // Without a schema, an untrusted configuration creates none.
        let seen = command("plan -untrusted", &rule(schema)).ended_with(1);
        assert!(seen.errors.contains("schema"), "{}", seen.text());
        let count = server.execute(&format!("SELECT count(*) FROM pg_namespace WHERE nspname = '{schema}'"));
        assert_eq!(count, "0", "{name}");
        command("init", "otherwise = \"defer\"\n").success();
        command("apply -auto-approve -audit-log=audit.log", "otherwise = \"defer\"\n").success();
        let records = audit_records(&project);
        let target = format!("tcp://127.0.0.1:{}", server.port());
        let connections: Vec<&Value> = records.iter().filter(|record| record["target"] == *target).collect();
        assert!(!connections.is_empty(), "{name}: {records:?}");
        let sent = connections.iter().filter_map(|record| record["bytes_sent"].as_u64()).max().unwrap();
        assert!(sent > 500, "{name}: {records:?}");
        std::fs::remove_file(project.path("configuration/audit.log")).unwrap();
        let seen = command("plan -untrusted -audit-log=audit.log", &rule(schema)).success();
        assert!(seen.out.contains("No\ninfrastructure is changed"), "{name}: {}", seen.text());
        let records = audit_records(&project);
        assert!(records.iter().any(|record| record["target"] == *target && record["rule"].is_string()));
        // The configuration cannot choose the server, nor another schema.
        for (argument, reason) in [
            (format!("schema_name = \"{schema}\"\n    conn_str = \"host=127.0.0.1\""), "sets \"conn_str\""),
            ("schema_name = \"public\"".to_owned(), "value of \"schema_name\""),
        ] {
            let other = backend.replace(&format!("schema_name = \"{schema}\""), &argument);
            project.write("configuration/backend.tf", other);
            let seen = command("plan -untrusted", &rule(schema)).success();
            let text = unwrapped(&seen.text());
            assert!(text.contains("State not read") && text.contains(reason), "{name}: {text}");
        }
        project.write("configuration/backend.tf", &backend);
        // The workspace is selected by a file of the configuration.
        command("workspace new prod", "otherwise = \"defer\"\n").success();
        let seen = command("plan -untrusted", &rule(schema)).success();
        let text = unwrapped(&seen.text());
        assert!(text.contains("does not include the workspace \"prod\""), "{name}: {text}");
        let all = rule(schema).replace("  require", "  workspaces = [\"default\", \"prod\"]\n  require");
        let seen = command("plan -untrusted", &all).success();
        assert!(!seen.text().contains("State not read"), "{name}: {}", seen.text());
    }
}
