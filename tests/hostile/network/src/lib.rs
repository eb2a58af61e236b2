//! The hostile provider with network access: `wasi:http` through the SDK and directly, and
//! `wasi:sockets` through Rust's standard library.
#![cfg(target_family = "wasm")]
#![allow(clippy::panic, clippy::unwrap_used, reason = "a hostile plugin may panic")]

#[path = "../../src/behaviour.rs"]
mod behaviour;
#[path = "../../src/libc.rs"]
mod libc;
#[path = "../../src/named.rs"]
mod named;
#[path = "../../src/plugin.rs"]
mod plugin;
#[path = "../../src/probe.rs"]
mod probe;
mod reach;
#[path = "../../src/run.rs"]
mod run;
#[path = "../../src/schema.rs"]
mod schema;
mod sockets;
#[path = "../../src/steps.rs"]
mod steps;

#[allow(missing_docs, unsafe_code, unreachable_pub, clippy::pedantic, reason = "generated")]
mod bindings {
    wit_bindgen::generate!({ world: "provider-plugin", path: "../../../wit", generate_all });

    export!(Hostile with_types_in self);

    use crate::plugin::Hostile;
}

use reach::reach_out;
