//! `wardian:plugin/file-mode`: creates files and directories with a given mode.
//!
//! The interface gives no access beyond [`super::filesystem`]: it uses the granted directories
//! under the same names, and the same code checks and performs the operations. Like
//! `wasi:filesystem`, the interface is always linked, since a component is loaded, and its schema
//! is requested, before its grants are known. If no directory is granted, every call is denied, and
//! the error contains the missing grant.
//!
//! The operating system determines the effective mode: the umask applies to new files, but not
//! when an existing file's mode is set.

use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::sync::Arc;

use wardian_access::FileOperation;
use wasmtime::component::{HasSelf, Linker, Resource};

use super::Capability;
use super::filesystem::{
    Directory, FileError, FileGuard, LastLink, MAX_PATH_LENGTH, OpenFile, Opened, Opening, PathRoot, Start,
    create_directories, open, set_mode,
};
use crate::bindings::wardian::plugin::file_mode::{self, Host, HostWritableFile, ModeError};
use crate::interface_name::InterfaceName;
use crate::state::GuestState;

/// Read, write and execute permissions. A guest cannot set the setuid, setgid and sticky bits,
/// since the first two would give other users the owner's permissions.
const ALL_MODES: u32 = 0o777;

pub(super) struct FileMode;

impl Capability for FileMode {
    fn interfaces(&self) -> &'static [InterfaceName<'static>] {
        const INTERFACES: &[InterfaceName<'static>] =
            &[InterfaceName { path: "wardian:plugin/file-mode", major: 0, minor: 1 }];
        INTERFACES
    }

    fn link(&self, linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
        file_mode::add_to_linker::<GuestState, HasSelf<GuestState>>(linker, |state| state)
    }
}

/// A path, and the directory to which it is relative.
struct RootedPath {
    start: Start,
    path: String,
}

/// Resolves a guest's path, and checks whether the mode may be set there. Directory names are
/// matched as in a guest's C library: the longest match is used, or the last one of equally long
/// matches. The match only selects a directory; the access is checked later.
fn rooted_path(guard: &FileGuard, path: &str, mode: u32) -> Result<RootedPath, ModeError> {
    if mode & !ALL_MODES != 0 {
        return Err(ModeError::Denied(format!("the mode {mode:#o} exceeds {ALL_MODES:#o}")));
    }
    if path.len() > MAX_PATH_LENGTH {
        return Err(ModeError::Failed(format!("the path is longer than {MAX_PATH_LENGTH} bytes")));
    }
    let directories = guard.files().directories().iter().rev();
    let found = directories
        .filter_map(|granted| beneath(&granted.guest, path).map(|rest| (granted, rest)))
        .min_by_key(|(_, rest)| rest.len());
    let or_itself = |rest: &str| if rest.is_empty() { ".".to_owned() } else { rest.to_owned() };
    if let Some((granted, rest)) = found {
        let start = Start::Directory(Directory::Granted(Arc::clone(&granted.root)));
        return Ok(RootedPath { start, path: or_itself(rest) });
    }
    let beginning = if path.starts_with('/') { PathRoot::Top } else { PathRoot::WorkingDirectory };
    Ok(RootedPath { start: Start::PathRoot(beginning), path: or_itself(without_no_steps(path)) })
}

/// Returns the remainder of the path below the directory. Guests separate names with `/`,
/// regardless of the host's separator.
fn beneath<'path>(directory: &str, path: &'path str) -> Option<&'path str> {
    if directory.starts_with('/') != path.starts_with('/') {
        return None;
    }
    let names = directory.split('/').filter(|name| !matches!(*name, "" | "."));
    names.into_iter().try_fold(without_no_steps(path), |rest, name| {
        let rest = rest.strip_prefix(name)?;
        (rest.is_empty() || rest.starts_with('/')).then(|| without_no_steps(rest))
    })
}

/// Removes leading `.` components and slashes.
fn without_no_steps(mut path: &str) -> &str {
    loop {
        path = match path.strip_prefix('/').or_else(|| path.strip_prefix("./")) {
            Some(rest) => rest,
            None => return if path == "." { "" } else { path },
        };
    }
}

/// A file that a guest writes.
pub struct WritableFile(Arc<Writing>);

struct Writing {
    file: File,
    open: Arc<OpenFile>,
}

fn create_file(
    guard: &FileGuard,
    directory: &Directory,
    path: &str,
    mode: u32,
) -> Result<WritableFile, FileError> {
    let how = Opening {
        last: LastLink::Follow,
        read: false,
        write: true,
        create: true,
        exclusive: false,
        truncate: true,
        directory: false,
        mode,
    };
    match open(guard, directory, path, how)? {
        Opened::File(file, open) => Ok(WritableFile(Arc::new(Writing { file, open }))),
        Opened::Directory(_) => Err(std::io::Error::from(ErrorKind::IsADirectory).into()),
    }
}

