//! A provider that does what none should: each resource type is one way to harm
//! the host, each input of the probe one way to reach what was not granted. Tests
//! of the sandbox load it as the real component that it is.
#![cfg(target_family = "wasm")]
#![allow(clippy::panic, clippy::unwrap_used, reason = "it is here to do harm")]

mod behaviour;
mod libc;
mod plugin;
mod probe;
mod schema;

#[allow(missing_docs, unsafe_code, unreachable_pub, clippy::pedantic, reason = "generated")]
mod bindings {
    wit_bindgen::generate!({ world: "provider-plugin", path: "../../wit" });

    export!(Hostile with_types_in self);

    use crate::plugin::Hostile;
}

/// The component without a network has nothing to try here.
fn reach_out(verb: &str, _object: &str) -> String {
    format!("no such probe: {verb}")
}
