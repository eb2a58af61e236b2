//! Values: their content, marks and construction.

mod equality;
mod recent_types;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::mapping::{Entries, Mapping, position};
use crate::{Marks, Number, Path, PathMarks, PathStep, Refinement, Str, Type, set};

/// A value: a type, content, and marks. Clones share the content.
#[derive(Clone)]
pub struct Value {
    ty: Type,
    content: Content,
    marks: Marks,
    inside: Inside,
    /// The size of the value with all nested values, in units of [`UNIT`]. A shared nested value is
    /// counted once per occurrence.
    units: u32,
}

#[derive(Clone)]
enum Content {
    Null,
    Unknown(Option<Arc<Refinement>>),
    Bool(bool),
    Number(Number),
    String(Str),
    /// The elements of a list, set (sorted and unique) or tuple.
    Sequence(Arc<[Value]>),
    /// The elements of a map, or the attributes of an object.
    Mapping(Arc<[(Str, Value)]>),
}

/// Properties of the value and of all nested values. They are stored to make queries O(1).
#[derive(Clone, Copy, Default)]
struct Inside {
    unknown: bool,
    marks: Marks,
}

/// Approximate size of a value without parts, in bytes.
const UNIT: u64 = 64;

/// The content of a value, for pattern matching. It does not include marks: callers must propagate
/// [`Value::marks`].
#[derive(Clone, Copy)]
pub enum View<'a> {
    /// A null value of the value's type.
    Null,
    /// An unknown value.
    Unknown,
    /// The content of a bool.
    Bool(bool),
    /// A number.
    Number(&'a Number),
    /// A string.
    String(&'a Str),
    /// Elements of a list.
    List(&'a [Value]),
    /// Elements of a set in canonical order.
    Set(&'a [Value]),
    /// Elements of a tuple.
    Tuple(&'a [Value]),
    /// Elements of a map by key.
    Map(Mapping<'a>),
    /// Attributes of an object by name.
    Object(Mapping<'a>),
}

/// Constructors.
impl Value {
    fn leaf(ty: Type, content: Content) -> Self {
        let units = match &content {
            Content::String(text) => units(text.len()),
            Content::Number(number) => units(number.byte_length()),
            Content::Null => ty.node_count(),
            _ => 1,
        };
        Self { ty, content, marks: Marks::NONE, inside: Inside::default(), units }
    }

    /// Creates a list or tuple, or a set with canonical elements, with exactly this type.
    pub(crate) fn sequence(ty: Type, elements: Arc<[Self]>) -> Self {
        let inside = Inside::from_parts(elements.iter());
        let units = elements.iter().fold(1_u32, |total, part| total.saturating_add(part.units));
        Self { ty, content: Content::Sequence(elements), marks: Marks::NONE, inside, units }
    }

    /// Creates a map or object with exactly this type.
    pub(crate) fn mapping(ty: Type, elements: Arc<[(Str, Self)]>) -> Self {
        let inside = Inside::from_parts(elements.iter().map(|(_, part)| part));
        let units = elements.iter().fold(1_u32, |total, (key, part)| {
            total.saturating_add(units(key.len())).saturating_add(part.units)
        });
        Self { ty, content: Content::Mapping(elements), marks: Marks::NONE, inside, units }
    }

    /// Creates a null of a type that has no optional attributes.
    pub(crate) fn null_exact(ty: Type) -> Self {
        Self::leaf(ty, Content::Null)
    }

    /// Creates an unknown value of a type that has no optional attributes.
    pub(crate) fn unknown_exact(ty: Type) -> Self {
        Self::unknown_leaf(ty, None)
    }

    fn unknown_leaf(ty: Type, refinement: Option<Arc<Refinement>>) -> Self {
        let (inside, units) = (Inside { unknown: true, marks: Marks::NONE }, ty.node_count());
        Self { ty, content: Content::Unknown(refinement), marks: Marks::NONE, inside, units }
    }

    /// Creates a set with exactly this type from elements without marks.
    pub(crate) fn set_exact(ty: Type, mut elements: Vec<Self>) -> Self {
        set::canonicalize(&mut elements);
        Self::sequence(ty, elements.into())
    }

    /// Creates a null of a type.
    pub fn null(ty: Type) -> Self {
        Self::leaf(ty.without_optional(), Content::Null)
    }

    /// Creates an unknown value of a type, without a refinement.
    pub fn unknown(ty: Type) -> Self {
        Self::unknown_leaf(ty.without_optional(), None)
    }

    /// Creates an unknown value of a type, with a refinement. For a dynamic type, the refinement is
    /// dropped. If the refinement permits only one value, that value is returned instead.
    pub fn unknown_with(ty: Type, refinement: Refinement) -> Self {
        let ty = ty.without_optional();
        if matches!(ty, Type::Dynamic) || refinement.is_empty() {
            return Self::unknown(ty);
        }
        if refinement.not_null
            && let Some(collapsed) = Self::collapse(&ty, &refinement)
        {
            return collapsed;
        }
        Self::unknown_leaf(ty, Some(Arc::new(refinement)))
    }

    fn collapse(ty: &Type, refinement: &Refinement) -> Option<Self> {
        match ty {
            Type::Number => match (&refinement.lower, &refinement.upper) {
                (Some(lower), Some(upper))
                    if lower.inclusive && upper.inclusive && lower.value == upper.value =>
                {
                    Some(Self::number(lower.value.clone()))
                }
                _ => None,
            },
            Type::List(element) | Type::Set(element) | Type::Map(element) => {
                let length = refinement.max_length?;
                if length != refinement.min_length.unwrap_or(0) {
                    return None;
                }
                match ty {
                    _ if length == 0 => Some(Self::empty_collection(ty)),
                    // The limit prevents a malicious length from exhausting memory.
                    Type::List(_) if length <= 1024 => Some(Self::list(
                        (**element).clone(),
                        std::iter::repeat_n(Self::unknown((**element).clone()), length),
                    )),
                    Type::Set(_) if length == 1 => {
                        Some(Self::set((**element).clone(), [Self::unknown((**element).clone())]))
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn empty_collection(ty: &Type) -> Self {
        match ty {
            Type::Map(_) => Self::mapping(ty.clone(), Arc::from([])),
            _ => Self::sequence(ty.clone(), Arc::from([])),
        }
    }

    /// Creates a bool.
    pub fn bool(value: bool) -> Self {
        Self::leaf(Type::Bool, Content::Bool(value))
    }

    /// Creates a number.
    pub fn number(value: impl Into<Number>) -> Self {
        Self::leaf(Type::Number, Content::Number(value.into()))
    }

    /// Creates a string.
    pub fn string(value: impl Into<Str>) -> Self {
        Self::leaf(Type::String, Content::String(value.into()))
    }

    /// Creates a list. The elements must have the type `element`, so callers convert them first.
    /// Nulls and unknown values without a type receive this type.
    pub fn list(element: Type, elements: impl IntoIterator<Item = Self>) -> Self {
        let elements = elements.into_iter().map(|value| value.typed(&element)).collect();
        Self::sequence(Type::list(element), elements)
    }

    /// Assigns the type to a null or unknown value without a type; returns all other values
    /// unchanged.
    fn typed(self, ty: &Type) -> Self {
        match (&self.ty, ty) {
            (Type::Dynamic, ty) if !matches!(ty, Type::Dynamic) => Self { ty: ty.clone(), ..self },
            _ => self,
        }
    }

    /// Creates a tuple. The elements determine its type.
    pub fn tuple(elements: impl IntoIterator<Item = Self>) -> Self {
        let elements: Arc<[Self]> = elements.into_iter().collect();
        Self::sequence(Type::tuple(elements.iter().map(|e| e.ty.clone())), elements)
    }

    /// Creates a set: sorts the elements and removes duplicates. The marks of the elements are
    /// moved to the set, because set elements have no paths.
    pub fn set(element: Type, elements: impl IntoIterator<Item = Self>) -> Self {
        let mut marks = Marks::NONE;
        let mut unmarked: Vec<Self> = elements
            .into_iter()
            .map(|value| {
                marks |= value.inside_marks();
                value.unmark_deep().typed(&element)
            })
            .collect();
        set::canonicalize(&mut unmarked);
        Self::sequence(Type::set(element), unmarked.into()).with_marks(marks)
    }

    /// Creates a map. The elements must have the type `element`, so callers convert them first.
    pub fn map(element: Type, elements: impl IntoIterator<Item = (Str, Self)>) -> Self {
        let elements: Entries =
            elements.into_iter().map(|(key, value)| (key, value.typed(&element))).collect();
        Self::mapping(Type::map(element), elements.build())
    }

    /// Creates an object. The attributes determine its type.
    pub fn object<N: Into<Str>>(attributes: impl IntoIterator<Item = (N, Self)>) -> Self {
        let attributes: Entries = attributes.into_iter().map(|(name, value)| (name.into(), value)).collect();
        Self::from_attributes(attributes.build())
    }

    /// Creates an object from sorted attributes.
    pub(crate) fn from_attributes(attributes: Arc<[(Str, Self)]>) -> Self {
        let ty = recent_types::object_type(&attributes);
        Self::mapping(Type::Object(ty), attributes)
    }

    /// Creates an object without attributes.
    pub fn empty_object() -> Self {
        Self::object::<Str>([])
    }
}

/// Accessors.
impl Value {
    /// Returns the value's type.
    pub fn ty(&self) -> &Type {
        &self.ty
    }

    /// Returns the content, for pattern matching.
    pub fn view(&self) -> View<'_> {
        match (&self.content, &self.ty) {
            (Content::Null, _) => View::Null,
            (Content::Unknown(_), _) => View::Unknown,
            (Content::Bool(value), _) => View::Bool(*value),
            (Content::Number(value), _) => View::Number(value),
            (Content::String(value), _) => View::String(value),
            (Content::Sequence(elements), Type::List(_)) => View::List(elements),
            (Content::Sequence(elements), Type::Set(_)) => View::Set(elements),
            (Content::Sequence(elements), _) => View::Tuple(elements),
            (Content::Mapping(elements), Type::Map(_)) => View::Map(Mapping::new(elements)),
            (Content::Mapping(attributes), _) => View::Object(Mapping::new(attributes)),
        }
    }

    /// Returns the refinement of an unknown value.
    pub fn refinement(&self) -> Option<&Refinement> {
        match &self.content {
            Content::Unknown(refinement) => refinement.as_deref(),
            _ => None,
        }
    }

    /// Returns true for null.
    pub fn is_null(&self) -> bool {
        matches!(self.content, Content::Null)
    }

    /// Returns true if the value itself is known; nested values may be unknown.
    pub fn is_known(&self) -> bool {
        !matches!(self.content, Content::Unknown(_))
    }

    /// Returns true if the value contains no unknown values. O(1).
    pub fn is_wholly_known(&self) -> bool {
        !self.inside.unknown
    }

    /// Returns true if the value is certainly not null: it is known and not null, or its refinement
    /// states that it is not null.
    pub fn is_definitely_not_null(&self) -> bool {
        match &self.content {
            Content::Null => false,
            Content::Unknown(refinement) => refinement.as_ref().is_some_and(|r| r.not_null),
            _ => true,
        }
    }

    /// Returns the approximate size in bytes of the value when it is copied or written in full. A
    /// shared part is counted once per occurrence, so the result can be much larger than the memory
    /// that the value occupies. O(1).
    pub fn expanded_size(&self) -> u64 {
        u64::from(self.units).saturating_mul(UNIT)
    }

    /// Returns the approximate size in bytes of the parts that only this value owns. If the value
    /// is new, this is the allocated memory. O(parts that are not shared).
    pub fn owned_size(&self) -> u64 {
        let own = match &self.content {
            Content::Sequence(elements) if Arc::strong_count(elements) == 1 => {
                elements.iter().fold(0_u64, |total, part| total.saturating_add(part.owned_size()))
            }
            Content::Mapping(elements) if Arc::strong_count(elements) == 1 => {
                elements.iter().fold(0_u64, |total, (key, part)| {
                    let key = u64::from(units(key.len())).saturating_mul(UNIT);
                    total.saturating_add(key).saturating_add(part.owned_size())
                })
            }
            Content::Sequence(_) | Content::Mapping(_) => 0,
            _ => return self.expanded_size(),
        };
        own.saturating_add(UNIT)
    }

    /// Returns the text of a string that is known and not null.
    pub fn as_str(&self) -> Option<&str> {
        match &self.content {
            Content::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the content of a bool that is known and not null.
    pub fn as_bool(&self) -> Option<bool> {
        match self.content {
            Content::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// Returns the content of a number that is known and not null.
    pub fn as_number(&self) -> Option<&Number> {
        match &self.content {
            Content::Number(value) => Some(value),
            _ => None,
        }
    }

    /// Returns the elements of a known list, set or tuple.
    pub fn as_elements(&self) -> Option<&[Self]> {
        match &self.content {
            Content::Sequence(elements) => Some(elements),
            _ => None,
        }
    }

    /// Returns the elements of a known map, or the attributes of a known object.
    pub fn as_mapping(&self) -> Option<Mapping<'_>> {
        match &self.content {
            Content::Mapping(elements) => Some(Mapping::new(elements)),
            _ => None,
        }
    }

    /// Returns an attribute of a known object, or an element of a known map.
    pub fn get(&self, name: &str) -> Option<&Self> {
        self.as_mapping()?.get(name)
    }
}

/// Marks.
impl Value {
    /// Returns the marks of this value itself.
    pub fn marks(&self) -> Marks {
        self.marks
    }

    /// Returns the marks of this value and of all nested values. O(1).
    pub fn inside_marks(&self) -> Marks {
        self.marks | self.inside.marks
    }

    /// Returns true if this value or a nested value is sensitive. O(1).
    pub fn has_sensitive(&self) -> bool {
        self.inside_marks().is_sensitive()
    }

    /// Returns the value with additional marks.
    #[must_use]
    pub fn with_marks(mut self, marks: Marks) -> Self {
        self.marks |= marks;
        self
    }

    /// Returns the value without its own marks; nested values keep their marks.
    #[must_use]
    pub fn unmark(mut self) -> Self {
        self.marks = Marks::NONE;
        self
    }

    /// Returns the value without any marks. O(1) if it has none.
    #[must_use]
    pub fn unmark_deep(&self) -> Self {
        if self.inside_marks().is_empty() {
            return self.clone();
        }
        let content = match &self.content {
            Content::Sequence(elements) if !self.inside.marks.is_empty() => {
                Content::Sequence(elements.iter().map(Self::unmark_deep).collect())
            }
            Content::Mapping(elements) if !self.inside.marks.is_empty() => Content::Mapping(
                elements.iter().map(|(key, value)| (key.clone(), value.unmark_deep())).collect(),
            ),
            other => other.clone(),
        };
        Self {
            ty: self.ty.clone(),
            content,
            marks: Marks::NONE,
            inside: Inside { marks: Marks::NONE, ..self.inside },
            units: self.units,
        }
    }

    /// Returns the paths of all marked values. Values without marks are not visited.
    pub fn mark_paths(&self) -> PathMarks {
        let mut found = Vec::new();
        self.collect_marks(&mut Path::root(), &mut found);
        found
    }

    fn collect_marks(&self, path: &mut Path, found: &mut PathMarks) {
        if !self.marks.is_empty() {
            found.push((path.clone(), self.marks));
        }
        if self.inside.marks.is_empty() {
            return;
        }
        match self.view() {
            View::List(elements) | View::Tuple(elements) => {
                for (index, element) in (0u64..).zip(elements) {
                    path.push(PathStep::Index(index));
                    element.collect_marks(path, found);
                    path.pop();
                }
            }
            View::Map(elements) => {
                for (key, element) in elements {
                    path.push(PathStep::Key(key.clone()));
                    element.collect_marks(path, found);
                    path.pop();
                }
            }
            View::Object(attributes) => {
                for (name, attribute) in attributes {
                    path.push(PathStep::Attribute(name.clone()));
                    attribute.collect_marks(path, found);
                    path.pop();
                }
            }
            // Set elements never have marks.
            _ => {}
        }
    }

    /// Returns the value with marks at these paths. If a path does not exist, its nearest existing
    /// ancestor is marked.
    #[must_use]
    pub fn mark_at(&self, marks: &[(Path, Marks)]) -> Self {
        self.mark_below(marks.iter().map(|(path, marks)| (path.steps(), *marks)).collect())
    }

    /// Adds marks below this value. Rebuilds each nested value once, regardless of the number of
    /// marks in it.
    fn mark_below(&self, marks: Vec<(&[PathStep], Marks)>) -> Self {
        let mut own = self.marks;
        let mut below: BTreeMap<&PathStep, Vec<(&[PathStep], Marks)>> = BTreeMap::new();
        for (path, marks) in marks {
            match path.split_first() {
                Some((step, rest)) if self.has_part(step) => {
                    below.entry(step).or_default().push((rest, marks));
                }
                _ => own |= marks,
            }
        }
        if below.is_empty() {
            return self.clone().with_marks(own);
        }
        let rebuilt = match &self.content {
            Content::Sequence(elements) => {
                let mut elements = elements.to_vec();
                for (step, marks) in below {
                    if let PathStep::Index(index) = step
                        && let Some(element) =
                            usize::try_from(*index).ok().and_then(|index| elements.get_mut(index))
                    {
                        *element = element.mark_below(marks);
                    }
                }
                Self::sequence(self.ty.clone(), elements.into())
            }
            Content::Mapping(elements) => {
                let mut elements = elements.to_vec();
                for (step, marks) in below {
                    if let PathStep::Key(key) | PathStep::Attribute(key) = step
                        && let Ok(index) = position(&elements, key)
                        && let Some((_, element)) = elements.get_mut(index)
                    {
                        *element = element.mark_below(marks);
                    }
                }
                Self::mapping(self.ty.clone(), elements.into())
            }
            _ => self.clone(),
        };
        rebuilt.with_marks(own)
    }

    /// Returns true if a step leads to a nested value that can have marks.
    fn has_part(&self, step: &PathStep) -> bool {
        match (self.view(), step) {
            (View::List(elements) | View::Tuple(elements), PathStep::Index(index)) => {
                usize::try_from(*index).is_ok_and(|index| index < elements.len())
            }
            (View::Map(elements) | View::Object(elements), PathStep::Key(key) | PathStep::Attribute(key)) => {
                elements.contains_key(key)
            }
            _ => false,
        }
    }
}

/// Rebuilding.
impl Value {
    /// Returns an object with one attribute replaced. In the result's type, the attribute has the
    /// new value's type.
    #[must_use]
    pub fn with_attribute(&self, name: &str, value: Self) -> Self {
        self.clone().with_attributes([(name, value)])
    }

    /// Returns an object with several attributes replaced, like [`Value::with_attribute`]. If no
    /// other value shares the object's attributes, they are replaced in place.
    #[must_use]
    pub fn with_attributes<const N: usize>(self, replaced: [(&str, Self); N]) -> Self {
        let Self { ty, content: Content::Mapping(attributes), marks, .. } = self else { return self };
        let mut attributes = attributes;
        let mut has_same_type = true;
        for (name, value) in replaced {
            has_same_type &= match &ty {
                Type::Object(ty) => ty.attribute(name) == Some(&value.ty),
                _ => true,
            };
            match position(&attributes, name) {
                Ok(index) => {
                    if let Some((_, attribute)) = Arc::make_mut(&mut attributes).get_mut(index) {
                        *attribute = value;
                    }
                }
                Err(index) => {
                    let mut more = attributes.to_vec();
                    more.insert(index, (Str::new(name), value));
                    attributes = more.into();
                }
            }
        }
        let replaced =
            if has_same_type { Self::mapping(ty, attributes) } else { Self::from_attributes(attributes) };
        replaced.with_marks(marks)
    }

    /// Rebuilds the value bottom-up: `change` receives each nested value with its path, after the
    /// values inside it have been rebuilt. The types of collections do not change; the types of
    /// objects and tuples follow from their new attributes and elements. Cost: O(number of nested
    /// values).
    #[must_use]
    pub fn transform(&self, change: &mut dyn FnMut(&Path, Self) -> Self) -> Self {
        self.transform_at(&mut Path::root(), change)
    }

    fn transform_at(&self, path: &mut Path, change: &mut dyn FnMut(&Path, Self) -> Self) -> Self {
        let rebuilt = match self.view() {
            View::List(elements) => {
                let parts = Self::transform_sequence(elements, path, change);
                Self::sequence(self.ty.clone(), parts.into()).with_marks(self.marks)
            }
            View::Tuple(elements) => {
                Self::tuple(Self::transform_sequence(elements, path, change)).with_marks(self.marks)
            }
            View::Map(elements) => {
                let parts = Self::transform_mapping(elements, true, path, change);
                Self::mapping(self.ty.clone(), parts).with_marks(self.marks)
            }
            View::Object(attributes) => {
                let parts = Self::transform_mapping(attributes, false, path, change);
                Self::from_attributes(parts).with_marks(self.marks)
            }
            _ => self.clone(),
        };
        change(path, rebuilt)
    }

    fn transform_sequence(
        elements: &[Self],
        path: &mut Path,
        change: &mut dyn FnMut(&Path, Self) -> Self,
    ) -> Vec<Self> {
        (0u64..)
            .zip(elements)
            .map(|(index, element)| {
                path.push(PathStep::Index(index));
                let changed = element.transform_at(path, change);
                path.pop();
                changed
            })
            .collect()
    }

    fn transform_mapping(
        elements: Mapping<'_>,
        is_map: bool,
        path: &mut Path,
        change: &mut dyn FnMut(&Path, Self) -> Self,
    ) -> Arc<[(Str, Self)]> {
        elements
            .iter()
            .map(|(key, element)| {
                path.push(if is_map { PathStep::Key(key.clone()) } else { PathStep::Attribute(key.clone()) });
                let changed = element.transform_at(path, change);
                path.pop();
                (key.clone(), changed)
            })
            .collect()
    }
}

impl Inside {
    fn from_parts<'a>(parts: impl Iterator<Item = &'a Value>) -> Self {
        parts.fold(Self::default(), |inside, part| Self {
            unknown: inside.unknown || part.inside.unknown,
            marks: inside.marks | part.inside_marks(),
        })
    }
}

/// Returns the size of a leaf with this many bytes on the heap.
fn units(bytes: usize) -> u32 {
    let units = u64::try_from(bytes).unwrap_or(u64::MAX) / UNIT;
    u32::try_from(units).unwrap_or(u32::MAX).saturating_add(1)
}

/// Formats the value for tests and log lines. Sensitive values are redacted.
impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.marks.is_sensitive() {
            return f.write_str("(sensitive)");
        }
        match self.view() {
            View::Null => write!(f, "null({})", self.ty),
            View::Unknown => match self.refinement() {
                None => write!(f, "unknown({})", self.ty),
                Some(refinement) => write!(f, "unknown({}, {refinement:?})", self.ty),
            },
            View::Bool(value) => write!(f, "{value}"),
            View::Number(value) => write!(f, "{value}"),
            View::String(value) => write!(f, "{value:?}"),
            View::List(elements) | View::Tuple(elements) => f.debug_list().entries(elements).finish(),
            View::Set(elements) => f.debug_set().entries(elements).finish(),
            View::Map(elements) | View::Object(elements) => f.debug_map().entries(elements).finish(),
        }
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::bool(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::string(value)
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::string(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::number(value)
    }
}

#[cfg(test)]
mod tests;