impl Writing {
    fn write(&self, bytes: &[u8]) -> Result<(), FileError> {
        self.open.check_write(bytes.len() as u64)?;
        (&self.file).write_all(bytes)?;
        self.open.has_written(bytes.len() as u64);
        Ok(())
    }
}

impl Host for GuestState {
    async fn create_file(
        &mut self,
        path: String,
        mode: u32,
    ) -> wasmtime::Result<Result<Resource<WritableFile>, ModeError>> {
        match self
            .with_mode(&path, mode, move |guard, directory, path| create_file(guard, directory, path, mode))
            .await?
        {
            Ok(file) => Ok(Ok(self.table().push(file)?)),
            Err(error) => Ok(Err(error)),
        }
    }

    async fn create_directory(&mut self, path: String, mode: u32) -> wasmtime::Result<Result<(), ModeError>> {
        self.with_mode(&path, mode, move |guard, directory, path| {
            create_directories(guard, directory, path, mode)
        })
        .await
    }

    async fn set_mode(&mut self, path: String, mode: u32) -> wasmtime::Result<Result<(), ModeError>> {
        self.with_mode(&path, mode, move |guard, directory, path| set_mode(guard, directory, path, mode))
            .await
    }
}

impl HostWritableFile for GuestState {
    async fn write(
        &mut self,
        file: Resource<WritableFile>,
        bytes: Vec<u8>,
    ) -> wasmtime::Result<Result<(), ModeError>> {
        let file = Arc::clone(&self.table().get(&file)?.0);
        blocking(self.files().guard().clone(), move |_| file.write(&bytes)).await
    }

    async fn drop(&mut self, file: Resource<WritableFile>) -> wasmtime::Result<()> {
        self.table().delete(file)?;
        Ok(())
    }
}

impl GuestState {
    /// Performs an operation at a path.
    async fn with_mode<T: Send + 'static>(
        &mut self,
        path: &str,
        mode: u32,
        act: impl FnOnce(&FileGuard, &Directory, &str) -> Result<T, FileError> + Send + 'static,
    ) -> wasmtime::Result<Result<T, ModeError>> {
        let guard = self.files().guard().clone();
        match rooted_path(&guard, path, mode) {
            Ok(RootedPath { start, path }) => {
                blocking(guard, move |guard| {
                    act(guard, &start.directory(guard, &path, FileOperation::Write)?, &path)
                })
                .await
            }
            Err(error) => Ok(Err(error)),
        }
    }
}

async fn blocking<T: Send + 'static>(
    guard: FileGuard,
    act: impl FnOnce(&FileGuard) -> Result<T, FileError> + Send + 'static,
) -> wasmtime::Result<Result<T, ModeError>> {
    match tokio::task::spawn_blocking(move || guard.clock().charge_work(|| act(&guard))).await? {
        Ok(done) => Ok(Ok(done)),
        Err(FileError::Denied(denied)) => Ok(Err(ModeError::Denied(denied.reason))),
        Err(FileError::TooMuch(too_much)) => Err(wasmtime::Error::new(too_much)),
        Err(FileError::System(error)) => Ok(Err(match error.kind() {
            ErrorKind::NotFound => ModeError::NotFound,
            ErrorKind::PermissionDenied => ModeError::Denied(error.to_string()),
            _ => ModeError::Failed(error.to_string()),
        })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(directory: &str, path: &str, expected: Option<&str>) {
        assert_eq!(beneath(directory, path), expected, "{directory} {path}");
    }

    #[test]
    fn relative_paths_are_below_working_directory() {
        for (path, rest) in [
            ("file", "file"),
            (".//./file", "file"),
            ("a/b/", "a/b/"),
            (".", ""),
            ("", ""),
            ("..", ".."),
            ("./../file", "../file"),
            (".hidden", ".hidden"),
        ] {
            check(".", path, Some(rest));
        }
        check("modules/a", "./modules//a/file", Some("file"));
        check("modules/a", "modules/ab", None);
    }

    #[test]
    fn absolute_paths_need_absolute_preopen() {
        check(".", "/etc/hosts", None);
        check("", "/etc/hosts", None);
        check("/srv", "work/file", None);
        check("/srv/project/", "/srv//project/./file", Some("file"));
        check("/srv/project", "/srv/project/../file", Some("../file"));
        check("/srv/project", "/srv/projects/file", None);
        check("/srv/project", "/srv", None);
        check("/", "/anything", Some("anything"));
    }
}
