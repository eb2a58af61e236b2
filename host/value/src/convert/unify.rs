//! Computes the common type of several types: for conditionals, for arguments that must have one
//! type, and for collections with a dynamic element type.

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashSet};

use super::apply::convert;
use super::error::{ConversionError, ConversionProblem};
use super::possible::is_possible;
use crate::{Path, Str, Type, Value};

/// Returns the type to which values of all these types can be converted, or `None` if no such type
/// exists or `types` is empty. The first matching rule applies:
///
/// | types | result |
/// |---|---|
/// | all equal | that type |
/// | all lists, all sets, all maps | the same kind, with unified element types |
/// | maps and objects; lists and tuples | unified as maps; unified as lists |
/// | objects with the same attributes; tuples of the same length | an object; a tuple; with unified attribute or element types |
/// | other objects; other tuples | a map; a list; with the unified type of all attributes or elements |
/// | objects and tuples | none |
/// | others | the most general type to which all others can be converted |
///
/// If [`Type::Dynamic`] occurs together with structures and collections, the result is dynamic, and
/// the caller must treat the type of the result as unknown.
pub fn unify(types: &[Type]) -> Option<Type> {
    unify_in(&types.iter().collect::<Vec<_>>())
}

/// Returns the common type of values, and all of them converted to it. If the type is dynamic
/// because one of the types is unknown, all results are unknown.
///
/// # Errors
/// Returns an error if the values have no common type, or a value cannot be converted to it.
pub fn unify_values(values: &[Value]) -> Result<(Type, Vec<Value>), ConversionError> {
    let incompatible = ConversionError { path: Path::root(), problem: ConversionProblem::Incompatible };
    let types: Vec<&Type> = values.iter().map(Value::ty).collect();
    let common = unify_in(&types).ok_or(incompatible)?;
    let all_unknown = matches!(common, Type::Dynamic) && types.iter().any(|ty| **ty != common);
    let converted = values
        .iter()
        .map(|value| {
            if all_unknown {
                Ok(Value::unknown(Type::Dynamic).with_marks(value.inside_marks()))
            } else {
                convert(value, &common)
            }
        })
        .collect::<Result<_, _>>()?;
    Ok((common, converted))
}

pub(super) fn unify_in(types: &[&Type]) -> Option<Type> {
    let mut seen = HashSet::new();
    let distinct: Vec<&Type> = types.iter().copied().filter(|ty| seen.insert(*ty)).collect();
    if let [only] = distinct.as_slice() {
        return Some((*only).clone());
    }
    let kinds = Kinds::from_types(&distinct);
    let whole = |result: Option<Type>| if kinds.dynamic { Some(Type::Dynamic) } else { result };
    match kinds {
        Kinds { other: true, .. } => {}
        Kinds { map: true, list: false, set: false, object: false, tuple: false, .. } => {
            return whole(unify_elements(&distinct).map(Type::map));
        }
        Kinds { list: true, map: false, set: false, object: false, tuple: false, .. } => {
            return whole(unify_elements(&distinct).map(Type::list));
        }
        Kinds { set: true, list: false, map: false, object: false, tuple: false, .. } => {
            return whole(unify_elements(&distinct).map(Type::set));
        }
        Kinds { object: true, list: false, set: false, map: false, tuple: false, .. } => {
            return whole(unify_objects(&distinct));
        }
        Kinds { tuple: true, list: false, set: false, map: false, object: false, .. } => {
            return whole(unify_tuples(&distinct));
        }
        Kinds { map: true, object: true, list: false, set: false, tuple: false, .. } => {
            if let Some(ty) = unify_as_collection(&distinct) {
                return Some(ty);
            }
        }
        Kinds { list: true, tuple: true, map: false, set: false, object: false, .. } => {
            if let Some(ty) = unify_as_collection(&distinct) {
                return Some(ty);
            }
        }
        _ => {}
    }
    if kinds.object && kinds.tuple {
        return None;
    }
    by_preference(&distinct)
        .into_iter()
        .find(|wanted| distinct.iter().all(|ty| is_possible(ty, wanted)))
        .cloned()
}

/// The kinds of types that occur in a list of types.
#[derive(Clone, Copy, Default)]
struct Kinds {
    list: bool,
    set: bool,
    map: bool,
    object: bool,
    tuple: bool,
    dynamic: bool,
    other: bool,
}

impl Kinds {
    fn from_types(types: &[&Type]) -> Self {
        types.iter().fold(Self::default(), |mut kinds, ty| {
            *match ty {
                Type::List(_) => &mut kinds.list,
                Type::Set(_) => &mut kinds.set,
                Type::Map(_) => &mut kinds.map,
                Type::Object(_) => &mut kinds.object,
                Type::Tuple(_) => &mut kinds.tuple,
                Type::Dynamic => &mut kinds.dynamic,
                Type::Bool | Type::Number | Type::String => &mut kinds.other,
            } = true;
            kinds
        })
    }
}

fn unify_elements(types: &[&Type]) -> Option<Type> {
    unify_in(&types.iter().filter_map(|ty| ty.element()).collect::<Vec<_>>())
}

