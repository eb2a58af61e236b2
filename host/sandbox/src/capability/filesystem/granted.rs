//! The directories that policies grant, each opened once for all instances, and the names that
//! policies use for the files in them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, OnceLock};

use wardian_access::FileOperation;
use wardian_policy::PluginPolicy;

use super::resolution::{Base, descend};

/// The files that policies grant.
#[derive(Debug, Default)]
pub(crate) struct GrantedFiles {
    directories: Vec<Granted>,
    /// The base of relative paths that do not begin with the name of a directory.
    working_directory: Option<Arc<Root>>,
    /// The base of absolute paths that do not begin with the name of a directory.
    top: Option<Arc<Root>>,
    root_module: PathBuf,
    names: Names,
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
/// It need not exist: a policy may apply to many machines, and a plugin with write access may
/// create it. It is opened on the first access after it exists.
#[derive(Debug)]
pub(crate) struct Root {
    path: PathBuf,
    is_writable: bool,
    opened: OnceLock<Base>,
}

impl GrantedFiles {
    /// Returns the directories that a policy grants, in a run whose root module is in
    /// `root_module`, an absolute path.
    pub(crate) fn by_policy(policy: &PluginPolicy, root_module: &Path) -> Self {
        let granted: BTreeMap<PathBuf, bool> = policy
            .directories()
            .into_iter()
            .map(|(path, access)| (path, access.contains(&FileOperation::Write)))
            .collect();
        let root = |path: &Path| {
            // A grant covers everything below the directory.
            let is_writable = path.ancestors().any(|outer| granted.get(outer) == Some(&true));
            let root = Arc::new(Root { path: path.to_owned(), is_writable, opened: OnceLock::new() });
            // Errors are ignored here: the directory is opened again when it is used.
            let _ = root.base();
            root
        };
        let mut files = Self { root_module: root_module.to_owned(), ..Self::default() };
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
        files.names = Names::from_policy(policy);
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

    /// Returns the root module's path, whether or not it is granted; empty if there is none.
    pub(crate) fn root_module(&self) -> &Path {
        &self.root_module
    }

    pub(crate) fn names(&self) -> &Names {
        &self.names
    }
}

impl Root {
    /// Returns the path as it is written in policies.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn is_writable(&self) -> bool {
        self.is_writable
    }

    /// Returns the open directory. Its link-free path is opened one component at a time from the
    /// root, so that no link inserted meanwhile is followed.
    pub(crate) fn base(&self) -> io::Result<Base> {
        if let Some(base) = self.opened.get() {
            return Ok(base.clone());
        }
        let real = self.path.canonicalize()?;
        let names: Vec<_> = real
            .components()
            .filter_map(|component| match component {
                Component::Normal(name) => Some(name.to_owned()),
                _ => None,
            })
            .collect();
        let top = Base { handle: Arc::new(File::open("/")?), path: Arc::from(Path::new("/")) };
        let base = descend(&top, &names)?;
        Ok(self.opened.get_or_init(|| base).clone())
    }
}

/// The names that policies use for a path.
///
/// An opened file is identified by its path without links. A policy may name the same file by a
/// path with links; its rules for that name then apply too.
#[derive(Debug, Default)]
pub(crate) struct Names {
    named: Vec<PathBuf>,
    aliases: Vec<Alias>,
}

#[derive(Debug)]
struct Alias {
    real: PathBuf,
    named: PathBuf,
}

impl Names {
    fn from_policy(policy: &PluginPolicy) -> Self {
        let named: Vec<PathBuf> = policy.named_paths().into_iter().map(Path::to_owned).collect();
        let alias = |named: &PathBuf| Some(Alias { real: real(named)?, named: named.clone() });
        let aliases = named.iter().filter_map(alias).filter(|alias| alias.real != alias.named).collect();
        Self { named, aliases }
    }

    /// Returns every path that a policy names.
    pub(crate) fn named(&self) -> &[PathBuf] {
        &self.named
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

/// Resolves the links of a path whose last components may not exist.
fn real(path: &Path) -> Option<PathBuf> {
    path.ancestors().find_map(|existing| {
        let real = existing.canonicalize().ok()?;
        let rest = path.strip_prefix(existing).ok()?;
        Some(if rest.as_os_str().is_empty() { real } else { real.join(rest) })
    })
}
