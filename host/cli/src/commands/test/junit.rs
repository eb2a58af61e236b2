//! The results of a suite in JUnit's XML format, as Terraform writes them.

use std::fmt::Write as _;
use std::time::Duration;

use jiff::Timestamp;
use wardian_config::TestFile;
use wardian_diagnostic::{Diagnostic, PlainStyle};
use wardian_testing::{RunResult, TestStatus};

/// The width of diagnostics.
const WIDTH: usize = 78;

/// The suites of a document.
#[derive(Default)]
pub(super) struct Junit {
    suites: String,
}

impl Junit {
    /// Adds the results of a file.
    pub(super) fn add(&mut self, file: &TestFile, results: &[RunResult<'_>]) {
        let count = |status: TestStatus| results.iter().filter(|result| result.status == status).count();
        let path = escaped(&file.path);
        let _ = write!(
            self.suites,
            "\n  <testsuite name=\"{path}\" tests=\"{}\" skipped=\"{}\" failures=\"{}\" errors=\"{}\">",
            results.len(),
            count(TestStatus::Skip),
            count(TestStatus::Fail),
            count(TestStatus::Error)
        );
        let mut failed: Option<&RunResult<'_>> = None;
        for result in results {
            self.case(&path, result, failed);
            if result.status == TestStatus::Error {
                failed = failed.or(Some(result));
            }
        }
        self.suites.push_str(if results.is_empty() { "</testsuite>" } else { "\n  </testsuite>" });
    }

    fn case(&mut self, path: &str, result: &RunResult<'_>, failed: Option<&RunResult<'_>>) {
        let text = &mut self.suites;
        let _ = write!(text, "\n    <testcase name=\"{}\" classname=\"{path}\"", escaped(&result.run.name));
        if let Some(started) = result.started {
            let started = Timestamp::try_from(started).unwrap_or(Timestamp::UNIX_EPOCH);
            let _ = write!(
                text,
                " time=\"{}\" timestamp=\"{}\"",
                seconds(result.elapsed),
                started.strftime("%Y-%m-%dT%H:%M:%SZ")
            );
        }
        text.push('>');
        let before = text.len();
        let errors = || result.diagnostics.iter().filter(|diagnostic| diagnostic.is_error());
        match result.status {
            TestStatus::Pending | TestStatus::Pass => {}
            TestStatus::Skip => match failed {
                Some(failed) => {
                    let detail = format!(
                        "Previous testcase \"{}\" ended in error, which caused the remaining tests in the file \
                         to be skipped",
                        failed.run.name
                    );
                    let _ = write!(
                        text,
                        "\n      <skipped message=\"Testcase skipped due to a previous testcase error\">{}\
                         </skipped>",
                        cdata(&detail)
                    );
                }
                None => text
                    .push_str("\n      <skipped message=\"Testcase skipped due to an interrupt\"></skipped>"),
            },
            TestStatus::Fail => {
                let count = result.failed_assertions;
                let first = errors().next().map(|first| first.detail.as_str()).unwrap_or_default();
                let including = if count > 1 { ", including" } else { "" };
                let message = format!(
                    "{count} of {} assertions failed{including}: {first}",
                    result.run.assertions.len()
                );
                let _ = write!(
                    text,
                    "\n      <failure message=\"{}\">{}</failure>",
                    escaped(&message),
                    cdata(&texts(errors()))
                );
            }
            TestStatus::Error => {
                let _ = write!(
                    text,
                    "\n      <error message=\"Encountered an error\">{}</error>",
                    cdata(&texts(errors()))
                );
            }
        }
        let mut warnings = result.diagnostics.iter().filter(|diagnostic| !diagnostic.is_error()).peekable();
        if warnings.peek().is_some() {
            let _ = write!(text, "\n      <system-err>{}</system-err>", cdata(&texts(warnings)));
        }
        let is_empty = text.len() == before;
        text.push_str(if is_empty { "</testcase>" } else { "\n    </testcase>" });
    }

    pub(super) fn document(&self) -> String {
        let end = if self.suites.is_empty() { "" } else { "\n" };
        format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?><testsuites>{}{end}</testsuites>", self.suites)
    }
}

fn seconds(elapsed: Duration) -> String {
    format!("{}.{:09}", elapsed.as_secs(), elapsed.subsec_nanos())
}

fn texts<'a>(diagnostics: impl Iterator<Item = &'a Diagnostic>) -> String {
    diagnostics.map(|diagnostic| diagnostic.to_text(WIDTH, &PlainStyle).as_str().to_owned()).collect()
}

/// Returns text in a CDATA section. The end of a section within the text is split.
fn cdata(text: &str) -> String {
    format!("<![CDATA[{}]]>", printable_characters(text).replace("]]>", "]]]]><![CDATA[>"))
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in printable_characters(text).chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&#34;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' => escaped.push_str("&#xA;"),
            '\t' => escaped.push_str("&#x9;"),
            '\r' => escaped.push_str("&#xD;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// Replaces the characters that XML 1.0 does not allow, such as escape characters.
fn printable_characters(text: &str) -> String {
    let is_allowed = |character: char| matches!(character, '\t' | '\n' | '\r' | ' '..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}' | '\u{10000}'..);
    text.chars().map(|character| if is_allowed(character) { character } else { '\u{FFFD}' }).collect()
}
