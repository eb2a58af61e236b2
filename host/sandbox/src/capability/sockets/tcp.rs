//! `wasi:sockets/tcp`: wasmtime's implementation, except for the functions that begin and end a
//! connection. Those functions also record the access.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use wasmtime::component::{Linker, Resource, ResourceType};
use wasmtime_wasi::p2::bindings::sockets::network::{ErrorCode, IpSocketAddress, Network};
use wasmtime_wasi::p2::bindings::sockets::tcp::{self, HostTcpSocket, TcpSocket};
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, Pollable as _};
use wasmtime_wasi::sockets::{WasiSockets, WasiSocketsView as _};

use super::shadowing;
use crate::capability::streams::{CountedInput, CountedOutput};
use crate::state::GuestState;

/// The interface with the version of wasmtime's implementation.
const INTERFACE: &str = "wasi:sockets/tcp@0.2.12";

type Streams = (Resource<DynInputStream>, Resource<DynOutputStream>);

pub(super) fn link(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    tcp::add_to_linker::<GuestState, WasiSockets>(linker, GuestState::sockets)?;
    shadowing(linker, replace)
}

fn replace(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    let mut interface = linker.instance(INTERFACE)?;
    interface.resource("tcp-socket", ResourceType::host::<TcpSocket>(), |mut store, handle| {
        let state = store.data_mut();
        state.egress().connections().forget(handle);
        HostTcpSocket::drop(&mut state.sockets(), Resource::new_own(handle))
    })?;
    interface.func_wrap(
        "[method]tcp-socket.start-connect",
        |mut store, (socket, network, address): (Resource<TcpSocket>, Resource<Network>, IpSocketAddress)| {
            Ok((start_connect(store.data_mut(), socket, network, address)?,))
        },
    )?;
    interface
        .func_wrap("[method]tcp-socket.finish-connect", |mut store, (socket,): (Resource<TcpSocket>,)| {
            Ok((finish_connect(store.data_mut(), socket)?,))
        })
}

fn start_connect(
    state: &mut GuestState,
    socket: Resource<TcpSocket>,
    network: Resource<Network>,
    address: IpSocketAddress,
) -> wasmtime::Result<Result<(), ErrorCode>> {
    let number = socket.rep();
    state.egress().connections().before_connecting();
    if let Err(error) = state.sockets().start_connect(socket, network, address) {
        return error.downcast().map(Err);
    }
    // wasmtime defers all work until the guest waits. At this point the allowed connection is
    // known, so the connection is started immediately.
    let socket = state.table().get_mut(&Resource::<TcpSocket>::new_borrow(number))?;
    let _ = pin!(socket.ready()).as_mut().poll(&mut Context::from_waker(Waker::noop()));
    state.egress().connections().keep(number);
    Ok(Ok(()))
}

fn finish_connect(
    state: &mut GuestState,
    socket: Resource<TcpSocket>,
) -> wasmtime::Result<Result<Streams, ErrorCode>> {
    let number = socket.rep();
    let (input, output) = match state.sockets().finish_connect(socket) {
        Ok(streams) => streams,
        Err(error) => {
            let code: ErrorCode = error.downcast()?;
            if !matches!(code, ErrorCode::WouldBlock | ErrorCode::NotInProgress) {
                state.egress().connections().forget(number);
            }
            return Ok(Err(code));
        }
    };
    let connection = state.egress().connections().get(number).map(Arc::clone);
    let meter = connection.ok_or_else(|| wasmtime::format_err!("the connection was not authorized"))?;
    let socket = Resource::<TcpSocket>::new_borrow(number);
    let table = state.table();
    let input: DynInputStream =
        Box::new(CountedInput { stream: table.delete(input)?, meter: Arc::clone(&meter) });
    let output: DynOutputStream = Box::new(CountedOutput { stream: table.delete(output)?, meter });
    Ok(Ok((table.push_child(input, &socket)?, table.push_child(output, &socket)?)))
}
