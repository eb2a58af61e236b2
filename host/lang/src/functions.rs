//! The built-in functions.
//!
//! A function declares, for each parameter, the type and whether the function itself handles null,
//! unknown, dynamically typed and marked arguments. The code that calls the function handles all
//! other arguments, so most functions receive only known values of the right type without marks.

#![allow(clippy::unnecessary_wraps, reason = "all functions have the signature of the table")]

mod address;
mod charset;
mod collection;
mod compression;
mod control;
mod conversion;
mod date;
mod delimited;
mod description;
mod encoding;
mod file;
mod format;
mod glob;
mod hash;
mod lists;
mod maps;
mod members;
mod numeric;
mod pattern;
mod rsa;
mod sets;
mod signature;
mod string;
mod yaml;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use wardian_diagnostic::{Diagnostic, Diagnostics, Span};
use wardian_value::{Type, Value};

use crate::Scope;
use crate::budget::Allowance;

pub(crate) use signature::signature;
pub use signature::{
    FunctionOrigin, FunctionSignature, NullArgument, ParameterSignature, function_signatures,
};
pub use yaml::decode_yaml;

#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) name: &'static str,
    pub(crate) parameters: &'static [Parameter],
    /// The parameter for all additional arguments.
    pub(crate) variadic: Option<Parameter>,
    pub(crate) result: ResultType,
    /// True if the result may be null.
    pub(crate) nullable: bool,
    pub(crate) body: Body,
}

/// A parameter. The function never receives values that the parameter's flags do not allow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    pub(crate) ty: ParameterType,
    pub(crate) null: bool,
    pub(crate) unknown: bool,
    /// Whether the function handles unknown values of unknown type.
    pub(crate) dynamic: bool,
    pub(crate) marked: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParameterType {
    Any,
    String,
    Number,
    ListOfAny,
    ListOfString,
    ListOfBool,
    SetOfAny,
    MapOfListOfString,
}

/// The result type for unknown results, if the argument types determine it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ResultType {
    String,
    Number,
    Bool,
    Dynamic,
    ListOfString,
    ListOfNumber,
    SetOfString,
    MapOfListOfString,
    /// The type of the argument at this position.
    SameAs(usize),
    /// The type that this function computes from the arguments. Some of the arguments may be
    /// unknown.
    Of(fn(&[Value]) -> Result<Type, Failure>),
}

/// The implementation of a function.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Body {
    /// Depends only on the arguments.
    Pure(fn(&[Value]) -> Outcome),
    /// Depends only on the arguments, and may return a result that is much larger than the arguments.
    Expanding(fn(&[Value], Allowance) -> Outcome),
    /// Uses files, time or randomness from the scope.
    Scoped(fn(&[Value], &dyn Scope) -> Outcome),
    /// Like `Scoped`, with a template as the first argument. This argument must not be a literal in
    /// the call.
    Template(fn(&[Value], &dyn Scope) -> Outcome),
    /// Evaluates its arguments itself.
    Lazy(Lazy),
}

/// The functions that evaluate their arguments themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lazy {
    Try,
    Can,
    /// `convert`, whose second argument is a type.
    Convert,
}

pub(crate) type Outcome = Result<Value, Failure>;

/// The functions that accept every argument of the right type. Terraform reports all other problems
/// of their arguments as errors of the call.
const FAIL_AS_CALLS: &[&str] = &[
    "base64decode",
    "chunklist",
    "cidrhost",
    "cidrnetmask",
    "cidrsubnet",
    "coalescelist",
    "contains",
    "csvdecode",
    "element",
    "flatten",
    "indent",
    "index",
    "merge",
    "pow",
    "range",
    "replace",
    "signum",
    "sort",
    "substr",
    "timeadd",
    "transpose",
    "uuidv5",
    "values",
    "yamldecode",
    "zipmap",
];

/// The reason why a function has no result.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The argument at this position is invalid.
    Argument(usize, String),
    /// The call is invalid because of the argument at this position.
    CallArgument(usize, String),
    /// The call as a whole is invalid.
    Call(String),
    /// The result would exceed the limits of evaluations.
    TooLarge,
    /// Problems with their own source spans, for example in a template file.
    Elsewhere(Diagnostics),
}

impl Failure {
    pub(crate) fn call(message: impl Into<String>) -> Self {
        Self::Call(message.into())
    }

