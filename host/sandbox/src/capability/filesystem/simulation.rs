//! Simulates two plugins that perform random file operations in turn, with an oracle that detects
//! escapes.
//!
//! Each plugin has its own grants, which may be nested in the other plugin's grants. Between
//! operations, the host reads files for the operator, and a new run may begin, in which the grants
//! are resolved again. The oracle does not use this crate's resolution: the kernel reports the path
//! of each opened file, and each file that plugins must not read contains its own path. An escape
//! is an access to a file, or a change to a file, outside of the grants.
//!
//! Most operations use existing paths, for which path resolution succeeds. Many paths are in
//! directories that both plugins may access.
//!
//! Compiled for tests, and for the fuzz target `file_access`.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Timespec, Timestamps, UTIME_NOW};
use wardian_access::FileOperation;
use wardian_address::ProviderAddress;
use wardian_diagnostic::SourceFile;
use wardian_files::{FileScope, LastLink, WritableDirectories};
use wardian_monitor::{AuditLog, Monitor, PluginIdentity};
use wardian_plugin::PluginCall;
use wardian_policy::{Level, Policy, PolicyFile};

use super::file_guard::FileGuard;
use super::granted::GrantedFiles;
use super::implicit_preopens::PathRoot;
use super::operations::{self, Directory, Opened, Opening, Pair};
use crate::cpu_budget::CpuClock;
use crate::current_call::CurrentCall;
use crate::limits::{EffectiveLimits, SandboxLimits};

/// Chooses the next steps of the simulation.
pub trait Choices {
    /// Returns a number less than `count`; `None` ends the simulation.
    fn choose(&mut self, count: usize) -> Option<usize>;
}

/// Pseudo-random choices.
pub struct SeededChoices {
    state: u64,
    left: usize,
}

impl SeededChoices {
    /// Returns a sequence of choices that ends after approximately `operations` operations.
    pub fn new(seed: u64, operations: usize) -> Self {
        Self { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1, left: operations.saturating_mul(10) }
    }
}

impl Choices for SeededChoices {
    fn choose(&mut self, count: usize) -> Option<usize> {
        self.left = self.left.checked_sub(1)?;
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        usize::try_from(self.state >> 11).ok()?.checked_rem(count)
    }
}

/// Choices from a fuzzer's bytes.
impl Choices for std::slice::Iter<'_, u8> {
    fn choose(&mut self, count: usize) -> Option<usize> {
        usize::from(*self.next()?).checked_rem(count)
    }
}

/// The results of a simulation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Simulated {
    pub operations: u64,
    /// Operations that succeeded.
    pub done: u64,
    /// Files that were opened, and compared with the grants.
    pub opened: u64,
    /// Successful symbolic links, hard links and renames in a directory that both plugins may
    /// access, or between directories of different plugins.
    pub shared: u64,
}

impl std::ops::AddAssign for Simulated {
    fn add_assign(&mut self, other: Self) {
        self.operations += other.operations;
        self.done += other.done;
        self.opened += other.opened;
        self.shared += other.shared;
    }
}

/// The grants of two plugins. Directories are relative to the project.
struct Layout {
    plugins: [PluginRules; 2],
}

struct PluginRules {
    write: &'static [&'static str],
    read: &'static [&'static str],
    deny: &'static [&'static str],
}

const LAYOUTS: [Layout; 4] = [
    Layout {
        plugins: [
            PluginRules { write: &["out", "out/cache", "shared"], read: &[], deny: &["shared/b/secret"] },
            PluginRules { write: &["shared/b"], read: &["out/cache"], deny: &[] },
        ],
    },
    Layout {
        plugins: [
            PluginRules { write: &["."], read: &[], deny: &["private", "shared/b/secret"] },
            PluginRules { write: &["out/cache"], read: &["shared"], deny: &[] },
        ],
    },
    Layout {
        plugins: [
            PluginRules { write: &["out"], read: &[], deny: &[] },
            PluginRules { write: &["out/cache/deep"], read: &["out/cache"], deny: &[] },
        ],
    },
    Layout {
        plugins: [
            PluginRules { write: &["out/a", "shared/a"], read: &["out"], deny: &["out/a/secret"] },
            PluginRules { write: &["shared", "shared/b/c/new"], read: &["shared/a"], deny: &[] },
        ],
    },
];

