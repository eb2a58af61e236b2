//! The types of values, and type constraints.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::Str;

/// A type. [`Type::Dynamic`] is a constraint ("any type, not known yet"): a known value that is not
/// null never has this type.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Type {
    /// Any type. The value determines the actual type.
    Dynamic,
    /// `bool`.
    Bool,
    /// `number`.
    Number,
    /// `string`.
    String,
    /// An ordered collection with one element type.
    List(Arc<Type>),
    /// An unordered collection of unique elements of one type.
    Set(Arc<Type>),
    /// A collection with string keys and one element type.
    Map(Arc<Type>),
    /// Named attributes, each with its own type.
    Object(Arc<ObjectType>),
    /// Fixed positions, each with its own type.
    Tuple(Arc<[Type]>),
}

/// Maximum number of types that are counted in a type.
const MAX_COUNTED: u32 = 1 << 22;

/// The attributes of an object type.
///
/// Attributes can be optional only in a type constraint; the type of a value has no optional
/// attributes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectType {
    attributes: BTreeMap<Str, (Type, bool)>,
}

/// Maximum number of entries that are inserted one by one.
const MAX_INSERTED: usize = 32;

/// Creates a map. For small maps, this is faster than `collect`, which sorts the entries first.
pub(crate) fn map_of<T>(entries: impl Iterator<Item = (Str, T)>) -> BTreeMap<Str, T> {
    if entries.size_hint().1.is_none_or(|count| count > MAX_INSERTED) {
        return entries.collect();
    }
    let mut map = BTreeMap::new();
    for (name, entry) in entries {
        map.insert(name, entry);
    }
    map
}

impl ObjectType {
    /// Returns an object type whose attributes are all required.
    pub fn new(attributes: impl IntoIterator<Item = (Str, Type)>) -> Self {
        Self { attributes: map_of(attributes.into_iter().map(|(n, t)| (n, (t, false)))) }
    }

    /// Returns an object type. The flag of an attribute specifies whether it is optional.
    pub fn with_optional(attributes: impl IntoIterator<Item = (Str, Type, bool)>) -> Self {
        Self { attributes: attributes.into_iter().map(|(n, t, o)| (n, (t, o))).collect() }
    }

    /// Returns the type of one attribute.
    pub fn attribute(&self, name: &str) -> Option<&Type> {
        self.attributes.get(name).map(|(ty, _)| ty)
    }

    /// Returns the name and the type of one attribute. `name` does not have to be normalized.
    pub(crate) fn entry(&self, name: &str) -> Option<(&Str, &Type)> {
        let entry = self
            .attributes
            .get_key_value(name)
            .or_else(|| if name.is_ascii() { None } else { self.attributes.get_key_value(&Str::new(name)) });
        entry.map(|(name, (ty, _))| (name, ty))
    }

    /// Returns true if the attribute may be omitted in a value that is converted to this type.
    pub fn is_optional(&self, name: &str) -> bool {
        self.attributes.get(name).is_some_and(|(_, optional)| *optional)
    }

    /// Returns the attributes, sorted by name.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Str, &Type)> {
        self.attributes.iter().map(|(name, (ty, _))| (name, ty))
    }

    /// Returns the number of attributes.
    pub fn len(&self) -> usize {
        self.attributes.len()
    }

    /// Returns true if the type has no attributes.
    pub fn is_empty(&self) -> bool {
        self.attributes.is_empty()
    }

    /// Returns true if any attribute is optional, at any level.
    pub fn has_optional(&self) -> bool {
        self.attributes.values().any(|(ty, optional)| *optional || ty.has_optional())
    }
}

impl Type {
    /// Returns `list(element)`.
    pub fn list(element: Self) -> Self {
        Self::List(Arc::new(element))
    }

    /// Returns `set(element)`.
    pub fn set(element: Self) -> Self {
        Self::Set(Arc::new(element))
    }

    /// Returns `map(element)`.
    pub fn map(element: Self) -> Self {
        Self::Map(Arc::new(element))
    }

    /// Returns `object({...})` with required attributes.
    pub fn object<N: Into<Str>>(attributes: impl IntoIterator<Item = (N, Self)>) -> Self {
        Self::Object(Arc::new(ObjectType::new(attributes.into_iter().map(|(n, t)| (n.into(), t)))))
    }

    /// Returns `tuple([...])`.
    pub fn tuple(elements: impl IntoIterator<Item = Self>) -> Self {
        Self::Tuple(elements.into_iter().collect())
    }

    /// Returns true for string, number and bool.
    pub const fn is_primitive(&self) -> bool {
        matches!(self, Self::Bool | Self::Number | Self::String)
    }

