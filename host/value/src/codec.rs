//! Errors and limits that all encoders and decoders share.

pub(crate) mod assemble;

use std::fmt;

use crate::{NumberError, Path, PathStep, Str, Type};

/// Maximum nesting depth that every decoder accepts, so that hostile input cannot exhaust the
/// stack here or in code that walks the value later.
pub const MAX_DEPTH: usize = 256;

/// Maximum number of values that every decoder accepts in one input. A value of one byte takes
/// many times that in memory, so a bound on the input's size alone would still let hostile input
/// take gigabytes. Values at every level count: the outermost, each element and attribute, and
/// those that are created without being written out.
pub const MAX_VALUES: usize = 2_000_000;

/// The number of values that may still be created while one input is decoded.
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

/// The reason a value could not be encoded, and the part of it that caused it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodeError {
    /// The part, from the root of the value. Set elements are indexed in canonical order.
    pub path: Path,
    /// The problem with that part.
    pub problem: EncodeProblem,
}

/// Reasons why a value cannot be encoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeProblem {
    /// The value is marked. Marks never leave the process: callers remove them and store their
    /// paths.
    #[error("a marked (sensitive or ephemeral) value cannot be serialized")]
    Marked,
    /// The value does not have the requested type.
    #[error("{expected} is required, but the value is {found}")]
    WrongType {
        /// The requested type.
        expected: String,
        /// The value's own type.
        found: String,
    },
    /// An attribute of the type is absent from the object.
    #[error("attribute {0:?} is required")]
    MissingAttribute(Str),
    /// The object has an attribute that its type does not have.
    #[error("attribute {0:?} is not expected here")]
    UnexpectedAttribute(Str),
    /// JSON cannot represent unknown values.
    #[error("a value that is not known yet cannot be written as JSON")]
    Unknown,
    /// JSON cannot represent infinities.
    #[error("an infinite number cannot be written as JSON")]
    Infinite,
}

/// The reason bytes could not be decoded as a value, and the part that caused it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError {
    /// The part, from the root of the value.
    pub path: Path,
    /// The problem with that part.
    pub problem: DecodeProblem,
}

/// Reasons why bytes are not a value of the requested type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeProblem {
    /// The bytes are not in the format.
    #[error("{what} (at byte {offset})")]
    Syntax {
        /// The position, counted in bytes from the start of the input.
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
    /// A tuple or object has a different number of parts than its type.
    #[error("{expected} parts are required, but {found} were found")]
    Length {
        /// The number of parts of the type.
        expected: usize,
        /// The number of parts in the input.
        found: usize,
    },
    /// The object has an attribute that its type does not have.
    #[error("attribute {0:?} is not expected here")]
    UnexpectedAttribute(Str),
    /// A name occurs twice.
    #[error("{0:?} is given twice")]
    Duplicate(Str),
    /// A dynamic value lacks one of its two parts.
    #[error("a value of any type needs both \"type\" and \"value\"")]
    IncompleteDynamic,
    /// The elements of one collection have different types.
    #[error("all elements must have the same type")]
    MixedElements,
    /// Text or bytes that should be a number are not one.
    #[error(transparent)]
    Number(#[from] NumberError),
    /// The description of a type is invalid.
    #[error("this is not a valid type description: {0}")]
    Type(&'static str),
    /// The facts about an unknown value are invalid.
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

/// An error on its way up. Each level adds its own step, so successful decoding spends nothing
/// on paths.
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

/// Returns the name of a value of the type, for "... is required".
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
