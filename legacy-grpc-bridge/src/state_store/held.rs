//! Recognizes the error that HashiCorp's plugin framework returns for a held lock.
//!
//! The protocol does not distinguish a held lock from other errors. A held lock can be waited for, and
//! its holder is shown, so the framework's text is parsed. Other plugins' errors are shown unchanged.

use wardian_plugin::{PluginDiagnostic, StateLockInfo};

const SUMMARY: &str = "Workspace Already Locked";

/// Returns the holder of the lock, if a diagnostic is the framework's error for a held lock.
pub(super) fn holder(reported: &[PluginDiagnostic]) -> Option<StateLockInfo> {
    let error = reported.iter().find(|one| one.is_error() && one.summary == SUMMARY)?;
    let (_, lines) = error.detail.split_once("Lock Info:")?;
    let mut holder = StateLockInfo::default();
    for (name, value) in lines.lines().filter_map(|line| line.trim().split_once(':')) {
        let member = match name {
            "ID" => &mut holder.id,
            "Operation" => &mut holder.operation,
            "Who" => &mut holder.who,
            "Created" => &mut holder.created,
            "Version" => &mut holder.version,
            "Info" => &mut holder.info,
            _ => continue,
        };
        value.trim().clone_into(member);
    }
    (!holder.id.is_empty()).then_some(holder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holder_in_the_error_of_the_framework_is_found() {
        let detail = "\"default\" workspace has a lock held by another client.\n\nLock Info:\n  ID:        5-7\n  \
                      Operation: apply\n  Who:       ann@build\n  Created:   2026-01-29 00:00:00 +0000 UTC\n";
        let holder = holder(&[PluginDiagnostic::error(SUMMARY, detail)]).unwrap();
        assert_eq!((&*holder.id, &*holder.operation, &*holder.who), ("5-7", "apply", "ann@build"));
        assert_eq!(holder.created, "2026-01-29 00:00:00 +0000 UTC");
    }

    #[test]
    fn other_errors_have_no_holder() {
        for (summary, detail) in [
            ("Locked", "Lock Info:\n  ID: 1"),
            (SUMMARY, "by another client"),
            (SUMMARY, "Lock Info:\n  Who: x"),
        ] {
            assert_eq!(holder(&[PluginDiagnostic::error(summary, detail)]), None, "{summary} {detail}");
        }
    }
}
