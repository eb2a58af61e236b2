//! The list and tuple functions.

use wardian_value::{Number, Refinement, Type, Value, convert};

use super::members::Members;
use super::string::strings;
use super::{Body, Failure, Function, Outcome, ParameterType, ResultType};
use super::{any, elements, number, parameter, unknown_result, whole};

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new(
        "chunklist",
        &[parameter("list", ParameterType::ListOfAny).marked(), number("size")],
        ResultType::Of(chunklist_type),
        Body::Pure(chunklist),
    ),
    Function::new("coalescelist", &[], ResultType::Dynamic, Body::Pure(coalescelist))
        .variadic(any("vals").null().unknown().dynamic()),
    Function::new(
        "compact",
        &[parameter("list", ParameterType::ListOfString)],
        ResultType::ListOfString,
        Body::Pure(compact),
    ),
    Function::new("concat", &[], ResultType::Of(concat_type), Body::Pure(concat))
        .variadic(any("seqs").marked()),
    Function::new(
        "distinct",
        &[parameter("list", ParameterType::ListOfAny)],
        ResultType::SameAs(0),
        Body::Pure(distinct),
    ),
    Function::new(
        "element",
        &[any("list").marked(), number("index")],
        ResultType::Of(element_type),
        Body::Pure(element),
    )
    .nullable(),
    Function::new("flatten", &[any("list").marked()], ResultType::Dynamic, Body::Pure(flatten)),
    Function::new("index", &[any("list"), any("value")], ResultType::Number, Body::Pure(index)),
    Function::new(
        "matchkeys",
        &[
            parameter("values", ParameterType::ListOfAny),
            parameter("keys", ParameterType::ListOfAny),
            parameter("searchset", ParameterType::ListOfAny),
        ],
        ResultType::SameAs(0),
        Body::Pure(matchkeys),
    ),
    Function::new("one", &[any("list").marked()], ResultType::Of(one_type), Body::Pure(one)).nullable(),
    Function::new("reverse", &[any("list").marked()], ResultType::Of(reverse_type), Body::Pure(reverse)),
    Function::new(
        "slice",
        &[any("list").marked(), number("start_index"), number("end_index")],
        ResultType::Of(slice_type),
        Body::Pure(slice),
    ),
    Function::new(
        "sort",
        &[parameter("list", ParameterType::ListOfString).unknown()],
        ResultType::ListOfString,
        Body::Pure(sort),
    ),
];

fn is_sequence(value: &Value) -> bool {
    matches!(value.ty(), Type::List(_) | Type::Set(_) | Type::Tuple(_))
}

fn not_a(wanted: &str, value: &Value) -> Failure {
    Failure::argument(0, format!("{wanted} is needed, not a {}", value.ty().friendly_name()))
}

fn chunklist_type(arguments: &[Value]) -> Result<Type, Failure> {
    Ok(Type::list(arguments[0].ty().clone()))
}

fn chunklist(arguments: &[Value]) -> Outcome {
    let list = &arguments[0];
    let size = whole(arguments, 1)?;
    let size = usize::try_from(size).map_err(|_| Failure::argument(1, "the size must not be negative"))?;
    let items = elements(arguments, 0);
    let element = list.ty().element().cloned().unwrap_or(Type::Dynamic);
    let size = if size == 0 { items.len().max(1) } else { size };
    let chunks: Vec<Value> =
        items.chunks(size).map(|chunk| Value::list(element.clone(), chunk.iter().cloned())).collect();
    Ok(Value::list(list.ty().clone(), chunks).with_marks(list.marks()))
}

fn coalescelist(arguments: &[Value]) -> Outcome {
    if arguments.is_empty() {
        return Err(Failure::call("at least one argument is needed"));
    }
    for (position, argument) in arguments.iter().enumerate() {
        if argument.is_known() && !matches!(argument.ty(), Type::List(_) | Type::Tuple(_)) {
            return Err(Failure::argument(position, "a list or tuple is needed"));
        }
    }
    for argument in arguments {
        if !argument.is_known() {
            return Ok(Value::unknown(Type::Dynamic));
        }
        if argument.as_elements().is_some_and(|items| !items.is_empty()) {
            return Ok(argument.clone());
        }
    }
    Err(Failure::call("every argument is null or empty"))
}

