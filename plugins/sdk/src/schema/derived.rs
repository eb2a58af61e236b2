//! Schemas of Rust types: the traits that `#[derive(Schema)]` implements and uses.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use wardian_value::{Type, Value};

use super::{Attribute, BlockNesting, Nesting, Schema, Shape};
use crate::validate::{self, Validator};
use crate::{Attr, Dynamic};

/// A struct with a schema. Implement it with `#[derive(Schema)]`; see [`Schema`].
///
/// ```
/// use wardian_sdk::{HasSchema as _, Schema};
///
/// #[derive(Schema)]
/// #[schema(version = 2)]
/// struct Server {
///     name: String,
/// }
///
/// assert_eq!(Server::schema().version_number(), 2);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no schema",
    label = "this type has no schema",
    note = "add `#[derive(Schema)]` to the struct, or build the schema with `Schema::new()`"
)]
pub trait HasSchema {
    /// Returns the schema.
    fn schema() -> Schema;
}

/// A Rust type that a field can have for an attribute of a schema.
///
/// It is implemented for strings, numbers, `bool`, collections of them, [`Dynamic`],
/// [`Text`](crate::Text), structs with `#[derive(Schema)]`, and all of these types in `Option` or
/// [`Attr`]. Types in other crates implement it by referring to one of these types:
///
/// ```
/// use serde::{Deserialize, Serialize};
/// use wardian_sdk::validate::{self, Validator};
/// use wardian_sdk::{AttributeShape, AttributeType};
///
/// #[derive(Serialize, Deserialize)]
/// #[serde(rename_all = "lowercase")]
/// enum Protocol {
///     Tcp,
///     Udp,
/// }
///
/// impl AttributeType for Protocol {
///     fn shape() -> AttributeShape {
///         String::shape()
///     }
///
///     fn validators() -> Vec<Validator> {
///         vec![validate::one_of(["tcp", "udp"])]
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the type of an attribute",
    label = "no attribute can have this type",
    note = "use String, bool, a number, Vec<_>, BTreeSet<_>, BTreeMap<String, _>, Dynamic, Text<_>, or any of \
            them in Option<_> or Attr<_>",
    note = "add `#[derive(Schema)]` to the struct for a nested attribute, or implement `AttributeType`"
)]
pub trait AttributeType {
    /// Whether the type is a struct with blocks, which nested attributes cannot contain.
    const HAS_BLOCKS: bool = false;

    /// Whether the type represents null, so the attribute is optional unless an option of the field
    /// makes it required.
    const ACCEPTS_NULL: bool = false;

    /// Returns the type of the attribute.
    fn shape() -> AttributeShape;

    /// Returns the validators that follow from the Rust type.
    fn validators() -> Vec<Validator> {
        Vec::new()
    }

    /// Sets properties that each attribute of this type has, such as a description or plan
    /// modifiers. The options of a field are applied afterwards. A collection does not get the
    /// properties of its elements.
    fn configure(attribute: Attribute) -> Attribute {
        attribute
    }

    /// Returns the semantic equality of values; `None` if values are equal only if they are
    /// identical.
    fn equality() -> Option<Equality> {
        None
    }
}

/// A function that determines whether two values are semantically equal.
///
/// ```
/// use std::rc::Rc;
/// use wardian_sdk::{Equality, Value};
///
/// let ignoring_case: Equality = Rc::new(|one: &Value, other: &Value| {
///     let text = |value: &Value| value.as_str().map(str::to_lowercase);
///     text(one) == text(other)
/// });
/// assert!(ignoring_case(&Value::string("A"), &Value::string("a")));
/// ```
pub type Equality = Rc<dyn Fn(&Value, &Value) -> bool>;

/// The type of an attribute, or the attributes of a nested attribute.
pub struct AttributeShape(pub(crate) Shape);

impl AttributeShape {
    /// Creates the shape of an attribute with values of one type.
    ///
    /// ```
    /// use wardian_sdk::{AttributeShape, Type};
    ///
    /// let point = AttributeShape::from_type(Type::object([("x", Type::Number), ("y", Type::Number)]));
    /// ```
    pub fn from_type(ty: Type) -> Self {
        Self(Shape::Value(ty))
    }

    /// Creates the shape of a nested attribute with one object.
    ///
    /// ```
    /// use serde::{Deserialize, Serialize};
    /// use wardian_sdk::{AttributeShape, Schema};
    ///
    /// #[derive(Serialize, Deserialize, Schema)]
    /// struct Point {
    ///     x: i64,
    /// }
    /// let shape = AttributeShape::nested::<Point>();
    /// ```
    pub fn nested<T: HasSchema>() -> Self {
        Self(Shape::Nested(Nesting::Single, T::schema().root.attributes))
    }

