//! The [`Value`] type.

mod equality;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::{Marks, Number, ObjectType, Path, PathMarks, PathStep, Refinement, Str, Type, set};

/// A value: a type, content, and marks. Clones share the content.
#[derive(Clone)]
pub struct Value {
    ty: Type,
    content: Content,
    marks: Marks,
    inside: Inside,
}

#[derive(Clone)]
enum Content {
    Null,
    Unknown(Option<Arc<Refinement>>),
    Bool(bool),
    Number(Number),
    String(Str),
    /// Elements of a list, set (sorted, unique) or tuple.
    Sequence(Arc<[Value]>),
    /// Elements of a map or attributes of an object.
    Mapping(Arc<BTreeMap<Str, Value>>),
}

/// Properties of the value and everything inside it, stored so that queries are O(1).
#[derive(Clone, Copy, Default)]
struct Inside {
    unknown: bool,
    marks: Marks,
}

/// The content of a value, for matching. It does not include marks: callers must carry
/// [`Value::marks`] on.
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
    Map(&'a BTreeMap<Str, Value>),
    /// Attributes of an object by name.
    Object(&'a BTreeMap<Str, Value>),
}

/// Constructors.
impl Value {
    fn leaf(ty: Type, content: Content) -> Self {
        Self { ty, content, marks: Marks::NONE, inside: Inside::default() }
    }

    /// Returns a list or tuple, or a set whose elements are already canonical, of exactly this
    /// type.
    pub(crate) fn sequence(ty: Type, elements: Arc<[Self]>) -> Self {
        let inside = Inside::from_parts(elements.iter());
        Self { ty, content: Content::Sequence(elements), marks: Marks::NONE, inside }
    }

    /// Returns a map or object of exactly this type.
    pub(crate) fn mapping(ty: Type, elements: BTreeMap<Str, Self>) -> Self {
        let inside = Inside::from_parts(elements.values());
        Self { ty, content: Content::Mapping(Arc::new(elements)), marks: Marks::NONE, inside }
    }

    /// Returns null of a type that has no optional attributes.
    pub(crate) fn null_exact(ty: Type) -> Self {
        Self::leaf(ty, Content::Null)
    }

    /// Returns an unknown value of a type that has no optional attributes.
    pub(crate) fn unknown_exact(ty: Type) -> Self {
        let inside = Inside { unknown: true, marks: Marks::NONE };
        Self { ty, content: Content::Unknown(None), marks: Marks::NONE, inside }
    }

    /// Returns a set of exactly this type from unmarked elements.
    pub(crate) fn set_exact(ty: Type, mut elements: Vec<Self>) -> Self {
        set::canonicalize(&mut elements);
        Self::sequence(ty, elements.into())
    }

    /// Returns null of a type.
    pub fn null(ty: Type) -> Self {
        Self::leaf(ty.without_optional(), Content::Null)
    }

    /// Returns an unknown value of a type, without facts.
    pub fn unknown(ty: Type) -> Self {
        let ty = ty.without_optional();
        Self {
            ty,
            content: Content::Unknown(None),
            marks: Marks::NONE,
            inside: Inside { unknown: true, marks: Marks::NONE },
        }
    }

    /// Returns an unknown value of a type, with facts. Facts on a dynamic type are dropped. If
    /// the facts leave only one possible value, that value is returned (see
    /// [`crate::Refinement`]'s collapse rules in the msgpack format).
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
        Self {
            ty,
            content: Content::Unknown(Some(Arc::new(refinement))),
            marks: Marks::NONE,
            inside: Inside { unknown: true, marks: Marks::NONE },
        }
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
                    // Bounded so that a hostile length cannot exhaust memory.
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
            Type::Map(_) => Self::mapping(ty.clone(), BTreeMap::new()),
            _ => Self::sequence(ty.clone(), Arc::from([])),
        }
    }

    /// Returns a bool.
    pub fn bool(value: bool) -> Self {
        Self::leaf(Type::Bool, Content::Bool(value))
    }

    /// Returns a number.
    pub fn number(value: impl Into<Number>) -> Self {
        Self::leaf(Type::Number, Content::Number(value.into()))
    }

    /// Returns a string.
    pub fn string(value: impl Into<Str>) -> Self {
        Self::leaf(Type::String, Content::String(value.into()))
    }

    /// Returns a list. Elements must have type `element`; callers convert first. Untyped nulls
    /// and unknowns receive the type.
    pub fn list(element: Type, elements: impl IntoIterator<Item = Self>) -> Self {
        let elements = elements.into_iter().map(|value| value.typed(&element)).collect();
        Self::sequence(Type::list(element), elements)
    }

    /// Gives an untyped null or unknown the type; returns all other values unchanged.
    fn typed(self, ty: &Type) -> Self {
        match (&self.ty, ty) {
            (Type::Dynamic, ty) if !matches!(ty, Type::Dynamic) => Self { ty: ty.clone(), ..self },
            _ => self,
        }
    }

    /// Returns a tuple; its type follows from the elements.
    pub fn tuple(elements: impl IntoIterator<Item = Self>) -> Self {
        let elements: Arc<[Self]> = elements.into_iter().collect();
        Self::sequence(Type::tuple(elements.iter().map(|e| e.ty.clone())), elements)
    }

    /// Returns a set: sorted, duplicates removed. The elements' marks move to the set, because
    /// set elements have no paths.
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

    /// Returns a map. Elements must have type `element`; callers convert first.
    pub fn map(element: Type, elements: impl IntoIterator<Item = (Str, Self)>) -> Self {
        let elements = elements.into_iter().map(|(key, value)| (key, value.typed(&element))).collect();
        Self::mapping(Type::map(element), elements)
    }

    /// Returns an object; its type follows from the attributes.
    pub fn object<N: Into<Str>>(attributes: impl IntoIterator<Item = (N, Self)>) -> Self {
        let attributes: BTreeMap<Str, Self> =
            attributes.into_iter().map(|(name, value)| (name.into(), value)).collect();
        let ty = ObjectType::new(attributes.iter().map(|(n, v)| (n.clone(), v.ty.clone())));
        Self::mapping(Type::Object(Arc::new(ty)), attributes)
    }

    /// Returns the object without attributes.
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

    /// Returns the content for matching.
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
            (Content::Mapping(elements), Type::Map(_)) => View::Map(elements),
            (Content::Mapping(attributes), _) => View::Object(attributes),
        }
    }

    /// Returns the facts about an unknown value.
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

    /// Returns true if the value itself is known; parts of it may be unknown.
    pub fn is_known(&self) -> bool {
        !matches!(self.content, Content::Unknown(_))
    }

    /// Returns true if the value contains no unknowns. O(1).
    pub fn is_wholly_known(&self) -> bool {
        !self.inside.unknown
    }

    /// Returns true if the value certainly is not null: known and not null, or refined so.
    pub fn is_definitely_not_null(&self) -> bool {
        match &self.content {
            Content::Null => false,
            Content::Unknown(refinement) => refinement.as_ref().is_some_and(|r| r.not_null),
            _ => true,
        }
    }

    /// Returns the text of a known, non-null string.
    pub fn as_str(&self) -> Option<&str> {
        match &self.content {
            Content::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the content of a known, non-null bool.
    pub fn as_bool(&self) -> Option<bool> {
        match self.content {
            Content::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// Returns the content of a known, non-null number.
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
    pub fn as_mapping(&self) -> Option<&BTreeMap<Str, Self>> {
        match &self.content {
            Content::Mapping(elements) => Some(elements),
            _ => None,
        }
    }

    /// Returns one attribute of a known object, or one element of a known map.
    pub fn get(&self, name: &str) -> Option<&Self> {
        self.as_mapping()?.get(name)
    }
}

/// Marks.
impl Value {
    /// Returns the marks on this value itself.
    pub fn marks(&self) -> Marks {
        self.marks
    }

    /// Returns the marks on this value and on everything inside. O(1).
    pub fn inside_marks(&self) -> Marks {
        self.marks | self.inside.marks
    }

    /// Returns true if this value or a part of it is sensitive. O(1).
    pub fn has_sensitive(&self) -> bool {
        self.inside_marks().is_sensitive()
    }

    /// Returns the value with more marks on itself.
    #[must_use]
    pub fn with_marks(mut self, marks: Marks) -> Self {
        self.marks |= marks;
        self
    }

    /// Returns the value without the marks on itself; parts keep theirs.
    #[must_use]
    pub fn unmark(mut self) -> Self {
        self.marks = Marks::NONE;
        self
    }

    /// Returns the value without any mark. O(1) if there is none.
    #[must_use]
    pub fn unmark_deep(&self) -> Self {
        if self.inside_marks().is_empty() {
            return self.clone();
        }
        let content = match &self.content {
            Content::Sequence(elements) if !self.inside.marks.is_empty() => {
                Content::Sequence(elements.iter().map(Self::unmark_deep).collect())
            }
            Content::Mapping(elements) if !self.inside.marks.is_empty() => Content::Mapping(Arc::new(
                elements.iter().map(|(key, value)| (key.clone(), value.unmark_deep())).collect(),
            )),
            other => other.clone(),
        };
        Self {
            ty: self.ty.clone(),
            content,
            marks: Marks::NONE,
            inside: Inside { marks: Marks::NONE, ..self.inside },
        }
    }

    /// Returns the paths of all marks. Parts without marks are not visited.
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
            // Set elements never have marks of their own.
            _ => {}
        }
    }

    /// Returns the value with marks at paths. If a path does not exist, its nearest existing
    /// ancestor is marked.
    #[must_use]
    pub fn mark_at(&self, marks: &[(Path, Marks)]) -> Self {
        self.mark_below(marks.iter().map(|(path, marks)| (path.steps(), *marks)).collect())
    }

    /// Rebuilds each part once, independent of the number of marks below it.
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
                let mut elements = (**elements).clone();
                for (step, marks) in below {
                    if let PathStep::Key(key) | PathStep::Attribute(key) = step
                        && let Some(element) = elements.get_mut(key)
                    {
                        *element = element.mark_below(marks);
                    }
                }
                Self::mapping(self.ty.clone(), elements)
            }
            _ => self.clone(),
        };
        rebuilt.with_marks(own)
    }

    /// Returns true if a step leads to a part that can have marks.
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
    /// Returns an object with one attribute replaced. Its type has the new value's type for that
    /// attribute.
    #[must_use]
    pub fn with_attribute(&self, name: &str, value: Self) -> Self {
        match &self.content {
            Content::Mapping(attributes) => {
                let mut attributes = (**attributes).clone();
                attributes.insert(Str::new(name), value);
                let marks = self.marks;
                match &self.ty {
                    Type::Map(_) => Self::mapping(self.ty.clone(), attributes),
                    _ => Self::object(attributes),
                }
                .with_marks(marks)
            }
            _ => self.clone(),
        }
    }

    /// Rebuilds the value bottom-up: `change` receives each part with its path after the parts
    /// inside it were rebuilt. The types of collections stay; the types of objects and tuples
    /// follow their parts. Cost: O(parts).
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
                Self::object(parts).with_marks(self.marks)
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
        elements: &BTreeMap<Str, Self>,
        is_map: bool,
        path: &mut Path,
        change: &mut dyn FnMut(&Path, Self) -> Self,
    ) -> BTreeMap<Str, Self> {
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

/// For tests and logs. Sensitive parts are redacted.
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
