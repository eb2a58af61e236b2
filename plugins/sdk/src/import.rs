//! Imports of existing objects.

use serde::Serialize;

use crate::{Diagnostics, Object, Result};

/// An import request, and the known attributes of the imported object.
pub struct Import {
    pub(crate) type_name: String,
    pub(crate) id: Option<String>,
    pub(crate) identity: Option<Object>,
    pub(crate) state: Object,
}

impl Import {
    /// Returns the identifier that the user specified. Returns an error if the user specified an
    /// identity instead.
    pub fn id(&self) -> Result<&str> {
        self.id.as_deref().ok_or_else(|| {
            Diagnostics::error(
                "Import by identity not supported",
                "To import this resource, specify an identifier.",
            )
        })
    }

    /// Returns the identity, if the user specified one instead of an identifier.
    pub fn identity(&self) -> Option<&Object> {
        self.identity.as_ref()
    }

    /// Sets the attribute to the identifier. A read then determines the other attributes.
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

    /// Returns the error for an identifier that does not have the expected format.
    pub fn invalid_id(&self, expected: &str) -> Diagnostics {
        let id = self.id.as_deref().unwrap_or_default();
        Diagnostics::error(
            "Unexpected Import Identifier",
            format!("The import identifier of {} must be {expected}, got: {id:?}", self.type_name),
        )
    }

    pub(crate) fn not_supported(&self) -> Diagnostics {
        Diagnostics::error(
            "Resource Import Not Implemented",
            format!("Objects of type {} cannot be imported.", self.type_name),
        )
    }
}
