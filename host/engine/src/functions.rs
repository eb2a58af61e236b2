//! Calls of providers' functions from expressions.
//!
//! What a provider is given is what its function's signature says: as many
//! arguments, of those types, null and unknown only where it takes them. The answer
//! is held against the signature, too. Marks are none of the provider's business:
//! the language takes them off before, and puts them back on the result.

use std::sync::Arc;

use tokio::runtime::{Handle, RuntimeFlavor};
use wardian_address::ProviderAddress;
use wardian_config::Module;
use wardian_diagnostic::Diagnostic;
use wardian_lang::ProviderCall;
use wardian_plugin::{Function, FunctionError, Parameter, Provider, Secrets, with_secrets};
use wardian_value::{Str, Type, Value, convert};

use crate::function_results::{Consistency, FunctionResults};
use crate::providers::Schemas;

const UNKNOWN_FUNCTION: &str = "Unknown provider function";
const FAILED: &str = "Error in function call";

/// Calls a function on a provider that is not configured.
///
/// # Errors
/// Where the module does not require that provider, it has no such function, or
/// the arguments or the result are not as the signature says.
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
    let result = ask(provider, call, arguments.clone()).map_err(|error| refused(signature, call, error))?;
    let result = conforming(result, &signature.return_type).map_err(|problem| failed(call, &problem))?;
    match results.note(address, call.function(), &arguments, &result) {
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
            None => "add it there to call its functions.".to_owned(),
        };
        return Err(unknown(format!(
            "There is no \"{}\" here: the module's required_providers have no \"{local_name}\"; {advice}",
            call.name()
        )));
    };
    let address = &required.address;
    let (Some(schema), Some(provider)) = (schemas.provider(address), schemas.unconfigured(address)) else {
        return Err(unknown(format!("The provider {} is not available.", address.for_display())));
    };
    let Some(signature) = schema.functions.get(name) else {
        let suggestion = wardian_diagnostic::closest(name, schema.functions.keys().map(|name| &**name))
            .map(|near| format!(" Did you mean \"{near}\"?"))
            .unwrap_or_default();
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
            "The function \"{}\" takes {at_least}{expected} argument{plural}; there is none for \"{}\".",
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

/// The arguments, of the types that the parameters have.
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

/// Evaluation is not asynchronous, and a function of a provider is short: the
/// runtime is told that this thread waits.
fn ask(
    provider: &Arc<dyn Provider>,
    call: &ProviderCall<'_>,
    arguments: Vec<Value>,
) -> Result<Value, FunctionError> {
    let runtime = Handle::try_current().ok();
    let Some(runtime) = runtime.filter(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread)
    else {
        let text = "functions of providers cannot be called here".to_owned();
        return Err(FunctionError { text, argument: None });
    };
    let secrets = Secrets::default();
    if call.is_sensitive() {
        for argument in &arguments {
            secrets.add_all(argument);
        }
    }
    let answer = with_secrets(secrets, provider.call_function(Str::new(call.function()), arguments));
    tokio::task::block_in_place(|| runtime.block_on(answer))
}

/// The result, if it is of the type that was promised. A part that was promised to
/// be anything is what it is.
fn conforming(result: Value, promised: &Type) -> Result<Value, String> {
    let conforms = convert::convert(&result, promised).is_ok_and(|converted| converted == result);
    if conforms {
        return Ok(result);
    }
    Err(format!(
        "the provider answered with a {}, where its function promises a {}; this is a mistake in the provider",
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
        "The function \"{}\" gave another result than before for the same arguments. What a plan says would not \
         hold when it is applied. The mistake is in the provider {}: whoever maintains it should hear of it.",
        call.name(),
        provider.for_display()
    );
    Diagnostic::error("Provider function returned an inconsistent result", detail).at(call.name_span())
}

fn failed(call: &ProviderCall<'_>, problem: &str) -> Diagnostic {
    let detail = format!("The call of \"{}\" failed: {}.", call.name(), shown(call, problem));
    Diagnostic::error(FAILED, detail).at(call.name_span())
}

/// A message may quote an argument.
fn shown<'a>(call: &ProviderCall<'_>, problem: &'a str) -> &'a str {
    if call.is_sensitive() { "what is wrong is not shown, because an argument is sensitive" } else { problem }
}
