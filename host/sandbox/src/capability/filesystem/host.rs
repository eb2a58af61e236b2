//! `wasi:filesystem` on top of [`super::operations`].
//!
//! That module implements operations on paths. wasmtime's implementation performs allowed
//! operations on open files. The handles are also wasmtime's; a separate table maps their numbers
//! to the directories and files.

use std::os::unix::fs::MetadataExt as _;
use std::sync::Arc;

use rustix::fs::{Stat, Timestamps};
use wardian_access::{AccessExtent, FileOperation};
use wardian_files::LastLink;
use wasmtime::component::Resource;
use wasmtime_wasi::FsPerms;
use wasmtime_wasi::filesystem::{Descriptor, Dir, File as OpenedFile, OpenMode, WasiFilesystemView as _};
use wasmtime_wasi::p2::bindings::filesystem::preopens;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    Advice, DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntry, DirectoryEntryStream, ErrorCode,
    Filesize, Host, HostDescriptor, HostDirectoryEntryStream, MetadataHashValue, NewTimestamp, OpenFlags,
    PathFlags,
};
use wasmtime_wasi::p2::{FsError, FsResult};
use wasmtime_wasi_io::streams::{DynInputStream, DynOutputStream};

use super::file_guard::{FileError, FileGuard, OpenFile};
use super::implicit_preopens::PathRoot;
use super::listing::OpenListing;
use super::metadata::{described, descriptor_type, identity, moment};
use super::open_files::OpenHandle;
use super::operations::{self, Directory, Opened, Opening, Pair};
use crate::capability::streams::{CountedInput, CountedOutput};
use crate::state::GuestState;

/// The mode of new files, before the umask.
const NEW_FILE: u32 = 0o666;
const NEW_DIRECTORY: u32 = 0o777;

impl From<FileError> for FsError {
    fn from(error: FileError) -> Self {
        match error {
            FileError::Denied(_) => ErrorCode::NotPermitted.into(),
            FileError::System(error) => error.into(),
            FileError::TooMuch(too_much) => Self::trap(too_much),
        }
    }
}

impl GuestState {
    /// Performs an operation at a path on a blocking thread.
    async fn at<T: Send + 'static>(
        &mut self,
        handle: &Resource<Descriptor>,
        path: String,
        access: FileOperation,
        act: impl FnOnce(&FileGuard, &Directory, &str) -> Result<T, FileError> + Send + 'static,
    ) -> FsResult<T> {
        let start = self.files().start(handle)?;
        self.blocking(move |guard| act(guard, &start.directory(guard, &path, access)?, &path)).await
    }

    async fn in_two_directories(
        &mut self,
        (from, old): (&Resource<Descriptor>, String),
        (to, new): (&Resource<Descriptor>, String),
        act: fn(&FileGuard, &Pair<'_>) -> Result<(), FileError>,
    ) -> FsResult<()> {
        let (from, to) = (self.files().start(from)?, self.files().start(to)?);
        self.blocking(move |guard| {
            let from = from.directory(guard, &old, FileOperation::Write)?;
            let to = to.directory(guard, &new, FileOperation::Write)?;
            act(guard, &Pair { from: (&from, &old), to: (&to, &new) })
        })
        .await
    }

    async fn blocking<T: Send + 'static>(
        &mut self,
        act: impl FnOnce(&FileGuard) -> Result<T, FileError> + Send + 'static,
    ) -> FsResult<T> {
        let guard = self.files().guard().clone();
        let done = tokio::task::spawn_blocking(move || guard.clock().charge_work(|| act(&guard))).await;
        Ok(done.map_err(|error| FsError::trap(wasmtime::Error::new(error)))??)
    }

    /// Checks an operation on a handle itself. A granted directory that did not exist when its
    /// handle was created may exist now.
    async fn check_handle(&mut self, handle: &Resource<Descriptor>) -> FsResult<()> {
        match self.files().handle(handle)?.clone() {
            OpenHandle::File(file) => Ok(file.check()?),
            OpenHandle::PathRoot(_) | OpenHandle::Directory(Directory::Granted(_)) => {
                let (base, is_writable) = self.itself(handle, FileOperation::Read).await?;
                *self.table().get_mut(handle)? = Descriptor::Dir(dir(&base, is_writable)?);
                Ok(())
            }
            OpenHandle::Directory(Directory::Opened { .. }) => Ok(()),
        }
    }

    /// Returns the handle's directory, and whether it is writable.
    async fn itself(
        &mut self,
        handle: &Resource<Descriptor>,
        access: FileOperation,
    ) -> FsResult<(wardian_files::Directory, bool)> {
        let itself = |guard: &FileGuard, directory: &Directory, _: &str| {
            Ok((directory.base(guard)?, directory.is_writable()))
        };
        self.at(handle, ".".to_owned(), access, itself).await
    }

    fn hold(&mut self, descriptor: Descriptor, held: OpenHandle) -> wasmtime::Result<Resource<Descriptor>> {
        let handle = self.table().push(descriptor)?;
        self.files_mut().insert(handle.rep(), held);
        Ok(handle)
    }
}

