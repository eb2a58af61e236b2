//! Parses the stream of events that a run prints with `-json`.

use serde_json::{Map, Value, json};

use wardian_end_to_end::CommandLine;
use wardian_end_to_end::diagnostics::summary;

use crate::scenario::IN_ORDER;

/// Returns the events in a form that can be compared, or [`None`] if the text is not such a stream.
pub fn parse(text: &str, command: &CommandLine) -> Option<Vec<Value>> {
    let mut events = Vec::new();
    for line in text.lines() {
        let event: Value = serde_json::from_str(line).ok()?;
        event.get("@level")?;
        if !is_about_time(&event) {
            events.push(shaped(event));
        }
    }
    // Terraform reports planned changes in the order in which its concurrent walk plans them, so
    // they are sorted.
    for run in events.chunk_by_mut(|earlier, later| is_planned(earlier) && is_planned(later)) {
        run.sort_by_cached_key(ToString::to_string);
    }
    if !command.options.iter().any(|option| option == IN_ORDER) {
        for run in events.chunk_by_mut(|earlier, later| is_step(earlier) && is_step(later)) {
            run.sort_by_cached_key(|event| event["hook"]["resource"]["addr"].to_string());
        }
        for run in events.chunk_by_mut(|earlier, later| is_diagnostic(earlier) && is_diagnostic(later)) {
            run.sort_by_cached_key(ToString::to_string);
        }
    }
    (!events.is_empty()).then_some(events)
}

fn kind(event: &Value) -> &str {
    event["type"].as_str().unwrap_or_default()
}

/// Returns whether an event occurs only in slow runs.
fn is_about_time(event: &Value) -> bool {
    kind(event).ends_with("_progress") && kind(event) != "provision_progress"
}

/// Returns whether the order of this event and events of other objects may differ.
fn is_step(event: &Value) -> bool {
    event.get("hook").is_some()
}

fn is_planned(event: &Value) -> bool {
    kind(event) == "planned_change"
}

fn is_diagnostic(event: &Value) -> bool {
    kind(event) == "diagnostic"
}

/// Removes times and messages, except for totals, which other programs search for.
fn shaped(event: Value) -> Value {
    let Value::Object(mut event) = event else { return event };
    let is_summary = event.get("type").is_some_and(|kind| kind == "change_summary");
    for name in ["@timestamp", "@module", "terraform"] {
        event.remove(name);
    }
    if !is_summary {
        event.remove("@message");
    }
    if let Some(hook) = event.get_mut("hook").and_then(Value::as_object_mut) {
        hook.remove("elapsed_seconds");
        hook.remove("elapsed");
    }
    if let Some(diagnostic) = event.get_mut("diagnostic") {
        *diagnostic = short_diagnostic(diagnostic);
    }
    Value::Object(event)
}

fn short_diagnostic(diagnostic: &Value) -> Value {
    let mut short = Map::new();
    short.insert("severity".to_owned(), diagnostic["severity"].clone());
    short.insert("summary".to_owned(), summary(diagnostic["summary"].as_str().unwrap_or_default()).into());
    if let Some(address) = diagnostic.get("address") {
        short.insert("address".to_owned(), address.clone());
    }
    if let Some(range) = diagnostic.get("range").filter(|range| !range.is_null()) {
        let line = &range["start"]["line"];
        short.insert("range".to_owned(), json!({ "filename": range["filename"], "line": line }));
    }
    Value::Object(short)
}