const NAMES: [&str; 12] =
    ["a", "b", "c", "out", "cache", "deep", "shared", "file", "up", "secret", "new", "private"];
const TARGETS: [&str; 14] = [
    "a",
    "b/c",
    "file",
    "..",
    "../..",
    "../../..",
    "../../../elsewhere/key",
    "../private/secret",
    "/etc",
    ".",
    "cache/deep",
    "c/../..",
    "../secret",
    "up",
];
/// Directories and files of the simulation. Each file contains its own path.
const DIRECTORIES: [&str; 8] = [
    "project/out/cache/deep",
    "project/out/a",
    "project/shared/a",
    "project/shared/b/c",
    "project/shared/b/secret",
    "project/private",
    "elsewhere",
    "other",
];
const FILES: [&str; 10] = [
    "project/out/file",
    "project/out/cache/file",
    "project/out/cache/deep/file",
    "project/shared/file",
    "project/shared/b/file",
    "project/shared/b/secret/file",
    "project/private/secret",
    "project/main.tf",
    "elsewhere/key",
    "other/file",
];
const LINKS: [(&str, &str); 6] = [
    ("project/out/cache/up", "../../private/secret"),
    ("project/out/cache/deep/up", "../../.."),
    ("project/shared/up", "b/c"),
    ("project/shared/b/up", "../../../elsewhere"),
    ("project/shared/a/up", "../../private"),
    ("project/alias", "shared"),
];
/// The number of operations after which all files are restored.
const OPERATIONS_PER_WORLD: u64 = 2_000;
/// The number of operations after which the existing paths are listed again.
const OPERATIONS_PER_LISTING: u64 = 16;

/// The kind of path with which an operation can succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PathKind {
    Any,
    /// Not a directory.
    File,
    Directory,
    /// A name in a directory, which need not exist.
    New,
}

/// A path that exists.
struct KnownPath {
    /// Relative to the project.
    path: String,
    is_directory: bool,
    /// Whether each plugin may write it.
    writable: [bool; 2],
    /// Whether each plugin may read or write it.
    accessible: [bool; 2],
}

struct Plugin {
    rules: &'static PluginRules,
    guard: FileGuard,
    held: Vec<Directory>,
}

struct World<'a> {
    root: &'a Path,
    project: PathBuf,
    layout: &'static Layout,
    plugins: Vec<Plugin>,
    writable: Vec<PathBuf>,
    scope: FileScope,
    confined: FileScope,
    outside: Vec<(PathBuf, u64, Vec<u8>)>,
    /// The paths that existed in the project when it was last listed.
    known: Vec<KnownPath>,
    simulated: Simulated,
}

/// Simulates two plugins until the choices end, in an empty directory whose path contains no
/// symbolic links.
///
/// # Errors
/// Returns the description of an escape, or of a failure to prepare the files.
pub fn simulate(root: &Path, choices: &mut dyn Choices) -> Result<Simulated, String> {
    let mut simulated = Simulated::default();
    while let Some(layout) = choices.choose(LAYOUTS.len()) {
        let Some(layout) = LAYOUTS.get(layout) else { continue };
        prepare(root).map_err(|error| format!("the files cannot be prepared: {error}"))?;
        let mut world = World::new(root, layout, simulated)?;
        let mut is_over = false;
        for count in 1..=OPERATIONS_PER_WORLD {
            if world.step(choices)?.is_none() {
                is_over = true;
                break;
            }
            if count % 128 == 0 {
                world.check_outside()?;
            }
        }
        world.check_outside()?;
        simulated = world.simulated;
        if is_over {
            break;
        }
    }
    Ok(simulated)
}

fn prepare(root: &Path) -> io::Result<()> {
    for entry in fs::read_dir(root)? {
        let path = entry?.path();
        if path.is_dir() && !path.is_symlink() { fs::remove_dir_all(&path)? } else { fs::remove_file(&path)? }
    }
    for directory in DIRECTORIES {
        fs::create_dir_all(root.join(directory))?;
    }
    for file in FILES {
        fs::write(root.join(file), file)?;
    }
    LINKS.iter().try_for_each(|(link, target)| symlink(target, root.join(link)))
}

