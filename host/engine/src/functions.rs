//! Calls of provider functions from expressions.

use std::sync::Arc;

use wardian_plugin::{Function, Provider};
use wardian_value::{Marks, Refinement, Str, Type, Value};

/// Calls a function with arguments as they are given. Arguments are converted;
/// marks flow to the result; an argument that is not known makes the result
/// unknown, unless the function takes such.
///
/// # Errors
/// What is wrong, in words that end a sentence.
pub fn call(
    provider: &Arc<dyn Provider>,
    signature: &Function,
    name: &str,
    arguments: &[Value],
) -> Result<Value, String> {
    let expected = signature.parameters.len();
    if arguments.len() < expected || arguments.len() > expected && signature.variadic_parameter.is_none() {
        return Err(format!("it takes {expected} arguments, and {} are given", arguments.len()));
    }
    let mut marks = Marks::NONE;
    let mut unknown = false;
    let mut converted = Vec::with_capacity(arguments.len());
    for (index, argument) in arguments.iter().enumerate() {
        let Some(parameter) = signature.parameter(index) else { break };
        marks |= argument.inside_marks();
        let value = wardian_value::convert::convert(&argument.unmark_deep(), &parameter.ty)
            .map_err(|error| format!("the argument \"{}\" is not suitable: {error}", parameter.name))?;
        if value.is_null() && !parameter.allow_null {
            return Err(format!("the argument \"{}\" must not be null", parameter.name));
        }
        unknown |= !value.is_wholly_known() && !parameter.allow_unknown;
        converted.push(value);
    }
    if unknown {
        let result = if signature.return_type == Type::Dynamic {
            Value::unknown(Type::Dynamic)
        } else {
            Value::unknown_with(signature.return_type.clone(), Refinement::default())
        };
        return Ok(result.with_marks(marks));
    }
    let provider = Arc::clone(provider);
    let function = Str::new(name);
    // Evaluation is not asynchronous, and a pure function of a provider is short:
    // the runtime is told that this thread waits.
    let result = tokio::task::block_in_place(|| {
        tokio::runtime::Handle::current().block_on(provider.call_function(function, converted))
    });
    match result {
        Ok(value) => Ok(value.with_marks(marks)),
        Err(error) => Err(match error.argument.and_then(|index| signature.parameter(index)) {
            Some(parameter) => format!("the argument \"{}\" is not suitable: {}", parameter.name, error.text),
            None => error.text,
        }),
    }
}
