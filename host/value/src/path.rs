//! Paths to nested values.

use std::fmt;

use crate::{Marks, Number, Str, Value, View};

/// One step from a value to a nested value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathStep {
    /// An attribute of an object.
    Attribute(Str),
    /// A key of a map.
    Key(Str),
    /// An index of a list or tuple.
    Index(u64),
}

/// The steps from the root of a value to a nested value. A path never leads into a set, because set
/// elements cannot be addressed.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path(Vec<PathStep>);

/// The paths of marked values, with their marks.
pub type PathMarks = Vec<(Path, Marks)>;

impl Path {
    /// Returns the path of the value itself. This path has no steps.
    pub const fn root() -> Self {
        Self(Vec::new())
    }

    /// Returns the steps, outermost first.
    pub fn steps(&self) -> &[PathStep] {
        &self.0
    }

    /// Returns true if the path has no steps.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns this path extended by one step.
    #[must_use]
    pub fn child(&self, step: PathStep) -> Self {
        let mut steps = Vec::with_capacity(self.0.len() + 1);
        steps.extend_from_slice(&self.0);
        steps.push(step);
        Self(steps)
    }

    /// Returns this path extended by an attribute name.
    #[must_use]
    pub fn attribute(&self, name: impl Into<Str>) -> Self {
        self.child(PathStep::Attribute(name.into()))
    }

    /// Returns this path extended by a list index.
    #[must_use]
    pub fn index(&self, index: u64) -> Self {
        self.child(PathStep::Index(index))
    }

    /// Returns this path extended by a map key.
    #[must_use]
    pub fn key(&self, key: impl Into<Str>) -> Self {
        self.child(PathStep::Key(key.into()))
    }

    /// Adds a step in place.
    pub fn push(&mut self, step: PathStep) {
        self.0.push(step);
    }

    /// Removes the last step.
    pub fn pop(&mut self) -> Option<PathStep> {
        self.0.pop()
    }

    /// Returns true if `other` is a prefix of this path, or equal to it.
    pub fn starts_with(&self, other: &Self) -> bool {
        self.0.starts_with(&other.0)
    }

    /// Returns the nested value at this path, or `None` if a step does not exist or applies to a
    /// null or unknown value. Cost: O(steps).
    pub fn apply<'a>(&self, value: &'a Value) -> Option<&'a Value> {
        self.0.iter().try_fold(value, |value, step| match (value.view(), step) {
            (View::Object(attributes), PathStep::Attribute(name)) => attributes.get(name),
            // In paths returned by providers, a map key can be either kind of step.
            (View::Map(elements), PathStep::Key(key) | PathStep::Attribute(key)) => elements.get(key),
            (View::Object(attributes), PathStep::Key(key)) => attributes.get(key),
            (View::List(elements) | View::Tuple(elements), PathStep::Index(index)) => {
                elements.get(usize::try_from(*index).ok()?)
            }
            _ => None,
        })
    }
}

impl From<Vec<PathStep>> for Path {
    fn from(steps: Vec<PathStep>) -> Self {
        Self(steps)
    }
}

impl PathStep {
    /// Returns the step as an index: a number or a string value.
    pub fn index_value(&self) -> Value {
        match self {
            Self::Attribute(name) | Self::Key(name) => Value::string(name.clone()),
            Self::Index(index) => Value::number(Number::from(*index)),
        }
    }
}

/// Writes the path as it follows a reference: `.tags["a"].list[0]`.
impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.0 {
            match step {
                PathStep::Attribute(name) => write!(f, ".{name}")?,
                PathStep::Key(key) => write!(f, "[{key:?}]")?,
                PathStep::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}
