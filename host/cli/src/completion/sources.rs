//! The values in the files of the working directory.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use wardian_address::{ResourceAddress, ResourceInstanceAddress, ResourceMode};
use wardian_app::compatibility::DEFAULT_WORKSPACE;
use wardian_app::workspaces::{self, Workspace};
use wardian_app::{ProcessEnvironment, backend, catalog, saved_plan};
use wardian_files::read_regular;
use wardian_install::lock_file::{LOCK_FILE_NAME, LockFile};
use wardian_state::{StateOutline, read_outline};

use super::candidate::{Candidate, Ending};
use super::configuration::{ConfigurationReader, ConfiguredAddresses};
use super::value_kind::ValueKind;

/// Maximum size of a state file that is read.
const MAX_STATE_SIZE: u64 = 64 << 20;
/// Maximum number of directory entries that are listed.
const MAX_ENTRIES: usize = 2000;
/// Maximum number of files of which the first bytes are read to recognize saved plans.
const MAX_PLAN_CHECKS: usize = 200;

/// The files of a configuration's directory.
pub(super) struct Sources<'a> {
    directory: &'a Path,
    /// The file in `-state`.
    state: Option<&'a str>,
    environment: &'a ProcessEnvironment,
}

impl<'a> Sources<'a> {
    pub(super) fn new(
        directory: &'a Path,
        state: Option<&'a str>,
        environment: &'a ProcessEnvironment,
    ) -> Self {
        Self { directory, state, environment }
    }

    /// Returns the values of a kind. `word` is the typed part of the value.
    pub(super) fn values(&self, kind: ValueKind, word: &str) -> Vec<Candidate> {
        match kind {
            ValueKind::Listed(values) => {
                values.into_iter().map(|(value, about)| Candidate::new(value, about, Ending::Word)).collect()
            }
            ValueKind::Variable => self.variables(),
            ValueKind::VariableFile => self.files(word, |path| {
                let name = path.to_string_lossy();
                name.ends_with(".tfvars") || name.ends_with(".tfvars.json")
            }),
            ValueKind::Plan => {
                let mut checks = 0..MAX_PLAN_CHECKS;
                self.files(word, |path| checks.next().is_some() && is_plan(path))
            }
            ValueKind::File => self.files(word, |_| true),
            ValueKind::Directory => self.files(word, |_| false),
            ValueKind::StateAddress => state_addresses(&self.outline()),
            ValueKind::ManagedInstance => {
                let instances = self.outline().instances;
                let managed = instances.iter().filter(|address| address.mode() == ResourceMode::Managed);
                managed.map(|address| Candidate::address(address.to_string())).collect()
            }
            ValueKind::Target => {
                let configured = self.configured(word);
                let configured = configured.resources.into_iter().chain(configured.modules);
                let configured = configured.map(Candidate::address);
                configured.chain(state_addresses(&self.outline())).collect()
            }
            ValueKind::ConfiguredResource => {
                let resources = self.configured(word).resources.into_iter();
                resources.filter(|address| is_managed(address)).map(Candidate::address).collect()
            }
            ValueKind::ConfiguredAction => {
                self.configured(word).actions.into_iter().map(Candidate::address).collect()
            }
            ValueKind::Workspace => self.workspaces(),
            ValueKind::Output => self.outline().outputs.into_iter().map(Candidate::word).collect(),
            ValueKind::Provider => self.providers(),
            ValueKind::Plugin => {
                let components = self.files(word, |path| path.extension().is_some_and(|end| end == "wasm"));
                self.providers().into_iter().chain(components).collect()
            }
            ValueKind::Free => Vec::new(),
        }
    }

    fn data_directory(&self) -> PathBuf {
        self.directory.join(self.environment.data_directory())
    }

    /// Returns the outline of the state; empty if it is not in a local file.
    fn outline(&self) -> StateOutline {
        let path = match self.state {
            Some(path) => Some(PathBuf::from(path)),
            None => self.workspace_file(),
        };
        let bytes = path.and_then(|path| read_regular(&self.directory.join(path), MAX_STATE_SIZE).ok());
        bytes.and_then(|bytes| read_outline(&bytes).ok()).unwrap_or_default()
    }

    fn workspace_file(&self) -> Option<PathBuf> {
        let local = backend::recorded_local_backend(&self.data_directory()).ok()??;
        Some(local.state_path(&self.selected_workspace()))
    }

    fn selected_workspace(&self) -> String {
        Workspace::selected_in(self.environment, &self.data_directory())
            .map_or_else(|_| DEFAULT_WORKSPACE.to_owned(), |workspace| workspace.name)
    }

