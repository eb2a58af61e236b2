//! `wasi:sockets/udp`: wasmtime's implementation, with accounting of the traffic.

use std::net::SocketAddr;

use wasmtime::component::{Linker, Resource};
use wasmtime_wasi::p2::bindings::sockets::network::ErrorCode;
use wasmtime_wasi::p2::bindings::sockets::udp::{
    self, HostIncomingDatagramStream as _, HostOutgoingDatagramStream as _, IncomingDatagram,
    IncomingDatagramStream, OutgoingDatagram, OutgoingDatagramStream,
};
use wasmtime_wasi::sockets::{WasiSockets, WasiSocketsView as _};

use super::shadowing;
use crate::state::GuestState;

/// The interface with the version of wasmtime's implementation.
const INTERFACE: &str = "wasi:sockets/udp@0.2.12";

pub(super) fn link(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    udp::add_to_linker::<GuestState, WasiSockets>(linker, GuestState::sockets)?;
    shadowing(linker, replace)
}

fn replace(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    let mut interface = linker.instance(INTERFACE)?;
    interface.func_wrap(
        "[method]outgoing-datagram-stream.send",
        |mut store, (stream, datagrams): (Resource<OutgoingDatagramStream>, Vec<OutgoingDatagram>)| {
            Ok((send(store.data_mut(), stream, datagrams)?,))
        },
    )?;
    interface.func_wrap(
        "[method]incoming-datagram-stream.receive",
        |mut store, (stream, most): (Resource<IncomingDatagramStream>, u64)| {
            Ok((receive(store.data_mut(), stream, most)?,))
        },
    )
}

fn send(
    state: &mut GuestState,
    stream: Resource<OutgoingDatagramStream>,
    datagrams: Vec<OutgoingDatagram>,
) -> wasmtime::Result<Result<u64, ErrorCode>> {
    let lengths: Vec<usize> = datagrams.iter().map(|datagram| datagram.data.len()).collect();
    state.egress().before_sending();
    let sent = state.sockets().send(stream, datagrams);
    let count = sent.as_ref().map_or(0, |count| usize::try_from(*count).unwrap_or(usize::MAX));
    state.egress().after_sending(lengths.get(..count).unwrap_or(&lengths));
    sent.map_or_else(|error| error.downcast().map(Err), |count| Ok(Ok(count)))
}

fn receive(
    state: &mut GuestState,
    stream: Resource<IncomingDatagramStream>,
    most: u64,
) -> wasmtime::Result<Result<Vec<IncomingDatagram>, ErrorCode>> {
    let came = match state.sockets().receive(stream, most) {
        Ok(datagrams) => datagrams,
        Err(error) => return error.downcast().map(Err),
    };
    let mut received = Vec::with_capacity(came.len());
    for datagram in came {
        match state.egress().receives(SocketAddr::from(datagram.remote_address), datagram.data.len()) {
            Ok(true) => received.push(datagram),
            // The datagram came from a destination of an earlier call.
            Ok(false) => {}
            Err(_) => return Ok(Err(ErrorCode::AccessDenied)),
        }
    }
    Ok(Ok(received))
}
