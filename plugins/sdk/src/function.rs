//! Functions of a provider: pure, and callable before it is configured.

use std::fmt::Display;

use serde::Serialize;
use serde::de::DeserializeOwned;
use wardian_value::{PathStep, Type, Value};

use crate::Diagnostics;
use crate::model::{ModelError, Unknowns, from_value, to_value};
use crate::schema::Deprecation;

/// Why a function has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionError {
    /// What is wrong.
    pub text: String,
    /// The index of the argument at fault, if it is one argument's.
    pub argument: Option<u64>,
}

impl FunctionError {
    /// An error that no single argument is to blame for.
    pub fn new(text: impl Display) -> Self {
        Self { text: text.to_string(), argument: None }
    }

    /// An error of one argument, counted from 0; variadic ones go on counting.
    pub fn argument(index: u64, text: impl Display) -> Self {
        Self { text: text.to_string(), argument: Some(index) }
    }
}

impl From<Diagnostics> for FunctionError {
    fn from(errors: Diagnostics) -> Self {
        Self::new(errors)
    }
}

/// A parameter of a function.
#[derive(Debug)]
pub struct Parameter {
    pub(crate) name: String,
    pub(crate) ty: Type,
    pub(crate) allow_null: bool,
    pub(crate) allow_unknown: bool,
    pub(crate) description: String,
}

impl Parameter {
    /// A parameter of any type.
    pub fn of(name: impl Into<String>, ty: Type) -> Self {
        Self { name: name.into(), ty, allow_null: false, allow_unknown: false, description: String::new() }
    }

    /// A string.
    pub fn string(name: impl Into<String>) -> Self {
        Self::of(name, Type::String)
    }

    /// A number.
    pub fn number(name: impl Into<String>) -> Self {
        Self::of(name, Type::Number)
    }

    /// A truth value.
    pub fn bool(name: impl Into<String>) -> Self {
        Self::of(name, Type::Bool)
    }

    /// Null may be passed: the argument is an `Option`.
    #[must_use]
    pub fn allow_null(mut self) -> Self {
        self.allow_null = true;
        self
    }

    /// Unknown values may be passed: the argument is an `Attr`.
    #[must_use]
    pub fn allow_unknown(mut self) -> Self {
        self.allow_unknown = true;
        self
    }

    /// What it is for, in Markdown.
    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.description = text.into();
        self
    }
}

type Run = Box<dyn Fn(&[Value], &Signature) -> Result<Value, FunctionError>>;

/// A function.
///
/// ```
/// use wardian_sdk::{Function, Parameter, Type};
///
/// let shout = Function::new("shout", Type::String)
///     .summary("Says it loudly")
///     .parameter(Parameter::string("text"))
///     .run(|(text,): (String,)| Ok(text.to_uppercase()));
/// ```
pub struct Function {
    pub(crate) name: String,
    pub(crate) signature: Signature,
    pub(crate) run: Run,
}

/// A function whose body is still missing; see [`Function::new`].
pub struct FunctionBuilder {
    name: String,
    signature: Signature,
}

#[derive(Debug)]
pub(crate) struct Signature {
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) variadic: Option<Parameter>,
    pub(crate) returns: Type,
    pub(crate) summary: String,
    pub(crate) description: String,
    pub(crate) deprecation: Deprecation,
}

impl Function {
    /// Starts a function with its name and the type of its result.
    #[expect(clippy::new_ret_no_self, reason = "a function is complete only with its body")]
    pub fn new(name: impl Into<String>, returns: Type) -> FunctionBuilder {
        FunctionBuilder {
            name: name.into(),
            signature: Signature {
                parameters: Vec::new(),
                variadic: None,
                returns,
                summary: String::new(),
                description: String::new(),
                deprecation: Deprecation::None,
            },
        }
    }
}

impl FunctionBuilder {
    /// Adds a parameter.
    #[must_use]
    pub fn parameter(mut self, parameter: Parameter) -> Self {
        self.signature.parameters.push(parameter);
        self
    }

    /// The parameter that all further arguments are for. They arrive as a `Vec`, the
    /// last element of the tuple.
    #[must_use]
    pub fn variadic(mut self, parameter: Parameter) -> Self {
        self.signature.variadic = Some(parameter);
        self
    }

    /// One line on what it does.
    #[must_use]
    pub fn summary(mut self, text: impl Into<String>) -> Self {
        self.signature.summary = text.into();
        self
    }

    /// What it does, in Markdown.
    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.signature.description = text.into();
        self
    }

    /// It should no longer be used; the text says what to do instead.
    #[must_use]
    pub fn deprecated(mut self, text: impl Into<String>) -> Self {
        self.signature.deprecation = Deprecation::Message(text.into());
        self
    }

    /// The body: from a tuple of the arguments to a result.
    pub fn run<Arguments: DeserializeOwned, Answer: Serialize>(
        self,
        body: impl Fn(Arguments) -> Result<Answer, FunctionError> + 'static,
    ) -> Function {
        let run = move |arguments: &[Value], signature: &Signature| {
            let answer =
                body(from_value(&grouped(arguments, signature), Unknowns::Refused).map_err(misfit)?)?;
            to_value(&answer, &signature.returns).map_err(FunctionError::new)
        };
        Function { name: self.name, signature: self.signature, run: Box::new(run) }
    }
}

/// The arguments as one tuple, in which the variadic ones are one tuple.
fn grouped(arguments: &[Value], signature: &Signature) -> Value {
    let fixed = signature.parameters.len().min(arguments.len());
    let (fixed, rest) = arguments.split_at(fixed);
    let rest = signature.variadic.is_some().then(|| Value::tuple(rest.iter().cloned()));
    Value::tuple(fixed.iter().cloned().chain(rest))
}

fn misfit(error: ModelError) -> FunctionError {
    let argument = match error.path().steps().first() {
        Some(PathStep::Index(index)) => Some(*index),
        _ => None,
    };
    FunctionError { text: error.message().to_owned(), argument }
}
