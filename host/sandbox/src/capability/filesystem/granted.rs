//! The directories that policies grant, each opened once for all instances, and the names that
//! policies use for the files in them.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rustix::io::Errno;
use wardian_access::FileOperation;
use wardian_files::{Directory, GrantedPath, GrantedPathError, WritableDirectories};
use wardian_policy::PluginPolicy;

#[derive(Debug, Default)]
pub(crate) struct GrantedFiles {
    directories: Vec<Granted>,
    /// The base of relative paths that do not begin with the name of a directory.
    working_directory: Option<Arc<Root>>,
    /// The base of absolute paths that do not begin with the name of a directory.
    top: Option<Arc<Root>>,
    root_module: PathBuf,
    names: Names,
    writable_directories: Arc<WritableDirectories>,
}

/// A granted directory, under one of its names in the guest.
#[derive(Clone, Debug)]
pub(crate) struct Granted {
    /// The name in the guest: an absolute or a relative path.
    pub(crate) guest: String,
    pub(crate) root: Arc<Root>,
}

/// A directory and everything below it.
///
/// The directory need not exist, since a policy may apply to many machines, and a plugin with write
/// access may create the directory. It is opened on the first access after it exists. The target of
/// its path is determined when the directory is granted, and does not change afterwards.
#[derive(Debug)]
pub(crate) struct Root {
    path: PathBuf,
    is_writable: bool,
    /// The path without symbolic links: the target set in the policy, or else the result of the
    /// first resolution.
    real: Option<PathBuf>,
    writable_directories: Arc<WritableDirectories>,
    opened: OnceLock<Directory>,
}

impl GrantedFiles {
    /// Returns the directories that a policy grants, in a run whose root module is in
    /// `root_module`, an absolute path.
    pub(crate) fn by_policy(policy: &PluginPolicy, root_module: &Path) -> Self {
        let granted = granted_roots(policy);
        let writable_directories =
            Arc::new(WritableDirectories::new(policy.writable_directories().map(Path::to_owned)));
        let root = |path: &Path| {
            // A grant covers everything below the directory.
            let is_writable = path.ancestors().any(|outer| granted.get(outer) == Some(&true));
            Arc::new(Root::new(path, is_writable, policy.target(path), &writable_directories))
        };
        let mut files = Self {
            root_module: root_module.to_owned(),
            names: Names::from_policy(policy, &writable_directories),
            writable_directories: Arc::clone(&writable_directories),
            ..Self::default()
        };
        for host in granted.keys() {
            let Some(absolute) = host.to_str() else { continue };
            let root = root(host);
            let mut name = |guest: &str| {
                files.directories.push(Granted { guest: guest.to_owned(), root: Arc::clone(&root) });
            };
            if host.parent().is_some() {
                name(absolute);
            }
            if host == root_module {
                files.working_directory = Some(Arc::clone(&root));
            } else if let Some(relative) = host.strip_prefix(root_module).ok().and_then(Path::to_str) {
                name(relative);
            }
            if host.parent().is_none() {
                files.top = Some(root);
            }
        }
        if files.working_directory.is_none() && granted.keys().any(|outer| root_module.starts_with(outer)) {
            files.working_directory = Some(root(root_module));
        }
        files
    }

    /// Returns the directories that have a name.
    pub(crate) fn directories(&self) -> &[Granted] {
        &self.directories
    }

    /// Returns the root module's directory if it is granted.
    pub(crate) fn working_directory(&self) -> Option<&Arc<Root>> {
        self.working_directory.as_ref()
    }

    /// Returns the root directory if it is granted.
    pub(crate) fn top(&self) -> Option<&Arc<Root>> {
        self.top.as_ref()
    }

    /// Returns the root module's path, even if it is not granted. Empty if there is no root module.
    pub(crate) fn root_module(&self) -> &Path {
        &self.root_module
    }

    pub(crate) fn names(&self) -> &Names {
        &self.names
    }

    /// Returns the directories that any plugin may write to.
    pub(crate) fn writable_directories(&self) -> &Arc<WritableDirectories> {
        &self.writable_directories
    }
}

