//! Replaces values that differ in every run with stable names.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::{Map, Value};
use wardian_end_to_end::Project;

/// Members that Terraform and Wardian write differently.
const OWN: [&str; 2] = ["terraform_version", "serial"];

/// Lists that Terraform writes in arbitrary order.
const UNORDERED: [&str; 4] = ["relevant_attributes", "check_results", "checks", "objects"];

static UUID: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}").unwrap());
static TIME: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)").unwrap());
/// Random numbers that identify an object.
static NUMBER: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\b[1-9]\d{15,19}\b").unwrap());
/// bcrypt hashes, whose salt is random.
static HASH: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\$2[aby]\$\d\d\$[./A-Za-z0-9]{53}").unwrap());

/// Names by order of appearance in a scenario.
#[derive(Debug)]
pub struct Names {
    known: BTreeMap<String, String>,
    /// Keys of deposed objects. The keys are so short that they are recognized only by their
    /// position.
    deposed: BTreeMap<String, String>,
    folders: Vec<PathBuf>,
}

impl Names {
    pub fn new(project: &Project) -> Self {
        let folder = project.path("");
        let folders = folder.canonicalize().ok().into_iter().chain([folder]).collect();
        Self { known: BTreeMap::new(), deposed: BTreeMap::new(), folders }
    }

    /// Replaces values in text with stable names.
    pub fn text(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        for folder in &self.folders {
            text = text.replace(&folder.display().to_string(), "[FOLDER]");
        }
        let mut name = |found: &Captures<'_>| {
            let next = format!("id-{}", self.known.len() + 1);
            self.known.entry(found[0].to_owned()).or_insert(next).clone()
        };
        let text = UUID.replace_all(&text, &mut name);
        let text = NUMBER.replace_all(&text, &mut name);
        let text = HASH.replace_all(&text, "[HASH]");
        TIME.replace_all(&text, "[TIME]").into_owned()
    }

    /// Replaces values in JSON with stable names.
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
                        // The state contains the summary and the detail of an error in a check,
                        // unless its condition failed; the detail differs between Terraform and
                        // Wardian.
                        ("message", Value::String(text)) => Value::String(self.text(summary_of(&text))),
                        ("failure_messages", Value::Array(items)) => {
                            let short = |item: &Value| item.as_str().map(summary_of).map(Value::from);
                            self.value(Value::Array(items.iter().filter_map(short).collect()))
                        }
                        ("resources", Value::Array(mut items)) => {
                            // A resource whose creation failed may remain in the state without
                            // instances.
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

/// Returns the text before the first colon.
fn summary_of(message: &str) -> &str {
    message.split_once(": ").map_or(message, |(summary, _)| summary)
}
