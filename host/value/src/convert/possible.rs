//! Determines whether a conversion between two types exists, and the reason if it does not.

use super::error::ConversionProblem;
use super::unify::unify_in;
use crate::codec::{Failure, index_step};
use crate::{ObjectType, PathStep, Type};

/// Returns true if values of one type can be converted to the other. The conversion of individual
/// values can still fail.
pub(super) fn is_possible(from: &Type, to: &Type) -> bool {
    if matches!(to, Type::Dynamic) || from == to {
        return true;
    }
    match (from, to) {
        (Type::Dynamic, _)
        | (Type::Number | Type::Bool, Type::String)
        | (Type::String, Type::Number | Type::Bool) => true,
        (Type::Object(from), Type::Object(to)) => {
            to.iter().all(|(name, to_attribute)| match from.attribute(name) {
                Some(attribute) => is_possible(attribute, to_attribute),
                None => to.is_optional(name),
            })
        }
        (Type::Tuple(from), Type::Tuple(to)) => {
            from.len() == to.len() && from.iter().zip(to.iter()).all(|(f, t)| is_possible(f, t))
        }
        (Type::List(from) | Type::Set(from), Type::List(to))
        | (Type::Set(from), Type::Set(to))
        | (Type::Map(from), Type::Map(to)) => is_possible(from, to),
        (Type::List(from), Type::Set(to)) => is_possible(from, to),
        (Type::Tuple(types), Type::List(element) | Type::Set(element)) => {
            are_possible(&types.iter().collect::<Vec<_>>(), element)
        }
        (Type::Object(object), Type::Map(element)) => {
            are_possible(&object.iter().map(|(_, ty)| ty).collect::<Vec<_>>(), element)
        }
        (Type::Map(element), Type::Object(object)) => object.iter().all(|(_, ty)| is_possible(element, ty)),
        _ => false,
    }
}

fn are_possible(parts: &[&Type], element: &Type) -> bool {
    if matches!(element, Type::Dynamic) {
        return common_element(parts).is_some();
    }
    parts.iter().all(|part| is_possible(part, element))
}

/// Returns the type that replaces a dynamic element type for elements of these types. All elements
/// can be converted to it.
pub(super) fn common_element(parts: &[&Type]) -> Option<Type> {
    if parts.is_empty() {
        return Some(Type::Dynamic);
    }
    let common = unify_in(parts)?;
    // Elements of different known types do not form a collection, even if the types of other
    // elements are unknown.
    if matches!(common, Type::Dynamic) && parts.iter().any(|part| !matches!(part, Type::Dynamic)) {
        return None;
    }
    Some(common)
}

/// Returns the reason why [`is_possible`] returns false.
pub(super) fn explain(from: &Type, to: &Type) -> Failure<ConversionProblem> {
    match (from, to) {
        (Type::Object(from), Type::Object(object)) => explain_object(from, object, to),
        (Type::Tuple(_), Type::List(element)) if matches!(**element, Type::Dynamic) => {
            ConversionProblem::NoCommonType("list").into()
        }
        (Type::Tuple(_), Type::Set(element)) if matches!(**element, Type::Dynamic) => {
            ConversionProblem::NoCommonType("set").into()
        }
        (Type::Object(_), Type::Map(element)) if matches!(**element, Type::Dynamic) => {
            ConversionProblem::NoCommonType("map").into()
        }
        (Type::Tuple(types), Type::List(element) | Type::Set(element)) => types
            .iter()
            .enumerate()
            .find(|(_, ty)| !is_possible(ty, element))
            .map_or_else(|| required(to), |(index, ty)| explain(ty, element).below(index_step(index))),
        (Type::Tuple(from), Type::Tuple(types)) if from.len() == types.len() => from
            .iter()
            .zip(types.iter())
            .enumerate()
            .find(|(_, (from, to))| !is_possible(from, to))
            .map_or_else(|| required(to), |(index, (from, to))| explain(from, to).below(index_step(index))),
        (Type::Object(object), Type::Map(element)) => {
            object.iter().find(|(_, ty)| !is_possible(ty, element)).map_or_else(
                || required(to),
                |(name, ty)| explain(ty, element).below(PathStep::Key(name.clone())),
            )
        }
        (Type::List(from) | Type::Set(from), Type::List(element)) => explain_element("list", from, element),
        (Type::List(from) | Type::Set(from), Type::Set(element)) => explain_element("set", from, element),
        (Type::Map(from), Type::Map(element)) => explain_element("map", from, element),
        _ => required(to),
    }
}

fn required(ty: &Type) -> Failure<ConversionProblem> {
    ConversionProblem::Required(ty.clone()).into()
}

fn explain_element(collection: &'static str, from: &Type, to: &Type) -> Failure<ConversionProblem> {
    let (problem, _) = explain(from, to).finish();
    ConversionProblem::ElementType(collection, Box::new(problem)).into()
}

/// Returns the reason why a conversion between objects is not possible. Missing attributes are
/// reported first, because they are the most common mistake.
fn explain_object(from: &ObjectType, object: &ObjectType, to: &Type) -> Failure<ConversionProblem> {
    let missing: Vec<_> = object
        .iter()
        .map(|(name, _)| name)
        .filter(|name| from.attribute(name).is_none() && !object.is_optional(name))
        .cloned()
        .collect();
    if !missing.is_empty() {
        return ConversionProblem::MissingAttributes(missing).into();
    }
    object
        .iter()
        .filter_map(|(name, ty)| Some((name, from.attribute(name)?, ty)))
        .find(|(_, from, to)| !is_possible(from, to))
        .map_or_else(
            || required(to),
            |(name, from, to)| explain(from, to).below(PathStep::Attribute(name.clone())),
        )
}