/// Returns the directories through which a plugin reaches the granted paths, and whether it may write
/// in them. Each access is authorized by its path, so a directory grants nothing by itself.
fn granted_roots(policy: &PluginPolicy) -> BTreeMap<PathBuf, bool> {
    // A component cannot connect to sockets.
    let is_usable =
        |access: &BTreeSet<FileOperation>| access.iter().any(|one| *one != FileOperation::Connect);
    let granted: BTreeMap<PathBuf, BTreeSet<FileOperation>> =
        policy.component_directories().into_iter().filter(|(_, access)| is_usable(access)).collect();
    let mut roots = BTreeMap::new();
    for (path, access) in &granted {
        let is_writable = access.contains(&FileOperation::Write);
        let is_in_granted = || path.ancestors().skip(1).any(|outer| granted.contains_key(outer));
        let root = match (path.parent(), path.symlink_metadata()) {
            // A file is reached through its directory.
            (Some(parent), Ok(metadata)) if metadata.is_file() => parent,
            // A path that does not exist may become a file.
            (_, Err(_)) if !is_writable && is_in_granted() => continue,
            _ => path,
        };
        *roots.entry(root.to_owned()).or_default() |= is_writable;
    }
    roots
}

impl Root {
    fn new(
        path: &Path,
        is_writable: bool,
        target: Option<&Path>,
        writable_directories: &Arc<WritableDirectories>,
    ) -> Self {
        let mut root = Self {
            path: path.to_owned(),
            is_writable,
            real: target.map(Path::to_owned),
            writable_directories: Arc::clone(writable_directories),
            opened: OnceLock::new(),
        };
        // An error is reported when the directory is used.
        if let Ok(granted) = root.resolve() {
            root.real = Some(granted.path());
            if granted.missing.is_empty() {
                let _ = root.opened.set(granted.existing);
            }
        }
        root
    }

    /// Returns the directory's path in policies.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn is_writable(&self) -> bool {
        self.is_writable
    }

    fn resolve(&self) -> Result<GrantedPath, RootError> {
        let granted = self.writable_directories.resolve(&self.path).map_err(|error| match error {
            GrantedPathError::Access(error) => RootError::System(error.into()),
            link @ GrantedPathError::PluginLink { .. } => RootError::Changed(link.to_string()),
        })?;
        match &self.real {
            Some(real) if *real != granted.path() => Err(RootError::Changed(format!(
                "{} resolved to {} when it was granted, and now resolves to {}",
                self.path.display(),
                real.display(),
                granted.path().display()
            ))),
            _ => Ok(granted),
        }
    }

    /// Returns the open directory.
    pub(crate) fn base(&self) -> Result<Directory, RootError> {
        if let Some(base) = self.opened.get() {
            return Ok(base.clone());
        }
        let granted = self.resolve()?;
        if !granted.missing.is_empty() {
            return Err(RootError::System(Errno::NOENT.into()));
        }
        Ok(self.opened.get_or_init(|| granted.existing).clone())
    }

    /// Creates the directory and its missing parents, and returns it. `decide` receives its path
    /// without symbolic links.
    pub(crate) fn create<E>(
        &self,
        mode: u32,
        failed: impl Fn(RootError) -> E,
        decide: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<Directory, E> {
        let system = |error| failed(RootError::System(error));
        let granted = self.resolve().map_err(&failed)?;
        decide(&granted.path())?;
        let mut directory = granted.existing;
        for name in &granted.missing {
            create_unless_exists(&directory, name, mode).map_err(system)?;
            directory = directory.open_directory(name).map_err(|error| system(error.into()))?;
        }
        Ok(self.opened.get_or_init(|| directory).clone())
    }
}

fn create_unless_exists(directory: &Directory, name: &OsStr, mode: u32) -> io::Result<()> {
    match directory.create_directory(name, mode) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        created => created,
    }
}

/// The reason why a granted directory cannot be used.
#[derive(Debug)]
pub(crate) enum RootError {
    /// The path no longer resolves to the granted directory.
    Changed(String),
    System(io::Error),
}

