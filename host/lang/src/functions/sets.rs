//! The set functions.

use wardian_value::{Refinement, Type, Value, convert};

use super::members::Members;
use super::{Body, Failure, Function, Outcome, ParameterType, ResultType};
use super::{any, check_parts, parameter, unknown_result};
use crate::budget::{Allowance, ELEMENT};

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new(
        "setintersection",
        &[parameter("first_set", ParameterType::SetOfAny)],
        ResultType::Of(common_type),
        Body::Pure(intersection),
    )
    .variadic(parameter("other_sets", ParameterType::SetOfAny)),
    Function::new("setproduct", &[], ResultType::Of(product_type), Body::Expanding(product))
        .variadic(any("sets").unknown().marked()),
    Function::new(
        "setsubtract",
        &[parameter("a", ParameterType::SetOfAny), parameter("b", ParameterType::SetOfAny)],
        ResultType::Of(common_type),
        Body::Pure(subtract),
    ),
    Function::new(
        "setunion",
        &[parameter("first_set", ParameterType::SetOfAny)],
        ResultType::Of(common_type),
        Body::Pure(union),
    )
    .variadic(parameter("other_sets", ParameterType::SetOfAny)),
];

/// Returns the set type to which all arguments can be converted. Untyped empty sets match any type.
fn common_type(arguments: &[Value]) -> Result<Type, Failure> {
    let mut types: Vec<Type> = Vec::new();
    for argument in arguments {
        let element = argument.ty().element().cloned().unwrap_or(Type::Dynamic);
        if element != Type::Dynamic && !types.contains(&element) {
            types.push(element);
        }
    }
    let element = match types.as_slice() {
        [] => Type::Dynamic,
        [only] => only.clone(),
        _ => convert::unify(&types)
            .ok_or_else(|| Failure::call("the elements of all sets must have one type"))?,
    };
    Ok(Type::set(element))
}

/// The elements of each set.
type Sets = Vec<Vec<Value>>;

/// Converts all sets to one type. Returns the type with the converted sets, or with `None` if the
/// result depends on an unknown element.
fn converted(arguments: &[Value]) -> Result<(Type, Option<Sets>), Failure> {
    let ty = common_type(arguments)?;
    let element = ty.element().cloned().unwrap_or(Type::Dynamic);
    let mut sets = Vec::with_capacity(arguments.len());
    for (position, argument) in arguments.iter().enumerate() {
        if !argument.is_wholly_known() {
            return Ok((element, None));
        }
        let set = convert::convert(argument, &ty)
            .map_err(|error| Failure::argument(position, error.to_string()))?;
        sets.push(set.as_elements().unwrap_or(&[]).to_vec());
    }
    Ok((element, Some(sets)))
}

fn combine(arguments: &[Value], keep: impl Fn(Vec<Value>, &[Value]) -> Vec<Value>) -> Outcome {
    let (element, sets) = converted(arguments)?;
    let Some(sets) = sets else { return Ok(unknown_result(Type::set(element))) };
    let mut sets = sets.into_iter();
    let first = sets.next().unwrap_or_default();
    let result = sets.fold(first, |result, set| keep(result, &set));
    Ok(Value::set(element, result))
}

fn intersection(arguments: &[Value]) -> Outcome {
    combine(arguments, |result, set| {
        let set = Members::from_values(set);
        result.into_iter().filter(|element| set.contains(element)).collect()
    })
}

fn subtract(arguments: &[Value]) -> Outcome {
    combine(arguments, |result, set| {
        let set = Members::from_values(set);
        result.into_iter().filter(|element| !set.contains(element)).collect()
    })
}

/// Returns the union. It includes unknown elements.
fn union(arguments: &[Value]) -> Outcome {
    let ty = common_type(arguments)?;
    let mut all = Vec::new();
    for (position, argument) in arguments.iter().enumerate() {
        let set = convert::convert(argument, &ty)
            .map_err(|error| Failure::argument(position, error.to_string()))?;
        match set.as_elements() {
            Some(elements) => all.extend_from_slice(elements),
            None => return Ok(unknown_result(ty)),
        }
    }
    Ok(Value::set(ty.element().cloned().unwrap_or(Type::Dynamic), all))
}

