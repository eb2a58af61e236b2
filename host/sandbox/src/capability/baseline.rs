//! What every component has: clocks, randomness, streams, an environment without
//! variables and arguments, standard input that is at its end, and standard
//! output and error that become log lines.
//!
//! None of it reaches anything outside the instance. Where a policy wants them
//! deterministic, clocks and randomness are [`super::deterministic`].

use wasmtime::component::{HasData, HasSelf, Linker, ResourceTable};
use wasmtime_wasi::cli::{WasiCli, WasiCliView as _};
use wasmtime_wasi::clocks::{WasiClocks, WasiClocksView as _};
use wasmtime_wasi::p2::bindings::{cli, clocks, random};
use wasmtime_wasi::random::{WasiRandom, WasiRandomView as _};
use wasmtime_wasi_io::bindings::wasi::io;

use super::{Capability, NewInstance, wasi};
use crate::imports::InterfaceName;
use crate::output::Stream;
use crate::state::GuestState;

/// The most random bytes of one host call.
const MOST_RANDOM_BYTES: u64 = 16 << 20;

pub(super) struct Baseline;

/// What `wasi:io` needs of the state.
struct Io;

impl HasData for Io {
    type Data<'a> = &'a mut ResourceTable;
}

impl Capability for Baseline {
    fn interfaces(&self) -> &'static [InterfaceName<'static>] {
        const INTERFACES: &[InterfaceName<'static>] = &[
            wasi("wasi:io/error"),
            wasi("wasi:io/poll"),
            wasi("wasi:io/streams"),
            wasi("wasi:clocks/wall-clock"),
            wasi("wasi:clocks/monotonic-clock"),
            wasi("wasi:random/random"),
            wasi("wasi:random/insecure"),
            wasi("wasi:random/insecure-seed"),
            wasi("wasi:cli/environment"),
            wasi("wasi:cli/exit"),
            wasi("wasi:cli/stdin"),
            wasi("wasi:cli/stdout"),
            wasi("wasi:cli/stderr"),
            wasi("wasi:cli/terminal-input"),
            wasi("wasi:cli/terminal-output"),
            wasi("wasi:cli/terminal-stdin"),
            wasi("wasi:cli/terminal-stdout"),
            wasi("wasi:cli/terminal-stderr"),
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

    fn configure(&self, new: &mut NewInstance<'_>) {
        new.wasi
            .max_random_size(MOST_RANDOM_BYTES)
            .stdout(new.output.stream(Stream::Out))
            .stderr(new.output.stream(Stream::Error));
        for (name, value) in &new.grants.environment {
            new.wasi.env(name, value);
        }
        if let Some(deterministic) = new.deterministic {
            deterministic.configure(&new.output.call(), new.wasi);
        }
    }

    fn enter(&self, state: &mut GuestState) {
        if let Some(deterministic) = state.deterministic() {
            deterministic.begin(&state.call());
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
            self.files_mut().knows_where_it_works();
        }
        Ok(directory)
    }
}
