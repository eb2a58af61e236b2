//! Protected files: the files that a later command trusts, runs or keeps secret.
//!
//! The name of a file or of a directory above it ([`names`]), its location, which the caller
//! specifies ([`ProtectedFiles::protect`]), or its content ([`content`]) determines its classes. A
//! rule that allows an access must name every class of the file.
//!
//! Names are compared in a folded form. Therefore, a name that a file system could treat as equal
//! to a protected name is also protected.

pub(crate) mod content;
mod fold;
pub(crate) mod names;

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use wardian_access::{AccessExtent, FileAccess, FileOperation, ProtectedClass, ProtectedClasses};

use fold::{fold, fold_name};
use names::classes_of_name;

#[derive(Clone, Debug, Default)]
pub(crate) struct ProtectedFiles {
    /// The folded path of the root module. The operator chooses the names of its parent directories.
    root_module: Vec<u8>,
    paths: Vec<PathBuf>,
    /// The classes of the files at these folded paths and below.
    locations: HashMap<Vec<u8>, ProtectedClasses>,
    /// The classes of the locations below these folded paths.
    above_locations: HashMap<Vec<u8>, ProtectedClasses>,
    /// The folded directories and names of state files.
    states: Vec<(Vec<u8>, Vec<u8>)>,
}

impl ProtectedFiles {
    pub(crate) fn new(root_module: &Path) -> Self {
        Self { root_module: fold(root_module), ..Self::default() }
    }

    /// Adds a file, or a directory with everything below it. The path need not exist.
    pub(crate) fn protect(&mut self, class: ProtectedClass, path: &Path) {
        let folded = fold(path);
        for above in prefixes(&folded) {
            let map = if above == folded { &mut self.locations } else { &mut self.above_locations };
            let classes = map.entry(above.to_owned()).or_default();
            classes.insert(class);
        }
        if class == ProtectedClass::States
            && let (Some(directory), Some(name)) = (path.parent(), path.file_name())
        {
            self.states.push((fold(directory), fold_name(name)));
        }
        self.paths.push(path.to_owned());
    }

    /// Returns the paths that were added.
    pub(crate) fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// Returns the classes of the files that an access concerns. The cost is linear in the length
    /// of the path.
    pub(crate) fn classes(&self, access: &FileAccess) -> ProtectedClasses {
        let path = fold(access.path());
        let mut classes = access.classes().union(self.classes_of_names(&path));
        if !self.locations.is_empty() {
            for prefix in prefixes(&path) {
                classes = classes.union(self.locations.get(prefix).copied().unwrap_or_default());
            }
            let includes_below = match access.extent() {
                AccessExtent::Tree => true,
                // A write may change a directory's mode, which determines who can change the files
                // in it.
                AccessExtent::Path => access.operation() != FileOperation::Read,
                AccessExtent::Metadata | AccessExtent::NewDirectory => false,
            };
            if includes_below {
                classes = classes.union(self.above_locations.get(&path).copied().unwrap_or_default());
            }
        }
        if self.states.iter().any(|(directory, state)| belongs_to_state(&path, directory, state)) {
            classes.insert(ProtectedClass::States);
        }
        classes
    }

    fn classes_of_names(&self, path: &[u8]) -> ProtectedClasses {
        let below = match path.strip_prefix(self.root_module.as_slice()) {
            Some(below) if below.is_empty() || below.starts_with(b"/") => below,
            _ => path,
        };
        let names = below.split(|byte| *byte == b'/').filter(|name| !name.is_empty());
        names.fold(ProtectedClasses::NONE, |classes, name| classes.union(classes_of_name(name)))
    }
}

/// Returns the classes of all files with this name, in any directory.
pub fn classes_of_file_name(name: &OsStr) -> ProtectedClasses {
    classes_of_name(&fold_name(name))
}

