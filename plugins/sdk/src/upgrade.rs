//! Stored objects of earlier versions and of other resource types.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use wardian_value::{Type, Value};

use crate::model::to_value;
use crate::{Diagnostics, Result};

type Run = Box<dyn Fn(&Json, &Type) -> Result<Value>>;

/// Brings states of one earlier schema version to the current schema.
pub struct Upgrader {
    pub(crate) from: i64,
    pub(crate) run: Run,
}

impl Upgrader {
    /// From a version, between two Rust types. `Old` reads the stored JSON: absent
    /// attributes are as serde's attributes say, unknown ones are ignored.
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

    /// From a version, by changing the stored JSON, which is then read by the
    /// current schema: attributes that it does not have are dropped, those that are
    /// absent become null.
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

/// An object of another resource type that is to be taken over.
pub struct MoveSource {
    pub(crate) provider_address: String,
    pub(crate) type_name: String,
    pub(crate) schema_version: i64,
    pub(crate) state: Json,
    pub(crate) private: Vec<u8>,
}

impl MoveSource {
    /// The full address of the provider that the object was of.
    pub fn provider_address(&self) -> &str {
        &self.provider_address
    }

    /// Its resource type.
    pub fn type_name(&self) -> &str {
        &self.type_name
    }

    /// The schema version that it was stored with.
    pub fn schema_version(&self) -> i64 {
        self.schema_version
    }

    /// Its attributes as they were stored.
    pub fn state(&self) -> &Json {
        &self.state
    }

    /// Its attributes as a Rust type.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T> {
        T::deserialize(&self.state)
            .map_err(|error| Diagnostics::error("Unable to read the stored state", error.to_string()))
    }

    /// Its private bytes.
    pub fn private(&self) -> &[u8] {
        &self.private
    }
}
