//! Converts between the types of `wardian-plugin` and the values that are passed to a component.
//!
//! A component's responses are checked here for bytes that cannot be decoded as the expected type,
//! and for invalid paths and times. The engine checks whether a value is allowed at its path
//! (unknown values, changes that were not planned).

use wardian_plugin::{PluginDiagnostic, PluginDiagnostics, Severity};

use crate::bindings::wardian::plugin::types as wit;
use crate::output::printable;

/// Maximum number of diagnostics retained from one response.
const MAX_DIAGNOSTICS: usize = 100;
/// Maximum number of bytes of all summaries together. The same maximum applies to all details, and
/// to all paths.
const MAX_DIAGNOSTIC_TEXT: usize = 64 << 10;

wardian_plugin::wit_conversions! {
    types: crate::bindings::wardian::plugin::types,
    provider: crate::bindings::exports::wardian::plugin::provider,
    diagnostics: diagnostics,
}

/// Converts a component's diagnostics, up to the number that a user can be expected to read. If
/// there are more, errors take precedence over warnings.
pub(crate) fn diagnostics(answered: Vec<wit::Diagnostic>) -> PluginDiagnostics {
    let count = answered.len();
    let mut room = DiagnosticRoom {
        count: MAX_DIAGNOSTICS,
        summaries: MAX_DIAGNOSTIC_TEXT,
        details: MAX_DIAGNOSTIC_TEXT,
        paths: MAX_DIAGNOSTIC_TEXT,
    };
    let mut kept: Vec<(usize, PluginDiagnostic)> = Vec::with_capacity(count.min(MAX_DIAGNOSTICS));
    let (errors, warnings): (Vec<_>, Vec<_>) =
        answered.into_iter().enumerate().partition(|(_, d)| matches!(d.severity, wit::Severity::Error));
    for (position, diagnostic) in errors.into_iter().chain(warnings) {
        let Some(diagnostic) = room.take(diagnostic) else { break };
        kept.push((position, diagnostic));
    }
    kept.sort_by_key(|(position, _)| *position);
    let mut kept: PluginDiagnostics = kept.into_iter().map(|(_, diagnostic)| diagnostic).collect();
    let left_out = count - kept.len();
    if left_out > 0 {
        kept.push(PluginDiagnostic {
            severity: Severity::Warning,
            summary: "Plugin returned too many diagnostics".into(),
            detail: format!("{left_out} of its {count} errors and warnings are not shown."),
            attribute: None,
        });
    }
    kept
}

/// The number and size of the diagnostics that can still be retained.
struct DiagnosticRoom {
    count: usize,
    summaries: usize,
    details: usize,
    paths: usize,
}

impl DiagnosticRoom {
    /// Retains a diagnostic, truncated if necessary. Returns `None` if the limits are exhausted.
    fn take(&mut self, diagnostic: wit::Diagnostic) -> Option<PluginDiagnostic> {
        if self.count == 0 || self.summaries == 0 {
            return None;
        }
        self.count -= 1;
        Some(PluginDiagnostic {
            severity: severity(diagnostic.severity),
            summary: beginning(&diagnostic.summary, &mut self.summaries),
            detail: beginning(&diagnostic.detail, &mut self.details),
            attribute: diagnostic.attribute.map(|steps| path(first_steps(steps, &mut self.paths))),
        })
    }
}

/// Returns the longest prefix of a string that can still be retained.
fn beginning(text: &str, room: &mut usize) -> String {
    let (begin, rest) = text.split_at(text.floor_char_boundary(*room));
    // The remaining bytes may not suffice for the next character.
    *room = if rest.is_empty() { *room - begin.len() } else { 0 };
    let mut shown = printable(begin);
    if !rest.is_empty() {
        shown.push('\u{2026}');
    }
    shown
}

/// Returns the longest prefix of a path that can still be retained.
fn first_steps(mut steps: Vec<wit::PathStep>, room: &mut usize) -> Vec<wit::PathStep> {
    let fits = |step: &wit::PathStep| {
        let text = match step {
            wit::PathStep::AttributeName(text) | wit::PathStep::ElementKeyString(text) => text.len(),
            wit::PathStep::ElementKeyInt(_) => 0,
        };
        // A step is counted even if its name is empty.
        let left = room.checked_sub(text + 8);
        *room = left.unwrap_or(0);
        left.is_some()
    };
    let count = steps.iter().map(fits).take_while(|fits| *fits).count();
    steps.truncate(count);
    steps
}

#[cfg(test)]
mod tests {
    use wardian_value::Path;

    use super::*;

    #[test]
    fn path_is_truncated_before_impossible_step() {
        let steps = vec![
            wit::PathStep::AttributeName("a".into()),
            wit::PathStep::ElementKeyInt(-1),
            wit::PathStep::AttributeName("b".into()),
        ];
        assert_eq!(path(steps), Path::root().attribute("a"));
    }

    fn diagnostic(severity: wit::Severity, summary: &str, detail: &str) -> wit::Diagnostic {
        wit::Diagnostic { severity, summary: summary.into(), detail: detail.into(), attribute: None }
    }

    #[test]
    fn few_diagnostics_are_unchanged() {
        let reported = diagnostics(vec![
            diagnostic(wit::Severity::Warning, "first", "a\u{1b}"),
            diagnostic(wit::Severity::Error, "second", ""),
        ]);
        let shown: Vec<_> = reported.iter().map(|d| (d.is_error(), &*d.summary, &*d.detail)).collect();
        assert_eq!(shown, [(false, "first", "a\\u{1b}"), (true, "second", "")]);
    }

    #[test]
    fn excess_diagnostics_keep_errors_and_count_rest() {
        let mut many = vec![diagnostic(wit::Severity::Warning, "warning", ""); 5_000];
        many.push(diagnostic(wit::Severity::Error, "error", ""));
        let reported = diagnostics(many);
        assert_eq!(reported.len(), MAX_DIAGNOSTICS + 1);
        assert_eq!(reported.iter().filter(|d| d.is_error()).count(), 1);
        let last = &reported[MAX_DIAGNOSTICS];
        assert!(last.detail.contains("5001") && last.detail.contains("4901"), "{last:?}");
    }

    #[test]
    fn diagnostic_text_and_paths_are_truncated() {
        let long = "\u{e4}".repeat(MAX_DIAGNOSTIC_TEXT);
        let step = wit::PathStep::ElementKeyInt(0);
        let one = wit::Diagnostic {
            attribute: Some(vec![step; MAX_DIAGNOSTIC_TEXT]),
            ..diagnostic(wit::Severity::Error, "short", &long)
        };
        let last = diagnostic(wit::Severity::Error, &long, &long);
        let reported = diagnostics(vec![one.clone(), one.clone(), last, one]);
        assert_eq!(reported.len(), 4, "three, and a note about the fourth");
        let total = |of: fn(&PluginDiagnostic) -> usize| reported.iter().map(of).sum::<usize>();
        assert!(total(|d| d.summary.len()) < MAX_DIAGNOSTIC_TEXT + 100);
        assert!(total(|d| d.detail.len()) < MAX_DIAGNOSTIC_TEXT + 100);
        let steps = |d: &PluginDiagnostic| d.attribute.as_ref().map_or(0, |path| path.steps().len());
        assert!(total(steps) <= MAX_DIAGNOSTIC_TEXT / 8);
        assert!(reported[0].detail.ends_with('\u{2026}'));
    }
}