    /// Returns the shape of a collection of values of this shape.
    fn collected(self, nesting: Nesting) -> Self {
        Self(match self.0 {
            Shape::Value(ty) => Shape::Value(nesting.collect(ty)),
            Shape::Nested(Nesting::Single, attributes) => Shape::Nested(nesting, attributes),
            Shape::Nested(inner, attributes) => {
                let object = Type::object(attributes.iter().map(|a| (a.name().to_owned(), a.ty())));
                Shape::Value(nesting.collect(inner.collect(object)))
            }
        })
    }
}

macro_rules! attribute_types {
    ($($rust:ty => $ty:expr, [$($validator:expr),*];)*) => {
        $(impl AttributeType for $rust {
            fn shape() -> AttributeShape {
                AttributeShape::from_type($ty)
            }

            fn validators() -> Vec<Validator> {
                vec![$($validator),*]
            }
        })*
    };
}

attribute_types! {
    String => Type::String, [];
    bool => Type::Bool, [];
    f32 => Type::Number, [];
    f64 => Type::Number, [];
    i64 => Type::Number, [validate::integer()];
    i32 => Type::Number, [validate::integer(), validate::range(i64::from(i32::MIN)..=i64::from(i32::MAX))];
    i16 => Type::Number, [validate::integer(), validate::range(i64::from(i16::MIN)..=i64::from(i16::MAX))];
    i8 => Type::Number, [validate::integer(), validate::range(i64::from(i8::MIN)..=i64::from(i8::MAX))];
    u64 => Type::Number, [validate::integer(), validate::range(0..)];
    u32 => Type::Number, [validate::integer(), validate::range(0..=i64::from(u32::MAX))];
    u16 => Type::Number, [validate::integer(), validate::range(0..=i64::from(u16::MAX))];
    u8 => Type::Number, [validate::integer(), validate::range(0..=i64::from(u8::MAX))];
    usize => Type::Number, [validate::integer(), validate::range(0..)];
}

impl AttributeType for Dynamic {
    const ACCEPTS_NULL: bool = true;

    fn shape() -> AttributeShape {
        AttributeShape::from_type(Type::Dynamic)
    }
}

impl<T: AttributeType> AttributeType for Option<T> {
    const ACCEPTS_NULL: bool = true;
    const HAS_BLOCKS: bool = T::HAS_BLOCKS;

    fn shape() -> AttributeShape {
        T::shape()
    }

    fn validators() -> Vec<Validator> {
        T::validators()
    }

    fn configure(attribute: Attribute) -> Attribute {
        T::configure(attribute)
    }

    fn equality() -> Option<Equality> {
        T::equality()
    }
}

impl<T: AttributeType> AttributeType for Attr<T> {
    const ACCEPTS_NULL: bool = true;
    const HAS_BLOCKS: bool = T::HAS_BLOCKS;

    fn shape() -> AttributeShape {
        T::shape()
    }

    fn validators() -> Vec<Validator> {
        T::validators()
    }

    fn configure(attribute: Attribute) -> Attribute {
        T::configure(attribute)
    }

    fn equality() -> Option<Equality> {
        T::equality()
    }
}

fn each_element(validators: Vec<Validator>) -> Vec<Validator> {
    validators.into_iter().map(validate::elements).collect()
}

/// Returns the equality of lists of the same length with equal elements.
fn equal_lists(equality: Equality) -> Equality {
    Rc::new(move |one, other| match (one.as_elements(), other.as_elements()) {
        (Some(one), Some(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|(one, other)| one == other || equality(one, other))
        }
        _ => false,
    })
}

impl<T: AttributeType> AttributeType for Vec<T> {
    const HAS_BLOCKS: bool = T::HAS_BLOCKS;

    fn shape() -> AttributeShape {
        T::shape().collected(Nesting::List)
    }

    fn validators() -> Vec<Validator> {
        each_element(T::validators())
    }

    fn equality() -> Option<Equality> {
        T::equality().map(equal_lists)
    }
}

macro_rules! other_collections {
    ($($collection:ident)* ; $($mapping:ident)*) => {
        $(impl<T: AttributeType> AttributeType for $collection<T> {
            const HAS_BLOCKS: bool = T::HAS_BLOCKS;

            fn shape() -> AttributeShape {
                T::shape().collected(Nesting::Set)
            }

            fn validators() -> Vec<Validator> {
                each_element(T::validators())
            }
        })*
        $(impl<T: AttributeType> AttributeType for $mapping<String, T> {
            const HAS_BLOCKS: bool = T::HAS_BLOCKS;

            fn shape() -> AttributeShape {
                T::shape().collected(Nesting::Map)
            }

            fn validators() -> Vec<Validator> {
                each_element(T::validators())
            }
        })*
    };
}

