//! Why a value does not convert.

use std::fmt;

use crate::codec::Failure;
use crate::{NumberError, Path, PathStep, Str, Type};

/// A value that cannot be converted to a type: which part of it, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConversionError {
    /// The part, from the root of the value.
    pub path: Path,
    /// What is wrong with it.
    pub problem: ConversionProblem,
}

/// What keeps a value from being converted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConversionProblem {
    /// Something of this type is wanted.
    Required(Type),
    /// A text is `TRUE` or the like, where `true` is meant.
    BoolInLowercase(bool),
    /// A number that cannot be computed with.
    Number(NumberError),
    /// Attributes that are not optional are absent, in the order of their names.
    MissingAttributes(Vec<Str>),
    /// The elements of a list, set or map (so named) have no type in common.
    NoCommonType(&'static str),
    /// The element type of a list, set or map (so named) does not convert.
    ElementType(&'static str, Box<ConversionProblem>),
    /// Values have no type in common.
    Incompatible,
}

impl fmt::Display for ConversionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in self.path.steps() {
            match step {
                PathStep::Attribute(name) => write!(f, "attribute {name:?}: ")?,
                PathStep::Key(key) => write!(f, "element {key:?}: ")?,
                PathStep::Index(index) => write!(f, "element {index}: ")?,
            }
        }
        write!(f, "{}", self.problem)
    }
}

impl fmt::Display for ConversionProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Required(ty) => {
                let article = if matches!(ty, Type::Object(_)) { "an" } else { "a" };
                write!(f, "{article} {} is required", ty.friendly_name())
            }
            Self::BoolInLowercase(value) => {
                write!(f, "a bool is required; to convert from a string, use lowercase \"{value}\"")
            }
            Self::Number(error) => write!(f, "{error}"),
            Self::MissingAttributes(names) => match names.as_slice() {
                [name] => write!(f, "attribute {name:?} is required"),
                [first, second] => write!(f, "attributes {first:?} and {second:?} are required"),
                [names @ .., last] => {
                    f.write_str("attributes ")?;
                    for name in names {
                        write!(f, "{name:?}, ")?;
                    }
                    write!(f, "and {last:?} are required")
                }
                [] => f.write_str("attributes are missing"),
            },
            Self::NoCommonType(collection) => {
                write!(f, "all {collection} elements must have the same type")
            }
            Self::ElementType(collection, problem) => {
                write!(f, "incorrect {collection} element type: {problem}")
            }
            Self::Incompatible => f.write_str("the values have no type in common"),
        }
    }
}

impl std::error::Error for ConversionError {}

impl From<ConversionProblem> for Failure<ConversionProblem> {
    fn from(problem: ConversionProblem) -> Self {
        Self::new(problem)
    }
}

impl From<Failure<ConversionProblem>> for ConversionError {
    fn from(failure: Failure<ConversionProblem>) -> Self {
        let (problem, path) = failure.finish();
        Self { path, problem }
    }
}
