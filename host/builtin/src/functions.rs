//! The provider's functions, which convert between values and Terraform's syntax.

mod decode;
mod encode;
mod layout;

use std::collections::BTreeMap;

use wardian_plugin::{Deprecation, Description, Function, FunctionError, Parameter};
use wardian_value::{Refinement, Str, Type, Value};

/// Returns the functions by name.
pub(crate) fn signatures() -> BTreeMap<Str, Function> {
    BTreeMap::from([
        (
            Str::new("decode_tfvars"),
            signature(
                Parameter { name: "src".into(), ..parameter(Type::String) },
                Type::Dynamic,
                "Parses the content of a variable values file",
                "Takes the content of a `.tfvars` file and returns an object of the values in it. Only \
                 constants are supported: the text must contain no references and no function calls.",
            ),
        ),
        (
            Str::new("encode_expr"),
            signature(
                Parameter { allow_unknown: true, ..parameter(Type::Dynamic) },
                Type::String,
                "Encodes a value as an expression",
                "Takes any value and returns an expression that evaluates to it. Types that have no syntax \
                 of their own are approximated: a list is written as a tuple, a map as an object.",
            ),
        ),
        (
            Str::new("encode_tfvars"),
            signature(
                Parameter { allow_unknown: true, ..parameter(Type::Dynamic) },
                Type::String,
                "Encodes an object as a variable values file",
                "Takes an object and returns the content of a `.tfvars` file that sets a variable for each attribute.",
            ),
        ),
    ])
}

fn signature(parameter: Parameter, return_type: Type, summary: &str, description: &str) -> Function {
    Function {
        parameters: vec![parameter],
        variadic_parameter: None,
        return_type,
        summary: summary.to_owned(),
        description: Description { text: description.to_owned(), markdown: true },
        deprecation: Deprecation::None,
    }
}

fn parameter(ty: Type) -> Parameter {
    Parameter {
        name: "value".into(),
        ty,
        allow_null: false,
        allow_unknown: false,
        description: Description::default(),
    }
}

pub(crate) fn call(name: &str, arguments: &[Value]) -> Result<Value, FunctionError> {
    let [argument] = arguments else {
        return Err(FunctionError { text: "it takes one argument".into(), argument: None });
    };
    match name {
        "decode_tfvars" => decode::variables(argument.as_str().unwrap_or_default()),
        "encode_expr" if !argument.is_wholly_known() => Ok(unknown_expression(argument)),
        "encode_expr" => encode::expression(argument).map(Value::string),
        "encode_tfvars" if !argument.is_wholly_known() => {
            Ok(Value::unknown_with(Type::String, Refinement::not_null()))
        }
        "encode_tfvars" => encode::variables(argument).map(Value::string),
        _ => Err(FunctionError { text: format!("there is no function \"{name}\""), argument: None }),
    }
}

/// Returns an unknown string with the first character of the expression as a refinement. The type
/// determines this character, unless the value may be null.
fn unknown_expression(argument: &Value) -> Value {
    let prefix = match argument.ty() {
        Type::Object(_) | Type::Map(_) => Some("{"),
        Type::Tuple(_) | Type::List(_) | Type::Set(_) => Some("["),
        Type::String => Some("\""),
        _ => None,
    };
    let prefix = prefix.filter(|_| argument.is_definitely_not_null()).map(Str::new);
    Value::unknown_with(Type::String, Refinement { prefix, ..Refinement::not_null() })
}
