//! The map and object functions.

use std::collections::BTreeMap;

use wardian_value::{Mapping, Marks, Str, Type, Value, convert};

use super::string::strings;
use super::{Body, Failure, Function, Outcome, ParameterType, ResultType};
use super::{any, elements, parameter, string, text, unknown_result};

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("keys", &[any("inputMap").unknown().marked()], ResultType::Of(keys_type), Body::Pure(keys)),
    Function::new(
        "lookup",
        &[any("inputMap").marked(), string("key").marked()],
        ResultType::Of(lookup_type),
        Body::Pure(lookup),
    )
    .variadic(any("default").everything())
    .nullable(),
    Function::new("merge", &[], ResultType::Of(merge_type), Body::Pure(merge))
        .variadic(any("maps").null().dynamic().marked()),
    Function::new(
        "transpose",
        &[parameter("values", ParameterType::MapOfListOfString)],
        ResultType::MapOfListOfString,
        Body::Pure(transpose),
    ),
    Function::new("values", &[any("mapping").marked()], ResultType::Of(values_type), Body::Pure(values)),
    Function::new(
        "zipmap",
        &[parameter("keys", ParameterType::ListOfString).marked(), any("values").marked()],
        ResultType::Of(zipmap_type),
        Body::Pure(zipmap),
    ),
];

fn not_a_map(value: &Value) -> Failure {
    Failure::argument(0, format!("a map or object is needed, not a {}", value.ty().friendly_name()))
}

fn keys_type(arguments: &[Value]) -> Result<Type, Failure> {
    match arguments[0].ty() {
        Type::Map(_) => Ok(Type::list(Type::String)),
        Type::Object(object) => Ok(Type::tuple(object.iter().map(|_| Type::String))),
        _ => Err(not_a_map(&arguments[0])),
    }
}

/// Returns the keys. The keys of an object are known even if the object is unknown.
fn keys(arguments: &[Value]) -> Outcome {
    let mapping = &arguments[0];
    let result = match (keys_type(arguments)?, mapping.ty(), mapping.as_mapping()) {
        (_, Type::Object(object), _) => {
            Value::tuple(object.iter().map(|(name, _)| Value::string(name.clone())))
        }
        (_, _, Some(elements)) => {
            Value::list(Type::String, elements.keys().map(|key| Value::string(key.clone())))
        }
        (ty, _, None) => unknown_result(ty),
    };
    Ok(result.with_marks(mapping.marks()))
}

fn values_type(arguments: &[Value]) -> Result<Type, Failure> {
    match arguments[0].ty() {
        Type::Map(element) => Ok(Type::list((**element).clone())),
        Type::Object(object) => Ok(Type::tuple(object.iter().map(|(_, ty)| ty.clone()))),
        _ => Err(not_a_map(&arguments[0])),
    }
}

fn values(arguments: &[Value]) -> Outcome {
    let mapping = &arguments[0];
    let ty = values_type(arguments)?;
    let items = mapping.as_mapping().into_iter().flat_map(Mapping::values).cloned();
    let result = match ty {
        Type::List(element) => Value::list((*element).clone(), items),
        _ => Value::tuple(items),
    };
    Ok(result.with_marks(mapping.marks()))
}

fn lookup_type(arguments: &[Value]) -> Result<Type, Failure> {
    match arguments[0].ty() {
        Type::Object(object) => {
            let Some(key) = arguments.get(1).and_then(Value::as_str) else {
                return Ok(Type::Dynamic);
            };
            match (object.attribute(key), arguments.get(2)) {
                (Some(ty), _) => Ok(ty.clone()),
                (None, Some(default)) => Ok(default.ty().clone()),
                (None, None) => Err(Failure::argument(0, format!("the object has no attribute {key:?}"))),
            }
        }
        Type::Map(element) => {
            if let Some(default) = arguments.get(2) {
                convert::convert(&default.unmark_deep(), element).map_err(|_| {
                    Failure::argument(2, "the default must have the type of the map's elements")
                })?;
            }
            Ok((**element).clone())
        }
        _ => Err(not_a_map(&arguments[0])),
    }
}

fn lookup(arguments: &[Value]) -> Outcome {
    if arguments.len() > 3 {
        return Err(Failure::call("two or three arguments are needed"));
    }
    let (mapping, key) = (&arguments[0], &arguments[1]);
    let marks = mapping.marks() | key.marks();
    let ty = lookup_type(arguments)?;
    let name = text(arguments, 1);
    if let Some(found) = mapping.get(name) {
        return Ok(found.clone().with_marks(marks));
    }
    let Some(default) = arguments.get(2) else {
        return Err(Failure::call(if marks.is_sensitive() {
            "the map has no such key, and no default is given".to_owned()
        } else {
            format!("the map has no key {name:?}, and no default is given")
        }));
    };
    let default = match mapping.ty() {
        Type::Map(_) => {
            convert::convert(default, &ty).map_err(|error| Failure::argument(2, error.to_string()))?
        }
        _ => default.clone(),
    };
    Ok(default.with_marks(marks))
}

