//! The state after a step, as checks read it.

use std::collections::BTreeMap;

use serde_json::Value as Json;
use wardian_address::ResourceMode;
use wardian_engine::{Schemas, decode_stored};
use wardian_state::State;
use wardian_value::{Marks, Value, json};

use crate::environment::ReturnedIdentities;
use crate::plan_check::missing;
use wardian_sdk::testing::value_path::{ValuePath, shown};

/// The objects and outputs of a state.
#[derive(Clone, Debug, Default)]
pub struct TestedState {
    objects: BTreeMap<String, TestedObject>,
    outputs: BTreeMap<String, Value>,
}

/// An object of a state. Sensitive parts of its value are marked.
#[derive(Clone, Debug)]
pub(crate) struct TestedObject {
    pub(crate) mode: ResourceMode,
    pub(crate) value: Value,
    pub(crate) identity: Option<Json>,
}

impl TestedState {
    /// Decodes the objects of a state with the schemas of their types. Objects of another schema version
    /// are omitted.
    pub(crate) fn new(state: &State, schemas: &Schemas, returned: &ReturnedIdentities) -> Self {
        let mut objects = BTreeMap::new();
        for (address, provider, instance) in state.instances() {
            let schema = schemas.resource(&provider.provider, address.mode(), address.type_name());
            let (Some(object), Some(schema)) = (&instance.current, schema) else { continue };
            let Some(value) = decode_stored(object, schema) else { continue };
            let identity = object.identity.as_ref();
            let identity = identity.and_then(|identity| serde_json::from_str(&identity.attributes).ok());
            let identity = identity.or_else(|| returned.get(&address.to_string()));
            objects.insert(address.to_string(), TestedObject { mode: address.mode(), value, identity });
        }
        let outputs = state.outputs.iter().map(|(name, output)| {
            let marks = if output.sensitive { Marks::SENSITIVE } else { Marks::NONE };
            (name.to_string(), output.value.clone().with_marks(marks))
        });
        Self { objects, outputs: outputs.collect() }
    }

    /// Returns the addresses of all managed objects.
    ///
    /// ```
    /// assert_eq!(wardian_acceptance::TestedState::default().managed().count(), 0);
    /// ```
    pub fn managed(&self) -> impl Iterator<Item = &str> {
        let is_managed = |(_, object): &(&String, &TestedObject)| object.mode == ResourceMode::Managed;
        self.objects.iter().filter(is_managed).map(|(address, _)| address.as_str())
    }

    /// Returns an attribute as JSON.
    ///
    /// # Errors
    /// Returns an error if the state has no such object or attribute.
    ///
    /// ```
    /// let state = wardian_acceptance::TestedState::default();
    /// let error = state.json("cloud_server.web", "id").unwrap_err();
    /// assert_eq!(error, "the state has no cloud_server.web, only nothing.");
    /// ```
    pub fn json(&self, address: &str, path: &str) -> Result<Json, String> {
        self.value(address, path).map(|value| json::to_json_value(&value))
    }

    /// Returns an attribute that is a string.
    ///
    /// # Errors
    /// Returns an error if the state has no such object or attribute, or if it is not a string.
    ///
    /// ```
    /// assert!(wardian_acceptance::TestedState::default().text("cloud_server.web", "id").is_err());
    /// ```
    pub fn text(&self, address: &str, path: &str) -> Result<String, String> {
        let value = self.value(address, path)?;
        let text = value.as_str().map(ToOwned::to_owned);
        text.ok_or_else(|| format!("{address}.{path} is not a string"))
    }

    /// Returns a value without marks.
    pub(crate) fn value(&self, address: &str, path: &str) -> Result<Value, String> {
        let (value, _) = self.find(address, path)?;
        Ok(value.unmark_deep())
    }

    pub(crate) fn shown(&self, address: &str, path: &str) -> Result<String, String> {
        let (value, is_sensitive) = self.find(address, path)?;
        Ok(shown(value, is_sensitive))
    }

    fn find(&self, address: &str, path: &str) -> Result<(&Value, bool), String> {
        let object = self.object(address)?;
        let path = ValuePath::parse(path).map_err(|error| error.to_string())?;
        path.find(&object.value).ok_or_else(|| format!("{address}.{} does not exist", path.text()))
    }

    pub(crate) fn object(&self, address: &str) -> Result<&TestedObject, String> {
        self.objects.get(address).ok_or_else(|| {
            let known: Vec<String> = self.objects.keys().cloned().collect();
            missing("the state", address, &known)
        })
    }

    pub(crate) fn output(&self, name: &str) -> Result<(&Value, bool), String> {
        let known = || self.outputs.keys().cloned().collect::<Vec<_>>();
        let value = self
            .outputs
            .get(name)
            .ok_or_else(|| missing("the state", &format!("output {name}"), &known()))?;
        Ok((value, !value.inside_marks().is_empty()))
    }

    /// Returns the managed objects with their IDs, for a message about objects that may still exist.
    pub(crate) fn with_ids(&self) -> Vec<String> {
        let ids = self.managed().map(|address| match self.text(address, "id") {
            Ok(id) => format!("{address} (id = {id:?})"),
            Err(_) => address.to_owned(),
        });
        ids.collect()
    }
}