    /// Returns true for lists, sets and maps.
    pub const fn is_collection(&self) -> bool {
        matches!(self, Self::List(_) | Self::Set(_) | Self::Map(_))
    }

    /// Returns the element type of a list, set or map.
    pub fn element(&self) -> Option<&Self> {
        match self {
            Self::List(element) | Self::Set(element) | Self::Map(element) => Some(element),
            _ => None,
        }
    }

    /// Returns true if the type contains [`Type::Dynamic`], at any level.
    pub fn has_dynamic(&self) -> bool {
        match self {
            Self::Dynamic => true,
            Self::Bool | Self::Number | Self::String => false,
            Self::List(element) | Self::Set(element) | Self::Map(element) => element.has_dynamic(),
            Self::Object(object) => object.iter().any(|(_, ty)| ty.has_dynamic()),
            Self::Tuple(elements) => elements.iter().any(Self::has_dynamic),
        }
    }

    /// Returns true if the type contains optional attributes, at any level.
    pub fn has_optional(&self) -> bool {
        match self {
            Self::Dynamic | Self::Bool | Self::Number | Self::String => false,
            Self::List(element) | Self::Set(element) | Self::Map(element) => element.has_optional(),
            Self::Object(object) => object.has_optional(),
            Self::Tuple(elements) => elements.iter().any(Self::has_optional),
        }
    }

    /// Returns the number of types in this type, including itself. A shared type is counted once
    /// per occurrence. If there are more than [`MAX_COUNTED`] types, returns [`u32::MAX`].
    pub(crate) fn node_count(&self) -> u32 {
        let mut remaining = MAX_COUNTED;
        if self.count_down(&mut remaining) { MAX_COUNTED - remaining } else { u32::MAX }
    }

    /// Returns false if there are more types than `remaining`.
    fn count_down(&self, remaining: &mut u32) -> bool {
        let Some(rest) = remaining.checked_sub(1) else { return false };
        *remaining = rest;
        match self {
            Self::Dynamic | Self::Bool | Self::Number | Self::String => true,
            Self::List(element) | Self::Set(element) | Self::Map(element) => element.count_down(remaining),
            Self::Object(object) => object.iter().all(|(_, ty)| ty.count_down(remaining)),
            Self::Tuple(elements) => elements.iter().all(|ty| ty.count_down(remaining)),
        }
    }

    /// Returns the same type with all attributes required. This is the type of a converted value.
    #[must_use]
    pub fn without_optional(&self) -> Self {
        if !self.has_optional() {
            return self.clone();
        }
        match self {
            Self::List(element) => Self::list(element.without_optional()),
            Self::Set(element) => Self::set(element.without_optional()),
            Self::Map(element) => Self::map(element.without_optional()),
            Self::Object(object) => {
                Self::object(object.iter().map(|(n, t)| (n.clone(), t.without_optional())))
            }
            Self::Tuple(elements) => Self::tuple(elements.iter().map(Self::without_optional)),
            primitive => primitive.clone(),
        }
    }

    /// Returns the type as it is displayed in messages: "string", "list of number".
    pub fn friendly_name(&self) -> String {
        match self {
            Self::Dynamic => "dynamic".into(),
            Self::Bool => "bool".into(),
            Self::Number => "number".into(),
            Self::String => "string".into(),
            Self::List(element) => format!("list of {}", element.friendly_name()),
            Self::Set(element) => format!("set of {}", element.friendly_name()),
            Self::Map(element) => format!("map of {}", element.friendly_name()),
            Self::Object(_) => "object".into(),
            Self::Tuple(_) => "tuple".into(),
        }
    }
}

/// Writes the type as a type constraint: `list(object({a=string}))`.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dynamic => f.write_str("any"),
            Self::Bool => f.write_str("bool"),
            Self::Number => f.write_str("number"),
            Self::String => f.write_str("string"),
            Self::List(element) => write!(f, "list({element})"),
            Self::Set(element) => write!(f, "set({element})"),
            Self::Map(element) => write!(f, "map({element})"),
            Self::Object(object) => {
                f.write_str("object({")?;
                for (index, (name, (ty, optional))) in object.attributes.iter().enumerate() {
                    let comma = if index == 0 { "" } else { "," };
                    if *optional {
                        write!(f, "{comma}{name}=optional({ty})")?;
                    } else {
                        write!(f, "{comma}{name}={ty}")?;
                    }
                }
                f.write_str("})")
            }
            Self::Tuple(elements) => {
                f.write_str("tuple([")?;
                for (index, element) in elements.iter().enumerate() {
                    let comma = if index == 0 { "" } else { "," };
                    write!(f, "{comma}{element}")?;
                }
                f.write_str("])")
            }
        }
    }
}

impl fmt::Debug for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