    pub(crate) fn argument(index: usize, message: impl Into<String>) -> Self {
        Self::Argument(index, message.into())
    }

    /// Assigns the failure to the call instead of one argument.
    pub(crate) fn into_call(self) -> Self {
        match self {
            Self::Argument(position, message) => Self::CallArgument(position, message),
            other => other,
        }
    }
}

const fn parameter(name: &'static str, ty: ParameterType) -> Parameter {
    Parameter { name, ty, null: false, unknown: false, dynamic: false, marked: false }
}

const fn any(name: &'static str) -> Parameter {
    parameter(name, ParameterType::Any)
}

const fn string(name: &'static str) -> Parameter {
    parameter(name, ParameterType::String)
}

const fn number(name: &'static str) -> Parameter {
    parameter(name, ParameterType::Number)
}

impl Parameter {
    const fn null(mut self) -> Self {
        self.null = true;
        self
    }

    const fn unknown(mut self) -> Self {
        self.unknown = true;
        self
    }

    const fn dynamic(mut self) -> Self {
        self.dynamic = true;
        self
    }

    const fn marked(mut self) -> Self {
        self.marked = true;
        self
    }

    /// Sets all flags: the function handles all kinds of values.
    const fn everything(self) -> Self {
        self.null().unknown().dynamic().marked()
    }
}

impl ParameterType {
    pub(crate) fn ty(self) -> Type {
        match self {
            Self::Any => Type::Dynamic,
            Self::String => Type::String,
            Self::Number => Type::Number,
            Self::ListOfAny => Type::list(Type::Dynamic),
            Self::ListOfString => Type::list(Type::String),
            Self::ListOfBool => Type::list(Type::Bool),
            Self::SetOfAny => Type::set(Type::Dynamic),
            Self::MapOfListOfString => Type::map(Type::list(Type::String)),
        }
    }
}

impl ResultType {
    pub(crate) fn ty(self, arguments: &[Value]) -> Result<Type, Failure> {
        Ok(match self {
            Self::String => Type::String,
            Self::Number => Type::Number,
            Self::Bool => Type::Bool,
            Self::Dynamic => Type::Dynamic,
            Self::ListOfString => Type::list(Type::String),
            Self::ListOfNumber => Type::list(Type::Number),
            Self::SetOfString => Type::set(Type::String),
            Self::MapOfListOfString => Type::map(Type::list(Type::String)),
            Self::SameAs(index) => {
                arguments.get(index).map_or(Type::Dynamic, |argument| argument.ty().clone())
            }
            Self::Of(compute) => compute(arguments)?,
        })
    }
}

impl Function {
    const fn new(
        name: &'static str,
        parameters: &'static [Parameter],
        result: ResultType,
        body: Body,
    ) -> Self {
        Self { name, parameters, variadic: None, result, nullable: false, body }
    }

    const fn nullable(mut self) -> Self {
        self.nullable = true;
        self
    }

    const fn variadic(mut self, parameter: Parameter) -> Self {
        self.variadic = Some(parameter);
        self
    }

    /// Returns the failure, assigned to an argument or to the call as in Terraform.
    pub(crate) fn classify(&self, failure: Failure) -> Failure {
        if FAIL_AS_CALLS.contains(&self.name) { failure.into_call() } else { failure }
    }

    /// Returns true if the result depends only on the arguments.
    pub(crate) fn is_pure(&self) -> bool {
        matches!(self.body, Body::Pure(_) | Body::Expanding(_) | Body::Lazy(_))
    }

    /// Returns the parameter for the argument at a position.
    pub(crate) fn parameter(&self, position: usize) -> Option<&Parameter> {
        self.parameters.get(position).or(self.variadic.as_ref())
    }
}

fn table() -> &'static BTreeMap<&'static str, &'static Function> {
    static TABLE: OnceLock<BTreeMap<&'static str, &'static Function>> = OnceLock::new();
    TABLE.get_or_init(|| {
        [
            address::FUNCTIONS,
            collection::FUNCTIONS,
            compression::FUNCTIONS,
            control::FUNCTIONS,
            conversion::FUNCTIONS,
            date::FUNCTIONS,
            delimited::FUNCTIONS,
            encoding::FUNCTIONS,
            file::FUNCTIONS,
            format::FUNCTIONS,
            hash::FUNCTIONS,
            lists::FUNCTIONS,
            maps::FUNCTIONS,
            numeric::FUNCTIONS,
            pattern::FUNCTIONS,
            rsa::FUNCTIONS,
            sets::FUNCTIONS,
            string::FUNCTIONS,
            yaml::FUNCTIONS,
        ]
        .into_iter()
        .flatten()
        .map(|function| (function.name, function))
        .collect()
    })
}

