//! What is told of functions to those who only ask.

use wardian_value::{Type, Value};

use super::{Function, Parameter, table};

/// A function as it is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionSignature {
    /// Its name without a namespace.
    pub name: &'static str,
    /// What it does.
    pub description: &'static str,
    /// Where else it is to be found.
    pub origin: FunctionOrigin,
    /// What must be given.
    pub parameters: Vec<ParameterSignature>,
    /// What every further argument is; there are none without it.
    pub variadic: Option<ParameterSignature>,
    /// The type of the result, dynamic where it depends on the arguments.
    pub result: Type,
}

/// One parameter of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterSignature {
    /// Its name, which messages call it by.
    pub name: &'static str,
    /// What arguments are converted to.
    pub ty: Type,
    /// Whether null may be given.
    pub null: NullArgument,
}

/// Whether a function takes null for an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NullArgument {
    /// It does.
    Accepted,
    /// A call with null is an error.
    Refused,
}

/// Which other tools have a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionOrigin {
    /// Terraform 1.11 and what comes after it.
    Terraform,
    /// A later Terraform, or OpenTofu.
    Later,
}

const LATER: [&str; 4] = ["base64gunzip", "cidrcontains", "convert", "urldecode"];

/// The signatures of all functions, sorted by name.
pub fn function_signatures() -> impl Iterator<Item = FunctionSignature> {
    table().values().map(|function| signature(function))
}

/// The signature of one function.
pub(crate) fn signature(function: &Function) -> FunctionSignature {
    FunctionSignature {
        name: function.name,
        description: super::description::description(function.name),
        origin: if LATER.contains(&function.name) {
            FunctionOrigin::Later
        } else {
            FunctionOrigin::Terraform
        },
        parameters: function.parameters.iter().map(parameter).collect(),
        variadic: function.variadic.as_ref().map(parameter),
        result: result(function),
    }
}

fn parameter(parameter: &Parameter) -> ParameterSignature {
    ParameterSignature {
        name: parameter.name,
        ty: parameter.ty.ty(),
        null: if parameter.null { NullArgument::Accepted } else { NullArgument::Refused },
    }
}

/// The result for arguments of which only the types are known. Where a type is
/// not known either, and the function does not say that it takes such arguments,
/// neither is that of the result.
fn result(function: &Function) -> Type {
    let mut parameters = function.parameters.iter().chain(&function.variadic);
    // What a template gives is text, whatever its variables are.
    let is_template = matches!(function.body, super::Body::Template(_));
    if !is_template && parameters.any(|parameter| parameter.ty.ty() == Type::Dynamic && !parameter.dynamic) {
        return Type::Dynamic;
    }
    let arguments: Vec<Value> =
        function.parameters.iter().map(|parameter| Value::unknown(parameter.ty.ty())).collect();
    function.result.ty(&arguments).unwrap_or(Type::Dynamic)
}
