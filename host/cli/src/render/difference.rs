//! What differs between two values, part by part, before it becomes text.
//!
//! A tree of [`Difference`]s is made in one of two ways: by a schema
//! ([`schema`]), where it is known which attributes, blocks and element types
//! there are, or by the values alone ([`dynamic`]), for outputs, for attributes
//! of any type and for JSON inside of strings. In both, an absent side is `None`;
//! a null that stands in a list or under a key is `Some`.
//!
//! The effect of the whole follows from those of its parts, as nothing but the
//! parts tells a change from none.

use std::sync::LazyLock;

use wardian_value::{PathStep, Type, Value};

pub(super) mod alignment;
pub(super) mod dynamic;
pub(super) mod schema;

/// What happens to a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// Nothing.
    None,
    /// It comes to be.
    Create,
    /// It goes.
    Delete,
    /// It, or something inside, changes.
    Update,
}

impl Effect {
    /// The effect on a whole, of which this is known so far, with one more part.
    pub(super) fn with_part(self, part: Self) -> Self {
        match part {
            Self::None => self,
            _ if part == self => self,
            _ => Self::Update,
        }
    }
}

/// A part with what happens to it.
#[derive(Clone, Debug)]
pub(super) struct Difference<'a> {
    pub(super) effect: Effect,
    /// Whether it is what forces the replacement of the object.
    pub(super) replace: bool,
    pub(super) content: Content<'a>,
}

/// What a part is.
#[derive(Clone, Debug)]
pub(super) enum Content<'a> {
    /// Something without parts.
    Scalar(Sides<'a>),
    /// Not known until the apply; what it was, if anything.
    Unknown(Option<Box<Difference<'a>>>),
    /// Not to be shown.
    Sensitive(Secrecy),
    /// A block that is not to be shown.
    SensitiveBlock(Secrecy),
    /// Never stored.
    WriteOnly,
    /// One thing becomes another kind of thing.
    TypeChange(Box<(Difference<'a>, Difference<'a>)>),
    /// Elements in order.
    List {
        elements: Vec<Difference<'a>>,
        /// Whether unchanged neighbours of changes are shown.
        neighbours: bool,
    },
    /// Elements without names.
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
    /// Whether all of them together force the replacement.
    pub(super) replace: bool,
    /// Blocks with their labels.
    pub(super) blocks: Vec<(Option<&'a str>, Difference<'a>)>,
}

/// Which side of a change is sensitive, and what happens behind the curtain.
#[derive(Clone, Copy, Debug)]
pub(super) struct Secrecy {
    pub(super) before: bool,
    pub(super) after: bool,
    pub(super) inner: Effect,
}

impl Secrecy {
    /// Whether a value that stays starts or ends being sensitive.
    pub(super) fn changes(self) -> bool {
        self.before != self.after && matches!(self.inner, Effect::None | Effect::Update)
    }

    /// The effect that is shown.
    fn effect(self) -> Effect {
        if self.changes() { Effect::Update } else { self.inner }
    }
}

/// A value before and after; `None` where there is none.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sides<'a> {
    pub(super) before: Option<&'a Value>,
    pub(super) after: Option<&'a Value>,
}

impl<'a> Sides<'a> {
    pub(super) fn new(before: Option<&'a Value>, after: Option<&'a Value>) -> Self {
        Self { before, after }
    }

    /// Nulls count as absent: for attributes of blocks and objects, which are
    /// always there.
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

    /// Which sides are sensitive, for something whose schema says so or not.
    fn secrecy(self, always: bool) -> (bool, bool) {
        let is_sensitive =
            |side: Option<&Value>| side.is_some_and(|value| always || value.marks().is_sensitive());
        (is_sensitive(self.before), is_sensitive(self.after))
    }

    /// The effect that presence alone tells.
    fn effect(self) -> Effect {
        match (self.before, self.after) {
            (None, Some(_)) => Effect::Create,
            (Some(_), None) => Effect::Delete,
            _ => Effect::None,
        }
    }

    /// Elements of both sides, none where there is no sequence.
    fn sequences(self) -> (&'a [Value], &'a [Value]) {
        let elements = |side: Option<&'a Value>| side.and_then(Value::as_elements).unwrap_or_default();
        (elements(self.before), elements(self.after))
    }

    /// A difference without parts.
    fn scalar(self, replace: bool) -> Difference<'a> {
        let effect = match (self.before, self.after) {
            (Some(before), Some(after)) if !same(before, after) => Effect::Update,
            _ => self.effect(),
        };
        Difference { effect, replace, content: Content::Scalar(self) }
    }
}

/// Equality of scalars, whatever their marks.
fn same(before: &Value, after: &Value) -> bool {
    (before.is_null() && after.is_null())
        || before == after
        || (before.marks() != after.marks() && before.clone().unmark() == after.clone().unmark())
}

/// Keys of either side, sorted.
fn keys<'a>(sides: Sides<'a>) -> Vec<&'a str> {
    let of = |side: Option<&'a Value>| side.and_then(Value::as_mapping);
    let mut keys: Vec<&'a str> = match (of(sides.before), of(sides.after)) {
        (Some(before), Some(after)) => {
            let added = after.keys().filter(|key| !before.contains_key(&***key));
            before.keys().chain(added).map(|key| &**key).collect()
        }
        (Some(one), None) | (None, Some(one)) => return one.keys().map(|key| &**key).collect(),
        (None, None) => Vec::new(),
    };
    keys.sort_unstable();
    keys
}

/// The paths that force a replacement, as seen from some part.
#[derive(Clone, Debug, Default)]
pub(super) struct Forcing<'a>(Vec<&'a [PathStep]>);

impl<'a> Forcing<'a> {
    pub(super) fn new(paths: impl IntoIterator<Item = &'a [PathStep]>) -> Self {
        Self(paths.into_iter().collect())
    }

    /// Whether this very part forces it.
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

/// Stands for what is not known of the parts of something unknown.
static UNKNOWN: LazyLock<Value> = LazyLock::new(|| Value::unknown(Type::Dynamic));
