//! Mock providers for `cargo xtask interop compare`: native plugins that manage no real service.
//!
//! `derive` reads a configuration and writes a package for each provider that it uses to a
//! filesystem mirror; `serve`, which the packages run, serves the schemas in a file. A mock provider
//! plans the proposed state with unknown computed attributes; an apply and a data source return
//! values that depend only on the schema and the configuration.

mod derive;
mod document;
mod provider;
mod values;

use std::fs;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use wardian_legacy_grpc_bridge::ProtocolVersion;
use wardian_legacy_grpc_bridge::server::{self, HostHandshake};

use crate::provider::MockProvider;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<()> {
    match arguments {
        [command, rest @ ..] if command == "derive" => derive::run(rest),
        [command, file] if command == "serve" => {
            let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().worker_threads(2).build();
            runtime.context("cannot start the runtime")?.block_on(serve(file))
        }
        _ => bail!("the commands are `derive` and `serve SCHEMAS`\n\n{}", derive::USAGE),
    }
}

/// Serves the schemas in a file to the program that started this process.
async fn serve(file: &str) -> Result<()> {
    let text = fs::read(file).with_context(|| format!("cannot read {file}"))?;
    let document = serde_json::from_slice(&text).with_context(|| format!("{file} is not JSON"))?;
    let schema = document::provider_schema(&document).with_context(|| format!("{file} is invalid"))?;
    let versions: &[ProtocolVersion] = if document::has_nested_attributes(&schema) {
        &[ProtocolVersion::Six]
    } else {
        &[ProtocolVersion::Five, ProtocolVersion::Six]
    };
    let variable = |name| std::env::var(name).ok();
    let host = HostHandshake {
        cookie: variable("TF_PLUGIN_MAGIC_COOKIE"),
        versions: variable("PLUGIN_PROTOCOL_VERSIONS"),
        certificate: variable("PLUGIN_CLIENT_CERT"),
        socket_directory: variable("PLUGIN_UNIX_SOCKET_DIR")
            .map_or_else(std::env::temp_dir, std::path::PathBuf::from),
    };
    let drift = document::drift(&document, &schema).with_context(|| format!("{file} is invalid"))?;
    let provider = Arc::new(MockProvider { schema: Arc::new(schema), drift });
    server::serve(provider, versions, &host, &mut std::io::stdout()).await.context("cannot serve")
}
