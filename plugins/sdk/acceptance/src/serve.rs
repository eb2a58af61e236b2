//! Serves the native build of a provider to hosts, so that a debugger can stop in its code.

use std::sync::Arc;
use std::time::Duration;

use wardian_address::ProviderAddress;
use wardian_legacy_grpc_bridge::server::{AttachedServer, ServeError};
use wardian_sdk::export::Service;
use wardian_sdk::testing::in_process::InProcessProvider;

use crate::environment::Environment;
use crate::http_client::live_handler;
use crate::in_process::{InProcessWire, ProviderFactory};

/// Time after which a call fails, since an author may be at a breakpoint.
const CALL_LIMIT: Duration = Duration::from_hours(24);

/// The reason why a provider cannot be served to a debugger's host.
///
/// ```
/// let provider = || wardian_sdk::Provider::new("cloud");
/// let error = wardian_acceptance::serve_for_debugger(provider, "not an address").unwrap_err();
/// assert!(error.to_string().contains("is not the address of a provider"), "{error}");
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DebugServerError {
    /// The address is not a provider address.
    #[error("{address:?} is not the address of a provider, such as \"acme/cloud\": {problem}")]
    Address {
        /// The text that was given.
        address: String,
        /// The error.
        problem: String,
    },
    /// The system has no runtime or signal handler for the server.
    #[error("the server cannot be started: {0}")]
    Start(#[from] std::io::Error),
    /// The socket cannot be served.
    #[error(transparent)]
    Serve(#[from] ServeError),
}

/// Serves a provider over protocol 6 until Ctrl-C, and prints the variable of the environment with which
/// Wardian, Terraform or OpenTofu attach to it. Each provider configuration of a host has its own instance of
/// the provider. Requests are sent to real servers, and the policies of a sandbox do not apply.
///
/// An example of the provider's package calls it, which a debugger starts:
///
/// ```no_run
/// // examples/debug.rs
/// fn main() -> Result<(), wardian_acceptance::DebugServerError> {
///     wardian_acceptance::serve_for_debugger(wardian_provider_random::provider, "hashicorp/random")
/// }
/// ```
///
/// # Errors
/// Returns an error if the address is invalid, or the socket cannot be served.
#[expect(clippy::print_stdout, reason = "the author copies the variable")]
pub fn serve_for_debugger<P: Into<Service>>(
    provider: impl Fn() -> P + Send + Sync + 'static,
    address: &str,
) -> Result<(), DebugServerError> {
    let address = ProviderAddress::parse(address).map_err(|error| DebugServerError::Address {
        address: address.to_owned(),
        problem: error.to_string(),
    })?;
    let factory: ProviderFactory = Arc::new(move || InProcessProvider::new(provider()));
    let environment = Environment { http: Some(live_handler()), ..Environment::default() };
    let name = address.for_display().to_string();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let server = AttachedServer::bind(&std::env::temp_dir())?;
        println!("The provider {name} is running. Run the host in another terminal, with this variable:\n");
        println!("  export TF_REATTACH_PROVIDERS='{}'\n", server.variable(&address.to_string()));
        println!("Press Ctrl-C to end the provider.");
        let make = move || {
            let factory = Arc::clone(&factory);
            Ok(InProcessWire::start(&name, factory, environment.clone(), CALL_LIMIT)?)
        };
        let interrupted = async {
            // Without a handler, Ctrl-C ends the process anyway.
            let _ = tokio::signal::ctrl_c().await;
        };
        server.serve(make, interrupted).await?;
        Ok(())
    })
}
