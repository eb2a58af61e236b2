//! Renders the summary of an audit log as text.

use std::fmt::Write as _;

use wardian_monitor::{Outcome, PluginSummary, Summary, UseKey, UseTotals};

use super::RenderOptions;
use super::style::{Page, Style};
use wardian_printable::{PrintableText, append_line, printable};

/// Returns the accesses of all plugins in an audit log.
pub(crate) fn summary_text(summary: &Summary, options: RenderOptions) -> PrintableText {
    let mut page = Page::new(options.color);
    if summary.plugins.is_empty() {
        page.push("The audit log contains no plugin accesses.\n");
    }
    for (address, plugin) in &summary.plugins {
        page.paint(Style::Bold, printable!("{address}"));
        page.push("\n");
        for (version, sha256) in &plugin.codes {
            let version = version.as_deref().map_or("no version".to_owned(), |version| format!("v{version}"));
            let hash =
                sha256.as_deref().map_or(String::new(), |hash| format!(", sha256 {}", shortened(hash)));
            append_line!(page, "  {version}{hash}");
        }
        page.push("\n");
        uses("Allowed:", plugin, Outcome::Allowed, &mut page);
        uses("Denied:", plugin, Outcome::Denied, &mut page);
        resources(plugin, &mut page);
    }
    page.finish()
}

fn uses(title: &str, plugin: &PluginSummary, decision: Outcome, page: &mut Page) {
    let mut found = plugin.uses.iter().filter(|(key, _)| key.decision == decision).peekable();
    if found.peek().is_none() {
        return;
    }
    page.paint(Style::Bold, printable!("  {title}"));
    page.push("\n");
    for (key, totals) in found {
        append_line!(page, "    {:<12}  {}", key.capability.as_str(), what(key));
        append_line!(page, "    {:<12}  {}", "", amounts(totals));
        let why = match (decision, &totals.rule, &totals.reason) {
            (Outcome::Denied, _, Some(reason)) => Some(reason),
            (_, rule, _) => rule.as_ref(),
        };
        if let Some(why) = why {
            append_line!(page, "    {:<12}  {why}", "");
        }
    }
    page.push("\n");
}

fn what(key: &UseKey) -> String {
    let mut text = key.access.as_ref().map_or(String::new(), |access| format!("{access} "));
    text.push_str(&key.target);
    for argument in key.arguments.iter().flatten() {
        let _ = write!(text, " {argument:?}");
    }
    if let Some(names) = &key.environment {
        let names: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
        let _ = write!(text, ", setting {}", names.join(", "));
    }
    if let Some(directory) = &key.directory {
        let _ = write!(text, ", in {directory:?}");
    }
    if let Some(address) = &key.address {
        let _ = write!(text, " ({address})");
    }
    if !key.protected.is_empty() {
        let _ = write!(text, " (protected: {})", key.protected.join(", "));
    }
    text
}

fn amounts(totals: &UseTotals) -> String {
    let mut parts =
        vec![if totals.count == 1 { "once".to_owned() } else { format!("{} times", totals.count) }];
    if totals.bytes_sent > 0 {
        parts.push(format!("{} out", size(totals.bytes_sent)));
    }
    if totals.bytes_received > 0 {
        parts.push(format!("{} in", size(totals.bytes_received)));
    }
    parts.join(", ")
}

fn resources(plugin: &PluginSummary, page: &mut Page) {
    if plugin.resources.is_empty() {
        return;
    }
    page.paint(Style::Bold, "  For:");
    page.push("\n");
    for (resource, (allowed, denied)) in &plugin.resources {
        let denied = if *denied > 0 { format!(", {denied} denied") } else { String::new() };
        append_line!(page, "    {resource}: {allowed} allowed{denied}");
    }
    page.push("\n");
}

fn shortened(hash: &str) -> &str {
    hash.get(..12).unwrap_or(hash)
}

/// Formats a size in the largest unit for which the number is at least one.
fn size(bytes: u64) -> String {
    let units = [("GiB", 1_u64 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match units.into_iter().find(|(_, unit)| bytes >= *unit) {
        Some((name, unit)) => format!("{}.{} {name}", bytes / unit, (bytes % unit) * 10 / unit),
        None => format!("{bytes} B"),
    }
}