fn permissions(is_writable: bool) -> FsPerms {
    if is_writable { FsPerms::ReadWrite } else { FsPerms::ReadOnly }
}

fn dir(base: &wardian_files::Directory, is_writable: bool) -> FsResult<Dir> {
    let mode = if is_writable { OpenMode::READ | OpenMode::WRITE } else { OpenMode::READ };
    Ok(Dir::new(base.try_clone_file()?, permissions(is_writable), mode, false))
}

impl preopens::Host for GuestState {
    fn get_directories(&mut self) -> wasmtime::Result<Vec<(Resource<Descriptor>, String)>> {
        let guard = self.files().guard().clone();
        // The directory of a handle is resolved when the handle is used, because directories that
        // do not exist yet, or are not granted, also have handles.
        let root = wardian_files::Directory::root()?;
        let nowhere = || dir(&root, false).map_err(|error| wasmtime::format_err!("{error}"));
        let mut handles = Vec::new();
        if !self.files().has_directories() {
            return Ok(handles);
        }
        for granted in guard.files().directories() {
            let held = OpenHandle::Directory(Directory::Granted(Arc::clone(&granted.root)));
            handles.push((self.hold(Descriptor::Dir(nowhere()?), held)?, granted.guest.clone()));
        }
        // C libraries treat the names of both entries as empty, and use the last of several entries
        // with the same name.
        for beginning in [PathRoot::WorkingDirectory, PathRoot::TopOrWorkingDirectory] {
            let handle = self.hold(Descriptor::Dir(nowhere()?), OpenHandle::PathRoot(beginning))?;
            handles.push((handle, beginning.name().to_owned()));
        }
        Ok(handles)
    }
}

impl Host for GuestState {
    fn convert_error_code(&mut self, error: FsError) -> wasmtime::Result<ErrorCode> {
        error.downcast()
    }

    fn filesystem_error_code(
        &mut self,
        error: Resource<wasmtime::Error>,
    ) -> wasmtime::Result<Option<ErrorCode>> {
        self.filesystem().filesystem_error_code(error)
    }
}

