//! Collects diagnostics in a list.

use std::fmt;

use crate::Diagnostic;

/// Diagnostics in the order in which they were found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnostics(Vec<Diagnostic>);

impl Diagnostics {
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.0.push(diagnostic);
    }

    pub fn error(&mut self, summary: impl Into<String>, detail: impl Into<String>) {
        self.push(Diagnostic::error(summary, detail));
    }

    /// Returns whether any of the diagnostics is an error.
    pub fn has_errors(&self) -> bool {
        self.0.iter().any(Diagnostic::is_error)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.0.iter()
    }

    /// Iterates mutably over the diagnostics.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, Diagnostic> {
        self.0.iter_mut()
    }

    /// Returns the value of `result`, or adds its diagnostics.
    pub fn collect<T>(&mut self, result: Result<T, impl Into<Self>>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(diagnostics) => {
                self.extend(diagnostics.into());
                None
            }
        }
    }

    /// Returns `value` if the list contains no errors. In this case, warnings are dropped, so a
    /// caller that needs them must take them first.
    ///
    /// # Errors
    ///
    /// Returns all diagnostics if one of them is an error.
    pub fn into_result<T>(self, value: T) -> Result<T, Self> {
        if self.has_errors() { Err(self) } else { Ok(value) }
    }

    /// Sets the header of the containing block on diagnostics that have none.
    #[must_use]
    pub fn in_block(mut self, context: &str) -> Self {
        for diagnostic in &mut self.0 {
            diagnostic.context.get_or_insert_with(|| context.to_owned());
        }
        self
    }

    /// Sets the object's address on diagnostics that have none.
    #[must_use]
    pub fn for_address(mut self, address: &str) -> Self {
        for diagnostic in &mut self.0 {
            diagnostic.address.get_or_insert_with(|| address.to_owned());
        }
        self
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(diagnostic: Diagnostic) -> Self {
        Self(vec![diagnostic])
    }
}

impl From<Vec<Diagnostic>> for Diagnostics {
    fn from(diagnostics: Vec<Diagnostic>) -> Self {
        Self(diagnostics)
    }
}

impl Extend<Diagnostic> for Diagnostics {
    fn extend<I: IntoIterator<Item = Diagnostic>>(&mut self, diagnostics: I) {
        self.0.extend(diagnostics);
    }
}

impl FromIterator<Diagnostic> for Diagnostics {
    fn from_iter<I: IntoIterator<Item = Diagnostic>>(diagnostics: I) -> Self {
        Self(diagnostics.into_iter().collect())
    }
}

impl IntoIterator for Diagnostics {
    type Item = Diagnostic;
    type IntoIter = std::vec::IntoIter<Diagnostic>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a mut Diagnostics {
    type Item = &'a mut Diagnostic;
    type IntoIter = std::slice::IterMut<'a, Diagnostic>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter_mut()
    }
}

impl<'a> IntoIterator for &'a Diagnostics {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

/// Writes one diagnostic per line.
impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, diagnostic) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{diagnostic}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostics {}
