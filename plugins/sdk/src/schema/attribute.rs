//! Attributes of a schema.

use std::fmt;

use wardian_value::{Str, Type, Value};

use crate::modifier::{AttributeChange, Modifier};
use crate::validate::{self, Validator};

/// An attribute of a schema, a nested attribute or a block.
///
/// Made by a constructor for its type, and completed by chained calls. It is
/// optional unless something else is said.
pub struct Attribute {
    pub(crate) name: String,
    pub(crate) shape: Shape,
    pub(crate) description: String,
    pub(crate) deprecation: Deprecation,
    pub(crate) required: bool,
    pub(crate) optional: bool,
    pub(crate) computed: bool,
    pub(crate) sensitive: bool,
    pub(crate) write_only: bool,
    pub(crate) default: Option<Value>,
    pub(crate) validators: Vec<Validator>,
    pub(crate) modifiers: Vec<Modifier>,
}

/// What an attribute holds.
#[derive(Debug)]
pub(crate) enum Shape {
    Value(Type),
    Nested(Nesting, Vec<Attribute>),
}

/// How the objects of a nested attribute are collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nesting {
    /// One object.
    Single,
    /// A list.
    List,
    /// A set.
    Set,
    /// By string key.
    Map,
}

/// Whether something should no longer be used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Deprecation {
    #[default]
    None,
    Message(String),
}

/// Constructors.
impl Attribute {
    /// An attribute of any type.
    pub fn of(name: impl Into<String>, ty: Type) -> Self {
        Self::new(name.into(), Shape::Value(ty))
    }

    /// A string.
    pub fn string(name: impl Into<String>) -> Self {
        Self::of(name, Type::String)
    }

    /// A truth value.
    pub fn bool(name: impl Into<String>) -> Self {
        Self::of(name, Type::Bool)
    }

    /// A number.
    pub fn number(name: impl Into<String>) -> Self {
        Self::of(name, Type::Number)
    }

    /// A number that must be whole.
    pub fn integer(name: impl Into<String>) -> Self {
        Self::number(name).validate(validate::whole())
    }

    /// A list of elements of one type.
    pub fn list(name: impl Into<String>, element: Type) -> Self {
        Self::of(name, Type::list(element))
    }

    /// A set of elements of one type.
    pub fn set(name: impl Into<String>, element: Type) -> Self {
        Self::of(name, Type::set(element))
    }

    /// A map to elements of one type.
    pub fn map(name: impl Into<String>, element: Type) -> Self {
        Self::of(name, Type::map(element))
    }

    /// An object without a schema of its own.
    pub fn object<N: Into<Str>>(
        name: impl Into<String>,
        attributes: impl IntoIterator<Item = (N, Type)>,
    ) -> Self {
        Self::of(name, Type::object(attributes))
    }

    /// A value of whatever type the configuration gives ([`crate::Raw`] in a state).
    pub fn dynamic(name: impl Into<String>) -> Self {
        Self::of(name, Type::Dynamic)
    }

    /// An object whose attributes have schemas of their own.
    pub fn nested(name: impl Into<String>, attributes: impl IntoIterator<Item = Self>) -> Self {
        Self::nested_as(name, Nesting::Single, attributes)
    }

    /// A list of such objects.
    pub fn nested_list(name: impl Into<String>, attributes: impl IntoIterator<Item = Self>) -> Self {
        Self::nested_as(name, Nesting::List, attributes)
    }

    /// A set of such objects.
    pub fn nested_set(name: impl Into<String>, attributes: impl IntoIterator<Item = Self>) -> Self {
        Self::nested_as(name, Nesting::Set, attributes)
    }

    /// Such objects by key.
    pub fn nested_map(name: impl Into<String>, attributes: impl IntoIterator<Item = Self>) -> Self {
        Self::nested_as(name, Nesting::Map, attributes)
    }

    fn nested_as(
        name: impl Into<String>,
        nesting: Nesting,
        attributes: impl IntoIterator<Item = Self>,
    ) -> Self {
        Self::new(name.into(), Shape::Nested(nesting, attributes.into_iter().collect()))
    }