pub(crate) fn find(name: &str) -> Option<&'static Function> {
    table().get(name).copied()
}

/// Returns the names of all functions, sorted.
pub fn function_names() -> impl Iterator<Item = &'static str> {
    table().keys().copied()
}

/// Returns true if a function with this name exists.
pub fn is_function(name: &str) -> bool {
    find(name).is_some()
}

const UNKNOWN_IN_NAMESPACE: &str = "Unknown provider function";

/// Returns the diagnostic for a call of an unknown function, including its namespaces.
pub(crate) fn unknown(name: &str, span: Span) -> Diagnostic {
    match name.rsplit_once("::") {
        Some(("core", name)) => unknown_in_core(name, span),
        Some((namespaces, _)) => unknown_namespace(namespaces, name, span),
        None => unknown_name(name, span),
    }
}

fn unknown_name(name: &str, span: Span) -> Diagnostic {
    if name == "type" {
        let detail = "The function \"type\" exists only in the console, as the only call of the input.";
        return Diagnostic::error("Invalid use of type function", detail).at(span);
    }
    Diagnostic::error("Call to unknown function", no_function(name)).at(span)
}

/// Returns the diagnostic for an unknown function in the namespace `core`.
fn unknown_in_core(name: &str, span: Span) -> Diagnostic {
    Diagnostic::error(UNKNOWN_IN_NAMESPACE, no_function(name)).at(span)
}

fn no_function(name: &str) -> String {
    let meant = wardian_diagnostic::did_you_mean(name, function_names());
    format!("There is no function named \"{name}\".{meant}")
}

fn unknown_namespace(namespaces: &str, name: &str, span: Span) -> Diagnostic {
    let detail = if namespaces.split("::").next() == Some("provider") {
        format!("\"{name}\" is not a provider function: it must have the form provider::NAME::FUNCTION.")
    } else {
        format!(
            "There is no namespace \"{namespaces}\". Call provider functions as provider::NAME::FUNCTION, \
             and built-in ones by their name, optionally with core:: before it."
        )
    };
    Diagnostic::error(UNKNOWN_IN_NAMESPACE, detail).at(span)
}

/// Maximum length of a string that a function builds from shorter strings.
const MAX_STRING_LENGTH: usize = 256 * 1024 * 1024;

/// Checks the length of a string before a function builds it.
fn check_length(bytes: usize, allowance: Allowance) -> Result<(), Failure> {
    if bytes > MAX_STRING_LENGTH {
        return Err(Failure::call(format!("the result would be longer than {MAX_STRING_LENGTH} bytes")));
    }
    check_parts(bytes, 1, allowance)
}

/// Checks the size of a result with this many parts of this many bytes each, before a function
/// builds it.
fn check_parts(parts: usize, bytes: u64, allowance: Allowance) -> Result<(), Failure> {
    if allowance.permits(parts, bytes) { Ok(()) } else { Err(Failure::TooLarge) }
}

/// Returns the text of a string argument. The type of the argument was checked by the call.
fn text(arguments: &[Value], position: usize) -> &str {
    arguments.get(position).and_then(Value::as_str).unwrap_or("")
}

/// Returns an integer argument.
fn whole(arguments: &[Value], position: usize) -> Result<i64, Failure> {
    arguments
        .get(position)
        .and_then(Value::as_number)
        .and_then(wardian_value::Number::as_i64)
        .ok_or_else(|| Failure::argument(position, "a whole number is required"))
}

/// Returns the elements of a list, set or tuple argument.
fn elements(arguments: &[Value], position: usize) -> &[Value] {
    arguments.get(position).and_then(Value::as_elements).unwrap_or(&[])
}

/// Returns an unknown result with the refinement that it is not null.
fn unknown_result(ty: Type) -> Value {
    Value::unknown_with(ty, wardian_value::Refinement::not_null())
}
