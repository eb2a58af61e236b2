//! Attributes of a schema.

use std::fmt;

use wardian_value::{Str, Type, Value};

use super::derived::{AttributeType, Equality};
use crate::modifier::{AttributePlan, Modifier};
use crate::validate::{self, Validator};
use crate::{Diagnostics, Object};

/// An attribute of a schema, a nested attribute or a block.
///
/// Create an attribute with the constructor for its type, and set its properties with chained
/// calls. By default, an attribute is optional.
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
    pub(crate) default: Option<Default>,
    pub(crate) equality: Option<Equality>,
    pub(crate) validators: Vec<Validator>,
    pub(crate) modifiers: Vec<Modifier>,
}

/// A function that computes a default value of a type from the configuration.
type ComputeDefault = Box<dyn Fn(&Object, &Type) -> crate::Result<Value>>;

/// The value of an attribute that the configuration does not set.
pub(crate) enum Default {
    Static(Value),
    Computed(ComputeDefault),
}

/// The kind of value that an attribute has.
#[derive(Debug)]
pub(crate) enum Shape {
    Value(Type),
    Nested(Nesting, Vec<Attribute>),
}

/// The collection that contains the objects of a nested attribute.
///
/// ```
/// use wardian_sdk::{AttributeShape, Nesting};
///
/// assert_ne!(Nesting::List, Nesting::Set);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nesting {
    /// A single object.
    Single,
    /// A list.
    List,
    /// A set.
    Set,
    /// A map.
    Map,
}

/// Whether an attribute, block or function is deprecated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Deprecation {
    #[default]
    None,
    Message(String),
}

/// Constructors.
impl Attribute {
    /// Creates an attribute of any type.
    pub fn new(name: impl Into<String>, ty: Type) -> Self {
        Self::from_shape(name.into(), Shape::Value(ty))
    }

    /// Creates an attribute for a field of type `T`, as `#[derive(Schema)]` does: with the type, the
    /// validators and the semantic equality that follow from the Rust type.
    ///
    /// ```
    /// use wardian_sdk::{Attribute, Type};
    ///
    /// let ports = Attribute::for_type::<Option<Vec<u16>>>("ports");
    /// assert_eq!(ports.ty(), Type::list(Type::Number));
    /// ```
    pub fn for_type<T: AttributeType>(name: impl Into<String>) -> Self {
        let mut attribute = Self::from_shape(name.into(), T::shape().0);
        attribute.validators = T::validators();
        attribute.equality = T::equality();
        T::configure(attribute)
    }

    /// Requires that the configuration sets the attribute, unless the Rust type of its field
    /// represents null.
    #[doc(hidden)]
    #[must_use]
    pub fn required_unless_nullable<T: AttributeType>(mut self) -> Self {
        self.required = !T::ACCEPTS_NULL;
        self
    }

    /// Creates a string attribute.
    pub fn string(name: impl Into<String>) -> Self {
        Self::new(name, Type::String)
    }

    /// Creates a bool attribute.
    pub fn bool(name: impl Into<String>) -> Self {
        Self::new(name, Type::Bool)
    }

    /// Creates a number attribute.
    pub fn number(name: impl Into<String>) -> Self {
        Self::new(name, Type::Number)
    }

    /// Creates a number attribute that accepts only integers.
    pub fn integer(name: impl Into<String>) -> Self {
        Self::number(name).validate(validate::integer())
    }

    /// Creates an attribute with a list of elements of one type.
    pub fn list(name: impl Into<String>, element: Type) -> Self {
        Self::new(name, Type::list(element))
    }

    /// Creates an attribute with a set of elements of one type.
    pub fn set(name: impl Into<String>, element: Type) -> Self {
        Self::new(name, Type::set(element))
    }

    /// Creates an attribute with a map of elements of one type.
    pub fn map(name: impl Into<String>, element: Type) -> Self {
        Self::new(name, Type::map(element))
    }

