//! Tests the sandbox with real components, most of which are hostile.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails at the first unexpected result")]

mod answers;
mod cache;
mod configured_form;
mod determinism;
mod file_mode;
mod files;
mod functions;
mod guest;
mod harm;
mod hostile;
mod http;
mod links;
mod load;
mod parts;
mod pool;
mod programs;
mod protected_files;
mod reach;
mod releases;
mod run;
mod schema;
mod server;
mod sockets;
