//! The errors and limits that all encoders and decoders share.

pub(crate) mod assemble;

use std::fmt;

use crate::{NumberError, Path, PathStep, Str, Type};

/// Maximum nesting depth that decoders accept. It prevents malicious input from exhausting the
/// stack in the decoder, and in code that processes the value later.
pub const MAX_DEPTH: usize = 256;

/// Maximum number of values that decoders accept in one input. A value that is one byte long in the
/// input requires much more memory, so a limit on the size of the input alone would allow malicious
/// input to allocate gigabytes. Values at all levels are counted: the outermost value, each element
/// and attribute, and values that are created although the input does not contain them.
pub const MAX_VALUES: usize = 2_000_000;

/// The number of values that can still be created while decoding an input.
pub(crate) struct Budget(usize);

impl Budget {
    pub(crate) fn new() -> Self {
        Self(MAX_VALUES)
    }

    pub(crate) fn spend(&mut self, values: usize) -> Result<(), Failure<DecodeProblem>> {
        self.0 = self.0.checked_sub(values).ok_or(DecodeProblem::TooMany)?;
        Ok(())
    }
}

/// The reason why a value could not be encoded, and the path of the value that caused it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodeError {
    /// The path from the root of the value. Set elements are indexed in canonical order.
    pub path: Path,
    /// The problem with the value at that path.
    pub problem: EncodeProblem,
}

/// Reasons why a value cannot be encoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeProblem {
    /// The value is marked. Marks are not encoded: callers remove them and store their paths.
    #[error("a marked (sensitive or ephemeral) value cannot be serialized")]
    Marked,
    /// The value does not have the requested type.
    #[error("{expected} is required, but the value is {found}")]
    WrongType {
        /// The requested type.
        expected: String,
        /// The type of the value.
        found: String,
    },
    /// The object lacks an attribute of the type.
    #[error("attribute {0:?} is required")]
    MissingAttribute(Str),
    /// The object has an attribute that its type does not have.
    #[error("attribute {0:?} is not expected here")]
    UnexpectedAttribute(Str),
    /// JSON cannot represent unknown values.
    #[error("an unknown value cannot be written as JSON")]
    Unknown,
    /// JSON cannot represent infinities.
    #[error("an infinite number cannot be written as JSON")]
    Infinite,
}

/// The reason why bytes could not be decoded as a value, and the path of the value that caused it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError {
    /// The path from the root of the value.
    pub path: Path,
    /// The problem with the value at that path.
    pub problem: DecodeProblem,
}

/// Reasons why bytes are not a value of the requested type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeProblem {
    /// The bytes do not conform to the format.
    #[error("{what} (at byte {offset})")]
    Syntax {
        /// The position as a byte offset in the input.
        offset: usize,
        /// The problem at that position.
        what: &'static str,
    },
    /// The bytes are well-formed, but do not match the type.
    #[error("{expected} is required, but {found} was found")]
    Unexpected {
        /// The kind of value that the type requires.
        expected: &'static str,
        /// The kind of value in the input.
        found: &'static str,
    },
    /// A tuple or object does not have the same number of elements as its type.
    #[error("{expected} elements are required, but {found} were found")]
    Length {
        /// The number of elements of the type.
        expected: usize,
        /// The number of elements in the input.
        found: usize,
    },
    /// The object has an attribute that its type does not have.
    #[error("attribute {0:?} is not expected here")]
    UnexpectedAttribute(Str),
    /// A name occurs twice.
    #[error("{0:?} is given twice")]
    Duplicate(Str),
    /// The type or the value of a dynamic value is missing.
    #[error("a value of any type needs both \"type\" and \"value\"")]
    IncompleteDynamic,
    /// The elements of one collection have different types.
    #[error("all elements must have the same type")]
    MixedElements,
    /// Text or bytes in the position of a number do not represent a number.
    #[error(transparent)]
    Number(#[from] NumberError),
    /// The description of a type is invalid.
    #[error("this is not a valid type description: {0}")]
    Type(&'static str),
    /// The refinement of an unknown value is invalid.
    #[error("the refinement of an unknown value is invalid: {0}")]
    Refinement(&'static str),
    /// The nesting is deeper than [`MAX_DEPTH`].
    #[error("the value is nested more than {MAX_DEPTH} levels deep")]
    TooDeep,
    /// There are more than [`MAX_VALUES`] values.
    #[error("the value consists of more than {MAX_VALUES} values")]
    TooMany,
}

fn write_at(path: &Path, problem: &dyn fmt::Display, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if path.is_root() { write!(f, "{problem}") } else { write!(f, "{path}: {problem}") }
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_at(&self.path, &self.problem, f)
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_at(&self.path, &self.problem, f)
    }
}

impl std::error::Error for EncodeError {}
impl std::error::Error for DecodeError {}

/// An error that is being propagated. Each level adds a step to the path of the error, so no paths
/// are computed if decoding succeeds.
#[derive(Debug)]
pub(crate) struct Failure<P>(Box<(P, Vec<PathStep>)>);

impl<P> Failure<P> {
    pub(crate) fn new(problem: P) -> Self {
        Self(Box::new((problem, Vec::new())))
    }

    pub(crate) fn below(mut self, step: PathStep) -> Self {
        self.0.1.push(step);
        self
    }

    pub(crate) fn finish(self) -> (P, Path) {
        let (problem, mut steps) = *self.0;
        steps.reverse();
        (problem, steps.into())
    }
}

impl From<EncodeProblem> for Failure<EncodeProblem> {
    fn from(problem: EncodeProblem) -> Self {
        Self::new(problem)
    }
}

impl From<DecodeProblem> for Failure<DecodeProblem> {
    fn from(problem: DecodeProblem) -> Self {
        Self::new(problem)
    }
}

impl From<NumberError> for Failure<DecodeProblem> {
    fn from(error: NumberError) -> Self {
        Self::new(error.into())
    }
}

impl From<Failure<EncodeProblem>> for EncodeError {
    fn from(failure: Failure<EncodeProblem>) -> Self {
        let (problem, path) = failure.finish();
        Self { path, problem }
    }
}

impl From<Failure<DecodeProblem>> for DecodeError {
    fn from(failure: Failure<DecodeProblem>) -> Self {
        let (problem, path) = failure.finish();
        Self { path, problem }
    }
}

/// Returns the step to an element of a collection or tuple.
pub(crate) fn index_step(index: usize) -> PathStep {
    PathStep::Index(index as u64)
}

/// Returns the name of a value of the type, for messages of the form "... is required".
pub(crate) fn required_name(ty: &Type) -> &'static str {
    match ty {
        Type::Dynamic => "a value",
        Type::Bool => "a bool",
        Type::Number => "a number",
        Type::String => "a string",
        Type::List(_) => "a list",
        Type::Set(_) => "a set",
        Type::Map(_) => "a map",
        Type::Object(_) => "an object",
        Type::Tuple(_) => "a tuple",
    }
}