fn policy(layout: &Layout, project: &Path) -> Result<Policy, String> {
    let mut text = String::new();
    for (name, rules) in ["one", "two"].into_iter().zip(&layout.plugins) {
        let _ = writeln!(text, "plugin \"acme/{name}\" {{");
        for (effect, directories, access) in
            [("allow", rules.write, "\"read\", \"write\""), ("allow", rules.read, "\"read\"")]
                .into_iter()
                .chain([("deny", rules.deny, "\"read\", \"write\"")])
        {
            if !directories.is_empty() {
                let _ = writeln!(
                    text,
                    "{effect} filesystem {{\n directories = {directories:?}\n access = [{access}]\n}}"
                );
            }
        }
        text += "}\n";
    }
    let source = SourceFile::new("wardian.policy.hcl", text);
    let file = PolicyFile::parse(Level::RootModule, &source, project).map_err(|error| error.to_string())?;
    Ok(Policy::new(project, [file], []))
}

impl Plugin {
    fn new(name: &str, rules: &'static PluginRules, policy: &Policy, project: &Path) -> Result<Self, String> {
        let address = ProviderAddress::parse(name).map_err(|error| error.to_string())?;
        let policy = policy.for_plugin(&address);
        let clock = CpuClock::new(&EffectiveLimits::new(&SandboxLimits::default(), &policy));
        let files = Arc::new(GrantedFiles::by_policy(&policy, project));
        let identity = PluginIdentity { address, version: None, sha256: None, confinement: None };
        let monitor = Monitor::new(policy, identity, Arc::new(AuditLog::disabled()));
        let call = CurrentCall::new(monitor, PluginCall::outside_of_calls(&Arc::from(name)));
        Ok(Self { rules, guard: FileGuard::new(files, call, Arc::new(clock), None), held: Vec::new() })
    }

    fn may(&self, project: &Path, path: &Path, access: FileOperation) -> bool {
        may(self.rules, project, path, access)
    }
}

fn may(rules: &PluginRules, project: &Path, path: &Path, access: FileOperation) -> bool {
    let within = |directories: &[&str]| {
        let mut directories = directories.iter();
        directories
            .any(|name| path.starts_with(if *name == "." { project.to_owned() } else { project.join(name) }))
    };
    let granted = within(rules.write) || access == FileOperation::Read && within(rules.read);
    granted && !within(rules.deny)
}

impl<'a> World<'a> {
    fn new(root: &'a Path, layout: &'static Layout, simulated: Simulated) -> Result<Self, String> {
        let project = root.join("project");
        let writable: Vec<PathBuf> = layout
            .plugins
            .iter()
            .flat_map(|rules| rules.write)
            .map(|name| if *name == "." { project.clone() } else { project.join(name) })
            .collect();
        let system = |error: io::Error| error.to_string();
        let directories = Arc::new(WritableDirectories::new(writable.iter().cloned()));
        let mut world = Self {
            root,
            layout,
            plugins: Vec::new(),
            scope: FileScope::anywhere(directories).map_err(system)?,
            confined: FileScope::confined(&project).map_err(system)?,
            project,
            writable,
            outside: Vec::new(),
            known: Vec::new(),
            simulated,
        };
        world.start_run()?;
        world.outside = world.files_outside();
        Ok(world)
    }

    /// Begins another run: grants are resolved again.
    fn start_run(&mut self) -> Result<(), String> {
        let policy = policy(self.layout, &self.project)?;
        let plugins = ["acme/one", "acme/two"].into_iter().zip(&self.layout.plugins);
        self.plugins = plugins
            .map(|(name, rules)| Plugin::new(name, rules, &policy, &self.project))
            .collect::<Result<_, _>>()?;
        Ok(())
    }

    /// Returns the files and directories that no plugin may write, with their identities and
    /// contents.
    fn files_outside(&self) -> Vec<(PathBuf, u64, Vec<u8>)> {
        let mut found = Vec::new();
        self.collect_outside(self.root, &mut found);
        found.sort();
        found
    }

