//! Finding an existing object.

use serde::Serialize;

use crate::{Diagnostics, Object, Result};

/// What an import names an object by, and what is known of it so far.
pub struct Import {
    pub(crate) type_name: String,
    pub(crate) id: Option<String>,
    pub(crate) identity: Option<Object>,
    pub(crate) state: Object,
}

impl Import {
    /// The identifier that the person gave. An error where an identity was given
    /// instead.
    pub fn id(&self) -> Result<&str> {
        self.id.as_deref().ok_or_else(|| {
            Diagnostics::error(
                "Import by identity not supported",
                "This resource is imported by an identifier.",
            )
        })
    }

    /// The identity that was given instead of an identifier.
    pub fn identity(&self) -> Option<&Object> {
        self.identity.as_ref()
    }

    /// Takes the identifier as this attribute and leaves the rest to a read.
    pub fn passthrough(&mut self, attribute: &str) -> Result<()> {
        let id = self.id()?.to_owned();
        self.state.set(attribute, &id)
    }

    /// Sets an attribute of the object.
    pub fn set<T: Serialize + ?Sized>(&mut self, attribute: &str, value: &T) -> Result<()> {
        self.state.set(attribute, value)
    }

    /// Sets all attributes of the object.
    pub fn set_state<T: Serialize>(&mut self, state: &T) -> Result<()> {
        self.state.replace(state)
    }

    /// The error for an identifier that is not of the form that the resource has.
    pub fn invalid_id(&self, expected: &str) -> Diagnostics {
        let id = self.id.as_deref().unwrap_or_default();
        Diagnostics::error(
            "Unexpected Import Identifier",
            format!("The import identifier of {} has to be {expected}, got: {id:?}", self.type_name),
        )
    }

    pub(crate) fn not_supported(&self) -> Diagnostics {
        Diagnostics::error(
            "Resource Import Not Implemented",
            format!("Objects of type {} cannot be imported.", self.type_name),
        )
    }
}
