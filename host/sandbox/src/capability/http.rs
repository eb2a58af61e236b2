//! HTTP requests, each checked and recorded for the call that sends it.
//!
//! The interface is always linked; policy determines which requests may be sent. A `wasi:http`
//! request becomes a request of [`wardian_network::Client`], which is the only access to the
//! network, and which submits each request to the plugin's monitor. wasmtime's own client is not
//! compiled in.
//!
//! A request lasts at most as long as the operation that started it: a single call, or all calls
//! that fetch the results of a listing or an action. Requests that are still active at its end are
//! aborted, which prevents them from sending or receiving data on behalf of another operation
//! (`exchanges.rs`).
//!
//! `wardian:plugin/http` (`plain.rs`) is a second form of the same requests, for languages whose
//! bindings cannot use `wasi:http`.

mod authority;
mod errors;
mod exchanges;
mod plain;
pub(crate) mod requests;

use wasmtime::component::Linker;
use wasmtime_wasi_http::p2::add_only_http_to_linker_async;

pub use plain::{PlainBody, PlainUpload};

use super::Capability;
use crate::interface_name::InterfaceName;
use crate::state::GuestState;

pub(super) struct Http;

impl Capability for Http {
    fn interfaces(&self) -> &'static [InterfaceName<'static>] {
        const INTERFACES: &[InterfaceName<'static>] = &[
            InterfaceName::wasi("wasi:http/types"),
            InterfaceName::wasi("wasi:http/outgoing-handler"),
            InterfaceName { path: "wardian:plugin/http", major: 0, minor: 1 },
        ];
        INTERFACES
    }

    fn link(&self, linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
        add_only_http_to_linker_async(linker)?;
        plain::link(linker)
    }

    fn end_call(&self, state: &mut GuestState) {
        state.requests().end_exchanges();
    }
}
