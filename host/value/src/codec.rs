//! What can go wrong when values become bytes and bytes become values.

pub(crate) mod assemble;

use std::fmt;

use crate::{NumberError, Path, PathStep, Str, Type};

/// Nesting beyond this is refused by every decoder, so that hostile input cannot
/// exhaust the stack here or where the value is walked later.
pub const MAX_DEPTH: usize = 256;

/// More values than this in one input are refused by every decoder. A value of
/// one byte takes many times that in memory, so that a bound on the size of the
/// input alone would still let hostile input take gigabytes. Counted are all
/// values at any level: the outermost, each element and attribute, and those
/// that are made without being written out.
pub const MAX_VALUES: usize = 2_000_000;

/// How many values may still be made while one input is decoded.
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

/// Why a value could not be encoded, and which part of it was in the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodeError {
    /// The part, from the root of the value. Elements of sets count by their
    /// place in the canonical order.
    pub path: Path,
    /// What is wrong with it.
    pub problem: EncodeProblem,
}

/// What makes a value not encodable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeProblem {
    /// Marks never leave the process: callers take them off and keep their paths.
    #[error("a marked (sensitive or ephemeral) value cannot be serialized")]
    Marked,
    /// The value is not of the type that was asked for.
    #[error("{expected} is required, but the value is {found}")]
    WrongType {
        /// The type asked for.
        expected: String,
        /// The value's own.
        found: String,
    },
    /// An attribute of the type is absent from the object.
    #[error("attribute {0:?} is required")]
    MissingAttribute(Str),
    /// The object has an attribute that its type has not.
    #[error("attribute {0:?} is not expected here")]
    UnexpectedAttribute(Str),
    /// JSON cannot say that something is not known yet.
    #[error("a value that is not known yet cannot be written as JSON")]
    Unknown,
    /// JSON has no infinities.
    #[error("an infinite number cannot be written as JSON")]
    Infinite,
}

/// Why bytes could not be decoded as a value, and at which part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError {
    /// The part, from the root of the value.
    pub path: Path,
    /// What is wrong with it.
    pub problem: DecodeProblem,
}

/// What makes bytes not a value of the wanted type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeProblem {
    /// The bytes are not in the format at all.
    #[error("{what} (at byte {offset})")]
    Syntax {
        /// Where, counted from the start of the input.
        offset: usize,
        /// What was found or expected there.
        what: &'static str,
    },
    /// Well-formed, but something else than the type asks for.
    #[error("{expected} is required, but {found} was found")]
    Unexpected {
        /// What the type asks for.
        expected: &'static str,
        /// What is there.
        found: &'static str,
    },
    /// A tuple or object has another number of parts than its type.
    #[error("{expected} parts are required, but {found} were found")]
    Length {
        /// As many as the type has.
        expected: usize,
        /// As many as are there.
        found: usize,
    },
    /// The object has an attribute that its type has not.
    #[error("attribute {0:?} is not expected here")]
    UnexpectedAttribute(Str),
    /// A name occurs twice.
    #[error("{0:?} is given twice")]
    Duplicate(Str),
    /// A dynamic value lacks one of its two parts.
    #[error("a value of any type needs both \"type\" and \"value\"")]
    IncompleteDynamic,
    /// Elements of one collection turned out to have different types.
    #[error("all elements must have the same type")]
    MixedElements,
    /// Text or bytes that should be a number are none.
    #[error(transparent)]
    Number(#[from] NumberError),
    /// The description of a type is wrong.
    #[error("this is not the description of a type: {0}")]
    Type(&'static str),
    /// The facts about an unknown value are wrong.
    #[error("the refinement of an unknown value is wrong: {0}")]
    Refinement(&'static str),
    /// Nesting is beyond [`MAX_DEPTH`].
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

/// An error on its way up. Each level adds its own step, so that nothing is
/// spent on paths as long as all goes well.
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

/// The step to an element of a collection or tuple.
pub(crate) fn index_step(index: usize) -> PathStep {
    PathStep::Index(index as u64)
}

/// What a value of the type is called in "... is required".
pub(crate) fn required(ty: &Type) -> &'static str {
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