    fn collect_outside(&self, directory: &Path, found: &mut Vec<(PathBuf, u64, Vec<u8>)>) {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let path = entry.path();
            let is_writable = |rules| may(rules, &self.project, &path, FileOperation::Write);
            let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
            if self.layout.plugins.iter().any(is_writable) {
                // A denied directory can be below a writable one.
                if metadata.is_dir() {
                    self.collect_outside(&path, found);
                }
                continue;
            }
            let content = if metadata.is_file() { fs::read(&path).unwrap_or_default() } else { Vec::new() };
            found.push((path.clone(), metadata.ino(), content));
            if metadata.is_dir() {
                self.collect_outside(&path, found);
            }
        }
    }

    fn check_outside(&self) -> Result<(), String> {
        let now = self.files_outside();
        // A granted directory that is missing may be created with its parents.
        let is_parent = |path: &PathBuf| self.writable.iter().any(|writable| writable.starts_with(path));
        let changed = now.iter().find(|file| !self.outside.contains(file) && !is_parent(&file.0));
        if let Some((path, _, content)) = changed {
            return Err(format!("{} was changed: {}", path.display(), String::from_utf8_lossy(content)));
        }
        match self.outside.iter().find(|file| !now.contains(file)) {
            Some((path, ..)) => Err(format!("{} was removed or changed", path.display())),
            None => Ok(()),
        }
    }

    /// Lists the existing paths in the project, including the project directory itself.
    fn list_known(&mut self) {
        let mut known = vec![self.known_path(String::new(), true)];
        let mut next = 0;
        while let Some(directory) = known.get(next) {
            next += 1;
            if !directory.is_directory {
                continue;
            }
            let entries = fs::read_dir(self.project.join(&directory.path)).into_iter().flatten().flatten();
            let mut entries: Vec<KnownPath> = entries
                .filter_map(|entry| {
                    let name = entry.file_name().into_string().ok()?;
                    let path =
                        if directory.path.is_empty() { name } else { format!("{}/{name}", directory.path) };
                    Some(self.known_path(path, entry.file_type().ok()?.is_dir()))
                })
                .collect();
            // The system lists entries in arbitrary order, but the operations must depend only on
            // the seed.
            entries.sort_by(|one, other| one.path.cmp(&other.path));
            known.append(&mut entries);
        }
        self.known = known;
    }

    fn known_path(&self, path: String, is_directory: bool) -> KnownPath {
        let writable = self.granted(&path, &[FileOperation::Write]);
        let accessible = self.accessible(&path);
        KnownPath { path, is_directory, writable, accessible }
    }

    /// Whether each plugin may read or write a path, determined without resolving the path.
    fn accessible(&self, path: &str) -> [bool; 2] {
        self.granted(path, &[FileOperation::Read, FileOperation::Write])
    }

    fn granted(&self, path: &str, operations: &[FileOperation]) -> [bool; 2] {
        let path = self.project.join(path);
        self.layout
            .plugins
            .each_ref()
            .map(|rules| operations.iter().any(|operation| may(rules, &self.project, &path, *operation)))
    }

    /// Performs one operation. Returns `None` at the end of the simulation.
    fn step(&mut self, choices: &mut dyn Choices) -> Result<Option<()>, String> {
        if self.simulated.operations.is_multiple_of(OPERATIONS_PER_LISTING) {
            self.list_known();
        }
        let (Some(kind), Some(index)) = (choices.choose(64), choices.choose(2)) else { return Ok(None) };
        let options = match kind {
            6..=25 => choices.choose(64),
            _ => Some(0),
        };
        let Some(how) = options.map(opening) else { return Ok(None) };
        let path_kind = match kind {
            6..=25 if how.create => PathKind::New,
            6..=25 if how.directory => PathKind::Directory,
            6..=25 | 41..=43 | 49 | 51..=54 => PathKind::File,
            26..=40 => PathKind::New,
            44..=46 => PathKind::Directory,
            _ => PathKind::Any,
        };
        let Some(path) = self.choose_path(index, path_kind, choices) else { return Ok(None) };
        self.simulated.operations += 1;
        match kind {
            0 => return self.start_run().map(Some),
            1..=5 => return self.read_for_operator(&path).map(Some),
            _ => {}
        }
        let accessible = self.accessible(&path);
        let mut is_shared = matches!(kind, 34..=40) && accessible == [true, true];
        let Some((directory, path, is_held)) = self.choose_start(index, path, choices) else {
            return Ok(None);
        };
        let Some(plugin) = self.plugins.get(index) else { return Ok(Some(())) };
        let Ok(directory) = directory else { return Ok(Some(())) };
        let guard = &plugin.guard;
        let done = match kind {
            6..=25 => {
                let opened = operations::open(guard, &directory, &path, how);
                return self.check_opened(index, is_held, &path, how, opened.ok()).map(Some);
            }
            26..=31 => operations::create_directory(guard, &directory, &path, 0o777).is_ok(),
            32..=33 => operations::create_directories(guard, &directory, &path, 0o777).is_ok(),
            34..=40 => {
                let Some(target) = choices.choose(TARGETS.len()) else { return Ok(None) };
                let target = TARGETS.get(target).copied().unwrap_or("a");
                operations::create_link(guard, &directory, target, &path).is_ok()
            }
            41..=43 => operations::remove_file(guard, &directory, &path).is_ok(),
            44..=46 => operations::remove_directory(guard, &directory, &path).is_ok(),
            47 => operations::set_mode(guard, &directory, &path, 0o755).is_ok(),
            48 => {
                let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
                let times = Timestamps { last_access: now, last_modification: now };
                operations::set_times(guard, &directory, &path, LastLink::Follow, &times).is_ok()
            }
            49 => operations::read_link(guard, &directory, &path).is_ok(),
            50 => operations::look_at(guard, &directory, &path, LastLink::Follow).is_ok(),
            _ => {
                let Some(to) = self.choose_path(index, PathKind::New, choices) else { return Ok(None) };
                let there = self.accessible(&to);
                is_shared = there == [true, true] || there != accessible;
                let Some((to, new, _)) = self.choose_start(index, to, choices) else { return Ok(None) };
                let Ok(to) = to else { return Ok(Some(())) };
                let pair = Pair { from: (&directory, &path), to: (&to, &new) };
                match kind {
                    51..=54 => operations::create_hard_link(guard, &pair).is_ok(),
                    _ => operations::rename(guard, &pair).is_ok(),
                }
            }
        };
        self.simulated.done += u64::from(done);
        self.simulated.shared += u64::from(done && is_shared);
        Ok(Some(()))
    }

    /// Returns a path relative to the project. With most of these paths, an operation of the plugin
    /// can succeed.
    fn choose_path(&self, index: usize, kind: PathKind, choices: &mut dyn Choices) -> Option<String> {
        let preference = choices.choose(16)?;
        let is_suitable = |known: &&KnownPath| {
            let is_kind = match kind {
                PathKind::Any => true,
                PathKind::File => !known.is_directory,
                PathKind::Directory | PathKind::New => known.is_directory,
            };
            is_kind
                && match preference {
                    0 => false,
                    1 => true,
                    2..=7 => known.accessible == [true, true],
                    _ => known.writable.get(index) == Some(&true),
                }
        };
        let suitable: Vec<&KnownPath> = self.known.iter().filter(is_suitable).collect();
        if suitable.is_empty() {
            return Self::choose_names(choices);
        }
        let mut path = suitable.get(choices.choose(suitable.len())?)?.path.clone();
        if kind == PathKind::New {
            if !path.is_empty() {
                path.push('/');
            }
            path.push_str(NAMES.get(choices.choose(NAMES.len())?)?);
        }
        Some(path)
    }

    /// Returns any path relative to the project.
    fn choose_names(choices: &mut dyn Choices) -> Option<String> {
        let mut path = match choices.choose(8)? {
            0 => "",
            1 => "out/",
            2 => "out/cache/",
            3 => "shared/",
            4 => "shared/b/",
            5 => "out/cache/deep/",
            6 => "shared/a/",
            _ => "out/a/",
        }
        .to_owned();
        for _ in 0..=choices.choose(3)? {
            let name = choices.choose(NAMES.len() + 2)?;
            path += NAMES.get(name).copied().unwrap_or("..");
            path.push('/');
        }
        if choices.choose(8)? != 0 {
            path.pop();
        }
        Some(path)
    }

    /// Returns the directory at which a plugin's path begins, and the rest of the path.
    #[allow(clippy::type_complexity, reason = "the type is used only once")]
    fn choose_start(
        &self,
        index: usize,
        path: String,
        choices: &mut dyn Choices,
    ) -> Option<(Result<Directory, ()>, String, bool)> {
        let plugin = self.plugins.get(index)?;
        let way = choices.choose(8)?;
        if way <= 1 && !plugin.held.is_empty() {
            let held = plugin.held.get(choices.choose(plugin.held.len())?)?;
            let rest = self.below_held(held, &path);
            return Some((Ok(held.clone()), if rest.is_empty() { ".".into() } else { rest }, true));
        }
        // As in a guest's C library, the directory with the longest matching name is used.
        let directories = plugin.guard.files().directories().iter();
        let matching = directories
            .filter_map(|granted| {
                let rest = path.strip_prefix(granted.guest.as_str())?;
                let rest = if rest.is_empty() { rest } else { rest.strip_prefix('/')? };
                Some((granted, rest))
            })
            .min_by_key(|(_, rest)| rest.len());
        if way != 2
            && let Some((granted, rest)) = matching
        {
            let rest = if rest.is_empty() { "." } else { rest };
            return Some((Ok(Directory::Granted(Arc::clone(&granted.root))), rest.to_owned(), false));
        }
        let root = PathRoot::WorkingDirectory.directory(&plugin.guard, &path, FileOperation::Read);
        Some((root.map_err(|_| ()), path, false))
    }

    /// Returns a path relative to the directory of a handle, if the path was below the directory
    /// when the handle was opened. Otherwise, returns the end of the path.
    fn below_held(&self, held: &Directory, path: &str) -> String {
        let absolute = self.project.join(path);
        let rest = match held {
            Directory::Opened { base, .. } => absolute.strip_prefix(base.path()).ok(),
            Directory::Granted(_) => None,
        };
        match rest.and_then(Path::to_str) {
            Some(rest) => rest.to_owned(),
            None => path.split_once('/').map_or(path, |(_, rest)| rest).to_owned(),
        }
    }

    fn check_opened(
        &mut self,
        index: usize,
        is_held: bool,
        path: &str,
        how: Opening,
        opened: Option<Opened>,
    ) -> Result<(), String> {
        let Some(opened) = opened else { return Ok(()) };
        self.simulated.done += 1;
        self.simulated.opened += 1;
        let handle = match &opened {
            Opened::File(file, _) => file.try_clone(),
            Opened::Directory(directory) => directory.try_clone_file(),
        };
        let mut handle = handle.map_err(|error| error.to_string())?;
        let real = real_path(&handle)?;
        // If another plugin has moved the directory of a handle, the file is now in a directory
        // that is granted to that plugin.
        let checks: &[usize] = if is_held { &[0, 1] } else { std::slice::from_ref(&index) };
        let allowed = |access| {
            checks
                .iter()
                .filter_map(|index| self.plugins.get(*index))
                .any(|plugin| plugin.may(&self.project, &real, access))
        };
        let reads = how.read || !how.writes();
        // A directory is opened to resolve paths in it.
        let is_file = matches!(opened, Opened::File(..));
        let visible = allowed(FileOperation::Read) || allowed(FileOperation::Write);
        if !visible
            || is_file && reads && !allowed(FileOperation::Read)
            || is_file && how.writes() && !allowed(FileOperation::Write)
        {
            return Err(format!("plugin {index} opened {} as {path} ({how:?})", real.display()));
        }
        if is_file && reads {
            let mut content = String::new();
            handle.read_to_string(&mut content).map_err(|error| error.to_string())?;
            self.check_content(&content, &real)?;
        }
        match opened {
            Opened::File(mut file, _) if how.writes() => {
                file.write_all(b"written").map_err(|error| error.to_string())?;
            }
            Opened::File(..) => {}
            Opened::Directory(base) => {
                if let Some(plugin) = self.plugins.get_mut(index) {
                    let is_writable = how.write || !plugin.rules.write.is_empty();
                    plugin.held.push(Directory::Opened { base, is_writable });
                    if plugin.held.len() > 8 {
                        plugin.held.remove(0);
                    }
                }
            }
        }
        Ok(())
    }

    /// Checks that the content of a file is not the content of a file that plugins must not read.
    fn check_content(&self, content: &str, real: &Path) -> Result<(), String> {
        let Some(file) = FILES.iter().find(|file| content.contains(**file)) else { return Ok(()) };
        let origin = self.root.join(file);
        let is_readable = |rules| may(rules, &self.project, &origin, FileOperation::Read);
        if self.layout.plugins.iter().any(is_readable) {
            return Ok(());
        }
        Err(format!("{} has the content of {file}", real.display()))
    }

    /// Reads a file for the operator, and under `-untrusted`.
    fn read_for_operator(&mut self, path: &str) -> Result<(), String> {
        let path = self.project.join(path);
        if let Ok(opened) = self.confined.open(&path) {
            let real = real_path(opened.file())?;
            if !real.starts_with(&self.project) {
                return Err(format!("{} was read under -untrusted as {}", real.display(), path.display()));
            }
        }
        // The outermost writable directory whose path is a prefix of this path, if this path
        // contains no `..`.
        let has_parent = path.components().any(|component| component == std::path::Component::ParentDir);
        let within = self.writable.iter().filter(|writable| path.starts_with(writable));
        let Some(within) = within.min_by_key(|writable| writable.as_os_str().len()) else { return Ok(()) };
        if has_parent {
            return Ok(());
        }
        let Ok(opened) = self.scope.open(&path) else { return Ok(()) };
        self.simulated.opened += 1;
        let real = real_path(opened.file())?;
        if real.starts_with(within) {
            return Ok(());
        }
        Err(format!("the host read {} as {}", real.display(), path.display()))
    }
}