impl HostDescriptor for GuestState {
    async fn open_at(
        &mut self,
        handle: Resource<Descriptor>,
        path_flags: PathFlags,
        path: String,
        open: OpenFlags,
        flags: DescriptorFlags,
    ) -> FsResult<Resource<Descriptor>> {
        let synchronised = DescriptorFlags::FILE_INTEGRITY_SYNC
            | DescriptorFlags::DATA_INTEGRITY_SYNC
            | DescriptorFlags::REQUESTED_WRITE_SYNC;
        if flags.intersects(synchronised) {
            return Err(ErrorCode::Unsupported.into());
        }
        let makes = OpenFlags::CREATE | OpenFlags::EXCLUSIVE | OpenFlags::TRUNCATE;
        if open.contains(OpenFlags::DIRECTORY) && open.intersects(makes) {
            return Err(ErrorCode::Invalid.into());
        }
        let how = Opening {
            last: last_link(path_flags),
            read: flags.contains(DescriptorFlags::READ),
            write: flags.contains(DescriptorFlags::WRITE),
            create: open.contains(OpenFlags::CREATE),
            exclusive: open.contains(OpenFlags::EXCLUSIVE),
            truncate: open.contains(OpenFlags::TRUNCATE),
            directory: open.contains(OpenFlags::DIRECTORY),
            mode: NEW_FILE,
        };
        let access = if how.writes() { FileOperation::Write } else { FileOperation::Read };
        let (opened, is_writable) = self
            .at(&handle, path, access, move |guard, directory, path| {
                Ok((operations::open(guard, directory, path, how)?, directory.is_writable()))
            })
            .await?;
        let (descriptor, held) = match opened {
            Opened::Directory(base) => {
                let dir = dir(&base, is_writable)?;
                (Descriptor::Dir(dir), OpenHandle::Directory(Directory::Opened { base, is_writable }))
            }
            Opened::File(file, open_file) => {
                let mut mode = OpenMode::empty();
                mode.set(OpenMode::WRITE, how.write || how.create || how.truncate);
                mode.set(OpenMode::READ, how.read || !how.write);
                let file = OpenedFile::new(file, permissions(is_writable), mode, false);
                (Descriptor::File(file), OpenHandle::File(open_file))
            }
        };
        self.hold(descriptor, held).map_err(FsError::trap)
    }

    async fn create_directory_at(&mut self, handle: Resource<Descriptor>, path: String) -> FsResult<()> {
        self.at(&handle, path, FileOperation::Write, |guard, directory, path| {
            operations::create_directory(guard, directory, path, NEW_DIRECTORY)
        })
        .await
    }

    async fn remove_directory_at(&mut self, handle: Resource<Descriptor>, path: String) -> FsResult<()> {
        self.at(&handle, path, FileOperation::Write, operations::remove_directory).await
    }

    async fn unlink_file_at(&mut self, handle: Resource<Descriptor>, path: String) -> FsResult<()> {
        self.at(&handle, path, FileOperation::Write, operations::remove_file).await
    }

    async fn readlink_at(&mut self, handle: Resource<Descriptor>, path: String) -> FsResult<String> {
        self.at(&handle, path, FileOperation::Read, operations::read_link).await
    }

    async fn symlink_at(
        &mut self,
        handle: Resource<Descriptor>,
        target: String,
        path: String,
    ) -> FsResult<()> {
        self.at(&handle, path, FileOperation::Write, move |guard, directory, path| {
            operations::create_link(guard, directory, &target, path)
        })
        .await
    }

    async fn link_at(
        &mut self,
        from: Resource<Descriptor>,
        flags: PathFlags,
        old: String,
        to: Resource<Descriptor>,
        new: String,
    ) -> FsResult<()> {
        if flags.contains(PathFlags::SYMLINK_FOLLOW) {
            return Err(ErrorCode::Invalid.into());
        }
        self.in_two_directories((&from, old), (&to, new), operations::create_hard_link).await
    }

    async fn rename_at(
        &mut self,
        from: Resource<Descriptor>,
        old: String,
        to: Resource<Descriptor>,
        new: String,
    ) -> FsResult<()> {
        self.in_two_directories((&from, old), (&to, new), operations::rename).await
    }

    async fn stat_at(
        &mut self,
        handle: Resource<Descriptor>,
        flags: PathFlags,
        path: String,
    ) -> FsResult<DescriptorStat> {
        let about = self.look_at(&handle, flags, path).await?;
        Ok(described(&about))
    }