    /// Returns the workspaces. Those of a remote backend are not requested: only the selected one is
    /// known.
    fn workspaces(&self) -> Vec<Candidate> {
        let mut names = BTreeSet::from([DEFAULT_WORKSPACE.to_owned(), self.selected_workspace()]);
        if let Ok(Some(local)) = backend::recorded_local_backend(&self.data_directory()) {
            let entries = fs::read_dir(self.directory.join(local.workspace_directory()));
            let directories = entries.into_iter().flatten().flatten().take(MAX_ENTRIES);
            let directories = directories.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
            names.extend(directories.filter_map(|entry| entry.file_name().into_string().ok()));
        }
        names.into_iter().filter(|name| workspaces::is_name(name)).map(Candidate::word).collect()
    }

    /// Returns the addresses in the configuration that may begin with the typed word.
    fn configured(&self, word: &str) -> ConfiguredAddresses {
        let data_directory = self.data_directory();
        ConfigurationReader::new(self.directory, &data_directory).addresses(word)
    }

    fn variables(&self) -> Vec<Candidate> {
        let data_directory = self.data_directory();
        let blocks = ConfigurationReader::new(self.directory, &data_directory).root_blocks();
        let variables = blocks.variables.into_iter();
        variables.map(|(name, about)| Candidate::new(format!("{name}="), about, Ending::Open)).collect()
    }

    /// Returns the files that begin with a typed path, and the directories.
    fn files(&self, word: &str, mut is_wanted: impl FnMut(&Path) -> bool) -> Vec<Candidate> {
        let parent = word.rfind('/').map_or("", |slash| &word[..=slash]);
        let start = &word[parent.len()..];
        let directory = match parent.strip_prefix("~/").zip(self.environment.home()) {
            Some((rest, home)) => home.join(rest),
            None => self.directory.join(parent),
        };
        let mut found = Vec::new();
        for path in entries(&directory) {
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
            let is_hidden = name.starts_with('.') && !start.starts_with('.');
            if is_hidden || !name.starts_with(start) {
                continue;
            }
            if path.is_dir() {
                found.push(Candidate::open(format!("{parent}{name}/")));
            } else if is_wanted(&path) {
                found.push(Candidate::word(format!("{parent}{name}")));
            }
        }
        found
    }

    /// Returns the providers in the lock file and the embedded ones.
    fn providers(&self) -> Vec<Candidate> {
        let lock = LockFile::load(&self.directory.join(LOCK_FILE_NAME));
        let locked = lock.into_iter().flat_map(|loaded| {
            let addresses: Vec<String> =
                loaded.lock.providers.keys().map(|address| address.for_display().to_string()).collect();
            addresses
        });
        let catalog = catalog::embedded();
        let embedded = catalog.iter().map(|plugin| plugin.address.for_display().to_string());
        locked.chain(embedded).map(Candidate::word).collect()
    }
}

/// Returns the instances in the state, and the resources and modules that contain several of them.
fn state_addresses(outline: &StateOutline) -> Vec<Candidate> {
    let mut addresses = Vec::with_capacity(outline.instances.len());
    let mut previous: Option<&ResourceInstanceAddress> = None;
    for address in &outline.instances {
        if previous.is_none_or(|previous| previous.resource != address.resource) && !address.key.is_none() {
            addresses.push(Candidate::address(address.resource.to_string()));
        }
        if previous.is_none_or(|previous| previous.module() != address.module()) {
            let mut module = address.module().clone();
            while !module.is_root() {
                addresses.push(Candidate::address(module.to_string()));
                module = module.parent().map(|(parent, _)| parent).unwrap_or_default();
            }
        }
        addresses.push(Candidate::address(address.to_string()));
        previous = Some(address);
    }
    addresses
}

/// Returns whether an address in the configuration is that of a managed resource.
fn is_managed(address: &str) -> bool {
    address.parse::<ResourceAddress>().is_ok_and(|address| address.mode == ResourceMode::Managed)
}

/// Returns the entries of a directory in the order of their names. If there are too many, some are
/// omitted.
pub(super) fn entries(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.take(MAX_ENTRIES).map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// Returns whether a file is a saved plan.
fn is_plan(path: &Path) -> bool {
    use std::io::Read as _;
    let Ok(file) = wardian_files::open_regular(path) else { return false };
    let mut start = Vec::new();
    file.take(4096).read_to_end(&mut start).is_ok() && saved_plan::is_plan(&start)
}
