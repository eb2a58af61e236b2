//! Starts a server from a description in a JSON file, prints its addresses as JSON, and runs until
//! standard input ends.
//!
//! ```text
//! wardian-registry-server DESCRIPTION.json
//! ```
//!
//! `GET /-/requests` returns the recorded requests, and `GET /-/forget-requests` removes them.
//! `POST /-/add-fault` adds a fault rule, and `GET /-/remove-faults` removes all rules.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a program of tests, which ends on a mistake")]

use std::io::{Read as _, Write as _};

use serde_json::json;
use wardian_registry_server::{Origin, RegistryServer};

fn main() {
    let Some(path) = std::env::args().nth(1) else { panic!("the argument is a description in JSON") };
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let server = RegistryServer::start_from_json(&text);
    let addresses = json!({
        "plain": server.url(Origin::Plain),
        "tls": server.url(Origin::Tls),
        "other": server.url(Origin::OtherPlain),
        "other_tls": server.url(Origin::OtherTls),
        "proxy": server.url(Origin::Proxy),
        "authority": server.authority_file(),
    });
    let mut out = std::io::stdout();
    writeln!(out, "{addresses}").unwrap();
    out.flush().unwrap();
    let mut input = Vec::new();
    let _ = std::io::stdin().read_to_end(&mut input);
}
