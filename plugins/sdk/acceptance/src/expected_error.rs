//! The errors and warnings that a step expects.

use std::fmt;

use regex::Regex;
use wardian_diagnostic::Diagnostic;

use wardian_sdk::testing::value_path::{ValuePath, path_text};

/// An error or a warning that a step expects. All given conditions must match one diagnostic.
///
/// ```
/// use wardian_acceptance::ExpectedDiagnostic;
///
/// let expected = ExpectedDiagnostic::containing("must be at least 8").at("disk[0].size").for_address("cloud_server.web");
/// assert_eq!(
///     expected.to_string(),
///     "a diagnostic that contains \"must be at least 8\", at disk[0].size, of cloud_server.web"
/// );
/// ```
#[derive(Clone, Debug, Default)]
pub struct ExpectedDiagnostic {
    texts: Vec<String>,
    pattern: Option<Regex>,
    path: Option<ValuePath>,
    address: Option<String>,
    /// The first mistake in the expectation itself.
    problem: Option<String>,
}

impl ExpectedDiagnostic {
    /// Expects a diagnostic with any text.
    ///
    /// ```
    /// let expected = wardian_acceptance::ExpectedDiagnostic::any().at("name");
    /// assert_eq!(expected.to_string(), "a diagnostic at name");
    /// ```
    pub fn any() -> Self {
        Self::default()
    }

    /// Expects a diagnostic whose summary or detail contains a text.
    ///
    /// ```
    /// wardian_acceptance::ExpectedDiagnostic::containing("Invalid Attribute Value");
    /// ```
    pub fn containing(text: impl Into<String>) -> Self {
        Self::any().and_containing(text)
    }

    /// Expects a diagnostic that a regular expression matches: its summary, a line break and its detail.
    ///
    /// ```
    /// wardian_acceptance::ExpectedDiagnostic::matching(r"(?s)Timeout.*after \d+m");
    /// ```
    pub fn matching(pattern: &str) -> Self {
        match Regex::new(pattern) {
            Ok(pattern) => Self { pattern: Some(pattern), ..Self::default() },
            Err(error) => {
                Self { problem: Some(format!("invalid regular expression: {error}")), ..Self::default() }
            }
        }
    }

    /// Also expects another text in the summary or detail.
    ///
    /// ```
    /// wardian_acceptance::ExpectedDiagnostic::containing("Invalid").and_containing("name");
    /// ```
    #[must_use]
    pub fn and_containing(mut self, text: impl Into<String>) -> Self {
        self.texts.push(text.into());
        self
    }

    /// Expects that the diagnostic is about an attribute: `disk[0].size`.
    ///
    /// ```
    /// wardian_acceptance::ExpectedDiagnostic::any().at("tags[\"a b\"]");
    /// ```
    #[must_use]
    pub fn at(mut self, path: &str) -> Self {
        match ValuePath::parse(path) {
            Ok(path) => self.path = Some(path),
            Err(error) => self.problem = Some(error.to_string()),
        }
        self
    }

    /// Expects that the diagnostic is about a resource instance.
    ///
    /// ```
    /// wardian_acceptance::ExpectedDiagnostic::any().for_address("cloud_server.web[0]");
    /// ```
    #[must_use]
    pub fn for_address(mut self, address: impl Into<String>) -> Self {
        self.address = Some(address.into());
        self
    }

    pub(crate) fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    pub(crate) fn matches(&self, diagnostic: &Diagnostic) -> bool {
        let contains = |text: &String| diagnostic.summary.contains(text) || diagnostic.detail.contains(text);
        self.texts.iter().all(contains)
            && self.pattern.as_ref().is_none_or(|pattern| {
                pattern.is_match(&format!("{}\n{}", diagnostic.summary, diagnostic.detail))
            })
            && self.path.as_ref().is_none_or(|path| {
                diagnostic.attribute.as_ref().is_some_and(|attribute| path.matches(attribute))
            })
            && self.address.as_ref().is_none_or(|address| diagnostic.address.as_ref() == Some(address))
    }
}

impl fmt::Display for ExpectedDiagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a diagnostic")?;
        let texts = self.texts.iter().map(|text| format!("that contains {text:?}"));
        let pattern = self.pattern.iter().map(|pattern| format!("that matches /{pattern}/"));
        let path = self.path.iter().map(|path| format!("at {}", path.text()));
        let address = self.address.iter().map(|address| format!("of {address}"));
        let conditions: Vec<String> = texts.chain(pattern).chain(path).chain(address).collect();
        if !conditions.is_empty() {
            write!(f, " {}", conditions.join(", "))?;
        }
        Ok(())
    }
}

/// Allows `Step::expect_error("text")`.
impl From<&str> for ExpectedDiagnostic {
    fn from(text: &str) -> Self {
        Self::containing(text)
    }
}

/// Returns the attribute and the address of a diagnostic, for messages about expectations.
pub(crate) fn location(diagnostic: &Diagnostic) -> String {
    let path = diagnostic.attribute.as_ref().map(|path| format!(" at {}", path_text(path)));
    let address = diagnostic.address.as_ref().map(|address| format!(" of {address}"));
    format!("{}{}", path.unwrap_or_default(), address.unwrap_or_default())
}
