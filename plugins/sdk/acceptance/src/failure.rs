//! The failures of a test, and their text.

use std::fmt::{self, Write as _};

use wardian_diagnostic::{Diagnostics, PlainStyle};

/// Columns of the text of diagnostics.
const WIDTH: usize = 100;

/// One failure: of a step, of the final destroy, or of the test itself.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    /// The step, with the place at which the test defines it.
    place: String,
    summary: String,
    detail: String,
}

impl Failure {
    pub(crate) fn new(
        place: impl Into<String>,
        summary: impl Into<String>,
        detail: impl Into<String>,
    ) -> Self {
        Self { place: place.into(), summary: summary.into(), detail: detail.into() }
    }

    pub(crate) fn of_test(summary: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new("the test", summary, detail)
    }
}

/// The failures of an acceptance test. Its `Display` is the message of the failed test.
///
/// ```
/// use wardian_acceptance::{AcceptanceTest, Step};
///
/// let test = AcceptanceTest::new(|| wardian_sdk::Provider::new("cloud"));
/// let failure = test.step(Step::apply("x = 1")).try_run().unwrap_err();
/// assert!(failure.to_string().contains("Unsupported argument"));
/// ```
#[derive(Clone, Debug)]
pub struct TestFailure {
    provider: String,
    failures: Vec<Failure>,
}

impl TestFailure {
    pub(crate) fn new(provider: String, failures: Vec<Failure>) -> Self {
        Self { provider, failures }
    }
}

impl std::error::Error for TestFailure {}

impl fmt::Display for TestFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the acceptance test of the provider {} failed", self.provider)?;
        for Failure { place, summary, detail } in &self.failures {
            write!(f, "\n\n{place}: {summary}")?;
            let detail = detail.trim_matches('\n');
            if !detail.is_empty() {
                write!(f, "\n\n{}", indented(detail))?;
            }
        }
        Ok(())
    }
}

fn indented(text: &str) -> String {
    let mut indented = String::with_capacity(text.len() + 64);
    for (index, line) in text.lines().enumerate() {
        if index > 0 {
            indented.push('\n');
        }
        if !line.is_empty() {
            // Writing to a string cannot fail.
            let _ = write!(indented, "  {}", line.trim_end());
        }
    }
    indented
}

/// Returns diagnostics as text, with the source lines that they concern.
pub(crate) fn diagnostics_text(diagnostics: &Diagnostics) -> String {
    let texts = diagnostics.iter().map(|one| one.to_text(WIDTH, &PlainStyle));
    texts.map(|text| text.as_str().trim_matches('\n').to_owned()).collect::<Vec<_>>().join("\n\n")
}