    /// Creates an attribute with an object whose attributes have types, but no schemas.
    pub fn object<N: Into<Str>>(
        name: impl Into<String>,
        attributes: impl IntoIterator<Item = (N, Type)>,
    ) -> Self {
        Self::new(name, Type::object(attributes))
    }

    /// Creates an attribute whose type is determined by the configuration. In a state, its type is
    /// [`crate::Dynamic`].
    pub fn dynamic(name: impl Into<String>) -> Self {
        Self::new(name, Type::Dynamic)
    }

    /// Creates a nested attribute: an object whose attributes have their own schemas.
    pub fn nested(name: impl Into<String>, attributes: impl IntoIterator<Item = Self>) -> Self {
        Self::nested_as(name, Nesting::Single, attributes)
    }

    /// Creates a nested attribute with a list of objects.
    pub fn nested_list(name: impl Into<String>, attributes: impl IntoIterator<Item = Self>) -> Self {
        Self::nested_as(name, Nesting::List, attributes)
    }

    /// Creates a nested attribute with a set of objects.
    pub fn nested_set(name: impl Into<String>, attributes: impl IntoIterator<Item = Self>) -> Self {
        Self::nested_as(name, Nesting::Set, attributes)
    }

    /// Creates a nested attribute with a map of objects.
    pub fn nested_map(name: impl Into<String>, attributes: impl IntoIterator<Item = Self>) -> Self {
        Self::nested_as(name, Nesting::Map, attributes)
    }

    fn nested_as(
        name: impl Into<String>,
        nesting: Nesting,
        attributes: impl IntoIterator<Item = Self>,
    ) -> Self {
        Self::from_shape(name.into(), Shape::Nested(nesting, attributes.into_iter().collect()))
    }

    fn from_shape(name: String, shape: Shape) -> Self {
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
            equality: None,
            validators: Vec::new(),
            modifiers: Vec::new(),
        }
    }
}

/// Properties.
impl Attribute {
    /// Requires that the configuration sets the attribute.
    #[must_use]
    pub fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// Makes the attribute optional. This is the default, but must be specified together with
    /// [`Attribute::computed`].
    #[must_use]
    pub fn optional(mut self) -> Self {
        self.optional = true;
        self
    }

    /// Makes the attribute computed: the provider sets it. In combination with
    /// [`Attribute::optional`], the provider sets it only if the configuration does not.
    #[must_use]
    pub fn computed(mut self) -> Self {
        self.computed = true;
        self
    }

    /// Sets the default value, for configurations that do not set the attribute. This makes the
    /// attribute optional and computed.
    #[must_use]
    pub fn default(mut self, value: impl Into<Value>) -> Self {
        self.default = Some(Default::Static(value.into()));
        self.optional = true;
        self.computed = true;
        self
    }

    /// Sets a function that computes the default value from the configuration of the complete
    /// object, whose values may be unknown. This makes the attribute optional and computed. The
    /// function returns the same value for the same configuration.
    ///
    /// ```
    /// use wardian_sdk::{Attr, Attribute};
    ///
    /// let label = Attribute::string("label")
    ///     .default_with(|config| Ok(config.get::<Attr<String>>("name")?.map(|name| name.to_uppercase())));
    /// ```
    #[must_use]
    pub fn default_with<T: serde::Serialize>(
        mut self,
        compute: impl Fn(&Object) -> crate::Result<T> + 'static,
    ) -> Self {
        let compute = move |config: &Object, ty: &Type| {
            crate::model::to_value(&compute(config)?, ty).map_err(Diagnostics::from)
        };
        self.default = Some(Default::Computed(Box::new(compute)));
        self.optional = true;
        self.computed = true;
        self
    }

