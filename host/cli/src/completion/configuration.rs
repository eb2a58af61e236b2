//! The blocks in the files of the configuration: of the root module, and of the modules that it calls,
//! if they are in local directories or installed.

use std::path::{Path, PathBuf};

use wardian_app::module_manifest::read_installed_modules;
use wardian_config::InstalledModules;
use wardian_diagnostic::SourceFile;
use wardian_files::read_regular;
use wardian_lang::{Body, EmptyScope, parse_body};

use super::sources::entries;

/// Maximum total size of the files that are read.
const MAX_SIZE: u64 = 2 << 20;
/// Maximum number of modules that are read.
const MAX_MODULES: usize = 200;
/// Maximum depth of module calls.
const MAX_DEPTH: usize = 20;

/// The blocks of one module.
#[derive(Default)]
pub(super) struct Blocks {
    /// Addresses of resources and data sources.
    pub(super) resources: Vec<String>,
    pub(super) actions: Vec<String>,
    /// Variables with their descriptions.
    pub(super) variables: Vec<(String, String)>,
    /// Names and sources of module calls.
    calls: Vec<(String, String)>,
}

/// The addresses in a configuration, without the keys of instances.
#[derive(Default)]
pub(super) struct ConfiguredAddresses {
    /// Resources and data sources.
    pub(super) resources: Vec<String>,
    pub(super) modules: Vec<String>,
    pub(super) actions: Vec<String>,
}

/// Reads the files of a configuration. Files that cannot be read are omitted.
pub(super) struct ConfigurationReader<'a> {
    directory: &'a Path,
    data_directory: &'a Path,
    /// The size of the files that can still be read.
    left: u64,
    modules_left: usize,
    installed: Option<InstalledModules>,
}

impl<'a> ConfigurationReader<'a> {
    pub(super) fn new(directory: &'a Path, data_directory: &'a Path) -> Self {
        Self { directory, data_directory, left: MAX_SIZE, modules_left: MAX_MODULES, installed: None }
    }

    pub(super) fn root_blocks(&mut self) -> Blocks {
        self.blocks(self.directory)
    }

    /// Returns the addresses in the root module and in the called modules. Modules whose addresses do not
    /// begin with the typed word are not read.
    pub(super) fn addresses(&mut self, word: &str) -> ConfiguredAddresses {
        let mut found = ConfiguredAddresses::default();
        let mut open = vec![(self.directory.to_owned(), String::new(), String::new(), 0)];
        while let Some((directory, prefix, key, depth)) = open.pop() {
            let Some(left) = self.modules_left.checked_sub(1) else { break };
            self.modules_left = left;
            let blocks = self.blocks(&directory);
            found.resources.extend(blocks.resources.iter().map(|address| format!("{prefix}{address}")));
            found.actions.extend(blocks.actions.iter().map(|address| format!("{prefix}{address}")));
            for (name, source) in blocks.calls {
                let address = format!("{prefix}module.{name}");
                let inner = format!("{address}.");
                let key = if key.is_empty() { name } else { format!("{key}.{name}") };
                if depth < MAX_DEPTH
                    && (inner.starts_with(word) || word.starts_with(&inner))
                    && let Some(directory) = self.module_directory(&directory, &source, &key)
                {
                    open.push((directory, inner, key, depth + 1));
                }
                found.modules.push(address);
            }
        }
        found
    }

    /// Returns the directory of a called module; `None` if it is not installed.
    fn module_directory(&mut self, caller: &Path, source: &str, key: &str) -> Option<PathBuf> {
        if source.starts_with("./") || source.starts_with("../") {
            return Some(caller.join(source));
        }
        let installed = self.installed.get_or_insert_with(|| read_installed_modules(self.data_directory));
        Some(self.directory.join(&installed.get(key)?.directory))
    }

    fn blocks(&mut self, directory: &Path) -> Blocks {
        let mut blocks = Blocks::default();
        for path in entries(directory) {
            let name = path.to_string_lossy();
            let (is_native, is_json) = (name.ends_with(".tf"), name.ends_with(".tf.json"));
            if !is_native && !is_json {
                continue;
            }
            let Ok(bytes) = read_regular(&path, self.left) else { continue };
            self.left = self.left.saturating_sub(bytes.len() as u64);
            let Ok(text) = String::from_utf8(bytes) else { continue };
            if is_json {
                blocks.add_json(&text);
            } else {
                blocks.add(&parse_body(&SourceFile::new(name.to_string(), text)).0);
            }
        }
        blocks
    }
}

impl Blocks {
    fn add(&mut self, body: &Body) {
        let text = |body: &Body, name: &str| {
            let attribute = body.attribute(name);
            let value = attribute.and_then(|one| one.expression.evaluate(&EmptyScope).ok());
            value.as_ref().and_then(|value| value.as_str()).unwrap_or_default().to_owned()
        };
        for block in &body.blocks {
            match (&*block.kind, &*block.label_texts()) {
                ("resource", [kind, name]) => self.resources.push(format!("{kind}.{name}")),
                ("data", [kind, name]) => self.resources.push(format!("data.{kind}.{name}")),
                ("action", [kind, name]) => self.actions.push(format!("action.{kind}.{name}")),
                ("module", [name]) => self.calls.push(((*name).to_owned(), text(&block.body, "source"))),
                ("variable", [name]) => {
                    self.variables.push(((*name).to_owned(), first_line(&text(&block.body, "description"))));
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
        let text = |value: &serde_json::Value, name: &str| {
            value.get(name).and_then(serde_json::Value::as_str).unwrap_or_default().to_owned()
        };
        for (block, prefix) in [("resource", ""), ("data", "data."), ("action", "action.")] {
            for (kind, named) in members(&document, block) {
                let names = named.as_object().into_iter().flatten();
                let addresses = names.map(|(name, _)| format!("{prefix}{kind}.{name}"));
                let found = if block == "action" { &mut self.actions } else { &mut self.resources };
                found.extend(addresses);
            }
        }
        for (name, call) in members(&document, "module") {
            self.calls.push((name, text(&call, "source")));
        }
        for (name, variable) in members(&document, "variable") {
            self.variables.push((name, first_line(&text(&variable, "description"))));
        }
    }
}

fn first_line(text: &str) -> String {
    text.trim().lines().next().unwrap_or_default().to_owned()
}
