//! Tests of the engine with an in-process provider whose responses the tests control.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails at the first unexpected result"
)]

mod actions;
mod apply;
mod checks;
mod commit;
mod ephemeral;
mod fixture;
mod import;
mod misbehaviour;
mod moved;
mod object_secrets;
mod order;
mod plan;
mod plan_file;
mod provider;
mod provision;
mod provisioner;
mod recording;
mod relevant_attributes;
mod removed;
mod target;
mod token;
mod validate;
mod violations;