    async fn metadata_hash_at(
        &mut self,
        handle: Resource<Descriptor>,
        flags: PathFlags,
        path: String,
    ) -> FsResult<MetadataHashValue> {
        let about = self.look_at(&handle, flags, path).await?;
        #[allow(
            clippy::useless_conversion,
            reason = "the widths of st_dev and st_ino differ between platforms"
        )]
        Ok(identity(u64::from(about.st_dev), u64::from(about.st_ino)))
    }

    async fn set_times_at(
        &mut self,
        handle: Resource<Descriptor>,
        flags: PathFlags,
        path: String,
        accessed: NewTimestamp,
        modified: NewTimestamp,
    ) -> FsResult<()> {
        let times = Timestamps { last_access: moment(accessed)?, last_modification: moment(modified)? };
        self.at(&handle, path, FileOperation::Write, move |guard, directory, path| {
            operations::set_times(guard, directory, path, last_link(flags), &times)
        })
        .await
    }

    async fn read_directory(
        &mut self,
        handle: Resource<Descriptor>,
    ) -> FsResult<Resource<DirectoryEntryStream>> {
        let listing = self
            .at(&handle, ".".to_owned(), FileOperation::Read, |guard, directory, _| {
                operations::list(guard, directory)
            })
            .await?;
        // wasmtime defines the type of the handle, but its own implementation would read the whole
        // listing.
        let listing: Resource<OpenListing> = self.table().push(listing)?;
        Ok(Resource::new_own(listing.rep()))
    }

    async fn set_times(
        &mut self,
        handle: Resource<Descriptor>,
        accessed: NewTimestamp,
        modified: NewTimestamp,
    ) -> FsResult<()> {
        self.check_handle(&handle).await?;
        // The system accepts a read-only handle for this operation.
        let path = match self.files().handle(&handle)? {
            OpenHandle::File(file) => file.path().to_owned(),
            OpenHandle::Directory(_) | OpenHandle::PathRoot(_) => {
                self.itself(&handle, FileOperation::Write).await?.0.path().to_path_buf()
            }
        };
        let changing = self.files().guard().begin(&path, FileOperation::Write, AccessExtent::Path)?;
        let done = self.filesystem().set_times(handle, accessed, modified).await;
        drop(changing);
        done
    }

    async fn set_size(&mut self, handle: Resource<Descriptor>, size: Filesize) -> FsResult<()> {
        let file = self.files().file(&handle)?;
        let before = self.filesystem().stat(Resource::new_borrow(handle.rep())).await?.size;
        file.check_write(size.saturating_sub(before))?;
        self.filesystem().set_size(handle, size).await
    }

    async fn read(
        &mut self,
        handle: Resource<Descriptor>,
        length: Filesize,
        offset: Filesize,
    ) -> FsResult<(Vec<u8>, bool)> {
        let file = self.files().file(&handle)?;
        file.check()?;
        let (bytes, is_end) = self.filesystem().read(handle, length, offset).await?;
        file.has_read(bytes.len());
        Ok((bytes, is_end))
    }

    async fn write(
        &mut self,
        handle: Resource<Descriptor>,
        bytes: Vec<u8>,
        offset: Filesize,
    ) -> FsResult<Filesize> {
        let file = self.files().file(&handle)?;
        file.check_write(bytes.len() as u64)?;
        let written = self.filesystem().write(handle, bytes, offset).await?;
        file.has_written(written);
        Ok(written)
    }

    fn read_via_stream(
        &mut self,
        handle: Resource<Descriptor>,
        offset: Filesize,
    ) -> FsResult<Resource<DynInputStream>> {
        if let OpenHandle::Directory(_) | OpenHandle::PathRoot(_) = self.files().handle(&handle)? {
            return Err(ErrorCode::IsDirectory.into());
        }
        let file = self.files().file(&handle)?;
        file.check()?;
        let stream = self.filesystem().read_via_stream(handle, offset)?;
        let stream = self.table().delete(stream)?;
        let counted: DynInputStream = Box::new(CountedInput { stream, meter: file });
        Ok(self.table().push(counted)?)
    }

    fn write_via_stream(
        &mut self,
        handle: Resource<Descriptor>,
        offset: Filesize,
    ) -> FsResult<Resource<DynOutputStream>> {
        let file = self.files().file(&handle)?;
        let stream = self.filesystem().write_via_stream(handle, offset)?;
        self.counted_output(stream, file)
    }

    fn append_via_stream(&mut self, handle: Resource<Descriptor>) -> FsResult<Resource<DynOutputStream>> {
        let file = self.files().file(&handle)?;
        let stream = self.filesystem().append_via_stream(handle)?;
        self.counted_output(stream, file)
    }

    async fn advise(
        &mut self,
        handle: Resource<Descriptor>,
        offset: Filesize,
        length: Filesize,
        advice: Advice,
    ) -> FsResult<()> {
        self.check_handle(&handle).await?;
        self.filesystem().advise(handle, offset, length, advice).await
    }

    async fn sync_data(&mut self, handle: Resource<Descriptor>) -> FsResult<()> {
        self.check_handle(&handle).await?;
        self.filesystem().sync_data(handle).await
    }

    async fn sync(&mut self, handle: Resource<Descriptor>) -> FsResult<()> {
        self.check_handle(&handle).await?;
        self.filesystem().sync(handle).await
    }

    async fn get_flags(&mut self, handle: Resource<Descriptor>) -> FsResult<DescriptorFlags> {
        self.check_handle(&handle).await?;
        self.filesystem().get_flags(handle).await
    }

    async fn get_type(&mut self, handle: Resource<Descriptor>) -> FsResult<DescriptorType> {
        match self.files().handle(&handle)? {
            OpenHandle::Directory(_) | OpenHandle::PathRoot(_) => Ok(DescriptorType::Directory),
            OpenHandle::File(_) => Ok(DescriptorType::RegularFile),
        }
    }

    async fn stat(&mut self, handle: Resource<Descriptor>) -> FsResult<DescriptorStat> {
        self.check_handle(&handle).await?;
        self.filesystem().stat(handle).await
    }

    async fn is_same_object(
        &mut self,
        one: Resource<Descriptor>,
        other: Resource<Descriptor>,
    ) -> wasmtime::Result<bool> {
        self.filesystem().is_same_object(one, other).await
    }

    async fn metadata_hash(&mut self, handle: Resource<Descriptor>) -> FsResult<MetadataHashValue> {
        self.check_handle(&handle).await?;
        let file = match self.table().get(&handle)? {
            Descriptor::File(file) => Arc::clone(&file.file),
            Descriptor::Dir(dir) => Arc::clone(&dir.dir),
        };
        let about = self.blocking(move |_| Ok(file.metadata()?)).await?;
        Ok(identity(about.dev(), about.ino()))
    }

    fn drop(&mut self, handle: Resource<Descriptor>) -> wasmtime::Result<()> {
        self.files_mut().remove(handle.rep());
        HostDescriptor::drop(&mut self.filesystem(), handle)
    }
}

