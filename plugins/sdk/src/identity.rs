//! What identifies an object beyond its state, so that an import can name it.

use wardian_value::Type;

/// The identity of a resource type's objects.
#[derive(Debug, Default)]
pub struct IdentitySchema {
    pub(crate) version: i64,
    pub(crate) attributes: Vec<IdentityAttribute>,
}

/// An attribute of an identity: a primitive or a list of primitives.
#[derive(Debug)]
pub struct IdentityAttribute {
    pub(crate) name: String,
    pub(crate) ty: Type,
    pub(crate) required_for_import: bool,
    pub(crate) description: String,
}

impl IdentitySchema {
    /// An identity without attributes, of version 0.
    pub fn new() -> Self {
        Self::default()
    }

    /// The version that identities are stored with.
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
    /// An attribute that an import by identity must give.
    pub fn required(name: impl Into<String>, ty: Type) -> Self {
        Self { name: name.into(), ty, required_for_import: true, description: String::new() }
    }

    /// An attribute that an import by identity may give.
    pub fn optional(name: impl Into<String>, ty: Type) -> Self {
        Self { required_for_import: false, ..Self::required(name, ty) }
    }

    /// What it is for.
    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.description = text.into();
        self
    }
}
