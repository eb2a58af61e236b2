//! Builds the root directory of a program whose files are protected only by a mount
//! namespace.
//!
//! The root contains the granted files and directories, mounted at their own paths, and the symbolic
//! links that lead to them. Everything else does not exist for the program.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, symlink};
use std::path::{Component, Path, PathBuf};

use crate::landlock::LandlockRules;
use crate::linux::mounts::{Mount, c_string};
use crate::linux::namespace_calls::{self as calls, MountAttributes};
use crate::linux::namespaces::{NAME_SERVER_FILE, write_name_server_file};
use crate::linux::views::{PreparedViews, VisibleDirectory};
use crate::view::DirectoryView;

/// Maximum number of symbolic links on the way to a file, as in the kernel.
const MAX_LINKS: usize = 40;

/// A root directory that is ready to be mounted.
pub(crate) struct NewRoot {
    root: CString,
    proc: CString,
    mounts: Vec<Mount>,
    working_directory: CString,
}

/// The access to a granted path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Access {
    execute: bool,
    write: bool,
}

impl Access {
    fn includes(self, other: Self) -> bool {
        (self.execute || !other.execute) && (self.write || !other.write)
    }
}

impl NewRoot {
    /// Prepares the root below `base`, which must contain nothing else.
    ///
    /// # Errors
    /// Returns an error if a mount point cannot be created.
    pub(crate) fn prepare(
        rules: &LandlockRules,
        directories: &[DirectoryView],
        working_directory: &Path,
        base: &Path,
    ) -> io::Result<Self> {
        let root = base.join("root");
        fs::create_dir(&root)?;
        let mut builder = Builder { root: root.clone(), mounts: Vec::new(), granted: BTreeMap::new() };
        // The root must be a mount.
        builder.mounts.push(Mount::new(&root, &root)?);
        let views = PreparedViews::create(directories, base)?;
        builder.mounts.extend(views.entries);
        let mut granted = BTreeMap::new();
        let mut grant = |paths: &[PathBuf], access: Access| -> io::Result<()> {
            for path in paths {
                let Ok(real) = path.canonicalize() else { continue };
                let known: &mut Access = granted.entry(real).or_default();
                *known =
                    Access { execute: known.execute || access.execute, write: known.write || access.write };
                builder.add_links(path, MAX_LINKS)?;
            }
            Ok(())
        };
        grant(&[rules.read.as_slice(), &rules.real_read].concat(), Access::default())?;
        grant(&rules.execute, Access { execute: true, write: false })?;
        grant(&[rules.write.as_slice(), &rules.real_write].concat(), Access { execute: false, write: true })?;
        for VisibleDirectory { hidden, visible } in &views.directories {
            builder.mount(visible, hidden, Access::default())?;
        }
        let name_servers = Path::new(NAME_SERVER_FILE).canonicalize().ok();
        let shown = |path: &Path| !directories.iter().any(|view| view.hides(path));
        for (path, access) in granted {
            if !path.starts_with("/proc") && Some(&path) != name_servers.as_ref() && shown(&path) {
                builder.mount(&path, &path, access)?;
            }
        }
        if let Some(path) = name_servers {
            let file = write_name_server_file(base)?;
            builder.add_links(Path::new(NAME_SERVER_FILE), MAX_LINKS)?;
            builder.mount(&file, &path, Access::default())?;
        }
        let proc = builder.create_directory(Path::new("/proc"))?;
        // The program starts there, even if it cannot list the directory.
        let working_directory = working_directory.canonicalize()?;
        if !builder.is_mounted(&working_directory) {
            builder.create_directory(&working_directory)?;
        }
        Ok(Self {
            root: c_string(&root)?,
            proc: c_string(&proc)?,
            mounts: builder.mounts,
            working_directory: c_string(&working_directory)?,
        })
    }

    /// Mounts the granted files in the process's mount namespace. Async-signal-safe.
    ///
    /// # Errors
    /// Returns an error if the system does not allow it.
    pub(crate) fn mount(&self) -> io::Result<()> {
        self.mounts.iter().try_for_each(Mount::perform)
    }

    /// Makes the directory the root of the process, which must be in its own PID namespace.
    /// Async-signal-safe.
    ///
    /// # Errors
    /// Returns an error if the system does not allow it.
    pub(crate) fn enter(&self) -> io::Result<()> {
        // A container may prevent this mount. `/proc` is then empty.
        let _ = calls::mount_proc(&self.proc);
        calls::change_root(&self.root)?;
        calls::change_directory(&self.working_directory)
    }
}

struct Builder {
    root: PathBuf,
    mounts: Vec<Mount>,
    granted: BTreeMap<PathBuf, Access>,
}

impl Builder {
    /// Returns the path at which a path of the program is mounted.
    fn target(&self, path: &Path) -> PathBuf {
        let relative: PathBuf =
            path.components().filter(|part| matches!(part, Component::Normal(_))).collect();
        self.root.join(relative)
    }

    fn is_mounted(&self, path: &Path) -> bool {
        path.ancestors().any(|ancestor| self.granted.contains_key(ancestor))
    }

    fn create_directory(&self, path: &Path) -> io::Result<PathBuf> {
        let target = self.target(path);
        fs::create_dir_all(&target)?;
        Ok(target)
    }

    /// Mounts a file or directory at a real path. Ancestors must be added before.
    fn mount(&mut self, source: &Path, path: &Path, access: Access) -> io::Result<()> {
        let outer = path.ancestors().find_map(|ancestor| self.granted.get(ancestor).copied());
        let is_replaced = source != path;
        if outer.is_some_and(|outer| outer.includes(access) && !is_replaced) {
            return Ok(());
        }
        let kind = fs::metadata(source)?.file_type();
        let target = self.target(path);
        if outer.is_none() {
            if kind.is_dir() {
                fs::create_dir_all(&target)?;
            } else {
                if let Some(parent) = target.parent() {
                    fs::create_dir_all(parent)?;
                }
                fs::File::create(&target)?;
            }
        }
        self.granted.insert(path.to_owned(), access);
        let attributes = MountAttributes {
            read_only: !access.write,
            no_execution: !access.execute,
            no_devices: !kind.is_char_device(),
        };
        self.mounts.push(Mount::new(source, &target)?.with_attributes(attributes));
        Ok(())
    }

    /// Creates the symbolic links on the way to a granted path.
    fn add_links(&self, path: &Path, remaining: usize) -> io::Result<()> {
        let Some(remaining) = remaining.checked_sub(1) else {
            return Err(io::Error::from_raw_os_error(libc::ELOOP));
        };
        let mut parts = path.components();
        let mut resolved = PathBuf::new();
        while let Some(part) = parts.next() {
            resolved.push(part);
            let Ok(link) = fs::read_link(&resolved) else { continue };
            let target = self.target(&resolved);
            if let Some(parent) = target.parent() {
                fs::create_dir_all(parent)?;
            }
            match symlink(&link, &target) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
            let next = resolved.parent().unwrap_or(Path::new("/")).join(link).join(parts.as_path());
            return self.add_links(&without_parents(&next), remaining);
        }
        Ok(())
    }
}

/// Resolves `..`. The parts before it are not links: they were resolved before.
fn without_parents(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                normal.pop();
            }
            Component::CurDir => {}
            part => normal.push(part),
        }
    }
    normal
}
