//! Resource identities: attributes with which an import can identify an object.

use wardian_value::Type;

/// The schema of a resource type's identity.
///
/// ```
/// use wardian_sdk::{IdentityAttribute, IdentitySchema, Type};
///
/// let identity = IdentitySchema::new()
///     .attribute(IdentityAttribute::required_for_import("name", Type::String))
///     .attribute(IdentityAttribute::optional_for_import("zone", Type::String));
/// ```
#[derive(Debug, Default)]
pub struct IdentitySchema {
    pub(crate) version: i64,
    pub(crate) attributes: Vec<IdentityAttribute>,
}

/// An identity attribute: a primitive or a list of primitives.
///
/// ```
/// use wardian_sdk::{IdentityAttribute, Type};
///
/// let name = IdentityAttribute::required_for_import("name", Type::String).description("The name of the server.");
/// ```
#[derive(Debug)]
pub struct IdentityAttribute {
    pub(crate) name: String,
    pub(crate) ty: Type,
    pub(crate) required_for_import: bool,
    pub(crate) description: String,
}

impl IdentitySchema {
    /// Creates an identity schema without attributes, of version 0.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the version with which identities are stored.
    #[must_use]
    pub fn version(mut self, version: i64) -> Self {
        self.version = version;
        self
    }

    /// Adds an attribute.
    #[must_use]
    pub fn attribute(mut self, attribute: IdentityAttribute) -> Self {
        self.attributes.push(attribute);
        self
    }

    pub(crate) fn ty(&self) -> Type {
        Type::object(self.attributes.iter().map(|a| (a.name.as_str(), a.ty.clone())))
    }
}

impl IdentityAttribute {
    /// Creates an attribute that an import by identity must set.
    pub fn required_for_import(name: impl Into<String>, ty: Type) -> Self {
        Self { name: name.into(), ty, required_for_import: true, description: String::new() }
    }

    /// Creates an attribute that an import by identity may set.
    pub fn optional_for_import(name: impl Into<String>, ty: Type) -> Self {
        Self { required_for_import: false, ..Self::required_for_import(name, ty) }
    }

    /// Sets the description.
    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.description = text.into();
        self
    }
}