/// Returns the common type of the arguments if they all have the same type, otherwise an object
/// type. While a map is unknown, the attributes of the object type are unknown.
fn merge_type(arguments: &[Value]) -> Result<Type, Failure> {
    let mut attributes: BTreeMap<Str, Type> = BTreeMap::new();
    let mut known = true;
    for (position, argument) in arguments.iter().enumerate() {
        match argument.ty() {
            Type::Dynamic => return Ok(Type::Dynamic),
            _ if argument.is_null() => {}
            Type::Object(object) => {
                attributes.extend(object.iter().map(|(name, ty)| (name.clone(), ty.clone())));
            }
            Type::Map(element) => match argument.as_mapping() {
                Some(elements) => {
                    attributes.extend(elements.keys().map(|key| (key.clone(), (**element).clone())));
                }
                None => known = false,
            },
            ty => return Err(not_mergeable(position, ty)),
        }
    }
    Ok(match arguments {
        [] => Type::Dynamic,
        [first, rest @ ..] if rest.iter().all(|argument| argument.ty() == first.ty()) => first.ty().clone(),
        _ if known => Type::object(attributes),
        _ => Type::Dynamic,
    })
}

fn not_mergeable(position: usize, ty: &Type) -> Failure {
    Failure::argument(position, format!("a map or object is needed, not a {}", ty.friendly_name()))
}

fn merge(arguments: &[Value]) -> Outcome {
    let mut marks = Marks::NONE;
    let mut merged: BTreeMap<Str, Value> = BTreeMap::new();
    let mut map_type: Option<Type> = None;
    let mut all_same_map = true;
    for (position, argument) in arguments.iter().enumerate() {
        marks |= argument.marks();
        match argument.ty() {
            Type::Map(_) => match &map_type {
                None => map_type = Some(argument.ty().clone()),
                Some(ty) => all_same_map &= ty == argument.ty(),
            },
            Type::Object(_) => all_same_map = false,
            Type::Dynamic if argument.is_null() => {}
            Type::Dynamic => return Ok(Value::unknown(Type::Dynamic).with_marks(marks)),
            ty => return Err(not_mergeable(position, ty)),
        }
        if let Some(elements) = argument.as_mapping() {
            merged.extend(elements.iter().map(|(key, value)| (key.clone(), value.clone())));
        }
    }
    let result = match map_type {
        Some(Type::Map(element)) if all_same_map => Value::map((*element).clone(), merged),
        _ => Value::object(merged),
    };
    Ok(result.with_marks(marks))
}

fn transpose(arguments: &[Value]) -> Outcome {
    let ty = Type::list(Type::String);
    if !arguments[0].is_wholly_known() {
        return Ok(unknown_result(Type::map(ty)));
    }
    let mut turned: BTreeMap<Str, Vec<Value>> = BTreeMap::new();
    for (key, list) in arguments[0].as_mapping().into_iter().flatten() {
        let Some(elements) = list.as_elements() else {
            return Err(Failure::argument(0, "a list must not be null"));
        };
        for element in elements {
            let Some(text) = element.as_str() else {
                return Err(Failure::argument(0, "a list must not contain null"));
            };
            turned.entry(Str::new(text)).or_default().push(Value::string(key.clone()));
        }
    }
    let lists = turned.into_iter().map(|(key, list)| (key, Value::list(Type::String, list)));
    Ok(Value::map(ty.clone(), lists))
}

fn zipmap_type(arguments: &[Value]) -> Result<Type, Failure> {
    match arguments[1].ty() {
        Type::List(element) => Ok(Type::map((**element).clone())),
        Type::Tuple(types) => {
            if !arguments[0].is_wholly_known() {
                return Ok(Type::Dynamic);
            }
            let keys = strings(arguments, 0)?.unwrap_or_default();
            same_length(keys.len(), types.len())?;
            Ok(Type::object(keys.into_iter().zip(types.iter().cloned())))
        }
        ty => Err(Failure::argument(1, format!("a list or tuple is needed, not a {}", ty.friendly_name()))),
    }
}

fn same_length(keys: usize, values: usize) -> Result<(), Failure> {
    if keys == values {
        return Ok(());
    }
    Err(Failure::call(format!("there are {keys} keys but {values} values")))
}

fn zipmap(arguments: &[Value]) -> Outcome {
    let marks = arguments[0].inside_marks() | arguments[1].marks();
    let ty = zipmap_type(arguments)?;
    let items = elements(arguments, 1);
    let Some(keys) = strings(arguments, 0)? else {
        return Ok(unknown_result(ty).with_marks(marks));
    };
    same_length(keys.len(), items.len())?;
    let pairs = keys.into_iter().zip(items.iter().cloned());
    let result = match ty {
        Type::Map(element) => Value::map((*element).clone(), pairs),
        _ => Value::object(pairs),
    };
    Ok(result.with_marks(marks))
}
