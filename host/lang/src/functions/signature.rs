//! Function signatures, for tools.

use wardian_value::{Type, Value};

use super::{Function, Parameter, table};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionSignature {
    /// The name without a namespace.
    pub name: &'static str,
    pub description: &'static str,
    /// The tools that also provide the function.
    pub origin: FunctionOrigin,
    /// The required arguments.
    pub parameters: Vec<ParameterSignature>,
    /// The parameter for all additional arguments, if they are allowed.
    pub variadic: Option<ParameterSignature>,
    /// The result type; dynamic if it depends on the arguments.
    pub result: Type,
}

/// A parameter of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterSignature {
    /// The parameter name in messages.
    pub name: &'static str,
    /// The type to which arguments are converted.
    pub ty: Type,
    /// Whether null is allowed.
    pub null: NullArgument,
}

/// Whether a function accepts null for an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NullArgument {
    Accepted,
    /// A call with null is an error.
    Refused,
}

/// The tools that also provide a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionOrigin {
    /// Terraform 1.11 and later.
    Terraform,
    /// A later Terraform version, or OpenTofu.
    Later,
}

const LATER: [&str; 4] = ["base64gunzip", "cidrcontains", "convert", "urldecode"];

/// Returns the signatures of all functions, sorted by name.
pub fn function_signatures() -> impl Iterator<Item = FunctionSignature> {
    table().values().map(|function| signature(function))
}

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

/// Returns the result type for arguments whose types are known, but whose values are not. If an
/// argument's type is also unknown, and the function does not accept such arguments, the result
/// type is unknown.
fn result(function: &Function) -> Type {
    let mut parameters = function.parameters.iter().chain(&function.variadic);
    // The result of a template is always a string.
    let is_template = matches!(function.body, super::Body::Template(_));
    if !is_template && parameters.any(|parameter| parameter.ty.ty() == Type::Dynamic && !parameter.dynamic) {
        return Type::Dynamic;
    }
    let arguments: Vec<Value> =
        function.parameters.iter().map(|parameter| Value::unknown(parameter.ty.ty())).collect();
    function.result.ty(&arguments).unwrap_or(Type::Dynamic)
}
