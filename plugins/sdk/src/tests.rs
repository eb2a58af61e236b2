//! Tests of the public API: small providers, run through the harness.

mod nested;
mod operations;
mod plans;
mod rest;
mod runtime_schemas;
mod soundness;
mod values;