    /// Sets the semantic equality of two known values, such as two spellings of the same JSON. If a
    /// plan, an apply or a read returns another spelling of a value, the previous spelling is kept.
    ///
    /// ```
    /// use wardian_sdk::{Attribute, Value};
    ///
    /// let name = Attribute::string("name").equal_if(|one, other| match (one.as_str(), other.as_str()) {
    ///     (Some(one), Some(other)) => one.eq_ignore_ascii_case(other),
    ///     _ => false,
    /// });
    /// ```
    #[must_use]
    pub fn equal_if(mut self, are_equal: impl Fn(&Value, &Value) -> bool + 'static) -> Self {
        self.equality = Some(std::rc::Rc::new(are_equal));
        self
    }

    /// Converts an attribute with a list to an attribute with a set.
    ///
    /// ```
    /// use wardian_sdk::{Attribute, Type};
    ///
    /// assert_eq!(Attribute::list("tags", Type::String).into_set().ty(), Type::set(Type::String));
    /// ```
    #[must_use]
    pub fn into_set(mut self) -> Self {
        match &mut self.shape {
            Shape::Nested(nesting, _) => *nesting = Nesting::Set,
            Shape::Value(ty) => {
                if let Type::List(element) = ty {
                    *ty = Type::set((**element).clone());
                }
            }
        }
        self
    }

    /// Marks the value as sensitive. Sensitive values are not shown.
    #[must_use]
    pub fn sensitive(mut self) -> Self {
        self.sensitive = true;
        self
    }

    /// Makes the attribute write-only. Its value exists only in the configuration, which
    /// [`crate::Context::config`] returns.
    #[must_use]
    pub fn write_only(mut self) -> Self {
        self.write_only = true;
        self
    }

    /// Sets the description, in Markdown.
    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.description = text.into();
        self
    }

    /// Marks the attribute as deprecated. The text should name the alternative.
    #[must_use]
    pub fn deprecated(mut self, text: impl Into<String>) -> Self {
        self.deprecation = Deprecation::Message(text.into());
        self
    }
}

/// Validators and plan modifiers.
impl Attribute {
    /// Adds a validator; see [`crate::validate`].
    #[must_use]
    pub fn validate(mut self, validator: Validator) -> Self {
        self.validators.push(validator);
        self
    }

    /// Requires that a change to the attribute replaces the object.
    #[must_use]
    pub fn force_new(mut self) -> Self {
        self.modifiers.push(Modifier::ForceNew);
        self
    }

    /// Requires that a change to the attribute replaces the object if the configuration sets the
    /// attribute.
    #[must_use]
    pub fn force_new_if_configured(mut self) -> Self {
        self.modifiers.push(Modifier::ForceNewIfConfigured);
        self
    }

    /// Requires that a change to the attribute replaces the object if the condition is true.
    #[must_use]
    pub fn force_new_if(mut self, condition: impl Fn(&AttributePlan<'_>) -> bool + 'static) -> Self {
        self.modifiers.push(Modifier::ForceNewIf(Box::new(condition)));
        self
    }

    /// Keeps the value once it is set to a value other than null, instead of planning "known after apply" whenever another
    /// attribute changes.
    #[must_use]
    pub fn use_state_for_unknown(mut self) -> Self {
        self.modifiers.push(Modifier::UseStateForUnknown);
        self
    }

    /// Adds a plan modifier. Modifiers are applied in the order in which they are added. The
    /// modifiers of an attribute are applied before the modifiers of the attributes nested in it.
    #[must_use]
    pub fn modify_plan(
        mut self,
        modify: impl Fn(&mut AttributePlan<'_>) -> crate::Result<()> + 'static,
    ) -> Self {
        self.modifiers.push(Modifier::Custom(Box::new(modify)));
        self
    }
}

impl Attribute {
    /// Returns the type of the attribute's values.
    pub fn ty(&self) -> Type {
        match &self.shape {
            Shape::Value(ty) => ty.clone(),
            Shape::Nested(nesting, attributes) => {
                nesting.collect(Type::object(attributes.iter().map(|a| (a.name.as_str(), a.ty()))))
            }
        }
    }

    /// Returns the attribute's name.
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
    pub(crate) fn collect(self, object: Type) -> Type {
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
