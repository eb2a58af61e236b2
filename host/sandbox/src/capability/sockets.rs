//! TCP and UDP sockets. Every destination is checked before it is contacted.
//!
//! Rust's standard library imports `wasi:sockets` whenever `std::net` is used, so the interfaces
//! are always linked, and policy determines the destinations (`schemes = ["tcp"]` or `["udp"]`).
//! Sockets are wasmtime's own, and [`SocketEgress`] checks each use of an address. Names are
//! resolved here (`name_lookup.rs`) if policy allows it. An address to which a name has resolved is
//! then also checked as that name.
//!
//! | operation | destinations |
//! |---|---|
//! | connect, send a datagram | if policy allows the address itself, or a name that resolved to it |
//! | receive a datagram | from addresses to which the guest has sent an allowed datagram |
//! | bind | only to an address and port that the system chooses |
//! | listen, accept | never |
//!
//! A connection is one access, which begins when it may connect, ends when its socket and streams
//! are dropped, and is recorded with the number of bytes in both directions ([`connections`]); each
//! destination of datagrams in a call is also one access ([`datagram_accounting`]). In each call,
//! both may receive as much data as an HTTP response, and a connection waits in the same queue as
//! requests, so a plugin gains no advantage by implementing HTTP itself.

mod connections;
mod datagram_accounting;
pub(crate) mod egress;
mod name_lookup;
mod tcp;
mod udp;

use std::sync::Arc;

use wasmtime::component::Linker;
use wasmtime_wasi::p2::bindings::sockets::{instance_network, network, tcp_create_socket, udp_create_socket};
use wasmtime_wasi::sockets::{WasiSockets, WasiSocketsView as _};

use super::{Capability, NewInstance};
use crate::interface_name::InterfaceName;
use crate::state::GuestState;

pub(super) struct Sockets;

impl Capability for Sockets {
    fn interfaces(&self) -> &'static [InterfaceName<'static>] {
        const INTERFACES: &[InterfaceName<'static>] = &[
            InterfaceName::wasi("wasi:sockets/network"),
            InterfaceName::wasi("wasi:sockets/instance-network"),
            InterfaceName::wasi("wasi:sockets/tcp"),
            InterfaceName::wasi("wasi:sockets/tcp-create-socket"),
            InterfaceName::wasi("wasi:sockets/udp"),
            InterfaceName::wasi("wasi:sockets/udp-create-socket"),
            InterfaceName::wasi("wasi:sockets/ip-name-lookup"),
        ];
        INTERFACES
    }

    fn link(&self, linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
        type State = GuestState;
        let options = network::LinkOptions::default();
        network::add_to_linker::<State, WasiSockets>(linker, &options, State::sockets)?;
        instance_network::add_to_linker::<State, WasiSockets>(linker, State::sockets)?;
        tcp_create_socket::add_to_linker::<State, WasiSockets>(linker, State::sockets)?;
        udp_create_socket::add_to_linker::<State, WasiSockets>(linker, State::sockets)?;
        tcp::link(linker)?;
        udp::link(linker)?;
        name_lookup::link(linker)
    }

    fn instantiate(&self, new: &mut NewInstance<'_>) {
        let egress = Arc::clone(new.egress);
        new.wasi
            .allow_tcp(true)
            .allow_udp(true)
            .socket_addr_check(move |address, purpose| egress.permits(address, purpose));
    }

    fn begin_call(&self, state: &mut GuestState) {
        state.egress().end_uses();
    }

    fn end_call(&self, state: &mut GuestState) {
        state.egress().end_uses();
    }
}

/// Replaces some functions that are already linked with Wardian's own functions.
fn shadowing(
    linker: &mut Linker<GuestState>,
    replace: impl FnOnce(&mut Linker<GuestState>) -> wasmtime::Result<()>,
) -> wasmtime::Result<()> {
    linker.allow_shadowing(true);
    let replaced = replace(linker);
    linker.allow_shadowing(false);
    replaced
}