other_collections! { BTreeSet HashSet ; BTreeMap HashMap }

/// A Rust type that a field can have for nested blocks: a struct with `#[derive(Schema)]`, or the
/// struct in `Option`, `Vec` or `BTreeMap`.
///
/// ```
/// use wardian_sdk::{BlockType, Schema};
///
/// #[derive(Schema)]
/// #[schema(nested)]
/// struct Disk {
///     size: i64,
/// }
///
/// #[derive(Schema)]
/// struct Server {
///     #[attr(block, max_items = 4)]
///     disk: Vec<Disk>,
///     #[attr(block)]
///     image: Option<Disk>,
/// }
///
/// assert!(<Disk as BlockType>::IS_REQUIRED && !<Vec<Disk> as BlockType>::IS_REQUIRED);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the type of a block",
    label = "no block can have this type",
    note = "use a struct with `#[derive(Schema)]` for one required block, or the struct in Option<_>, Vec<_> or \
            BTreeMap<String, _>"
)]
pub trait BlockType {
    /// The contents of each block.
    type Contents: HasSchema;

    /// The collection of the blocks.
    const NESTING: BlockNesting;

    /// Whether the block is required.
    const IS_REQUIRED: bool = false;
}

impl<T: HasSchema> BlockType for Option<T> {
    type Contents = T;
    const NESTING: BlockNesting = BlockNesting::Single;
}

impl<T: HasSchema> BlockType for Vec<T> {
    type Contents = T;
    const NESTING: BlockNesting = BlockNesting::List;
}

impl<T: HasSchema> BlockType for BTreeMap<String, T> {
    type Contents = T;
    const NESTING: BlockNesting = BlockNesting::Map;
}

impl<T: HasSchema> BlockType for HashMap<String, T> {
    type Contents = T;
    const NESTING: BlockNesting = BlockNesting::Map;
}

/// Changes of a derived schema.
impl Schema {
    /// Returns the schema of a struct with `#[derive(Schema)]`, for
    /// [`Resource::schema`](crate::Resource::schema).
    ///
    /// The builder's methods change the derived schema:
    ///
    /// ```
    /// use serde::{Deserialize, Serialize};
    /// use wardian_sdk::{Attribute, Schema};
    ///
    /// #[derive(Serialize, Deserialize, Schema)]
    /// struct Server {
    ///     name: String,
    /// }
    ///
    /// let schema = Schema::for_type::<Server>()
    ///     .change_attribute("name", |name| name.force_new())
    ///     .attribute(Attribute::string("id").computed());
    /// ```
    pub fn for_type<T: HasSchema>() -> Self {
        T::schema()
    }

    /// Adds the attributes and blocks of another struct, whose fields are flattened into the state.
    ///
    /// ```
    /// use serde::{Deserialize, Serialize};
    /// use wardian_sdk::Schema;
    ///
    /// #[derive(Serialize, Deserialize, Schema)]
    /// struct Tagged {
    ///     tags: Vec<String>,
    /// }
    ///
    /// let schema = Schema::new().include::<Tagged>();
    /// ```
    #[must_use]
    pub fn include<T: HasSchema>(mut self) -> Self {
        let other = T::schema();
        self.root.attributes.extend(other.root.attributes);
        self.root.blocks.extend(other.root.blocks);
        self.root.validators.extend(other.root.validators);
        self.mistakes.extend(other.mistakes);
        self
    }

    /// Changes an attribute. If the schema has no attribute of that name,
    /// [`assert_valid_provider`](crate::assert_valid_provider) reports it.
    ///
    /// ```
    /// use wardian_sdk::{Attribute, Schema};
    ///
    /// let schema = Schema::new()
    ///     .attribute(Attribute::string("token"))
    ///     .change_attribute("token", |token| token.sensitive());
    /// ```
    #[must_use]
    pub fn change_attribute(mut self, name: &str, change: impl FnOnce(Attribute) -> Attribute) -> Self {
        match self.root.attributes.iter().position(|attribute| attribute.name == name) {
            Some(position) => {
                let attribute = self.root.attributes.remove(position);
                self.root.attributes.insert(position, change(attribute));
            }
            None => self.mistakes.push(format!("change_attribute: there is no attribute {name:?}")),
        }
        self
    }
}
