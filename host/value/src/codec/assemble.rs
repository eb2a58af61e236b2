//! Builds a value of the requested type from decoded elements. If the type contains a dynamic type,
//! the elements determine the type of the value.

use super::{DecodeProblem, Failure};
use crate::mapping::Entries;
use crate::{Type, Value};

type Result<T> = std::result::Result<T, Failure<DecodeProblem>>;

/// Builds a list or set. If `exact` is set, the type contains no dynamic type.
pub(crate) fn sequence(ty: &Type, mut elements: Vec<Value>, exact: bool) -> Result<Value> {
    let ty = if exact || elements.is_empty() {
        ty.clone()
    } else {
        let element = common_type(elements.iter_mut())?;
        if matches!(ty, Type::Set(_)) { Type::set(element) } else { Type::list(element) }
    };
    Ok(match ty {
        Type::Set(_) => Value::set_exact(ty, elements),
        _ => Value::sequence(ty, elements.into()),
    })
}

/// Builds a map.
pub(crate) fn map(ty: &Type, mut elements: Entries, exact: bool) -> Result<Value> {
    let ty = if exact || elements.is_empty() {
        ty.clone()
    } else {
        Type::map(common_type(elements.values_mut())?)
    };
    Ok(Value::mapping(ty, elements.build()))
}

/// Builds a tuple.
pub(crate) fn tuple(ty: &Type, elements: Vec<Value>, exact: bool) -> Value {
    if exact { Value::sequence(ty.clone(), elements.into()) } else { Value::tuple(elements) }
}

/// Builds an object.
pub(crate) fn object(ty: &Type, attributes: Entries, exact: bool) -> Value {
    let attributes = attributes.build();
    if exact { Value::mapping(ty.clone(), attributes) } else { Value::from_attributes(attributes) }
}

/// Returns the common type of all elements, and assigns it to nulls and unknown values without a
/// type.
fn common_type<'a>(elements: impl Iterator<Item = &'a mut Value>) -> Result<Type> {
    let mut common: Option<Type> = None;
    let mut untyped = Vec::new();
    for element in elements {
        match (element.ty(), &common) {
            (Type::Dynamic, _) => untyped.push(element),
            (ty, Some(common)) if ty == common => {}
            (ty, None) => common = Some(ty.clone()),
            (_, Some(_)) => return Err(DecodeProblem::MixedElements.into()),
        }
    }
    let common = common.unwrap_or(Type::Dynamic);
    for element in untyped {
        *element = if element.is_null() {
            Value::null_exact(common.clone())
        } else {
            Value::unknown_exact(common.clone())
        };
    }
    Ok(common)
}
