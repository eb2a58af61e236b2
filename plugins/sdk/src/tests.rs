//! The library as an author meets it: small providers through the harness.

mod nested;
mod operations;
mod plans;
mod rest;
mod runtime_schemas;
mod soundness;
mod values;