fn real_path(file: &fs::File) -> Result<PathBuf, String> {
    fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).map_err(|error| error.to_string())
}

fn opening(options: usize) -> Opening {
    let has = |bit: usize| options & bit != 0;
    Opening {
        last: if has(1) { LastLink::Follow } else { LastLink::Keep },
        read: has(2),
        write: has(4),
        create: has(8),
        exclusive: has(8) && has(16),
        truncate: has(4) && has(32),
        directory: !has(8) && has(16),
        mode: 0o666,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(seed: u64, operations: usize) -> Simulated {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().canonicalize().unwrap();
        let simulated = simulate(&path, &mut SeededChoices::new(seed, operations));
        simulated.unwrap_or_else(|escape| panic!("seed {seed}: {escape}"))
    }

    /// `cargo xtask hostile files` runs this test with many more operations.
    #[test]
    fn no_file_is_reached_outside_of_the_grants() {
        let operations = std::env::var("WARDIAN_SIMULATED_OPERATIONS");
        let operations = operations.map_or(50_000, |number| number.parse::<u64>().unwrap());
        let mut all = Simulated::default();
        let mut seed = 1;
        while all.operations < operations {
            all += run(seed, 25_000);
            seed += 1;
        }
        println!("{all:?}");
        // Operations that fail test nothing, so enough operations must succeed.
        assert!(all.done * 4 >= all.operations, "{all:?}");
        assert!(all.opened * 20 >= all.operations && all.shared * 50 >= all.operations, "{all:?}");
    }

    /// Checks that the oracle detects an escape.
    #[test]
    fn changes_outside_of_the_grants_are_detected() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().canonicalize().unwrap();
        prepare(&path).unwrap();
        let world = World::new(&path, &LAYOUTS[0], Simulated::default()).unwrap();
        world.check_outside().unwrap();
        fs::write(path.join("project/out/new"), "inside").unwrap();
        world.check_outside().unwrap();
        fs::write(path.join("elsewhere/new"), "").unwrap();
        assert!(world.check_outside().unwrap_err().contains("elsewhere/new"));
        fs::remove_file(path.join("elsewhere/new")).unwrap();
        fs::remove_file(path.join("elsewhere/key")).unwrap();
        assert!(world.check_outside().is_err());
        assert!(world.check_content("elsewhere/key", Path::new("x")).is_err());
        assert!(world.check_content("project/out/file", Path::new("x")).is_ok());
    }
}
