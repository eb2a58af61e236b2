//! The files and directories that an instance has open.

use std::collections::HashMap;
use std::sync::Arc;

use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::Descriptor;
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

use super::beginning::{Beginning, Start};
use super::operations::Directory;
use super::watch::{OpenFile, Watch};

/// What an instance has open, by the number of its handle.
pub(crate) struct Files {
    watch: Watch,
    open: HashMap<u32, OpenHandle>,
    /// It has asked in which directory it works, and was told.
    knows_where_it_works: bool,
}

#[derive(Clone)]
pub(super) enum OpenHandle {
    Beginning(Beginning),
    Directory(Directory),
    File(Arc<OpenFile>),
}

impl Files {
    pub(crate) fn new(watch: Watch) -> Self {
        Self { watch, open: HashMap::new(), knows_where_it_works: false }
    }

    /// The guest was told in which directory it works.
    pub(crate) fn knows_where_it_works(&mut self) {
        self.knows_where_it_works = true;
    }

    pub(crate) fn watch(&self) -> &Watch {
        &self.watch
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
            OpenHandle::Beginning(beginning) => Ok(Start::Beginning(beginning.of(self.knows_where_it_works))),
            OpenHandle::File(_) => Err(ErrorCode::NotDirectory.into()),
        }
    }

    pub(super) fn file(&self, handle: &Resource<Descriptor>) -> FsResult<Arc<OpenFile>> {
        match self.handle(handle)? {
            OpenHandle::File(file) => Ok(Arc::clone(file)),
            OpenHandle::Directory(_) | OpenHandle::Beginning(_) => Err(ErrorCode::BadDescriptor.into()),
        }
    }
}
