//! Access to the granted directories, each with the granted operations.
//!
//! Every component that uses Rust's standard library imports `wasi:filesystem`, so the interface is
//! always linked, and every instance starts with open directories: the granted directories, and `.`
//! and `/`, to which all other paths are relative. A path in a directory that is not granted is
//! denied and recorded. The error is the same whether or not the file exists. Each operation below
//! a granted directory is checked against the path in which all symbolic links are resolved
//! ([`wardian_files`]); a denied file in a granted directory cannot be reached through a symbolic
//! link, a hard link or another name for a directory.
//!
//! | module | contents |
//! |---|---|
//! | [`granted`] | the directories, and the names that policies use for files in them |
//! | [`implicit_preopens`] | paths that do not begin with the name of a directory |
//! | [`file_guard`] | decisions and records |
//! | [`operations`] | file operations, and the reason why a decision is still valid when its operation runs |
//! | [`listing`] | listing a directory |
//! | [`protected_content`] | protected files that a path does not identify |
//! | [`open_files`] | an instance's open files |
//! | [`host`], [`metadata`] | the WASI interface and its types |
//! | [`streams`] | reading and writing |
//!
//! A directory that must not change is protected twice: the monitor denies each change, and its
//! handle is read-only.
//!
//! A plugin that may read a directory can list all names in it, including the names of denied
//! files. A hard link that another program created to a file in a denied directory is treated as a
//! separate file; a hard link to a file whose path is in a policy is treated as that file. Only
//! regular files and directories are opened, not pipes or devices. Files are opened and read on the
//! executor's blocking threads. The wall-clock limit is therefore enforced even if a network drive
//! in a granted directory does not respond.
//!
//! The module supports systems that can open a file relative to an open directory: Unix.

pub(crate) mod file_guard;
pub(crate) mod granted;
mod host;
mod implicit_preopens;
mod listing;
mod metadata;
pub(crate) mod open_files;
mod operations;
mod protected_content;
#[cfg(any(test, feature = "simulation"))]
pub(crate) mod simulation;
mod streams;

pub(super) use wardian_files::{LastLink, MAX_PATH_LENGTH};
use wasmtime::component::{HasSelf, Linker};
use wasmtime_wasi::p2::bindings::filesystem::{preopens, types};

pub(super) use file_guard::{FileError, FileGuard, OpenFile};
pub(super) use implicit_preopens::{PathRoot, Start};
pub(super) use operations::{Directory, Opened, Opening, create_directories, open, set_mode};

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
