//! Assertions about diagnostics, by the attribute that they concern.

use super::harness::HarnessError;
use crate::{Diagnostics, Severity};

/// Asserts that an error or a warning about an attribute contains a text in its summary or detail. An empty
/// path stands for diagnostics without an attribute.
///
/// # Panics
/// Panics if there is no such diagnostic. The message lists all diagnostics with their attributes.
///
/// ```
/// use wardian_sdk::testing::assert_diagnostic;
/// use wardian_sdk::{Diagnostic, Diagnostics, Path};
///
/// let path = Path::root().attribute("disk").index(0).attribute("size");
/// let found: Diagnostics = Diagnostic::error("Invalid value", "must be at least 1").at(path).into();
/// assert_diagnostic(&found, "disk[0].size", "at least 1");
/// ```
#[track_caller]
pub fn assert_diagnostic(diagnostics: &Diagnostics, path: &str, text: &str) {
    let is_found = diagnostics.iter().any(|one| {
        let at = one.path.as_ref().map(|path| path.to_string().trim_start_matches('.').to_owned());
        at.unwrap_or_default() == path && (one.summary.contains(text) || one.detail.contains(text))
    });
    assert!(is_found, "no diagnostic at {path:?} contains {text:?}; there are:\n{}", shown(diagnostics));
}

impl HarnessError {
    /// Asserts that an error is about an attribute, and contains a text; see [`assert_diagnostic`].
    ///
    /// # Panics
    /// Panics if there is no such error.
    ///
    /// ```
    /// use wardian_sdk::testing::HarnessError;
    /// use wardian_sdk::{Diagnostic, Diagnostics};
    ///
    /// let found: Diagnostics = Diagnostic::error("Invalid name", "is empty").at_attribute("name").into();
    /// HarnessError::from(found).assert_at("name", "is empty");
    /// ```
    #[track_caller]
    pub fn assert_at(&self, path: &str, text: &str) {
        assert_diagnostic(&self.diagnostics, path, text);
    }
}

fn shown(diagnostics: &Diagnostics) -> String {
    if diagnostics.is_empty() {
        return "  (none)".to_owned();
    }
    let lines = diagnostics.iter().map(|one| {
        let severity = match one.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let path = one.path.as_ref().map(ToString::to_string).unwrap_or_default();
        format!("  {severity} at {:?}: {}: {}", path.trim_start_matches('.'), one.summary, one.detail)
    });
    lines.collect::<Vec<_>>().join("\n")
}
