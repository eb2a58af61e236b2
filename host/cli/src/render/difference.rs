//! The difference between two values, attribute by attribute and element by element, before it is
//! rendered. Here, a *part* of a value is an attribute, an element or a nested block.
//!
//! A tree of [`Difference`]s is computed in one of two ways: from a schema ([`schema`]), which
//! defines the attributes, blocks and element types, or from the values alone ([`dynamic`]), for
//! outputs, for attributes of any type and for JSON in strings. In both cases, an absent side is
//! `None`; a null in a list or a map is `Some`.
//!
//! The effect on a value follows from the effects on its parts, because only the parts show whether
//! anything changed.

use std::sync::LazyLock;

use wardian_value::{PathStep, Type, Value};

pub(super) mod alignment;
pub(super) mod dynamic;
pub(super) mod schema;

/// The effect of a change on a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// The part is unchanged.
    None,
    /// The part is added.
    Create,
    /// The part is removed.
    Delete,
    /// The part, or something in it, changes.
    Update,
}

impl Effect {
    /// Returns the effect on a value after one more of its parts is taken into account.
    pub(super) fn with_part(self, part: Self) -> Self {
        match part {
            Self::None => self,
            _ if part == self => self,
            _ => Self::Update,
        }
    }
}

/// A part, and the effect of the change on it.
#[derive(Clone, Debug)]
pub(super) struct Difference<'a> {
    pub(super) effect: Effect,
    /// Whether this part forces the replacement of the object.
    pub(super) replace: bool,
    pub(super) content: Content<'a>,
}