impl HostDirectoryEntryStream for GuestState {
    async fn read_directory_entry(
        &mut self,
        stream: Resource<DirectoryEntryStream>,
    ) -> FsResult<Option<DirectoryEntry>> {
        let listing = Resource::<OpenListing>::new_borrow(stream.rep());
        if self.table().get(&listing)?.needs_piece() {
            let pieces = self.table().get(&listing)?.pieces();
            let piece = self.blocking(move |_| pieces.read()).await?;
            self.table().get_mut(&listing)?.add_piece(piece);
        }
        let Some(entry) = self.table().get_mut(&listing)?.next() else { return Ok(None) };
        let name = entry.name.into_string().map_err(|_| ErrorCode::IllegalByteSequence)?;
        Ok(Some(DirectoryEntry { type_: descriptor_type(entry.kind), name }))
    }

    fn drop(&mut self, stream: Resource<DirectoryEntryStream>) -> wasmtime::Result<()> {
        self.table().delete(Resource::<OpenListing>::new_own(stream.rep()))?;
        Ok(())
    }
}

impl GuestState {
    async fn look_at(
        &mut self,
        handle: &Resource<Descriptor>,
        flags: PathFlags,
        path: String,
    ) -> FsResult<Stat> {
        self.at(handle, path, FileOperation::Read, move |guard, directory, path| {
            operations::look_at(guard, directory, path, last_link(flags))
        })
        .await
    }

    fn counted_output(
        &mut self,
        stream: Resource<DynOutputStream>,
        file: Arc<OpenFile>,
    ) -> FsResult<Resource<DynOutputStream>> {
        let stream = self.table().delete(stream)?;
        let counted: DynOutputStream = Box::new(CountedOutput { stream, meter: file });
        Ok(self.table().push(counted)?)
    }
}

fn last_link(flags: PathFlags) -> LastLink {
    if flags.contains(PathFlags::SYMLINK_FOLLOW) { LastLink::Follow } else { LastLink::Keep }
}