/// Returns the path and all its prefixes that are directories.
fn prefixes(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let separators = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(index, _)| index);
    let root = path.get(..1).filter(|first| *first == b"/" && path.len() > 1);
    let above = separators.filter(|index| *index > 0).filter_map(|index| path.get(..index));
    root.into_iter().chain(above).chain([path])
}

/// Whether a path belongs to a sidecar file of a state: `NAME.backup`, `NAME.TIME.backup`,
/// `.NAME.journal`, `.NAME.lock.info`, or a temporary file that replaces one of these.
fn belongs_to_state(path: &[u8], directory: &[u8], state: &[u8]) -> bool {
    let Some(name) = path.strip_prefix(directory).and_then(|rest| rest.strip_prefix(b"/")) else {
        return false;
    };
    let name = names::without_temporary_suffix(name).unwrap_or(name);
    let hidden = |name: &[u8]| name.strip_prefix(b".").unwrap_or(name).to_vec();
    let (bare, state) = (hidden(name), hidden(state));
    let Some(suffix) = bare.strip_prefix(state.as_slice()) else { return false };
    suffix.is_empty() || [&b".backup"[..], b".journal", b".lock.info"].iter().any(|end| suffix.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files() -> ProtectedFiles {
        let mut files = ProtectedFiles::new(Path::new("/srv/x.tf/project"));
        files.protect(ProtectedClass::Data, Path::new("/srv/x.tf/project/data"));
        files.protect(ProtectedClass::States, Path::new("/srv/x.tf/project/out/prod.json"));
        files.protect(ProtectedClass::Keys, Path::new("/home/ada/.local/share/wardian"));
        files
    }

    fn classes(path: &str, operation: FileOperation, extent: AccessExtent) -> String {
        let access = FileAccess::from_normalized(path.into(), operation).with_extent(extent);
        files().classes(&access).to_string()
    }

    #[test]
    fn locations_protect_everything_below() {
        let read = |path: &str| classes(path, FileOperation::Read, AccessExtent::Path);
        assert_eq!(read("/srv/x.tf/project/data"), "data");
        assert_eq!(read("/srv/x.tf/project/DATA/modules/m.txt"), "data");
        assert_eq!(read("/srv/x.tf/project/database"), "");
        assert_eq!(read("/home/ada/.local/share/wardian/key"), "keys");
        assert_eq!(read("/home/ada/.local/share"), "");
        assert_eq!(read("/srv/x.tf/project/a"), "", "names above the root module have no effect");
        assert_eq!(read("/srv/x.tf/project/x.tf/a"), "configuration");
        assert_eq!(read("/srv/x.tf/other"), "configuration");
    }

    #[test]
    fn directories_above_locations_are_protected_from_changes() {
        let write = |path: &str, extent| classes(path, FileOperation::Write, extent);
        assert_eq!(write("/home/ada/.local", AccessExtent::Path), "keys");
        assert_eq!(write("/home", AccessExtent::Tree), "keys");
        assert_eq!(write("/", AccessExtent::Tree), "data, states, keys");
        assert_eq!(write("/home/ada/.local", AccessExtent::NewDirectory), "");
        assert_eq!(write("/home/ada/.local/share/wardian", AccessExtent::NewDirectory), "keys");
        assert_eq!(classes("/home/ada", FileOperation::Read, AccessExtent::Tree), "keys");
    }

    #[test]
    fn state_sidecar_files_have_the_state_class() {
        let of = |name: &str| {
            classes(&format!("/srv/x.tf/project/out/{name}"), FileOperation::Read, AccessExtent::Path)
        };
        for name in [
            "prod.json",
            "prod.json.backup",
            "prod.json.1700000000.backup",
            ".prod.json.journal",
            ".prod.json.lock.info",
            ".prod.json.0123456789abcdef.tmp",
            ".prod.json.backup.0123456789abcdef.tmp",
            "PROD.json",
        ] {
            assert_eq!(of(name), "states", "{name}");
        }
        assert_eq!(of("prod.jsonx"), "");
        assert_eq!(of("other.json.backup"), "");
    }
}
