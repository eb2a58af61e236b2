//! Directories, each with what may be done there.
//!
//! Every component of Rust's standard library imports `wasi:filesystem`, so the
//! interface is always linked, and every instance finds directories open when it starts:
//! those that are granted, and `.` and `/`, at which all other paths begin. What begins
//! at one that is not granted is denied and recorded, whatever is there: what is and what
//! is not there gives the same answer. What is done below those that are granted is decided each time, by the path that is really
//! meant, links gone along ([`resolution`]); what a policy denies within a directory that
//! it grants is not reached by a link, a hard link or another name for a directory.
//!
//! | module | what it is about |
//! |---|---|
//! | [`granted`] | the directories, and the names that policies have for what is in them |
//! | [`beginning`] | paths that begin with no directory's name |
//! | [`resolution`] | from a path to a name in an opened directory |
//! | [`watch`] | decisions and records |
//! | [`operations`] | what is done, and why the decision still holds then |
//! | [`open_files`] | what an instance has open |
//! | [`host`], [`metadata`] | the interface of WASI, and its words |
//! | [`streams`] | what is read and written |
//!
//! A directory that must not change is protected twice: the monitor denies each change,
//! and its handle is one for reading.
//!
//! Names in a directory can be seen by whoever may read the directory, also of files
//! that are denied. A hard link that somebody else made to a file in a denied directory
//! is a file of its own; to a file that a policy names, it is that file. Only regular
//! files and directories are opened: no pipes, no devices. Files are opened and read on
//! the executor's blocking threads: a dead network drive in a granted directory must not
//! stop the wall clock.
//!
//! It is for systems in which a file is found beneath an opened directory: Unix.

pub(crate) mod file_guard;
pub(crate) mod granted;
mod host;
mod implicit_preopens;
mod metadata;
pub(crate) mod open_files;
mod operations;
mod resolution;
mod streams;

use wasmtime::component::{HasSelf, Linker};
use wasmtime_wasi::p2::bindings::filesystem::{preopens, types};

pub(super) use file_guard::{AccessScope, FileError, FileGuard, OpenFile};
pub(super) use implicit_preopens::{PathRoot, Start};
pub(super) use operations::{Directory, Opened, Opening, create_directories, open, set_mode};
pub(super) use resolution::{LastLink, MAX_PATH_LENGTH};

use super::{Capability, NewInstance};
use crate::interface_name::InterfaceName;
use crate::state::GuestState;

pub(super) struct Filesystem;

impl Capability for Filesystem {
    fn interfaces(&self) -> &'static [InterfaceName<'static>] {
        const INTERFACES: &[InterfaceName<'static>] =
            &[InterfaceName::wasi("wasi:filesystem/types"), InterfaceName::wasi("wasi:filesystem/preopens")];
        INTERFACES
    }

    fn link(&self, linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
        types::add_to_linker::<GuestState, HasSelf<GuestState>>(linker, |state| state)?;
        preopens::add_to_linker::<GuestState, HasSelf<GuestState>>(linker, |state| state)
    }

    fn instantiate(&self, new: &mut NewInstance<'_>) {
        if let Some(directory) = &new.grants.working_directory {
            new.wasi.initial_cwd(directory).env("PWD", directory);
        }
    }

    fn begin_call(&self, state: &mut GuestState) {
        state.files().guard().restart();
    }
}
