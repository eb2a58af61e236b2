//! Renders the summary of an audit log as JSON.

use serde::Serialize;
use wardian_monitor::{Summary, UseKey, UseTotals};

/// The output of `audit -json`.
#[derive(Serialize)]
pub(crate) struct AuditDocument<'a> {
    format_version: &'static str,
    records: u64,
    /// The numbers of the lines that are not audit records.
    unreadable_lines: &'a [u64],
    plugins: Vec<Plugin<'a>>,
}

#[derive(Serialize)]
struct Plugin<'a> {
    #[serde(rename = "plugin")]
    address: &'a str,
    codes: Vec<Code<'a>>,
    uses: Vec<Use<'a>>,
    resources: Vec<Resource<'a>>,
}

#[derive(Serialize)]
struct Code<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<&'a str>,
}

#[derive(Serialize)]
struct Use<'a> {
    #[serde(flatten)]
    what: &'a UseKey,
    #[serde(flatten)]
    totals: &'a UseTotals,
}

#[derive(Serialize)]
struct Resource<'a> {
    address: &'a str,
    allowed: u64,
    denied: u64,
}

impl<'a> AuditDocument<'a> {
    pub(crate) fn new(summary: &'a Summary) -> Self {
        let plugins = summary.plugins.iter().map(|(address, plugin)| Plugin {
            address,
            codes: plugin
                .codes
                .iter()
                .map(|(version, sha256)| Code { version: version.as_deref(), sha256: sha256.as_deref() })
                .collect(),
            uses: plugin.uses.iter().map(|(what, totals)| Use { what, totals }).collect(),
            resources: plugin
                .resources
                .iter()
                .map(|(address, (allowed, denied))| Resource { address, allowed: *allowed, denied: *denied })
                .collect(),
        });
        Self {
            format_version: "1.0",
            records: summary.records,
            unreadable_lines: &summary.unreadable,
            plugins: plugins.collect(),
        }
    }
}
