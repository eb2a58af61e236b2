//! Formatting changes, in the format of `diff -u`.

use std::time::Duration;

use similar::TextDiff;

/// The time limit of the search for equal lines. After this time, all remaining lines are shown as
/// changed.
const MAX_SEARCH_TIME: Duration = Duration::from_secs(5);

/// Returns the difference between two texts, with `old/` and `new/` in front of the name.
pub(super) fn unified(name: &str, old: &str, new: &str) -> String {
    TextDiff::configure()
        .timeout(MAX_SEARCH_TIME)
        .diff_lines(old, new)
        .unified_diff()
        .context_radius(3)
        .header(&format!("old/{name}"), &format!("new/{name}"))
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn difference_has_unified_format() {
        assert_eq!(
            unified("x.tf", "a=1\nbb=2\n", "a  = 1\nbb = 2\n"),
            "--- old/x.tf\n+++ new/x.tf\n@@ -1,2 +1,2 @@\n-a=1\n-bb=2\n+a  = 1\n+bb = 2\n"
        );
        assert_eq!(
            unified("x.tf", "a=1", "a = 1"),
            "--- old/x.tf\n+++ new/x.tf\n@@ -1 +1 @@\n-a=1\n\\ No newline at end of file\n+a = 1\n\
             \\ No newline at end of file\n"
        );
    }
}
