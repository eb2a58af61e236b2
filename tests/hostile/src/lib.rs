//! A malicious provider: each resource type attacks the host in one way, and each input of the
//! probe attempts an access that is not granted. The sandbox tests load it as a real component.
#![cfg(target_family = "wasm")]
#![allow(clippy::panic, clippy::unwrap_used, reason = "a hostile plugin may panic")]

mod behaviour;
mod libc;
mod named;
mod plugin;
mod probe;
mod run;
mod schema;
mod steps;

#[allow(missing_docs, unsafe_code, unreachable_pub, clippy::pedantic, reason = "generated")]
mod bindings {
    wit_bindgen::generate!({ world: "provider-plugin", path: "../../wit", generate_all });

    export!(Hostile with_types_in self);

    use crate::plugin::Hostile;
}

/// The component without network access has no network probes.
fn reach_out(verb: &str, _object: &str) -> String {
    format!("no such probe: {verb}")
}