/// The paths that policies use for files.
///
/// An opened file is identified by its path without symbolic links. A policy may name the same file
/// by a path with symbolic links; its rules for that name then also apply.
#[derive(Debug, Default)]
pub(crate) struct Names {
    named: Vec<PathBuf>,
    aliases: Vec<Alias>,
    /// The paths in the rules of all plugins, and the same paths without symbolic links; sorted.
    fixed: Vec<PathBuf>,
}

#[derive(Debug)]
struct Alias {
    real: PathBuf,
    named: PathBuf,
}

impl Names {
    fn from_policy(policy: &PluginPolicy, writable_directories: &WritableDirectories) -> Self {
        let named: Vec<PathBuf> = policy.named_paths().into_iter().map(Path::to_owned).collect();
        // A rule that denies a path also applies to the target of the path.
        let anywhere = WritableDirectories::default();
        let real = |path: &PathBuf| anywhere.real_path(path).ok();
        let alias = |named: &PathBuf| Some(Alias { real: real(named)?, named: named.clone() });
        let aliases = named.iter().filter_map(alias).filter(|alias| alias.real != alias.named).collect();
        let mut fixed: Vec<PathBuf> = policy.paths_of_all_plugins().iter().cloned().collect();
        let granted = |path: &PathBuf| writable_directories.real_path(path).ok();
        fixed.extend(fixed.iter().filter_map(granted).collect::<Vec<_>>());
        fixed.sort();
        fixed.dedup();
        Self { named, aliases, fixed }
    }

    /// Returns every path in the policy.
    pub(crate) fn named(&self) -> &[PathBuf] {
        &self.named
    }

    /// Returns a path in the rules of any plugin that is at a path or below it.
    pub(crate) fn fixed_at_or_below(&self, path: &Path) -> Option<&Path> {
        let index = self.fixed.partition_point(|fixed| fixed.as_path() < path);
        self.fixed.get(index).map(PathBuf::as_path).filter(|fixed| fixed.starts_with(path))
    }

    /// Returns the other names of a path.
    pub(crate) fn others(&self, path: &Path) -> impl Iterator<Item = PathBuf> {
        self.aliases.iter().filter_map(move |alias| {
            let rest = path.strip_prefix(&alias.real).ok()?;
            // Joining an empty path would leave a trailing slash.
            Some(if rest.as_os_str().is_empty() { alias.named.clone() } else { alias.named.join(rest) })
        })
    }

    /// Returns the other names of files below a path.
    pub(crate) fn others_below(&self, path: &Path) -> impl Iterator<Item = PathBuf> {
        let below = move |alias: &&Alias| alias.real != path && alias.real.starts_with(path);
        self.aliases.iter().filter(below).map(|alias| alias.named.clone())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use wardian_address::ProviderAddress;
    use wardian_diagnostic::SourceFile;
    use wardian_policy::{Level, Policy, PolicyFile};

    use super::*;

    #[test]
    fn changed_link_of_granted_directory_is_rejected() {
        let place = tempfile::tempdir().unwrap();
        let place = place.path().canonicalize().unwrap();
        fs::create_dir(place.join("data")).unwrap();
        fs::create_dir(place.join("other")).unwrap();
        symlink("data", place.join("link")).unwrap();
        let text = "plugin \"acme/files\" {\n  allow filesystem {\n    directories = [\"link\"]\n    access = \
                    [\"read\"]\n  }\n}\n";
        let file = PolicyFile::parse(Level::User, &SourceFile::new("policy", text), &place).unwrap();
        let mut policy = Policy::new(&place, [file], []);
        let plugin = ProviderAddress::parse("acme/files").unwrap();
        let open = |policy: &Policy| {
            let files = GrantedFiles::by_policy(&policy.for_plugin(&plugin), &place);
            files.directories()[0].root.base().map(|directory| directory.path().to_owned())
        };
        assert_eq!(open(&policy).unwrap(), place.join("data"));
        policy.fix_targets([(place.join("link"), place.join("data"))].into());
        assert_eq!(open(&policy).unwrap(), place.join("data"));
        fs::remove_file(place.join("link")).unwrap();
        symlink("other", place.join("link")).unwrap();
        match open(&policy) {
            Err(RootError::Changed(reason)) => assert!(reason.contains("other"), "{reason}"),
            opened => panic!("{opened:?}"),
        }
    }
}
