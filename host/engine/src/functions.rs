//! Calls of provider functions from expressions.
//!
//! A provider receives arguments that match the function's signature: their number, their types,
//! and null and unknown values only for parameters that allow them. The result is checked against
//! the signature as well. Providers never receive marks: the language removes them from the
//! arguments and adds them to the result.

use std::sync::Arc;

use tokio::runtime::{Handle, RuntimeFlavor};
use wardian_address::ProviderAddress;
use wardian_config::Module;
use wardian_diagnostic::Diagnostic;
use wardian_lang::ProviderCall;
use wardian_plugin::{CallContext, Function, FunctionError, Parameter, Provider, SensitiveValues};
use wardian_value::{Str, Type, Value, convert};

use crate::function_results::{Consistency, FunctionResults};
use crate::providers::Schemas;

const UNKNOWN_FUNCTION: &str = "Unknown provider function";
const FAILED: &str = "Error in function call";

/// Calls a function on an unconfigured provider.
///
/// # Errors
/// Returns an error if the module does not require the provider, if the provider has no such
/// function, or if the arguments or the result do not match the signature.
pub fn call(
    module: &Module,
    schemas: &Schemas,
    results: &FunctionResults,
    call: &ProviderCall<'_>,
) -> Result<Value, Diagnostic> {
    let (address, provider, signature) = find(module, schemas, call)?;
    check_count(signature, call)?;
    let arguments = arguments(signature, call)?;
    let passable = |(position, value): (usize, &Value)| {
        value.is_wholly_known() || signature.parameter(position).is_none_or(|p| p.allow_unknown)
    };
    if !arguments.iter().enumerate().all(passable) {
        return Ok(Value::unknown(signature.return_type.clone()));
    }
    let result =
        call_function(provider, call, arguments.clone()).map_err(|error| refused(signature, call, error))?;
    let result =
        check_result_type(result, &signature.return_type).map_err(|problem| failed(call, &problem))?;
    match results.record(address, call.function(), &arguments, &result) {
        Consistency::Consistent => Ok(result),
        Consistency::Inconsistent => Err(inconsistent(address, call)),
    }
}

fn find<'a>(
    module: &'a Module,
    schemas: &'a Schemas,
    call: &ProviderCall<'_>,
) -> Result<(&'a ProviderAddress, &'a Arc<dyn Provider>, &'a Function), Diagnostic> {
    let unknown = |detail: String| Diagnostic::error(UNKNOWN_FUNCTION, detail).at(call.name_span());
    let (local_name, name) = (call.provider(), call.function());
    let Some(required) = module.required_providers.get(local_name) else {
        let known = module.required_providers.keys().map(|name| &**name);
        let advice = match wardian_diagnostic::closest(local_name, known) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => "add the provider to required_providers to call its functions.".to_owned(),
        };
        return Err(unknown(format!(
            "There is no function \"{}\" here: the module's required_providers do not contain \
             \"{local_name}\"; {advice}",
            call.name()
        )));
    };
    let address = &required.address;
    let (Some(schema), Some(provider)) = (schemas.provider(address), schemas.unconfigured(address)) else {
        return Err(unknown(format!("The provider {} is not available.", address.for_display())));
    };
    let Some(signature) = schema.functions.get(name) else {
        let suggestion = wardian_diagnostic::did_you_mean(name, schema.functions.keys().map(|name| &**name));
        return Err(unknown(format!(
            "The provider {} has no function \"{name}\".{suggestion}",
            address.for_display()
        )));
    };
    Ok((address, provider, signature))
}

fn check_count(signature: &Function, call: &ProviderCall<'_>) -> Result<(), Diagnostic> {
    let (expected, given) = (signature.parameters.len(), call.arguments().len());
    let plural = if expected == 1 { "" } else { "s" };
    if let Some(missing) = signature.parameters.get(given) {
        let at_least = if signature.variadic_parameter.is_some() { "at least " } else { "" };
        let detail = format!(
            "The function \"{}\" takes {at_least}{expected} argument{plural}; the argument for \"{}\" is \
             missing.",
            call.name(),
            missing.name
        );
        return Err(Diagnostic::error("Not enough function arguments", detail).at(call.closing_span()));
    }
    if given > expected && signature.variadic_parameter.is_none() {
        let detail = format!("The function \"{}\" takes only {expected} argument{plural}.", call.name());
        return Err(Diagnostic::error("Too many function arguments", detail).at(call.argument_span(expected)));
    }
    Ok(())
}

