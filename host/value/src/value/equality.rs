//! Compares values: their representations, and the operator `==`.

use std::sync::Arc;

use super::{Content, Value};
use crate::{Refinement, Type};

/// Compares type, content and marks. Two unknown values with the same refinement are equal:
/// representations are compared, for tests and change detection. The operator `==` is
/// [`Value::equals`].
impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        self.marks == other.marks && self.ty == other.ty && self.same_content(other)
    }
}

impl Value {
    fn same_content(&self, other: &Self) -> bool {
        match (&self.content, &other.content) {
            (Content::Null, Content::Null) => true,
            (Content::Unknown(a), Content::Unknown(b)) => a == b,
            (Content::Bool(a), Content::Bool(b)) => a == b,
            (Content::Number(a), Content::Number(b)) => a == b,
            (Content::String(a), Content::String(b)) => a == b,
            (Content::Sequence(a), Content::Sequence(b)) => Arc::ptr_eq(a, b) || a == b,
            (Content::Mapping(a), Content::Mapping(b)) => Arc::ptr_eq(a, b) || a == b,
            _ => false,
        }
    }

    /// Evaluates the operator `==`. Returns an unknown bool if the result depends on an unknown
    /// value. Two nulls are equal regardless of their types; otherwise, values of different types
    /// are not equal (no conversion takes place). The refinement of an unknown value can determine
    /// the result. The result has the marks of both values.
    #[must_use]
    pub fn equals(&self, other: &Self) -> Self {
        let marks = self.inside_marks() | other.inside_marks();
        let result = match self.compare(other) {
            Some(equal) => Self::bool(equal),
            None => Self::unknown_with(Type::Bool, Refinement::not_null()),
        };
        result.with_marks(marks)
    }

    /// Compares two values; `None` if the result depends on an unknown value.
    fn compare(&self, other: &Self) -> Option<bool> {
        match (&self.content, &other.content) {
            (Content::Null, Content::Null) => return Some(true),
            (Content::Null, Content::Unknown(_)) if !other.is_definitely_not_null() => return None,
            (Content::Unknown(_), Content::Null) if !self.is_definitely_not_null() => return None,
            (Content::Null, _) | (_, Content::Null) => return Some(false),
            _ => {}
        }
        if !self.is_known() && !other.is_known() {
            // The two values may turn out to be null, and nulls of all types are equal.
            return None;
        }
        if self.ty != other.ty {
            let may_change = self.has_unknown_type() || other.has_unknown_type();
            return if may_change && may_match(&self.ty, &other.ty) { None } else { Some(false) };
        }
        match (&self.content, &other.content) {
            (Content::Unknown(Some(facts)), _) if facts.excludes(other) => Some(false),
            (_, Content::Unknown(Some(facts))) if facts.excludes(self) => Some(false),
            (Content::Unknown(_), _) | (_, Content::Unknown(_)) => None,
            (Content::Bool(a), Content::Bool(b)) => Some(a == b),
            (Content::Number(a), Content::Number(b)) => Some(a == b),
            (Content::String(a), Content::String(b)) => Some(a == b),
            // Unknown elements may turn out to be equal to others.
            (Content::Sequence(_), Content::Sequence(_))
                if matches!(self.ty, Type::Set(_)) && (self.inside.unknown || other.inside.unknown) =>
            {
                None
            }
            (Content::Sequence(a), Content::Sequence(b)) => {
                if a.len() == b.len() {
                    first_undecided(a.iter().zip(b.iter()))
                } else {
                    Some(false)
                }
            }
            (Content::Mapping(a), Content::Mapping(b))
                if a.len() != b.len() || !a.iter().map(|(key, _)| key).eq(b.iter().map(|(key, _)| key)) =>
            {
                Some(false)
            }
            (Content::Mapping(a), Content::Mapping(b)) => {
                let pairs = a.iter().zip(b.iter()).map(|((_, a), (_, b))| (a, b));
                if matches!(self.ty, Type::Map(_)) { any_different(pairs) } else { first_undecided(pairs) }
            }
            _ => Some(false),
        }
    }

    /// Returns true if the value contains an unknown value of unknown type. The type of such a
    /// value may change.
    fn has_unknown_type(&self) -> bool {
        self.inside.unknown && self.ty.has_dynamic()
    }
}

/// Returns true if the types are equal except for types that are unknown in one of them.
fn may_match(a: &Type, b: &Type) -> bool {
    match (a, b) {
        (Type::Dynamic, _) | (_, Type::Dynamic) => true,
        (Type::List(a), Type::List(b)) | (Type::Set(a), Type::Set(b)) | (Type::Map(a), Type::Map(b)) => {
            may_match(a, b)
        }
        (Type::Tuple(a), Type::Tuple(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| may_match(a, b))
        }
        (Type::Object(a), Type::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .zip(b.iter())
                    .all(|((a_name, a), (b_name, b))| a_name == b_name && may_match(a, b))
        }
        (a, b) => a == b,
    }
}

/// Compares lists, tuples and objects. The first pair that differs, or whose comparison is unknown,
/// determines the result. As in Terraform, later pairs are ignored, even if they differ.
fn first_undecided<'a>(mut pairs: impl Iterator<Item = (&'a Value, &'a Value)>) -> Option<bool> {
    pairs
        .find_map(|(a, b)| match a.compare(b) {
            Some(true) => None,
            decided => Some(decided),
        })
        .unwrap_or(Some(true))
}

/// Compares maps. Any pair that differs determines the result.
fn any_different<'a>(pairs: impl Iterator<Item = (&'a Value, &'a Value)>) -> Option<bool> {
    let mut result = Some(true);
    for (a, b) in pairs {
        match a.compare(b) {
            Some(true) => {}
            Some(false) => return Some(false),
            None => result = None,
        }
    }
    result
}
