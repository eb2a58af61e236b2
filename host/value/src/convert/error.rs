//! The reason why a value cannot be converted.

use std::fmt;

use crate::codec::Failure;
use crate::{NumberError, Path, PathStep, Str, Type};

/// An error with the reason why a value cannot be converted to a type, and the path of the nested
/// value that caused it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConversionError {
    /// The path from the root of the value.
    pub path: Path,
    /// The problem with the value at that path.
    pub problem: ConversionProblem,
}

/// Reasons why a value cannot be converted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConversionProblem {
    /// A value of this type is required.
    Required(Type),
    /// A string such as `TRUE` is used in place of `true`.
    BoolInLowercase(bool),
    /// The number cannot be represented.
    Number(NumberError),
    /// Required attributes are missing; sorted by name.
    MissingAttributes(Vec<Str>),
    /// The elements of a collection have no common type. Contains the kind of collection: list, set
    /// or map.
    NoCommonType(&'static str),
    /// The element type of a collection cannot be converted. Contains the kind of collection: list,
    /// set or map.
    ElementType(&'static str, Box<ConversionProblem>),
    /// The values have no common type.
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
            Self::Required(Type::Map(element)) if **element == Type::Dynamic => {
                f.write_str("a map is required, such as { key = value }")
            }
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
