//! Stable names for what is made anew in every run.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::{Map, Value};
use wardian_end_to_end::Project;

/// What each program writes as its own.
const OWN: [&str; 2] = ["terraform_version", "serial"];

/// Lists that Terraform writes in no particular order.
const UNORDERED: [&str; 4] = ["relevant_attributes", "check_results", "checks", "objects"];

static UUID: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}").unwrap());
static TIME: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)").unwrap());

/// Names by order of appearance in a scenario.
#[derive(Debug)]
pub struct Names {
    known: BTreeMap<String, String>,
    /// Keys of deposed objects: short enough to be told from other text only where
    /// they stand.
    deposed: BTreeMap<String, String>,
    folders: Vec<PathBuf>,
}

impl Names {
    pub fn new(project: &Project) -> Self {
        let folder = project.path("");
        let folders = folder.canonicalize().ok().into_iter().chain([folder]).collect();
        Self { known: BTreeMap::new(), deposed: BTreeMap::new(), folders }
    }

    /// Text with stable names.
    pub fn text(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        for folder in &self.folders {
            text = text.replace(&folder.display().to_string(), "[FOLDER]");
        }
        let text = UUID.replace_all(&text, |found: &Captures<'_>| {
            let next = format!("id-{}", self.known.len() + 1);
            self.known.entry(found[0].to_owned()).or_insert(next).clone()
        });
        TIME.replace_all(&text, "[TIME]").into_owned()
    }

    /// A value with stable names.
    pub fn value(&mut self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(&text)),
            Value::Array(items) => Value::Array(items.into_iter().map(|item| self.value(item)).collect()),
            Value::Object(attributes) => {
                let mut named = Map::new();
                for (name, value) in attributes {
                    if OWN.contains(&&*name) {
                        continue;
                    }
                    let value = match (&*name, value) {
                        ("deposed" | "deposed_key", Value::String(key)) => Value::String(self.deposed(key)),
                        ("resources", Value::Array(mut items)) => {
                            // What could not be made may leave its name behind, with no object.
                            items.retain(|item| item["instances"] != Value::Array(Vec::new()));
                            self.value(Value::Array(items))
                        }
                        (name, Value::Array(mut items)) if UNORDERED.contains(&name) => {
                            items.sort_by_cached_key(ToString::to_string);
                            self.value(Value::Array(items))
                        }
                        (_, value) => self.value(value),
                    };
                    named.insert(self.text(&name), value);
                }
                Value::Object(named)
            }
            other => other,
        }
    }

    fn deposed(&mut self, key: String) -> String {
        let next = format!("deposed-{}", self.deposed.len() + 1);
        self.deposed.entry(key).or_insert(next).clone()
    }
}
