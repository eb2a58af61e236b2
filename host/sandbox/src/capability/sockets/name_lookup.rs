//! `wasi:sockets/ip-name-lookup`: names are resolved only if policy grants them, since a DNS
//! query sends data to the operator of a name server.
//!
//! wasmtime's own implementation allows either all names or no names, and its response type cannot
//! be constructed elsewhere, so the functions are added to the linker manually.

use std::net::IpAddr;
use std::sync::Arc;
use std::vec;

use wardian_access::{AccessRequest, Host};
use wardian_monitor::Capability;
use wasmtime::component::{Linker, Resource, ResourceType};
use wasmtime_wasi::p2::bindings::sockets::network::{ErrorCode, IpAddress, Network};
use wasmtime_wasi::p2::{DynPollable, Pollable, subscribe};
use wasmtime_wasi::runtime::{AbortOnDropJoinHandle, spawn};
use wasmtime_wasi_io::async_trait;

use crate::state::GuestState;

/// The interface with its version. It satisfies all imports of the same semver track.
const INTERFACE: &str = "wasi:sockets/ip-name-lookup@0.2.12";

/// The addresses of a name, after it was resolved.
enum Answers {
    Awaited(AbortOnDropJoinHandle<Result<Vec<IpAddr>, ErrorCode>>),
    KnownNames(Result<vec::IntoIter<IpAddr>, ErrorCode>),
}

#[async_trait]
impl Pollable for Answers {
    async fn ready(&mut self) {
        if let Self::Awaited(answers) = self {
            *self = Self::KnownNames(answers.await.map(Vec::into_iter));
        }
    }
}

pub(super) fn link(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    let mut interface = linker.instance(INTERFACE)?;
    interface.resource("resolve-address-stream", ResourceType::host::<Answers>(), |mut store, handle| {
        store.data_mut().table().delete(Resource::<Answers>::new_own(handle))?;
        Ok(())
    })?;
    interface.func_wrap("resolve-addresses", |mut store, (network, name): (Resource<Network>, String)| {
        let state = store.data_mut();
        state.table().get(&network)?;
        Ok((match resolve(state, &name) {
            Ok(answers) => Ok(state.table().push(answers)?),
            Err(code) => Err(code),
        },))
    })?;
    interface.func_wrap(
        "[method]resolve-address-stream.resolve-next-address",
        |mut store, (answers,): (Resource<Answers>,)| {
            let next = match store.data_mut().table().get_mut(&answers)? {
                Answers::Awaited(_) => Err(ErrorCode::WouldBlock),
                Answers::KnownNames(Ok(addresses)) => Ok(addresses.next().map(IpAddress::from)),
                Answers::KnownNames(Err(code)) => Err(*code),
            };
            Ok((next,))
        },
    )?;
    interface.func_wrap(
        "[method]resolve-address-stream.subscribe",
        |mut store, (answers,): (Resource<Answers>,)| {
            let pollable: Resource<DynPollable> = subscribe(store.data_mut().table(), answers)?;
            Ok((pollable,))
        },
    )
}

fn resolve(state: &GuestState, name: &str) -> Result<Answers, ErrorCode> {
    let current_call = state.egress().current_call();
    let host = Host::parse(name).map_err(|problem| {
        let target = name.chars().take(80).collect::<String>().escape_debug().to_string();
        let reason = format!("\"{target}\" is not a host: {problem}");
        current_call.monitor().reject(&current_call.get(), Capability::NameLookUp, target, reason);
        ErrorCode::InvalidArgument
    })?;
    // An address needs no resolution, and is checked when it is used.
    let text: Box<str> = match &host {
        Host::Address(address) => return Ok(Answers::KnownNames(Ok(vec![*address].into_iter()))),
        Host::Name(text) => text.clone(),
    };
    if let Err(reason) = state.network().check_declared() {
        let call = current_call.get();
        current_call.monitor().reject(&call, Capability::NameLookUp, host.to_string(), reason);
        return Err(ErrorCode::AccessDenied);
    }
    let asked = AccessRequest::LookUp(host.clone());
    let usage =
        current_call.monitor().begin(&current_call.get(), asked).map_err(|_| ErrorCode::AccessDenied)?;
    let (resolver, egress) = (Arc::clone(state.network().resolver()), Arc::clone(state.egress()));
    Ok(Answers::Awaited(spawn(async move {
        let found = resolver.resolve(&text).await;
        drop(usage);
        let addresses = found.map_err(|_| ErrorCode::NameUnresolvable)?;
        let addresses: Vec<IpAddr> = addresses.iter().map(IpAddr::to_canonical).collect();
        egress.remember(&host, &addresses);
        Ok(addresses)
    })))
}