/// Returns the arguments, converted to the parameters' types.
fn arguments(signature: &Function, call: &ProviderCall<'_>) -> Result<Vec<Value>, Diagnostic> {
    let one = |(position, argument): (usize, &Value)| {
        let Some(parameter) = signature.parameter(position) else { return Ok(argument.clone()) };
        let converted = convert::convert(argument, &parameter.ty);
        let value = converted.map_err(|error| unsuitable(parameter, position, call, &error.to_string()))?;
        if value.is_null() && !parameter.allow_null {
            return Err(unsuitable(parameter, position, call, "it must not be null"));
        }
        Ok(value)
    };
    call.arguments().iter().enumerate().map(one).collect()
}

/// Calls the provider. Evaluation is synchronous and provider functions are short, so this call
/// blocks the thread and notifies the runtime.
fn call_function(
    provider: &Arc<dyn Provider>,
    call: &ProviderCall<'_>,
    arguments: Vec<Value>,
) -> Result<Value, FunctionError> {
    let runtime = Handle::try_current().ok();
    let Some(runtime) = runtime.filter(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread)
    else {
        let text = "provider functions cannot be called here".to_owned();
        return Err(FunctionError { text, argument: None });
    };
    let secrets = SensitiveValues::default();
    if call.is_sensitive() {
        for argument in &arguments {
            secrets.add_all(argument);
        }
    }
    let context = CallContext::default().with_sensitive_values(secrets);
    let answer = provider.call_function(&context, Str::new(call.function()), arguments);
    tokio::task::block_in_place(|| runtime.block_on(answer))
}

/// Returns the result if it has the declared type. Parts whose declared type is dynamic can have
/// any type.
fn check_result_type(result: Value, promised: &Type) -> Result<Value, String> {
    let conforms = convert::convert(&result, promised).is_ok_and(|converted| converted == result);
    if conforms {
        return Ok(result);
    }
    Err(format!(
        "the provider returned a {}, but its function declares a {}; this is a bug in the provider",
        result.ty().friendly_name(),
        promised.friendly_name()
    ))
}

fn refused(signature: &Function, call: &ProviderCall<'_>, error: FunctionError) -> Diagnostic {
    let text = error.text.trim_end_matches('.');
    match error.argument.and_then(|position| Some((position, signature.parameter(position)?))) {
        Some((position, parameter)) => unsuitable(parameter, position, call, text),
        None => failed(call, text),
    }
}

fn unsuitable(parameter: &Parameter, position: usize, call: &ProviderCall<'_>, problem: &str) -> Diagnostic {
    let (name, function) = (&parameter.name, call.name());
    let detail = format!("The argument for \"{name}\" of \"{function}\": {}.", shown(call, problem));
    Diagnostic::error("Invalid function argument", detail).at(call.argument_span(position))
}

fn inconsistent(provider: &ProviderAddress, call: &ProviderCall<'_>) -> Diagnostic {
    let detail = format!(
        "The function \"{}\" returned different results for the same arguments, so planned values could \
         differ in an apply. This is a bug in the provider {}; please report it to its maintainers.",
        call.name(),
        provider.for_display()
    );
    Diagnostic::error("Provider function returned an inconsistent result", detail).at(call.name_span())
}

fn failed(call: &ProviderCall<'_>, problem: &str) -> Diagnostic {
    let detail = format!("The call of \"{}\" failed: {}.", call.name(), shown(call, problem));
    Diagnostic::error(FAILED, detail).at(call.name_span())
}

/// Replaces a message that may contain a sensitive argument.
fn shown<'a>(call: &ProviderCall<'_>, problem: &'a str) -> &'a str {
    if call.is_sensitive() { "the error is not shown, because an argument is sensitive" } else { problem }
}