fn compact(arguments: &[Value]) -> Outcome {
    if !arguments[0].is_wholly_known() {
        return Ok(unknown_result(Type::list(Type::String)));
    }
    let kept = elements(arguments, 0)
        .iter()
        .filter(|element| element.as_str().is_some_and(|text| !text.is_empty()))
        .cloned();
    Ok(Value::list(Type::String, kept))
}

fn concat_type(arguments: &[Value]) -> Result<Type, Failure> {
    if arguments.is_empty() {
        return Err(Failure::call("at least one argument is needed"));
    }
    if arguments.iter().all(|argument| matches!(argument.ty(), Type::List(_))) {
        let types: Vec<Type> = arguments.iter().map(|argument| argument.ty().clone()).collect();
        if let Some(ty) = convert::unify(&types) {
            return Ok(ty);
        }
    }
    let mut types = Vec::new();
    for (position, argument) in arguments.iter().enumerate() {
        match argument.ty() {
            Type::Tuple(elements) => types.extend(elements.iter().cloned()),
            Type::List(_) => match argument.as_elements() {
                Some(elements) => types.extend(elements.iter().map(|e| e.ty().clone())),
                None => return Ok(Type::Dynamic),
            },
            ty => {
                return Err(Failure::argument(
                    position,
                    format!("a list or tuple is needed, not a {}", ty.friendly_name()),
                ));
            }
        }
    }
    Ok(Type::tuple(types))
}

fn concat(arguments: &[Value]) -> Outcome {
    let ty = concat_type(arguments)?;
    let marks = arguments.iter().fold(wardian_value::Marks::NONE, |marks, argument| marks | argument.marks());
    let all = arguments.iter().flat_map(|argument| argument.as_elements().unwrap_or(&[])).cloned();
    let result = match &ty {
        Type::List(element) => {
            let converted: Result<Vec<Value>, _> =
                all.map(|value| convert::convert(&value, element)).collect();
            let converted = converted.map_err(|error| Failure::Call(error.to_string()))?;
            Value::list((**element).clone(), converted)
        }
        _ => Value::tuple(all),
    };
    Ok(result.with_marks(marks))
}

fn distinct(arguments: &[Value]) -> Outcome {
    let list = &arguments[0];
    if !list.is_wholly_known() {
        return Ok(unknown_result(list.ty().clone()));
    }
    let element = list.ty().element().cloned().unwrap_or(Type::Dynamic);
    let mut seen = Members::default();
    let kept: Vec<Value> =
        elements(arguments, 0).iter().filter(|value| seen.insert(value)).cloned().collect();
    Ok(Value::list(element, kept))
}

fn element_type(arguments: &[Value]) -> Result<Type, Failure> {
    match arguments[0].ty() {
        Type::List(element) => Ok((**element).clone()),
        Type::Tuple(types) => {
            if !arguments[1].is_known() {
                return Ok(Type::Dynamic);
            }
            let at = wrapped(arguments, types.len())?;
            Ok(types.get(at).cloned().unwrap_or(Type::Dynamic))
        }
        ty => Err(Failure::call(format!("a list or tuple is needed, not a {}", ty.friendly_name()))),
    }
}

/// Returns an index modulo the length. Negative indexes count from the end of a list; for a tuple,
/// a negative index is valid only if it is a multiple of the length.
fn wrapped(arguments: &[Value], length: usize) -> Result<usize, Failure> {
    let empty = || Failure::call("there are no elements to choose from");
    let at = whole(arguments, 1)?;
    let length = i64::try_from(length).map_err(|_| empty())?;
    let at = match arguments[0].ty() {
        Type::Tuple(_) => at.checked_rem(length),
        _ => at.checked_rem_euclid(length),
    };
    usize::try_from(at.ok_or_else(empty)?).map_err(|_| Failure::call("a tuple index must not be negative"))
}