    fn new(name: String, shape: Shape) -> Self {
        Self {
            name,
            shape,
            description: String::new(),
            deprecation: Deprecation::None,
            required: false,
            optional: false,
            computed: false,
            sensitive: false,
            write_only: false,
            default: None,
            validators: Vec::new(),
            modifiers: Vec::new(),
        }
    }
}

/// Who sets it, and how it is shown.
impl Attribute {
    /// The configuration must set it.
    #[must_use]
    pub fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// The configuration may set it. That is so anyway where nothing else is said;
    /// together with [`Attribute::computed`] it has to be.
    #[must_use]
    pub fn optional(mut self) -> Self {
        self.optional = true;
        self
    }

    /// The provider sets it; with [`Attribute::optional`], where the configuration
    /// does not.
    #[must_use]
    pub fn computed(mut self) -> Self {
        self.computed = true;
        self
    }

    /// The value that it has where the configuration sets none. Makes it optional
    /// and computed.
    #[must_use]
    pub fn default(mut self, value: impl Into<Value>) -> Self {
        self.default = Some(value.into());
        self.optional = true;
        self.computed = true;
        self
    }

    /// Its value is not shown.
    #[must_use]
    pub fn sensitive(mut self) -> Self {
        self.sensitive = true;
        self
    }

    /// Its value is only ever in the configuration: read it with
    /// [`crate::Context::config`].
    #[must_use]
    pub fn write_only(mut self) -> Self {
        self.write_only = true;
        self
    }

    /// What it is for, in Markdown.
    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.description = text.into();
        self
    }

    /// It should no longer be used; the text says what to do instead.
    #[must_use]
    pub fn deprecated(mut self, text: impl Into<String>) -> Self {
        self.deprecation = Deprecation::Message(text.into());
        self
    }
}

/// Checks and plans.
impl Attribute {
    /// A check of its configuration; see [`crate::validate`].
    #[must_use]
    pub fn validate(mut self, validator: Validator) -> Self {
        self.validators.push(validator);
        self
    }

    /// A change of it replaces the object.
    #[must_use]
    pub fn force_new(mut self) -> Self {
        self.modifiers.push(Modifier::ForceNew);
        self
    }

    /// A change of it replaces the object, if the configuration sets it.
    #[must_use]
    pub fn force_new_if_configured(mut self) -> Self {
        self.modifiers.push(Modifier::ForceNewIfConfigured);
        self
    }

    /// A change of it replaces the object, if the condition holds for the change.
    #[must_use]
    pub fn force_new_if(mut self, condition: impl Fn(&AttributeChange<'_>) -> bool + 'static) -> Self {
        self.modifiers.push(Modifier::ForceNewIf(Box::new(condition)));
        self
    }

    /// It keeps its value once it has one, rather than being "known after apply"
    /// whenever something else changes.
    #[must_use]
    pub fn use_state_for_unknown(mut self) -> Self {
        self.modifiers.push(Modifier::UseStateForUnknown);
        self
    }

    /// Changes its planned value. Modifiers run in the order in which they are
    /// added, those of a nested attribute before those of its parts.
    #[must_use]
    pub fn modify_plan(
        mut self,
        modify: impl Fn(&mut AttributeChange<'_>) -> crate::Result<()> + 'static,
    ) -> Self {
        self.modifiers.push(Modifier::Custom(Box::new(modify)));
        self
    }
}

impl Attribute {
    /// The type of its values.
    pub fn ty(&self) -> Type {
        match &self.shape {
            Shape::Value(ty) => ty.clone(),
            Shape::Nested(nesting, attributes) => {
                nesting.collect(Type::object(attributes.iter().map(|a| (a.name.as_str(), a.ty()))))
            }
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn is_optional(&self) -> bool {
        self.optional || !(self.required || self.computed)
    }

    pub(crate) fn is_configurable(&self) -> bool {
        self.required || self.is_optional()
    }
}

impl Nesting {
    fn collect(self, object: Type) -> Type {
        match self {
            Self::Single => object,
            Self::List => Type::list(object),
            Self::Set => Type::set(object),
            Self::Map => Type::map(object),
        }
    }
}

impl fmt::Debug for Attribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attribute")
            .field("name", &self.name)
            .field("shape", &self.shape)
            .finish_non_exhaustive()
    }
}
