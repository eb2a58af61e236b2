//! Formats the causes of an error.

use crate::output::printable;

/// Returns all causes of an error, the outermost first. Causes that only repeat the preceding cause
/// are omitted. The text can contain strings from the component.
pub(crate) fn chain(error: &wasmtime::Error) -> String {
    let mut text = String::new();
    for cause in error.chain() {
        let cause = cause.to_string();
        let cause = cause.trim();
        if cause.is_empty() || text.contains(cause) {
            continue;
        }
        if !text.is_empty() {
            text.push_str(": ");
        }
        text.push_str(cause);
    }
    printable(&text)
}
