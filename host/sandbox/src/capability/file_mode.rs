//! `wardian:plugin/file-mode`: files and directories with a mode from their first
//! moment.
//!
//! It adds no reach to [`super::filesystem`]: the directories are those that were
//! granted for writing, under the same names. As with `wasi:filesystem` the
//! interface is always linked, since a component is loaded, and asked for its
//! schema, before anybody knows what it is granted; without a directory every
//! call is denied, and the answer says what would have to be granted.
//!
//! What a mode becomes is the system's business: the umask applies to what is
//! created, nothing applies to what is already there. Paths are opened by
//! `cap-std` beneath the granted directory, so that neither `..` nor a symbolic
//! link leaves it, and on the executor's blocking threads.

use std::fs::File;
use std::io::{self, ErrorKind, Write as _};
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, DirBuilder, OpenOptions};
use wasmtime::component::{HasSelf, Linker, Resource};

use super::{Capability, NewInstance};
use crate::bindings::wardian::plugin::file_mode::{self, Host, HostWritableFile, ModeError};
use crate::error::GrantError;
use crate::grants::{Access, DirectoryGrant};
use crate::imports::InterfaceName;
use crate::state::GuestState;

/// Reading, writing and searching. Bits that lend the owner's rights to others
/// (setuid and its like) are nothing that a guest hands out.
const ALL_MODES: u32 = 0o777;

/// Bytes of a path. Missing parents are found step by step, and the steps of a
/// path without end would be too.
const LONGEST_PATH: usize = 4096;

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

    fn configure(&self, new: &mut NewInstance<'_>) -> Result<(), GrantError> {
        for directory in &new.grants.directories {
            let opened = GrantedDirectory::open(directory).map_err(|source| GrantError::Directory {
                plugin: new.plugin.to_owned(),
                path: directory.host.clone(),
                source,
            })?;
            new.directories.0.push(opened);
        }
        Ok(())
    }

    fn enter(&self, _state: &mut GuestState) {}
}

/// The directories of an instance in which it may create things.
#[derive(Default)]
pub(crate) struct WritableDirectories(Vec<GrantedDirectory>);

struct GrantedDirectory {
    guest: String,
    /// None where it is for reading only. Its name still leads to it, and to no
    /// other directory.
    writable: Option<Arc<Dir>>,
}

impl GrantedDirectory {
    fn open(grant: &DirectoryGrant) -> io::Result<Self> {
        let writable = match grant.access {
            Access::Read => None,
            Access::ReadWrite => Some(Arc::new(Dir::open_ambient_dir(&grant.host, ambient_authority())?)),
        };
        Ok(Self { guest: grant.guest.clone(), writable })
    }
}

/// A path beneath a directory that is granted for writing.
struct Place {
    directory: Arc<Dir>,
    path: String,
}

impl WritableDirectories {
    /// Where a guest's path leads, and whether something may get the mode there.
    /// Names are looked up as a guest's C library does it: the longest that fits,
    /// and the last of two that are alike. That finds a directory and protects
    /// none: whoever may write in one may write in all that is below it.
    fn place(&self, path: &str, mode: u32) -> Result<Place, ModeError> {
        if mode & !ALL_MODES != 0 {
            return Err(ModeError::Denied(format!("the mode {mode:#o} is beyond {ALL_MODES:#o}")));
        }
        if path.len() > LONGEST_PATH {
            return Err(ModeError::Failed(format!("the path is longer than {LONGEST_PATH} bytes")));
        }
        let found = self
            .0
            .iter()
            .rev()
            .filter_map(|directory| beneath(&directory.guest, path).map(|rest| (directory, rest)))
            .min_by_key(|(_, rest)| rest.len());
        let Some((directory, rest)) = found else {
            return Err(ModeError::Denied("no directory that is granted to the plugin contains it".into()));
        };
        let Some(opened) = &directory.writable else {
            return Err(ModeError::Denied(format!(
                "the directory {} is granted for reading only",
                directory.guest
            )));
        };
        let path = if rest.is_empty() { "." } else { rest };
        Ok(Place { directory: Arc::clone(opened), path: path.to_owned() })
    }
}

/// What of the path is left beneath the directory. Guests separate names by `/`,
/// whatever the host does.
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

/// The path without what leads nowhere at its beginning.
fn without_no_steps(mut path: &str) -> &str {
    loop {
        path = match path.strip_prefix('/').or_else(|| path.strip_prefix("./")) {
            Some(rest) => rest,
            None => return if path == "." { "" } else { path },
        };
    }
}

/// A file that a guest writes.
pub struct WritableFile(Arc<File>);

