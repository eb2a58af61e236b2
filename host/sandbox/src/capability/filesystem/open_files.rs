//! An instance's open files and directories.

use std::collections::HashMap;
use std::sync::Arc;

use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::Descriptor;
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

use super::file_guard::{FileGuard, OpenFile};
use super::implicit_preopens::{PathRoot, Start};
use super::operations::Directory;

/// An instance's open files, by handle number.
pub(crate) struct Files {
    guard: FileGuard,
    open: HashMap<u32, OpenHandle>,
    /// Whether the guest has open directories when it starts.
    has_directories: bool,
    /// Whether the guest has requested its working directory.
    knows_working_directory: bool,
}

#[derive(Clone)]
pub(super) enum OpenHandle {
    PathRoot(PathRoot),
    Directory(Directory),
    File(Arc<OpenFile>),
}

impl Files {
    pub(crate) fn new(guard: FileGuard, has_directories: bool) -> Self {
        Self { guard, open: HashMap::new(), has_directories, knows_working_directory: false }
    }

    pub(super) fn has_directories(&self) -> bool {
        self.has_directories
    }

    /// Records that the guest has requested its working directory.
    pub(crate) fn set_knows_working_directory(&mut self) {
        self.knows_working_directory = true;
    }

    pub(crate) fn guard(&self) -> &FileGuard {
        &self.guard
    }

    pub(super) fn insert(&mut self, number: u32, handle: OpenHandle) {
        self.open.insert(number, handle);
    }

    pub(super) fn remove(&mut self, number: u32) {
        self.open.remove(&number);
    }

    pub(super) fn handle(&self, handle: &Resource<Descriptor>) -> FsResult<&OpenHandle> {
        self.open.get(&handle.rep()).ok_or_else(|| ErrorCode::BadDescriptor.into())
    }

    pub(super) fn start(&self, handle: &Resource<Descriptor>) -> FsResult<Start> {
        match self.handle(handle)? {
            OpenHandle::Directory(directory) => Ok(Start::Directory(directory.clone())),
            OpenHandle::PathRoot(beginning) => {
                Ok(Start::PathRoot(beginning.assume(self.knows_working_directory)))
            }
            OpenHandle::File(_) => Err(ErrorCode::NotDirectory.into()),
        }
    }

    pub(super) fn file(&self, handle: &Resource<Descriptor>) -> FsResult<Arc<OpenFile>> {
        match self.handle(handle)? {
            OpenHandle::File(file) => Ok(Arc::clone(file)),
            OpenHandle::Directory(_) | OpenHandle::PathRoot(_) => Err(ErrorCode::BadDescriptor.into()),
        }
    }
}
