//! The numeric functions.

mod float;

use wardian_value::{Number, Type, Value};

use super::{Body, Failure, Function, Outcome, Parameter, ParameterType, ResultType};
use super::{any, number, parameter, text, whole};

const NUM: &[Parameter] = &[number("num")];

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("abs", NUM, ResultType::Number, Body::Pure(abs)),
    Function::new("ceil", NUM, ResultType::Number, Body::Pure(ceil)),
    Function::new("floor", NUM, ResultType::Number, Body::Pure(floor)),
    Function::new("log", &[number("num"), number("base")], ResultType::Number, Body::Pure(log)),
    Function::new("max", &[], ResultType::Number, Body::Pure(max)).variadic(number("numbers")),
    Function::new("min", &[], ResultType::Number, Body::Pure(min)).variadic(number("numbers")),
    Function::new(
        "parseint",
        &[any("number"), number("base")],
        ResultType::Of(parseint_type),
        Body::Pure(parseint),
    ),
    Function::new("pow", &[number("num"), number("power")], ResultType::Number, Body::Pure(pow)),
    Function::new("signum", NUM, ResultType::Number, Body::Pure(signum)),
    Function::new("sum", &[any("list")], ResultType::Number, Body::Pure(sum)),
    Function::new("range", &[], ResultType::ListOfNumber, Body::Pure(range))
        .variadic(parameter("params", ParameterType::Number)),
];

fn given(arguments: &[Value], position: usize) -> Number {
    arguments.get(position).and_then(Value::as_number).cloned().unwrap_or(Number::ZERO)
}

fn failed(error: impl std::fmt::Display) -> Failure {
    Failure::Call(error.to_string())
}

fn abs(arguments: &[Value]) -> Outcome {
    Ok(Value::number(given(arguments, 0).abs()))
}

fn ceil(arguments: &[Value]) -> Outcome {
    let number = given(arguments, 0);
    Ok(Value::number(if number.is_zero() { Number::ZERO } else { number.ceil() }))
}

fn floor(arguments: &[Value]) -> Outcome {
    let number = given(arguments, 0);
    Ok(Value::number(if number.is_zero() { Number::ZERO } else { number.floor() }))
}

fn from_float(value: f64) -> Outcome {
    if value.is_nan() {
        return Err(Failure::call("the result is not a number"));
    }
    let number = Number::from_f64(value).map_err(failed)?;
    Ok(Value::number(number))
}

/// Returns an argument as a machine float, for functions that compute with floats.
fn float(arguments: &[Value], position: usize) -> Result<f64, Failure> {
    let number = given(arguments, position);
    let float = number.to_f64();
    if float.is_infinite() && number.to_string().starts_with(|c: char| c == '-' || c.is_ascii_digit()) {
        let infinite = Number::from_f64(float).map_err(failed)?;
        if number != infinite {
            return Err(Failure::argument(position, "the number is too large"));
        }
    }
    Ok(float)
}

fn log(arguments: &[Value]) -> Outcome {
    from_float(
        float::natural_logarithm(float(arguments, 0)?) / float::natural_logarithm(float(arguments, 1)?),
    )
}

fn pow(arguments: &[Value]) -> Outcome {
    from_float(float::power(float(arguments, 0)?, float(arguments, 1)?))
}

fn max(arguments: &[Value]) -> Outcome {
    extreme(arguments, |candidate, best| candidate > best)
}

fn min(arguments: &[Value]) -> Outcome {
    extreme(arguments, |candidate, best| candidate < best)
}

fn extreme(arguments: &[Value], better: fn(&Number, &Number) -> bool) -> Outcome {
    let mut numbers = arguments.iter().filter_map(Value::as_number);
    let Some(first) = numbers.next() else {
        return Err(Failure::call("at least one number is needed"));
    };
    let best = numbers.fold(first, |best, candidate| if better(candidate, best) { candidate } else { best });
    Ok(Value::number(best.clone()))
}

fn signum(arguments: &[Value]) -> Outcome {
    Ok(Value::number(Number::from(whole(arguments, 0)?.signum())))
}

fn parseint_type(arguments: &[Value]) -> Result<Type, Failure> {
    match arguments[0].ty() {
        Type::String => Ok(Type::Number),
        ty => Err(Failure::argument(0, format!("a numeric string is needed, not a {}", ty.friendly_name()))),
    }
}

fn parseint(arguments: &[Value]) -> Outcome {
    parseint_type(arguments)?;
    let source = text(arguments, 0);
    let base = whole(arguments, 1)?;
    let Some(base) = u32::try_from(base).ok().filter(|base| (2..=62).contains(base)) else {
        return Err(Failure::argument(1, "the base must be a whole number between 2 and 62"));
    };
    Number::parse_integer(source, base)
        .map(Value::number)
        .map_err(|_| Failure::argument(0, format!("{source:?} is not a whole number written in base {base}")))
}

fn sum(arguments: &[Value]) -> Outcome {
    let list = &arguments[0];
    if !matches!(list.ty(), Type::List(_) | Type::Set(_) | Type::Tuple(_)) {
        return Err(Failure::argument(
            0,
            format!("a list, set or tuple is needed, not a {}", list.ty().friendly_name()),
        ));
    }
    let elements = list.as_elements().unwrap_or(&[]);
    if elements.is_empty() {
        return Err(Failure::argument(0, "there must be at least one number"));
    }
    if !list.is_wholly_known() {
        return Ok(super::unknown_result(Type::Number));
    }
    let mut total = Number::from(0_i64);
    for element in elements {
        let element = wardian_value::convert::convert(element, &Type::Number)
            .map_err(|_| Failure::argument(0, "all elements must be numbers"))?;
        if element.is_null() {
            return Err(Failure::argument(0, "all elements must be numbers that are not null"));
        }
        if let Some(number) = element.as_number() {
            total = total.add(number).map_err(failed)?;
        }
    }
    Ok(Value::number(total))
}

fn range(arguments: &[Value]) -> Outcome {
    const LIMIT: usize = 1024;
    let zero = Number::from(0_i64);
    let one = Number::from(1_i64);
    let (start, end, step) = match arguments.len() {
        1 => (zero.clone(), given(arguments, 0), None),
        2 => (given(arguments, 0), given(arguments, 1), None),
        3 => (given(arguments, 0), given(arguments, 1), Some(given(arguments, 2))),
        _ => return Err(Failure::call("one, two or three arguments are needed")),
    };
    let step = step.unwrap_or_else(|| if end < start { one.neg() } else { one });
    if step == zero {
        return Err(Failure::argument(2, "the step must not be zero"));
    }
    let down = step < zero;
    if (down && end > start) || (!down && end < start) {
        let wanted = if down { "negative" } else { "positive" };
        return Err(Failure::call(format!(
            "with a {wanted} step, the end must not be {} than the start",
            if down { "greater" } else { "less" }
        )));
    }
    let mut values = Vec::new();
    let mut current = start;
    while if down { current > end } else { current < end } {
        if values.len() >= LIMIT {
            return Err(Failure::call(format!("more than {LIMIT} values would be produced")));
        }
        values.push(Value::number(current.clone()));
        current = current.add(&step).map_err(failed)?;
    }
    Ok(Value::list(Type::Number, values))
}
