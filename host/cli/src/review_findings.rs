//! Converts what a run has observed to the findings of a review: the accesses of plugins in an audit log,
//! and the warnings that were shown.

use std::collections::BTreeMap;

use wardian_diagnostic::Diagnostics;
use wardian_monitor::{Outcome, Summary};
use wardian_review::{PluginAccess, ReviewWarning};

use crate::review_source::position;

/// Maximum number of objects that are listed for an access.
const MAX_OBJECTS: usize = 8;

/// Returns the accesses of plugins, combined by decision, plugin, capability and target. The cost is
/// linear in the size of the summary, apart from sorting.
pub(crate) fn plugin_accesses(summary: &Summary) -> Vec<PluginAccess> {
    let mut found: BTreeMap<(bool, &str, &str, &str), PluginAccess> = BTreeMap::new();
    for (plugin, accesses) in &summary.plugins {
        for (key, totals) in &accesses.uses {
            let is_denied = key.decision == Outcome::Denied;
            let capability = key.capability.as_str();
            let access =
                found.entry((is_denied, plugin, capability, &key.target)).or_insert_with(|| PluginAccess {
                    is_denied,
                    plugin: plugin.as_str().into(),
                    capability: capability.into(),
                    target: key.target.as_str().into(),
                    count: 0,
                    reason: totals.reason.as_deref().map(Into::into),
                    rule: totals.rule.as_deref().map(Into::into),
                    objects: Box::default(),
                });
            access.count = access.count.saturating_add(totals.count);
            if access.objects.is_empty() {
                access.objects =
                    totals.resources.iter().take(MAX_OBJECTS).map(|name| name.as_str().into()).collect();
            }
        }
    }
    found.into_values().collect()
}

/// Returns warnings for a review.
pub(crate) fn review_warnings(warnings: &Diagnostics) -> Vec<ReviewWarning> {
    let warning = |warning: &wardian_diagnostic::Diagnostic| ReviewWarning {
        summary: warning.summary.as_str().into(),
        detail: warning.detail.as_str().into(),
        source: warning.subject.as_ref().map(position),
    };
    warnings.iter().map(warning).collect()
}
