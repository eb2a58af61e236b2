//! Tests of the public API: small providers that are run in the harness.

mod derived;
mod harness;
mod nested;
mod operations;
mod plans;
mod rest;
mod runtime_schemas;
mod soundness;
mod stored_data;
mod values;
