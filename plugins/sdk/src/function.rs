//! Provider functions, which are pure and can be called before the provider is configured.

use std::fmt::Display;

use serde::Serialize;
use serde::de::DeserializeOwned;
use wardian_value::{PathStep, Type, Value};

use crate::Diagnostics;
use crate::model::{ModelError, Unknowns, from_value, to_value};
use crate::schema::Deprecation;

/// The error of a function call.
///
/// ```
/// use wardian_sdk::FunctionError;
///
/// let error = FunctionError::argument(0, "must not be empty");
/// assert_eq!(error.argument, Some(0));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionError {
    /// The message.
    pub text: String,
    /// The index of the invalid argument, if the error concerns one argument.
    pub argument: Option<u64>,
}

impl FunctionError {
    /// Creates an error that does not concern a single argument.
    pub fn new(text: impl Display) -> Self {
        Self { text: text.to_string(), argument: None }
    }

    /// Creates an error that concerns one argument. The index starts at 0 and includes variadic
    /// arguments.
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
///
/// ```
/// use wardian_sdk::{Function, Parameter, Type};
///
/// let or = Function::new("or", Type::String)
///     .parameter(Parameter::string("text").allow_null().description("The text."))
///     .parameter(Parameter::string("default"))
///     .run(|(text, default): (Option<String>, String)| Ok(text.unwrap_or(default)));
/// ```
#[derive(Debug)]
pub struct Parameter {
    pub(crate) name: String,
    pub(crate) ty: Type,
    pub(crate) allow_null: bool,
    pub(crate) allow_unknown: bool,
    pub(crate) description: String,
}

impl Parameter {
    /// Creates a parameter of any type.
    pub fn new(name: impl Into<String>, ty: Type) -> Self {
        Self { name: name.into(), ty, allow_null: false, allow_unknown: false, description: String::new() }
    }

    /// Creates a string parameter.
    pub fn string(name: impl Into<String>) -> Self {
        Self::new(name, Type::String)
    }

    /// Creates a number parameter.
    pub fn number(name: impl Into<String>) -> Self {
        Self::new(name, Type::Number)
    }

    /// Creates a bool parameter.
    pub fn bool(name: impl Into<String>) -> Self {
        Self::new(name, Type::Bool)
    }

    /// Allows null. The argument must then be an `Option`.
    #[must_use]
    pub fn allow_null(mut self) -> Self {
        self.allow_null = true;
        self
    }

    /// Allows unknown values. The argument must then be an `Attr`.
    #[must_use]
    pub fn allow_unknown(mut self) -> Self {
        self.allow_unknown = true;
        self
    }

    /// Sets the description, in Markdown.
    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.description = text.into();
        self
    }
}

type Run = Box<dyn Fn(&[Value], &Signature) -> Result<Value, FunctionError>>;

/// A provider function.
///
/// ```
/// use wardian_sdk::{Function, Parameter, Type};
///
/// let shout = Function::new("shout", Type::String)
///     .summary("Converts text to upper case")
///     .parameter(Parameter::string("text"))
///     .run(|(text,): (String,)| Ok(text.to_uppercase()));
/// ```
pub struct Function {
    pub(crate) name: String,
    pub(crate) signature: Signature,
    pub(crate) run: Run,
}

/// A function whose implementation has not been set yet; see [`Function::new`].
///
/// ```
/// use wardian_sdk::{Function, Parameter, Type};
///
/// let total = Function::new("total", Type::Number)
///     .summary("Adds numbers")
///     .variadic(Parameter::number("numbers"))
///     .run(|(numbers,): (Vec<i64>,)| Ok(numbers.iter().sum::<i64>()));
/// ```
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
    /// Starts the definition of a function with its name and result type.
    #[expect(clippy::new_ret_no_self, reason = "a function is complete only with its implementation")]
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

    /// Sets the parameter for all additional arguments. They are passed as a `Vec`, which is the
    /// last element of the tuple.
    #[must_use]
    pub fn variadic(mut self, parameter: Parameter) -> Self {
        self.signature.variadic = Some(parameter);
        self
    }

    /// Sets the one-line summary.
    #[must_use]
    pub fn summary(mut self, text: impl Into<String>) -> Self {
        self.signature.summary = text.into();
        self
    }

    /// Sets the description, in Markdown.
    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.signature.description = text.into();
        self
    }

    /// Marks the function as deprecated. The text should name the alternative.
    #[must_use]
    pub fn deprecated(mut self, text: impl Into<String>) -> Self {
        self.signature.deprecation = Deprecation::Message(text.into());
        self
    }

    /// Sets the implementation: a function from a tuple of the arguments to the result.
    pub fn run<Arguments: DeserializeOwned, Answer: Serialize>(
        self,
        body: impl Fn(Arguments) -> Result<Answer, FunctionError> + 'static,
    ) -> Function {
        let run = move |arguments: &[Value], signature: &Signature| {
            let answer = body(
                from_value(&argument_tuple(arguments, signature), Unknowns::Reject)
                    .map_err(argument_error)?,
            )?;
            to_value(&answer, &signature.returns).map_err(FunctionError::new)
        };
        Function { name: self.name, signature: self.signature, run: Box::new(run) }
    }
}

/// Returns the arguments as one tuple, whose last element is the tuple of the variadic arguments.
fn argument_tuple(arguments: &[Value], signature: &Signature) -> Value {
    let fixed = signature.parameters.len().min(arguments.len());
    let (fixed, rest) = arguments.split_at(fixed);
    let rest = signature.variadic.is_some().then(|| Value::tuple(rest.iter().cloned()));
    Value::tuple(fixed.iter().cloned().chain(rest))
}

fn argument_error(error: ModelError) -> FunctionError {
    let argument = match error.path().steps().first() {
        Some(PathStep::Index(index)) => Some(*index),
        _ => None,
    };
    FunctionError { text: error.message().to_owned(), argument }
}
