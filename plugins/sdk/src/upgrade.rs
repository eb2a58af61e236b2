//! Converts stored objects from earlier schema versions and from other resource types.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use wardian_value::{Type, Value};

use crate::model::to_value;
use crate::{Diagnostics, Result};

type Run = Box<dyn Fn(&Json, &Type) -> Result<Value>>;

/// Upgrades states of one earlier schema version to the current version.
///
/// ```
/// use serde::{Deserialize, Serialize};
/// use wardian_sdk::StateUpgrader;
///
/// #[derive(Deserialize)]
/// struct ServerV0 {
///     title: String,
/// }
///
/// #[derive(Serialize)]
/// struct Server {
///     name: String,
/// }
///
/// let typed = StateUpgrader::new(0, |old: ServerV0| Ok(Server { name: old.title }));
/// let untyped = StateUpgrader::json(1, |state| {
///     state["size"] = 8.into();
///     Ok(())
/// });
/// ```
pub struct StateUpgrader {
    pub(crate) from: i64,
    pub(crate) run: Run,
}

impl StateUpgrader {
    /// Creates a state upgrader for version `from` that converts between two Rust types. `Old` is
    /// decoded from the stored JSON. Its serde attributes determine how absent attributes are
    /// treated, and unknown attributes are ignored.
    pub fn new<Old: DeserializeOwned, New: Serialize>(
        from: i64,
        upgrade: impl Fn(Old) -> Result<New> + 'static,
    ) -> Self {
        Self {
            from,
            run: Box::new(move |json, ty| {
                let old = Old::deserialize(json).map_err(|error| {
                    Diagnostics::error("Unable to read the stored state", error.to_string())
                })?;
                to_value(&upgrade(old)?, ty).map_err(Diagnostics::from)
            }),
        }
    }

    /// Creates a state upgrader for version `from` that changes the stored JSON. The result is
    /// decoded with the current schema. Attributes that the schema does not have are dropped, and
    /// absent attributes become null.
    pub fn json(from: i64, upgrade: impl Fn(&mut Json) -> Result<()> + 'static) -> Self {
        Self {
            from,
            run: Box::new(move |json, ty| {
                let mut json = json.clone();
                upgrade(&mut json)?;
                crate::stored::from_json(&json, ty)
            }),
        }
    }
}

/// The source of a move: an object of another resource type.
///
/// ```
/// use serde::Deserialize;
/// use wardian_sdk::{MoveSource, Result};
///
/// #[derive(Deserialize)]
/// struct Machine {
///     label: String,
/// }
///
/// fn name_of(source: &MoveSource) -> Result<Option<String>> {
///     match source.type_name() {
///         "other_machine" => Ok(Some(source.decode::<Machine>()?.label)),
///         _ => Ok(None),
///     }
/// }
/// ```
pub struct MoveSource {
    pub(crate) provider_address: String,
    pub(crate) type_name: String,
    pub(crate) schema_version: i64,
    pub(crate) state: Json,
    pub(crate) private: Vec<u8>,
}

impl MoveSource {
    /// Returns the full address of the object's provider.
    pub fn provider_address(&self) -> &str {
        &self.provider_address
    }

    /// Returns the object's resource type.
    pub fn type_name(&self) -> &str {
        &self.type_name
    }

    /// Returns the schema version with which the object was stored.
    pub fn schema_version(&self) -> i64 {
        self.schema_version
    }

    /// Returns the stored attributes.
    pub fn state(&self) -> &Json {
        &self.state
    }

    /// Decodes the stored attributes to a Rust type.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T> {
        T::deserialize(&self.state)
            .map_err(|error| Diagnostics::error("Unable to read the stored state", error.to_string()))
    }

    /// Returns the object's private data.
    pub fn private(&self) -> &[u8] {
        &self.private
    }
}
