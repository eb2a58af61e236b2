//! Directories, each with what may be done there.
//!
//! Every component of Rust's standard library imports `wasi:filesystem`, so the
//! interface is always linked. The capability is the list of directories that an
//! instance finds open when it starts: without a grant there is none, and no
//! path leads anywhere. Names are resolved below the open directory, so that
//! neither `..` nor a symbolic link leaves it.
//!
//! Files are opened and read on the executor's blocking threads: a named pipe or
//! a dead network drive in a granted directory must not stop the wall clock.
//!
//! wasmtime's own distinction between reading and writing has been got around
//! before (truncating, hard links, renaming). A directory that must not change
//! needs a second wall.

use wasmtime::component::Linker;
use wasmtime_wasi::FsPerms;
use wasmtime_wasi::filesystem::{WasiFilesystem, WasiFilesystemView as _};
use wasmtime_wasi::p2::bindings::filesystem::{preopens, types};

use super::{Capability, NewInstance, wasi};
use crate::error::GrantError;
use crate::grants::Access;
use crate::imports::InterfaceName;
use crate::state::GuestState;

pub(super) struct Filesystem;

impl Capability for Filesystem {
    fn interfaces(&self) -> &'static [InterfaceName<'static>] {
        const INTERFACES: &[InterfaceName<'static>] =
            &[wasi("wasi:filesystem/types"), wasi("wasi:filesystem/preopens")];
        INTERFACES
    }

    fn link(&self, linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
        types::add_to_linker::<GuestState, WasiFilesystem>(linker, GuestState::filesystem)?;
        preopens::add_to_linker::<GuestState, WasiFilesystem>(linker, GuestState::filesystem)
    }

    fn configure(&self, new: &mut NewInstance<'_>) -> Result<(), GrantError> {
        for directory in &new.grants.directories {
            let permissions = match directory.access {
                Access::Read => FsPerms::ReadOnly,
                Access::ReadWrite => FsPerms::ReadWrite,
            };
            new.wasi.preopened_dir(&directory.host, &directory.guest, permissions).map_err(|error| {
                GrantError::Directory {
                    plugin: new.plugin.to_owned(),
                    path: directory.host.clone(),
                    source: error.downcast().unwrap_or_else(std::io::Error::other),
                }
            })?;
        }
        if let Some(directory) = &new.grants.working_directory {
            new.wasi.initial_cwd(directory).env("PWD", directory);
        }
        Ok(())
    }

    fn enter(&self, _state: &mut GuestState) {}
}