/// Unifies a mixture of objects and maps as maps, or of tuples and lists as lists.
fn unify_as_collection(types: &[&Type]) -> Option<Type> {
    let structures: Vec<&Type> =
        types.iter().copied().filter(|ty| matches!(ty, Type::Object(_) | Type::Tuple(_))).collect();
    let collection = unify_parts(&structures)?;
    let others = types.iter().copied().filter(|ty| !matches!(ty, Type::Object(_) | Type::Tuple(_)));
    let all: Vec<&Type> = others.chain([&collection]).collect();
    unify_in(&all).filter(|ty| matches!(ty, Type::Map(_) | Type::List(_)))
}

/// Unifies all attributes of objects as one map, or all elements of tuples as one list.
fn unify_parts(types: &[&Type]) -> Option<Type> {
    let mut parts = Vec::new();
    let mut is_map = false;
    for ty in types {
        match ty {
            Type::Object(object) => {
                is_map = true;
                parts.extend(object.iter().map(|(_, ty)| ty));
            }
            Type::Tuple(elements) => parts.extend(elements.iter()),
            _ => {}
        }
    }
    let element = unify_in(&parts)?;
    let collection = if is_map { Type::map(element) } else { Type::list(element) };
    types.iter().all(|ty| is_possible(ty, &collection)).then_some(collection)
}

fn unify_objects(types: &[&Type]) -> Option<Type> {
    let objects: Vec<_> = types
        .iter()
        .filter_map(|ty| if let Type::Object(object) = ty { Some(object) } else { None })
        .collect();
    let names: Vec<BTreeSet<&Str>> =
        objects.iter().map(|object| object.iter().map(|(name, _)| name).collect()).collect();
    if names.windows(2).any(|pair| pair[0] != pair[1]) {
        return unify_parts(types);
    }
    let attributes = names.first()?.iter().map(|name| {
        let across: Vec<&Type> = objects.iter().filter_map(|object| object.attribute(name)).collect();
        unify_in(&across).map(|ty| ((*name).clone(), ty))
    });
    let unified = Type::object(attributes.collect::<Option<Vec<_>>>()?);
    if types.iter().all(|ty| is_possible(ty, &unified)) { Some(unified) } else { unify_parts(types) }
}

fn unify_tuples(types: &[&Type]) -> Option<Type> {
    let tuples: Vec<&[Type]> = types
        .iter()
        .filter_map(|ty| if let Type::Tuple(elements) = ty { Some(&**elements) } else { None })
        .collect();
    let length = tuples.first()?.len();
    if tuples.iter().any(|tuple| tuple.len() != length) {
        return unify_parts(types);
    }
    let elements = (0..length).map(|index| {
        let across: Vec<&Type> = tuples.iter().map(|tuple| &tuple[index]).collect();
        unify_in(&across)
    });
    let unified = Type::tuple(elements.collect::<Option<Vec<_>>>()?);
    if types.iter().all(|ty| is_possible(ty, &unified)) { Some(unified) } else { unify_parts(types) }
}

/// Sorts more general types first, and otherwise preserves the order.
fn by_preference<'a>(types: &[&'a Type]) -> Vec<&'a Type> {
    let mut rest: Vec<&Type> = types.to_vec();
    let mut sorted = Vec::with_capacity(rest.len());
    // A type is selected when no remaining type is more general. The relation "more general" has no
    // cycles; if it had one, the first type of the cycle would be selected.
    while !rest.is_empty() {
        let next = rest
            .iter()
            .position(|ty| rest.iter().all(|other| generality(other, ty) != Ordering::Less))
            .unwrap_or(0);
        sorted.push(rest.remove(next));
    }
    sorted
}

/// Returns `Less` if `a` is the more general type, and `Equal` if neither type is more general.
fn generality(a: &Type, b: &Type) -> Ordering {
    let combined = |pairs: &mut dyn Iterator<Item = Ordering>| {
        let (mut less, mut greater) = (false, false);
        for order in pairs {
            less |= order == Ordering::Less;
            greater |= order == Ordering::Greater;
        }
        match (less, greater) {
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            _ => Ordering::Equal,
        }
    };
    match (a, b) {
        (Type::Dynamic, Type::Dynamic) => Ordering::Equal,
        (Type::Dynamic, _) => Ordering::Greater,
        (_, Type::Dynamic) => Ordering::Less,
        (Type::String, Type::Number | Type::Bool) => Ordering::Less,
        (Type::Number | Type::Bool, Type::String) => Ordering::Greater,
        (Type::List(a), Type::List(b)) | (Type::Set(a), Type::Set(b)) | (Type::Map(a), Type::Map(b)) => {
            generality(a, b)
        }
        (Type::List(_) | Type::Tuple(_), Type::Set(_))
        | (Type::List(_), Type::Tuple(_))
        | (Type::Map(_), Type::Object(_)) => Ordering::Less,
        (Type::Set(_), Type::List(_) | Type::Tuple(_))
        | (Type::Tuple(_), Type::List(_))
        | (Type::Object(_), Type::Map(_)) => Ordering::Greater,
        (Type::Object(a), Type::Object(b)) if a.iter().map(|(n, _)| n).eq(b.iter().map(|(n, _)| n)) => {
            combined(&mut a.iter().zip(b.iter()).map(|((_, a), (_, b))| generality(a, b)))
        }
        (Type::Tuple(a), Type::Tuple(b)) if a.len() == b.len() => {
            combined(&mut a.iter().zip(b.iter()).map(|(a, b)| generality(a, b)))
        }
        _ => Ordering::Equal,
    }
}