fn product_type(arguments: &[Value]) -> Result<Type, Failure> {
    if arguments.len() < 2 {
        return Err(Failure::call("at least two arguments are needed"));
    }
    let mut any_set = false;
    let mut types = Vec::with_capacity(arguments.len());
    for (position, argument) in arguments.iter().enumerate() {
        any_set |= matches!(argument.ty(), Type::Set(_));
        types.push(match argument.ty() {
            Type::List(element) | Type::Set(element) => (**element).clone(),
            Type::Tuple(elements) if elements.is_empty() => Type::Dynamic,
            Type::Tuple(elements) => convert::unify(elements)
                .ok_or_else(|| Failure::argument(position, "all elements must convert to one type"))?,
            ty => {
                return Err(Failure::argument(
                    position,
                    format!("a set or list is needed, not a {}", ty.friendly_name()),
                ));
            }
        });
    }
    let element = Type::tuple(types);
    Ok(if any_set { Type::set(element) } else { Type::list(element) })
}

/// Returns whether the length of a set is unknown because unknown elements may turn out to be equal
/// to others.
fn length_unknown(set: &Value) -> bool {
    match set.ty() {
        Type::Set(_) => !set.is_wholly_known() && set.as_elements().is_none_or(|items| items.len() > 1),
        _ => !set.is_known(),
    }
}

/// Returns an unknown product of sets. It is refined to contain at least one combination if no set
/// is empty.
fn product_unknown(arguments: &[Value], ty: Type) -> Value {
    let mut least: usize = 1;
    let mut most = Some(1_usize);
    for argument in arguments {
        let length = match argument.ty() {
            Type::Tuple(types) => Some(types.len()),
            _ if length_unknown(argument) => None,
            _ => argument.as_elements().map(<[Value]>::len),
        };
        least = least.min(length.unwrap_or(0));
        most = most.zip(length).and_then(|(most, length)| most.checked_mul(length));
    }
    let least = most.is_some().then_some(least).filter(|least| *least > 0);
    let refinement =
        Refinement { not_null: true, min_length: least, max_length: most, ..Refinement::default() };
    Value::unknown_with(ty, refinement)
}

fn product(arguments: &[Value], allowance: Allowance) -> Outcome {
    const LIMIT: usize = 1_000_000;
    let ty = product_type(arguments)?;
    let empty = |argument: &Value| argument.as_elements().is_some_and(<[Value]>::is_empty);
    let is_empty = arguments.iter().any(empty);
    let marks = arguments.iter().fold(wardian_value::Marks::NONE, |marks, argument| marks | argument.marks());
    let element = ty.element().cloned().unwrap_or(Type::Dynamic);
    let Type::Tuple(types) = &element else { return Ok(unknown_result(ty)) };
    if arguments.iter().any(length_unknown) {
        return Ok(product_unknown(arguments, ty).with_marks(marks));
    }
    // If one set is empty, the product is empty.
    let mut combinations: Vec<Vec<Value>> = if is_empty { Vec::new() } else { vec![Vec::new()] };
    for (position, (argument, ty)) in arguments.iter().zip(types.iter()).enumerate() {
        let items: Vec<Value> = argument
            .as_elements()
            .unwrap_or(&[])
            .iter()
            .map(|item| convert::convert(item, ty))
            .collect::<Result<_, _>>()
            .map_err(|error| Failure::argument(position, error.to_string()))?;
        if combinations.len().saturating_mul(items.len()) > LIMIT {
            return Err(Failure::call(format!("there would be more than {LIMIT} combinations")));
        }
        let parts = combinations.len().saturating_mul(items.len()).saturating_mul(position + 2);
        check_parts(parts, ELEMENT, allowance)?;
        combinations = combinations
            .iter()
            .flat_map(|combination| {
                items.iter().map(move |item| {
                    let mut longer = combination.clone();
                    longer.push(item.clone());
                    longer
                })
            })
            .collect();
    }
    let tuples = combinations.into_iter().map(Value::tuple);
    let result = if matches!(ty, Type::Set(_)) {
        Value::set(element.clone(), tuples)
    } else {
        Value::list(element.clone(), tuples)
    };
    Ok(result.with_marks(marks))
}
