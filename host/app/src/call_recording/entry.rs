//! The format of recorded calls.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};
use wardian_engine::sensitive_paths;
use wardian_plugin::{ListEvent, PluginDiagnostics, REDACTED, RawState, Schema, SensitiveValues, Severity};
use wardian_value::{Path, PathMarks, Type, Value, View, msgpack};

/// The text of an unknown value in JSON.
const UNKNOWN: &str = "(unknown)";

/// A recorded call, as it is written.
#[derive(Serialize)]
pub(super) struct CallRecord<'a> {
    pub(super) plugin: &'a str,
    pub(super) call: &'static str,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub(super) type_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) resource: Option<&'a str>,
    pub(super) milliseconds: f64,
    pub(super) request: Map<String, Json>,
    pub(super) response: Map<String, Json>,
}

/// A recorded call, as it is read.
#[derive(Clone, Debug, Deserialize)]
pub struct RecordedCall {
    /// The full address of the plugin.
    pub plugin: String,
    /// The function, with its name in the plugin protocol.
    pub call: String,
    #[serde(rename = "type", default)]
    pub type_name: Option<String>,
    /// The address of the object for which the call was made.
    #[serde(default)]
    pub resource: Option<String>,
    pub milliseconds: f64,
    /// The arguments.
    pub request: BTreeMap<String, RecordedValue>,
    /// The response.
    pub response: BTreeMap<String, RecordedValue>,
}

/// An argument or a part of a response.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum RecordedValue {
    /// A value of the plugin protocol.
    Exact {
        /// The value for readers.
        value: Json,
        /// The value with its type, as base64 of MessagePack.
        exact: String,
    },
    /// Bytes that only the plugin interprets.
    Bytes {
        /// The number of bytes, for readers.
        value: Json,
        /// The bytes, as base64.
        bytes: String,
    },
    /// Any other data.
    Plain(Json),
}

impl RecordedValue {
    /// Returns the value for readers.
    pub fn json(&self) -> &Json {
        match self {
            Self::Exact { value, .. } | Self::Bytes { value, .. } | Self::Plain(value) => value,
        }
    }

    /// Returns whether the values and their types are the same.
    pub fn is_same(&self, other: &Self) -> bool {
        self.json() == other.json() && self.base64() == other.base64()
    }

    fn base64(&self) -> Option<&str> {
        match self {
            Self::Exact { exact: base64, .. } | Self::Bytes { bytes: base64, .. } => Some(base64),
            Self::Plain(_) => None,
        }
    }

    /// Returns the value with its type; `None` if it is not a value of the plugin protocol, or is damaged.
    pub(super) fn decode(&self) -> Option<Value> {
        match self {
            Self::Exact { exact, .. } => {
                msgpack::decode(&BASE64_STANDARD.decode(exact).ok()?, &Type::Dynamic).ok()
            }
            Self::Bytes { .. } | Self::Plain(_) => None,
        }
    }

    /// Returns recorded bytes or text as bytes; `None` for other data, or if it is damaged.
    pub(super) fn bytes(&self) -> Option<Vec<u8>> {
        match self {
            Self::Bytes { bytes, .. } => BASE64_STANDARD.decode(bytes).ok(),
            Self::Plain(Json::String(text)) => Some(text.as_bytes().to_vec()),
            Self::Exact { .. } | Self::Plain(_) => None,
        }
    }
}

/// Collects the arguments or the response of a call, and redacts them.
pub(super) struct Fields {
    secrets: SensitiveValues,
    /// The schema of objects, whose sensitive attributes are secrets.
    schema: Option<Arc<Schema>>,
    values: Map<String, Json>,
}

impl Fields {
    pub(super) fn new(secrets: &SensitiveValues, schema: Option<Arc<Schema>>) -> Self {
        Self { secrets: SensitiveValues::chain([secrets.clone()]), schema, values: Map::new() }
    }

    /// Returns empty fields that have the same secrets, and those that become known later.
    pub(super) fn following(&self) -> Self {
        Self::new(&self.secrets, self.schema.clone())
    }

    pub(super) fn finish(self) -> Map<String, Json> {
        self.values
    }

    /// Adds a field. A repeated name gets a number.
    fn insert(&mut self, name: &str, value: Json) {
        let mut unique = name.to_owned();
        let mut count = 1;
        while self.values.contains_key(&unique) {
            count += 1;
            unique = format!("{name}_{count}");
        }
        self.values.insert(unique, value);
    }

    pub(super) fn value(&mut self, name: &str, value: &Value) {
        let plain = value.unmark_deep();
        let masked = match &self.schema {
            Some(schema) => {
                self.secrets.add_by_schema(&plain, schema);
                masked(&plain, &sensitive_paths(&schema.block, &plain))
            }
            None => plain,
        };
        let redacted = redacted(&masked, &self.secrets);
        let json = readable(&redacted);
        let text = json.to_string();
        let checked = self.secrets.redact(&text);
        let json = if checked == text {
            match msgpack::encode(&redacted, &Type::Dynamic) {
                Ok(bytes) => json!({ "value": json, "exact": BASE64_STANDARD.encode(bytes) }),
                Err(_) => json,
            }
        } else {
            // A key of a map is a secret, so the call cannot be repeated.
            serde_json::from_str(&checked).unwrap_or_else(|_| Json::from(checked.into_owned()))
        };
        self.insert(name, json);
    }

