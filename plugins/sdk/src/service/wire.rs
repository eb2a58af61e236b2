//! Encodes diagnostics and paths in the records of the WIT interface.

use wardian_value::{Path, PathStep};

use crate::bindings::wardian::plugin::types;
use crate::{Diagnostics, Severity};

pub(crate) fn diagnostics_record(diagnostics: Diagnostics) -> Vec<types::Diagnostic> {
    diagnostics
        .into_iter()
        .map(|diagnostic| types::Diagnostic {
            severity: match diagnostic.severity {
                Severity::Error => types::Severity::Error,
                Severity::Warning => types::Severity::Warning,
            },
            summary: diagnostic.summary,
            detail: diagnostic.detail,
            attribute: diagnostic.path.as_ref().map(path_record),
        })
        .collect()
}

pub(crate) fn path_record(path: &Path) -> Vec<types::PathStep> {
    path.steps()
        .iter()
        .map(|step| match step {
            PathStep::Attribute(name) => types::PathStep::AttributeName(name.to_string()),
            PathStep::Key(key) => types::PathStep::ElementKeyString(key.to_string()),
            PathStep::Index(index) => {
                types::PathStep::ElementKeyInt(i64::try_from(*index).unwrap_or(i64::MAX))
            }
        })
        .collect()
}
