//! The type conversion functions, and functions that set or remove marks.

use wardian_value::{Marks, Type, Value, convert};

use super::{Body, Failure, Function, Outcome, Parameter, ResultType, any};

const V: &[Parameter] = &[any("v").everything()];
const VALUE: &[Parameter] = &[any("value").everything()];

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("tobool", V, ResultType::Bool, Body::Pure(|a| to(a, &Type::Bool))),
    Function::new(
        "tolist",
        V,
        ResultType::Of(|_| Ok(Type::list(Type::Dynamic))),
        Body::Pure(|a| to(a, &Type::list(Type::Dynamic))),
    ),
    Function::new(
        "tomap",
        V,
        ResultType::Of(|_| Ok(Type::map(Type::Dynamic))),
        Body::Pure(|a| to(a, &Type::map(Type::Dynamic))),
    ),
    Function::new("tonumber", V, ResultType::Number, Body::Pure(|a| to(a, &Type::Number))),
    Function::new(
        "toset",
        V,
        ResultType::Of(|_| Ok(Type::set(Type::Dynamic))),
        Body::Pure(|a| to(a, &Type::set(Type::Dynamic))),
    ),
    Function::new("tostring", V, ResultType::String, Body::Pure(|a| to(a, &Type::String))),
    Function::new("ephemeralasnull", VALUE, ResultType::SameAs(0), Body::Pure(ephemeralasnull)),
    Function::new("issensitive", VALUE, ResultType::Bool, Body::Pure(issensitive)),
    Function::new("nonsensitive", VALUE, ResultType::SameAs(0), Body::Pure(nonsensitive)),
    Function::new("sensitive", VALUE, ResultType::SameAs(0), Body::Pure(sensitive)),
];

fn to(arguments: &[Value], ty: &Type) -> Outcome {
    let value = &arguments[0];
    convert::convert(value, ty).map_err(|error| {
        let reason = match (value.as_str(), value.marks().is_sensitive()) {
            (Some(text), false) => format!("{text:?} cannot be converted: {error}"),
            _ => format!("a {} cannot be converted: {error}", value.ty().friendly_name()),
        };
        Failure::argument(0, reason)
    })
}

fn sensitive(arguments: &[Value]) -> Outcome {
    Ok(arguments[0].clone().with_marks(Marks::SENSITIVE))
}

fn nonsensitive(arguments: &[Value]) -> Outcome {
    let value = &arguments[0];
    let rest = value.marks().without(Marks::SENSITIVE);
    Ok(value.clone().unmark().with_marks(rest))
}

fn issensitive(arguments: &[Value]) -> Outcome {
    let value = &arguments[0];
    if value.marks().is_sensitive() {
        return Ok(Value::bool(true));
    }
    // An unknown value may turn out to be sensitive.
    if !value.is_known() {
        return Ok(Value::unknown(Type::Bool));
    }
    Ok(Value::bool(false))
}

fn ephemeralasnull(arguments: &[Value]) -> Outcome {
    Ok(arguments[0].transform(&mut |_, part| {
        if part.marks().is_ephemeral() {
            let rest = part.marks().without(Marks::EPHEMERAL);
            Value::null(part.ty().clone()).with_marks(rest)
        } else {
            part
        }
    }))
}
