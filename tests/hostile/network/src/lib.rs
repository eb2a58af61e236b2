//! The hostile provider with Rust's own network on top, which makes the component
//! import `wasi:sockets`: it must be refused before anything of it runs.
#![cfg(target_family = "wasm")]
#![allow(clippy::panic, clippy::unwrap_used, reason = "it is here to do harm")]

#[path = "../../src/behaviour.rs"]
mod behaviour;
#[path = "../../src/plugin.rs"]
mod plugin;
#[path = "../../src/probe.rs"]
mod probe;
#[path = "../../src/schema.rs"]
mod schema;

#[allow(missing_docs, unsafe_code, unreachable_pub, clippy::pedantic, reason = "generated")]
mod bindings {
    wit_bindgen::generate!({ world: "provider-plugin", path: "../../../wit" });

    export!(Hostile with_types_in self);

    use crate::plugin::Hostile;
}

fn reach_out(address: &str) -> String {
    match std::net::TcpStream::connect(address) {
        Ok(_) => format!("connected to {address}"),
        Err(error) => error.to_string(),
    }
}