impl Place {
    fn create_file(&self, mode: u32) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        cap_std::fs::OpenOptionsExt::mode(&mut options, mode);
        Ok(self.directory.open_with(&self.path, &options)?.into_std())
    }

    fn create_directory(&self, mode: u32) -> io::Result<()> {
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        cap_std::fs::DirBuilderExt::mode(&mut builder, mode);
        self.directory.create_dir_with(&self.path, &builder)
    }

    #[cfg(unix)]
    fn set_mode(&self, mode: u32) -> io::Result<()> {
        let permissions = cap_std::fs::PermissionsExt::from_mode(mode);
        self.directory.set_permissions(&self.path, permissions)
    }

    #[cfg(not(unix))]
    fn set_mode(&self, _mode: u32) -> io::Result<()> {
        self.directory.metadata(&self.path).map(|_| ())
    }
}

impl Host for GuestState {
    async fn create_file(
        &mut self,
        path: String,
        mode: u32,
    ) -> wasmtime::Result<Result<Resource<WritableFile>, ModeError>> {
        match at(self.directories().place(&path, mode), move |place| place.create_file(mode)).await? {
            Ok(file) => Ok(Ok(self.table().push(WritableFile(Arc::new(file)))?)),
            Err(error) => Ok(Err(error)),
        }
    }

    async fn create_directory(&mut self, path: String, mode: u32) -> wasmtime::Result<Result<(), ModeError>> {
        at(self.directories().place(&path, mode), move |place| place.create_directory(mode)).await
    }

    async fn set_mode(&mut self, path: String, mode: u32) -> wasmtime::Result<Result<(), ModeError>> {
        at(self.directories().place(&path, mode), move |place| place.set_mode(mode)).await
    }
}

impl HostWritableFile for GuestState {
    async fn write(
        &mut self,
        file: Resource<WritableFile>,
        bytes: Vec<u8>,
    ) -> wasmtime::Result<Result<(), ModeError>> {
        let file = Arc::clone(&self.table().get(&file)?.0);
        blocking(move || (&*file).write_all(&bytes)).await
    }

    async fn drop(&mut self, file: Resource<WritableFile>) -> wasmtime::Result<()> {
        self.table().delete(file)?;
        Ok(())
    }
}

/// Does something at a path that is allowed.
async fn at<T: Send + 'static>(
    place: Result<Place, ModeError>,
    act: impl FnOnce(&Place) -> io::Result<T> + Send + 'static,
) -> wasmtime::Result<Result<T, ModeError>> {
    match place {
        Ok(place) => blocking(move || act(&place)).await,
        Err(error) => Ok(Err(error)),
    }
}

async fn blocking<T: Send + 'static>(
    act: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> wasmtime::Result<Result<T, ModeError>> {
    let done = tokio::task::spawn_blocking(act).await?;
    Ok(done.map_err(|error| match error.kind() {
        ErrorKind::NotFound => ModeError::NotFound,
        ErrorKind::PermissionDenied => ModeError::Denied(error.to_string()),
        _ => ModeError::Failed(error.to_string()),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(directory: &str, path: &str, expected: Option<&str>) {
        assert_eq!(beneath(directory, path), expected, "{directory} {path}");
    }

    #[test]
    fn relative_paths_lie_beneath_the_working_directory() {
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
    fn absolute_paths_need_an_absolute_name() {
        check(".", "/etc/hosts", None);
        check("", "/etc/hosts", None);
        check("/srv", "work/file", None);
        check("/srv/project/", "/srv//project/./file", Some("file"));
        check("/srv/project", "/srv/project/../file", Some("../file"));
        check("/srv/project", "/srv/projects/file", None);
        check("/srv/project", "/srv", None);
        check("/", "/anything", Some("anything"));
    }

    #[test]
    fn the_longest_name_that_fits_leads_to_its_directory() {
        let (read, written) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let grant = |host: &tempfile::TempDir, guest: &str, access| {
            let grant = DirectoryGrant { host: host.path().to_path_buf(), guest: guest.into(), access };
            GrantedDirectory::open(&grant).unwrap()
        };
        let directories = WritableDirectories(vec![
            grant(&read, "/srv/a", Access::Read),
            grant(&written, "/srv", Access::ReadWrite),
        ]);
        assert!(matches!(directories.place("/srv/b", 0o600), Ok(place) if place.path == "b"));
        for path in ["/srv/a/b", "/elsewhere", "relative", ""] {
            assert!(matches!(directories.place(path, 0o600), Err(ModeError::Denied(_))), "{path}");
        }
        assert!(matches!(directories.place("/srv/b", 0o4700), Err(ModeError::Denied(_))));
        let endless = "/srv".to_owned() + &"/a".repeat(LONGEST_PATH);
        assert!(matches!(directories.place(&endless, 0o600), Err(ModeError::Failed(_))));
    }
}
