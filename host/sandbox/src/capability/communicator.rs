//! `wardian:plugin/communicator`: the machine that is provisioned.
//!
//! A seat: the interface is linked, since every provisioner names its types, and no
//! connection is handed to anybody. There is no value of these types, and so nothing that
//! a guest could call.

use wasmtime::component::{HasSelf, Linker, Resource};

use super::{Capability, NewInstance};
use crate::bindings::provisioner::wardian::plugin::communicator::{
    self, CommunicatorError, Host, HostConnection, HostRemoteCommand, TargetPlatform,
};
use crate::bindings::provisioner::wardian::plugin::process::ProcessEvent;
use crate::imports::InterfaceName;
use crate::state::GuestState;

pub(super) struct Communicator;

/// A connection, of which there is none.
pub enum Connection {}

/// A command on another machine, of which there is none.
pub enum RemoteCommand {}

impl Capability for Communicator {
    fn interfaces(&self) -> &'static [InterfaceName<'static>] {
        const INTERFACES: &[InterfaceName<'static>] =
            &[InterfaceName { path: "wardian:plugin/communicator", major: 0, minor: 1 }];
        INTERFACES
    }

    fn link(&self, linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
        communicator::add_to_linker::<GuestState, HasSelf<GuestState>>(linker, |state| state)
    }

    fn configure(&self, _new: &mut NewInstance<'_>) {}

    fn enter(&self, _state: &mut GuestState) {}
}

impl Host for GuestState {}

impl HostConnection for GuestState {
    async fn platform(&mut self, connection: Resource<Connection>) -> wasmtime::Result<TargetPlatform> {
        match *self.table().get(&connection)? {}
    }

    async fn script_path(&mut self, connection: Resource<Connection>) -> wasmtime::Result<String> {
        match *self.table().get(&connection)? {}
    }

    async fn execute(
        &mut self,
        connection: Resource<Connection>,
        _command: String,
    ) -> wasmtime::Result<Result<Resource<RemoteCommand>, CommunicatorError>> {
        match *self.table().get(&connection)? {}
    }

    async fn upload(
        &mut self,
        connection: Resource<Connection>,
        _path: String,
        _content: Vec<u8>,
        _mode: Option<u32>,
    ) -> wasmtime::Result<Result<(), CommunicatorError>> {
        match *self.table().get(&connection)? {}
    }

    async fn upload_path(
        &mut self,
        connection: Resource<Connection>,
        _source: String,
        _destination: String,
    ) -> wasmtime::Result<Result<(), CommunicatorError>> {
        match *self.table().get(&connection)? {}
    }

    async fn drop(&mut self, connection: Resource<Connection>) -> wasmtime::Result<()> {
        match self.table().delete(connection)? {}
    }
}

impl HostRemoteCommand for GuestState {
    async fn next_event(
        &mut self,
        command: Resource<RemoteCommand>,
    ) -> wasmtime::Result<Result<Option<ProcessEvent>, CommunicatorError>> {
        match *self.table().get(&command)? {}
    }

    async fn drop(&mut self, command: Resource<RemoteCommand>) -> wasmtime::Result<()> {
        match self.table().delete(command)? {}
    }
}
