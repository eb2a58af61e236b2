//! The values in the files of the working directory.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use wardian_address::{ResourceInstanceAddress, ResourceMode};
use wardian_app::compatibility::DEFAULT_WORKSPACE;
use wardian_app::workspaces::{self, Workspace};
use wardian_app::{ProcessEnvironment, backend, catalog, saved_plan};
use wardian_diagnostic::SourceFile;
use wardian_files::read_regular;
use wardian_install::lock_file::{LOCK_FILE_NAME, LockFile};
use wardian_lang::{Body, EmptyScope, parse_body};
use wardian_state::{StateOutline, read_outline};

use super::candidate::{Candidate, Ending};
use super::value_kind::ValueKind;

/// Maximum size of a state file that is read.
const MAX_STATE_SIZE: u64 = 64 << 20;
/// Maximum total size of the configuration files that are read.
const MAX_CONFIGURATION_SIZE: u64 = 2 << 20;
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

/// The blocks of the root module.
#[derive(Default)]
struct Blocks {
    /// Addresses of resources and data sources.
    resources: Vec<String>,
    modules: Vec<String>,
    actions: Vec<String>,
    /// Variables with their descriptions.
    variables: Vec<(String, String)>,
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
                let Blocks { resources, modules, .. } = self.blocks();
                let configured = resources.into_iter().chain(modules).map(Candidate::address);
                configured.chain(state_addresses(&self.outline())).collect()
            }
            ValueKind::ConfiguredResource => {
                let managed = |address: &String| !address.starts_with("data.");
                self.blocks().resources.into_iter().filter(managed).map(Candidate::address).collect()
            }
            ValueKind::ConfiguredAction => {
                self.blocks().actions.into_iter().map(Candidate::address).collect()
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

    fn variables(&self) -> Vec<Candidate> {
        let variables = self.blocks().variables.into_iter();
        variables.map(|(name, about)| Candidate::new(format!("{name}="), about, Ending::Open)).collect()
    }

    /// Returns the blocks in the files of the root module. Files that cannot be read are omitted.
    fn blocks(&self) -> Blocks {
        let mut blocks = Blocks::default();
        let mut size = MAX_CONFIGURATION_SIZE;
        for path in entries(self.directory) {
            let name = path.to_string_lossy();
            let (is_native, is_json) = (name.ends_with(".tf"), name.ends_with(".tf.json"));
            if !is_native && !is_json {
                continue;
            }
            let Ok(bytes) = read_regular(&path, size) else { continue };
            size = size.saturating_sub(bytes.len() as u64);
            let Ok(text) = String::from_utf8(bytes) else { continue };
            if is_json {
                blocks.add_json(&text);
            } else {
                blocks.add(&parse_body(&SourceFile::new(name.to_string(), text)).0);
            }
        }
        blocks
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

impl Blocks {
    fn add(&mut self, body: &Body) {
        for block in &body.blocks {
            match (&*block.kind, &*block.label_texts()) {
                ("resource", [kind, name]) => self.resources.push(format!("{kind}.{name}")),
                ("data", [kind, name]) => self.resources.push(format!("data.{kind}.{name}")),
                ("action", [kind, name]) => self.actions.push(format!("action.{kind}.{name}")),
                ("module", [name]) => self.modules.push(format!("module.{name}")),
                ("variable", [name]) => {
                    let description = block.body.attribute("description");
                    let value = description.and_then(|one| one.expression.evaluate(&EmptyScope).ok());
                    let text = value.as_ref().and_then(|value| value.as_str()).unwrap_or_default();
                    self.variables.push(((*name).to_owned(), first_line(text)));
                }
                _ => {}
            }
        }
    }

    fn add_json(&mut self, text: &str) {
        let Ok(document) = serde_json::from_str::<serde_json::Value>(text) else { return };
        let members = |value: &serde_json::Value, name: &str| -> Vec<(String, serde_json::Value)> {
            let object = value.get(name).and_then(serde_json::Value::as_object);
            object.into_iter().flatten().map(|(name, value)| (name.clone(), value.clone())).collect()
        };
        for (block, prefix) in [("resource", ""), ("data", "data.")] {
            for (kind, resources) in members(&document, block) {
                let names = resources.as_object().into_iter().flatten();
                self.resources.extend(names.map(|(name, _)| format!("{prefix}{kind}.{name}")));
            }
        }
        self.modules.extend(members(&document, "module").iter().map(|(name, _)| format!("module.{name}")));
        for (name, variable) in members(&document, "variable") {
            let description = variable.get("description").and_then(serde_json::Value::as_str);
            self.variables.push((name, first_line(description.unwrap_or_default())));
        }
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

/// Returns the entries of a directory in the order of their names. If there are too many, some are
/// omitted.
fn entries(directory: &Path) -> Vec<PathBuf> {
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

fn first_line(text: &str) -> String {
    text.trim().lines().next().unwrap_or_default().to_owned()
}