fn element(arguments: &[Value]) -> Outcome {
    element_type(arguments)?;
    let list = &arguments[0];
    let items = elements(arguments, 0);
    let at = wrapped(arguments, items.len())?;
    Ok(items.get(at).cloned().unwrap_or_else(|| Value::null(Type::Dynamic)).with_marks(list.marks()))
}

fn flatten(arguments: &[Value]) -> Outcome {
    if !is_sequence(&arguments[0]) {
        return Err(not_a("a list, set or tuple", &arguments[0]));
    }
    let mut flat = Vec::new();
    let mut marks = wardian_value::Marks::NONE;
    let mut pending: Vec<Value> = vec![arguments[0].clone()];
    // The depth-first search uses an explicit stack, because values may be nested more deeply than
    // the call stack allows.
    while let Some(value) = pending.pop() {
        if is_sequence(&value) && !value.is_null() {
            marks |= value.marks();
            match value.as_elements() {
                Some(items) => pending.extend(items.iter().rev().cloned()),
                None => return Ok(Value::unknown(Type::Dynamic).with_marks(marks)),
            }
        } else if *value.ty() == Type::Dynamic && !value.is_known() {
            return Ok(Value::unknown(Type::Dynamic).with_marks(marks));
        } else {
            flat.push(value);
        }
    }
    Ok(Value::tuple(flat).with_marks(marks))
}

fn index(arguments: &[Value]) -> Outcome {
    let list = &arguments[0];
    if !matches!(list.ty(), Type::List(_) | Type::Tuple(_)) {
        return Err(not_a("a list or tuple", list));
    }
    let items = elements(arguments, 0);
    if items.is_empty() {
        return Err(Failure::argument(0, "an empty list cannot be searched"));
    }
    for (at, item) in items.iter().enumerate() {
        match item.equals(&arguments[1]).as_bool() {
            Some(true) => return Ok(Value::number(Number::from(at))),
            Some(false) => {}
            None => return Ok(unknown_result(Type::Number)),
        }
    }
    Err(Failure::call("the value is not in the list"))
}

fn matchkeys(arguments: &[Value]) -> Outcome {
    let (values, keys) = (elements(arguments, 0), elements(arguments, 1));
    if values.len() != keys.len() {
        return Err(Failure::call(format!("there are {} values but {} keys", values.len(), keys.len())));
    }
    let types = [arguments[1].ty().clone(), arguments[2].ty().clone()];
    let ty =
        convert::unify(&types).ok_or_else(|| Failure::call("keys and searchset must have the same type"))?;
    let converted = |position: usize| {
        convert::convert(&arguments[position], &ty)
            .map_err(|error| Failure::argument(position, error.to_string()))
    };
    let (keys, wanted) = (converted(1)?, converted(2)?);
    if !arguments[0].is_wholly_known() {
        return Ok(unknown_result(arguments[0].ty().clone()));
    }
    if keys.is_wholly_known() && wanted.is_wholly_known() {
        let wanted = Members::from_values(wanted.as_elements().unwrap_or(&[]));
        let keys = keys.as_elements().unwrap_or(&[]);
        let found = values.iter().zip(keys).filter(|(_, key)| wanted.contains(key));
        let element = arguments[0].ty().element().cloned().unwrap_or(Type::Dynamic);
        return Ok(Value::list(element, found.map(|(value, _)| value.clone())));
    }
    let mut found = Vec::new();
    for (value, key) in values.iter().zip(keys.as_elements().unwrap_or(&[])) {
        for candidate in wanted.as_elements().unwrap_or(&[]) {
            match key.equals(candidate).as_bool() {
                Some(true) => {
                    found.push(value.clone());
                    break;
                }
                Some(false) => {}
                None => return Ok(unknown_result(arguments[0].ty().clone())),
            }
        }
    }
    let element = arguments[0].ty().element().cloned().unwrap_or(Type::Dynamic);
    Ok(Value::list(element, found))
}

fn one_type(arguments: &[Value]) -> Result<Type, Failure> {
    match arguments[0].ty() {
        Type::List(element) | Type::Set(element) => Ok((**element).clone()),
        Type::Tuple(types) => match &**types {
            [] => Ok(Type::Dynamic),
            [only] => Ok(only.clone()),
            _ => Err(too_many()),
        },
        _ => Err(not_a("a list, set or tuple", &arguments[0])),
    }
}

