//! Interfaces for every component: clocks, randomness, streams, an environment without variables
//! and arguments, an empty standard input, and standard output and error, which become log lines.
//!
//! These interfaces give no access outside the instance. If a policy requires deterministic clocks
//! and randomness, [`super::deterministic`] provides them.

use wasmtime::component::{HasData, HasSelf, Linker, Resource, ResourceTable};
use wasmtime_wasi::cli::{WasiCli, WasiCliView as _};
use wasmtime_wasi::clocks::{WasiClocks, WasiClocksView as _};
use wasmtime_wasi::p2::bindings::{cli, clocks, random};
use wasmtime_wasi::random::{WasiRandom, WasiRandomView as _};
use wasmtime_wasi_io::bindings::wasi::io;
use wasmtime_wasi_io::poll::DynPollable;

use super::{Capability, NewInstance};
use crate::interface_name::InterfaceName;
use crate::output::Stream;
use crate::state::GuestState;

/// Maximum number of random bytes of one host call.
const MAX_RANDOM_BYTES: u64 = 16 << 20;

pub(super) struct Baseline;

/// Gives `wasi:io` access to the store's data.
struct Io;

impl HasData for Io {
    type Data<'a> = &'a mut ResourceTable;
}

impl Capability for Baseline {
    fn interfaces(&self) -> &'static [InterfaceName<'static>] {
        const INTERFACES: &[InterfaceName<'static>] = &[
            InterfaceName::wasi("wasi:io/error"),
            InterfaceName::wasi("wasi:io/poll"),
            InterfaceName::wasi("wasi:io/streams"),
            InterfaceName::wasi("wasi:clocks/wall-clock"),
            InterfaceName::wasi("wasi:clocks/monotonic-clock"),
            InterfaceName::wasi("wasi:random/random"),
            InterfaceName::wasi("wasi:random/insecure"),
            InterfaceName::wasi("wasi:random/insecure-seed"),
            InterfaceName::wasi("wasi:cli/environment"),
            InterfaceName::wasi("wasi:cli/exit"),
            InterfaceName::wasi("wasi:cli/stdin"),
            InterfaceName::wasi("wasi:cli/stdout"),
            InterfaceName::wasi("wasi:cli/stderr"),
            InterfaceName::wasi("wasi:cli/terminal-input"),
            InterfaceName::wasi("wasi:cli/terminal-output"),
            InterfaceName::wasi("wasi:cli/terminal-stdin"),
            InterfaceName::wasi("wasi:cli/terminal-stdout"),
            InterfaceName::wasi("wasi:cli/terminal-stderr"),
        ];
        INTERFACES
    }

    fn link(&self, linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
        type State = GuestState;
        io::error::add_to_linker::<State, Io>(linker, State::table)?;
        io::poll::add_to_linker::<State, Io>(linker, State::table)?;
        io::streams::add_to_linker::<State, Io>(linker, State::table)?;
        clocks::wall_clock::add_to_linker::<State, WasiClocks>(linker, State::clocks)?;
        clocks::monotonic_clock::add_to_linker::<State, HasSelf<State>>(linker, |state| state)?;
        random::random::add_to_linker::<State, WasiRandom>(linker, State::random)?;
        random::insecure::add_to_linker::<State, WasiRandom>(linker, State::random)?;
        random::insecure_seed::add_to_linker::<State, WasiRandom>(linker, State::random)?;
        cli::environment::add_to_linker::<State, HasSelf<State>>(linker, |state| state)?;
        cli::exit::add_to_linker::<State, WasiCli>(linker, State::cli)?;
        cli::stdin::add_to_linker::<State, WasiCli>(linker, State::cli)?;
        cli::stdout::add_to_linker::<State, WasiCli>(linker, State::cli)?;
        cli::stderr::add_to_linker::<State, WasiCli>(linker, State::cli)?;
        cli::terminal_input::add_to_linker::<State, WasiCli>(linker, State::cli)?;
        cli::terminal_output::add_to_linker::<State, WasiCli>(linker, State::cli)?;
        cli::terminal_stdin::add_to_linker::<State, WasiCli>(linker, State::cli)?;
        cli::terminal_stdout::add_to_linker::<State, WasiCli>(linker, State::cli)?;
        cli::terminal_stderr::add_to_linker::<State, WasiCli>(linker, State::cli)
    }

    fn instantiate(&self, new: &mut NewInstance<'_>) {
        new.wasi
            .max_random_size(MAX_RANDOM_BYTES)
            .stdout(new.output.stream(Stream::Out))
            .stderr(new.output.stream(Stream::Error));
        for (name, value) in &new.grants.environment {
            new.wasi.env(name, value);
        }
        if let Some(deterministic) = new.deterministic {
            deterministic.instantiate(&new.output.call(), new.wasi);
        }
    }

    fn begin_call(&self, state: &mut GuestState) {
        if let Some(deterministic) = state.deterministic() {
            deterministic.begin_call(&state.call());
        }
    }
}

impl cli::environment::Host for GuestState {
    fn get_environment(&mut self) -> wasmtime::Result<Vec<(String, String)>> {
        self.cli().get_environment()
    }

    fn get_arguments(&mut self) -> wasmtime::Result<Vec<String>> {
        self.cli().get_arguments()
    }

    fn initial_cwd(&mut self) -> wasmtime::Result<Option<String>> {
        let directory = self.cli().initial_cwd()?;
        if directory.is_some() {
            self.files_mut().set_knows_working_directory();
        }
        Ok(directory)
    }
}

impl clocks::monotonic_clock::Host for GuestState {
    fn now(&mut self) -> wasmtime::Result<u64> {
        clocks::monotonic_clock::Host::now(&mut self.clocks())
    }

    fn resolution(&mut self) -> wasmtime::Result<u64> {
        clocks::monotonic_clock::Host::resolution(&mut self.clocks())
    }

    fn subscribe_instant(&mut self, when: u64) -> wasmtime::Result<Resource<DynPollable>> {
        let pollable = clocks::monotonic_clock::Host::subscribe_instant(&mut self.clocks(), when)?;
        if let Some(deterministic) = self.deterministic() {
            deterministic.wait_until(when);
        }
        Ok(pollable)
    }

    fn subscribe_duration(&mut self, nanoseconds: u64) -> wasmtime::Result<Resource<DynPollable>> {
        if let Some(deterministic) = self.deterministic() {
            deterministic.wait(nanoseconds);
        }
        clocks::monotonic_clock::Host::subscribe_duration(&mut self.clocks(), nanoseconds)
    }
}