    pub(super) fn optional(&mut self, name: &str, value: Option<&Value>) {
        if let Some(value) = value {
            self.value(name, value);
        }
    }

    pub(super) fn text(&mut self, name: &str, text: &str) {
        let text = self.secrets.redact(text).into_owned();
        self.insert(name, Json::from(text));
    }

    pub(super) fn number(&mut self, name: &str, number: i64) {
        self.insert(name, Json::from(number));
    }

    pub(super) fn flag(&mut self, name: &str, value: bool) {
        self.insert(name, Json::from(value));
    }

    /// Adds private data. Its content has no known format. If it contains a secret, only text is recorded,
    /// which is redacted.
    pub(super) fn private(&mut self, name: &str, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let value = format!("{} bytes", bytes.len());
        match str::from_utf8(bytes) {
            Ok(text) => self.text(name, text),
            Err(_) if self.has_secret(&String::from_utf8_lossy(bytes)) => {
                self.insert(name, Json::from(value));
            }
            Err(_) => {
                let bytes = BASE64_STANDARD.encode(bytes);
                self.insert(name, json!({ "value": value, "bytes": bytes }));
            }
        }
    }

    fn has_secret(&self, text: &str) -> bool {
        *self.secrets.redact(text) != *text
    }

    pub(super) fn raw_state(&mut self, name: &str, raw: &RawState) {
        if let Some(schema) = &self.schema {
            self.secrets.add_stored(raw, schema);
        }
        match raw {
            RawState::Json(text) => self.text(name, text),
            RawState::Flatmap(map) => {
                let entries: Map<String, Json> = map
                    .iter()
                    .map(|(key, value)| (key.clone(), Json::from(self.secrets.redact(value).into_owned())))
                    .collect();
                self.insert(name, Json::Object(entries));
            }
        }
    }

    /// Adds fields as one value, which readers see without its exact form.
    pub(super) fn group(&mut self, name: &str, fields: Self) {
        let entries = fields.values.into_iter().map(|(name, value)| {
            let is_exact = |value: &Json| value.get("exact").is_some();
            let value = if is_exact(&value) { value["value"].clone() } else { value };
            (name, value)
        });
        self.insert(name, Json::Object(entries.collect()));
    }

    /// Adds a result of a list.
    pub(super) fn list_event(&mut self, event: &ListEvent) {
        self.text("name", &event.display_name);
        self.optional("identity", event.identity.as_ref());
        self.optional("object", event.resource_object.as_ref());
        self.diagnostics(&event.diagnostics);
    }

    pub(super) fn paths(&mut self, name: &str, paths: &[Path]) {
        if !paths.is_empty() {
            let paths: Vec<String> = paths.iter().map(ToString::to_string).collect();
            self.insert(name, Json::from(paths));
        }
    }

    pub(super) fn diagnostics(&mut self, diagnostics: &PluginDiagnostics) {
        if diagnostics.is_empty() {
            return;
        }
        let all: Vec<Json> = diagnostics
            .iter()
            .map(|one| {
                let severity = if one.severity == Severity::Error { "error" } else { "warning" };
                json!({
                    "severity": severity,
                    "summary": self.secrets.redact(&one.summary),
                    "detail": self.secrets.redact(&one.detail),
                    "attribute": one.attribute.as_ref().map(ToString::to_string),
                })
            })
            .collect();
        self.insert("diagnostics", Json::Array(all));
    }
}

/// Returns the value without the parts at these paths: strings are replaced by a placeholder, and other
/// values by null, because a replayed call needs values of the same type.
fn masked(value: &Value, secret: &PathMarks) -> Value {
    if secret.is_empty() {
        return value.clone();
    }
    value.transform(&mut |path, part| {
        let is_secret = secret.iter().any(|(secret, _)| secret == path);
        match part.view() {
            View::Null | View::Unknown => part,
            View::String(_) if is_secret => Value::from(REDACTED),
            _ if is_secret => Value::null(part.ty().clone()),
            _ => part,
        }
    })
}

/// Returns the value without secrets in strings.
fn redacted(value: &Value, secrets: &SensitiveValues) -> Value {
    value.transform(&mut |_, part| match part.view() {
        View::String(text) => {
            let redacted = secrets.redact(text);
            if *redacted == **text { part } else { Value::from(redacted.into_owned()) }
        }
        // The elements of a set have no paths, so they have not been visited.
        View::Set(elements) => {
            let elements: Vec<Value> = elements.iter().map(|element| redacted(element, secrets)).collect();
            match part.ty().element() {
                Some(element) => Value::set(element.clone(), elements),
                None => part,
            }
        }
        _ => part,
    })
}

/// Returns a value as JSON for readers.
fn readable(value: &Value) -> Json {
    match value.view() {
        View::Null => Json::Null,
        View::Bool(value) => Json::from(value),
        View::String(text) => Json::from(text.to_string()),
        View::Number(number) => {
            let text = number.to_string();
            serde_json::from_str(&text).unwrap_or(Json::String(text))
        }
        View::List(elements) | View::Tuple(elements) | View::Set(elements) => {
            elements.iter().map(readable).collect()
        }
        View::Map(entries) | View::Object(entries) => {
            Json::Object(entries.iter().map(|(name, value)| (name.to_string(), readable(value))).collect())
        }
        View::Unknown => Json::from(UNKNOWN),
    }
}

#[cfg(test)]
mod tests;