fn too_many() -> Failure {
    Failure::argument(0, "a list, set or tuple with one element or none is needed")
}

fn one(arguments: &[Value]) -> Outcome {
    let ty = one_type(arguments)?;
    let value = match elements(arguments, 0) {
        [] => Value::null(ty),
        [only] => only.clone(),
        // Unknown elements of a set may turn out to be equal to others.
        _ if matches!(arguments[0].ty(), Type::Set(_)) && !arguments[0].is_wholly_known() => {
            Value::unknown(ty)
        }
        _ => return Err(too_many()),
    };
    Ok(value.with_marks(arguments[0].marks()))
}

fn reverse_type(arguments: &[Value]) -> Result<Type, Failure> {
    match arguments[0].ty() {
        Type::List(element) | Type::Set(element) => Ok(Type::list((**element).clone())),
        Type::Tuple(types) => Ok(Type::tuple(types.iter().rev().cloned())),
        _ => Err(not_a("a list, set or tuple", &arguments[0])),
    }
}

fn reverse(arguments: &[Value]) -> Outcome {
    let reversed = elements(arguments, 0).iter().rev().cloned();
    let result = match reverse_type(arguments)? {
        Type::List(element) => Value::list((*element).clone(), reversed),
        _ => Value::tuple(reversed),
    };
    Ok(result.with_marks(arguments[0].marks()))
}

fn slice_bounds(arguments: &[Value], length: usize) -> Result<(usize, usize), Failure> {
    let start = usize::try_from(whole(arguments, 1)?)
        .map_err(|_| Failure::argument(1, "the start must not be negative"))?;
    let end = usize::try_from(whole(arguments, 2)?)
        .map_err(|_| Failure::argument(2, "the end must not be negative"))?;
    if end > length {
        return Err(Failure::argument(
            2,
            format!("the end index must not be greater than the length of the list, which is {length}"),
        ));
    }
    if start > end {
        return Err(Failure::argument(1, "the start index must not be greater than the end index"));
    }
    Ok((start, end))
}

fn slice_type(arguments: &[Value]) -> Result<Type, Failure> {
    match arguments[0].ty() {
        Type::List(_) => {
            if arguments[1].is_known() && arguments[2].is_known() {
                slice_bounds(arguments, arguments[0].as_elements().map_or(usize::MAX, <[Value]>::len))?;
            }
            Ok(arguments[0].ty().clone())
        }
        Type::Tuple(types) => {
            if !arguments[1].is_known() || !arguments[2].is_known() {
                return Ok(Type::Dynamic);
            }
            let (start, end) = slice_bounds(arguments, types.len())?;
            Ok(Type::tuple(types.iter().skip(start).take(end - start).cloned()))
        }
        Type::Set(_) => Err(Failure::argument(
            0,
            "a set cannot be sliced, because its elements have no order; convert it to a list \
             if the order does not matter",
        )),
        _ => Err(not_a("a list or tuple", &arguments[0])),
    }
}

fn slice(arguments: &[Value]) -> Outcome {
    let ty = slice_type(arguments)?;
    let items = elements(arguments, 0);
    let (start, end) = slice_bounds(arguments, items.len())?;
    let part = items.iter().skip(start).take(end - start).cloned();
    let result = match ty {
        Type::List(element) => Value::list((*element).clone(), part),
        _ => Value::tuple(part),
    };
    Ok(result.with_marks(arguments[0].marks()))
}

fn sort(arguments: &[Value]) -> Outcome {
    let Some(mut texts) = strings(arguments, 0)? else {
        // The positions of the values are unknown, but their number is known.
        let length = arguments[0].as_elements().map(<[Value]>::len);
        let facts = arguments[0].refinement();
        let refinement = Refinement {
            not_null: true,
            min_length: length.or_else(|| facts?.min_length),
            max_length: length.or_else(|| facts?.max_length),
            ..Refinement::default()
        };
        return Ok(Value::unknown_with(Type::list(Type::String), refinement));
    };
    texts.sort();
    Ok(Value::list(Type::String, texts.into_iter().map(Value::string)))
}
