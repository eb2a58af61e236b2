//! Requests through the host's interface `http`.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::thread;

use crate::provider::{ADDRESS, Language, Provider};

/// Starts a server that answers each request with its `accept` header, and returns its port.
fn server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let mut accept = String::new();
            for line in BufReader::new(&stream).lines() {
                let Ok(line) = line else { break };
                if let Some(value) = line.to_lowercase().strip_prefix("accept: ") {
                    value.clone_into(&mut accept);
                }
                if line.is_empty() {
                    break;
                }
            }
            let body = format!("{accept} {}", "ä".repeat(100_000));
            let _ = write!(
                stream,
                "HTTP/1.1 203 Found\r\ncontent-type: text/plain\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
        }
    });
    port
}

#[test]
fn document_is_read_if_policy_allows_it() {
    let port = server();
    let configuration = format!(
        "terraform {{\n  required_providers {{\n    inventory = {{\n      source = \"{ADDRESS}\"\n    }}\n  }}\n}}\n\n\
         data \"inventory_document\" \"a\" {{\n  url = \"http://127.0.0.1:{port}/a\"\n}}\n\noutput \"document\" {{\n  \
         value = [data.inventory_document.a.status, data.inventory_document.a.kind, \
         length(data.inventory_document.a.body), substr(data.inventory_document.a.body, 0, 12)]\n}}\n"
    );
    for language in Language::ALL {
        let Some(provider) = Provider::find(language) else { continue };
        let project = provider.project();
        project.write("main.tf", &configuration);
        let denied = project.run("plan -no-color").ended_with(1);
        assert!(denied.errors.contains("The document could not be read"), "{language}:\n{}", denied.text());
        project.write(
            "wardian.policy.hcl",
            format!(
                "plugin \"{ADDRESS}\" {{\n  allow network {{\n    hosts     = [\"127.0.0.1\"]\n    \
                 schemes   = [\"http\"]\n    ports     = [{port}]\n    addresses = [\"loopback\"]\n  }}\n}}\n"
            ),
        );
        project.run("apply -auto-approve -no-color").success();
        let output = project.state()["outputs"]["document"]["value"].clone();
        assert_eq!(output, serde_json::json!([203, "text/plain", 100_011, "text/plain ä"]), "{language}");
    }
}