/// The kind of a part.
#[derive(Clone, Debug)]
pub(super) enum Content<'a> {
    /// A value without parts.
    Scalar(Sides<'a>),
    /// A value that is unknown until the apply, with the previous value if there is one.
    Unknown(Option<Box<Difference<'a>>>),
    /// A sensitive value.
    Sensitive(Secrecy),
    /// A sensitive block.
    SensitiveBlock(Secrecy),
    /// A write-only value, which is never stored.
    WriteOnly,
    /// A value that changes to a value of another kind.
    TypeChange(Box<(Difference<'a>, Difference<'a>)>),
    /// Ordered elements.
    List {
        elements: Vec<Difference<'a>>,
        /// Whether unchanged neighbours of changes are shown.
        neighbours: bool,
    },
    /// Unordered elements.
    Set { elements: Vec<Difference<'a>>, nested: bool },
    /// Elements by key.
    Map { elements: Vec<(&'a str, Difference<'a>)>, nested: bool },
    /// Attributes by name.
    Object { attributes: Vec<(&'a str, Difference<'a>)>, nested: bool },
    /// Attributes and nested blocks.
    Block { attributes: Vec<(&'a str, Difference<'a>)>, groups: Vec<BlockGroup<'a>> },
}

/// Nested blocks of one type.
#[derive(Clone, Debug)]
pub(super) struct BlockGroup<'a> {
    pub(super) name: &'a str,
    /// Whether the group as a whole forces the replacement.
    pub(super) replace: bool,
    /// Blocks with their labels.
    pub(super) blocks: Vec<(Option<&'a str>, Difference<'a>)>,
}

/// The sensitive sides of a change, and the effect of the hidden change.
#[derive(Clone, Copy, Debug)]
pub(super) struct Secrecy {
    pub(super) before: bool,
    pub(super) after: bool,
    pub(super) inner: Effect,
}

impl Secrecy {
    /// Returns whether a value that is present on both sides becomes sensitive, or is no longer
    /// sensitive.
    pub(super) fn changes(self) -> bool {
        self.before != self.after && matches!(self.inner, Effect::None | Effect::Update)
    }

    /// Returns the effect that is shown.
    fn effect(self) -> Effect {
        if self.changes() { Effect::Update } else { self.inner }
    }
}

/// A value before and after; `None` if it is absent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sides<'a> {
    pub(super) before: Option<&'a Value>,
    pub(super) after: Option<&'a Value>,
}

impl<'a> Sides<'a> {
    pub(super) fn new(before: Option<&'a Value>, after: Option<&'a Value>) -> Self {
        Self { before, after }
    }

    /// Returns the sides with nulls treated as absent. This is appropriate for attributes of blocks
    /// and objects, because they are always present.
    fn without_nulls(self) -> Self {
        let present = |side: Option<&'a Value>| side.filter(|value| !value.is_null());
        Self { before: present(self.before), after: present(self.after) }
    }

    fn only_before(self) -> Self {
        Self { before: self.before, after: None }
    }

    fn only_after(self) -> Self {
        Self { before: None, after: self.after }
    }

    fn map(self, part: impl Fn(&'a Value) -> Option<&'a Value>) -> Self {
        Self { before: self.before.and_then(&part), after: self.after.and_then(&part) }
    }

    fn is_empty(self) -> bool {
        self.before.is_none() && self.after.is_none()
    }

    fn after_is_unknown(self) -> bool {
        self.after.is_some_and(|value| !value.is_known())
    }

    /// Returns which sides are sensitive. If the schema makes the value sensitive (`always`), these
    /// are all sides that are present.
    fn secrecy(self, always: bool) -> (bool, bool) {
        let is_sensitive =
            |side: Option<&Value>| side.is_some_and(|value| always || value.marks().is_sensitive());
        (is_sensitive(self.before), is_sensitive(self.after))
    }

    /// Returns the effect that follows only from the presence of the sides.
    fn effect(self) -> Effect {
        match (self.before, self.after) {
            (None, Some(_)) => Effect::Create,
            (Some(_), None) => Effect::Delete,
            _ => Effect::None,
        }
    }

    /// Returns the elements of each side. A side that is not a sequence has no elements.
    fn sequences(self) -> (&'a [Value], &'a [Value]) {
        let elements = |side: Option<&'a Value>| side.and_then(Value::as_elements).unwrap_or_default();
        (elements(self.before), elements(self.after))
    }

    /// Returns a difference without parts.
    fn scalar(self, replace: bool) -> Difference<'a> {
        let effect = match (self.before, self.after) {
            (Some(before), Some(after)) if !same(before, after) => Effect::Update,
            _ => self.effect(),
        };
        Difference { effect, replace, content: Content::Scalar(self) }
    }
}

/// Returns whether scalars are equal, ignoring marks.
fn same(before: &Value, after: &Value) -> bool {
    (before.is_null() && after.is_null())
        || before == after
        || (before.marks() != after.marks() && before.clone().unmark() == after.clone().unmark())
}

/// Returns the keys of both sides, sorted.
fn keys<'a>(sides: Sides<'a>) -> Vec<&'a str> {
    let of = |side: Option<&'a Value>| side.and_then(Value::as_mapping);
    let mut keys: Vec<&'a str> = match (of(sides.before), of(sides.after)) {
        (Some(before), Some(after)) => {
            let added = after.keys().filter(|key| !before.contains_key(key));
            before.keys().chain(added).map(|key| &**key).collect()
        }
        (Some(one), None) | (None, Some(one)) => return one.keys().map(|key| &**key).collect(),
        (None, None) => Vec::new(),
    };
    keys.sort_unstable();
    keys
}

/// The paths that force a replacement, relative to a part.
#[derive(Clone, Debug, Default)]
pub(super) struct Forcing<'a>(Vec<&'a [PathStep]>);

impl<'a> Forcing<'a> {
    pub(super) fn new(paths: impl IntoIterator<Item = &'a [PathStep]>) -> Self {
        Self(paths.into_iter().collect())
    }

    /// Returns whether this part itself forces the replacement.
    fn here(&self) -> bool {
        self.0.iter().any(|steps| steps.is_empty())
    }

    fn below(&self, leads: impl Fn(&PathStep) -> bool) -> Self {
        let rests = self.0.iter().filter_map(|steps| steps.split_first());
        Self(rests.filter(|(step, _)| leads(step)).map(|(_, rest)| rest).collect())
    }

    fn name(&self, name: &str) -> Self {
        self.below(
            |step| matches!(step, PathStep::Attribute(found) | PathStep::Key(found) if **found == *name),
        )
    }

    fn index(&self, index: usize) -> Self {
        self.below(|step| matches!(step, PathStep::Index(found) if usize::try_from(*found) == Ok(index)))
    }
}

/// The placeholder for the parts of an unknown value.
static UNKNOWN: LazyLock<Value> = LazyLock::new(|| Value::unknown(Type::Dynamic));
