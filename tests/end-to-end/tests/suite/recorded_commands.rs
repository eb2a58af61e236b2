//! Commands whose results equal Terraform's: exit codes, standard output and files are compared
//! with recorded results. `WARDIAN_RECORD=1` records the results again.

use regex::Regex;
use serde_json::{Value, json};
use wardian_end_to_end::{assert_recorded, assert_recorded_with_files};

#[test]
fn fmt_matches_terraform() {
    assert_recorded("fmt", |out| out);
}

/// The output of `-help` may differ.
#[test]
fn console_matches_terraform() {
    assert_recorded("console", |out| {
        if out.contains("To exit") || out.contains("To end") { "help".into() } else { out }
    });
}

#[test]
fn graph_matches_terraform() {
    assert_recorded("graph", |out| out);
}

/// Terraform lists modules and providers in random order.
#[test]
fn providers_command_matches_terraform() {
    assert_recorded("providers", |out| {
        let mut lines: Vec<&str> =
            out.lines().map(|line| line.trim_start_matches(['│', '├', '└', '─', ' '])).collect();
        lines.sort_unstable();
        lines.join("\n")
    });
}

/// Terraform lists modules in random order.
#[test]
fn get_and_modules_match_terraform() {
    assert_recorded("modules", |out| {
        let Ok(mut report) = serde_json::from_str::<Value>(&out) else { return out };
        if let Some(modules) = report["modules"].as_array_mut() {
            modules.sort_by_key(ToString::to_string);
        }
        report.to_string()
    });
}

/// The schema is equal byte for byte, except for descriptions.
#[test]
fn built_in_provider_schema_matches_terraform() {
    let texts = Regex::new(r#""(description|summary)":"([^"\\]|\\.)*""#).unwrap();
    assert_recorded("schemas", |out| {
        assert!(out.contains("\"terraform_data\""), "{out}");
        texts.replace_all(&out, "\"$1\":\"\"").into_owned()
    });
}

/// Messages may differ, and so may the highlighted range within a line. The verdict, the lines and
/// the structure must match.
#[test]
fn validate_matches_terraform() {
    assert_recorded("validate", |out| {
        let Ok(report) = serde_json::from_str::<Value>(&out) else {
            return out.lines().next().unwrap_or_default().to_owned();
        };
        let mut diagnostics: Vec<String> = Vec::new();
        for diagnostic in report["diagnostics"].as_array().into_iter().flatten() {
            assert!(diagnostic["summary"].is_string() && diagnostic["detail"].is_string(), "{diagnostic}");
            let (range, snippet) = (&diagnostic["range"], &diagnostic["snippet"]);
            let told = json!([
                diagnostic["severity"],
                range["filename"],
                range["start"]["line"],
                range["end"]["line"],
                snippet["code"],
                snippet["start_line"],
                snippet["values"].is_array(),
            ]);
            diagnostics.push(told.to_string());
        }
        diagnostics.dedup();
        format!("{} {} {}", report["format_version"], report["valid"], diagnostics.join("\n"))
    });
}

/// The machine-readable output of `state` commands.
#[test]
fn state_reading_commands_match_terraform() {
    // Terraform appends a line break to the output of `state pull`.
    assert_recorded_with_files("state_data", |out| out.trim_end().to_owned(), |_, _| None);
}

/// Messages may differ; the affected addresses and the resulting files must match.
#[test]
fn state_changing_commands_match_terraform() {
    let told = Regex::new(r"^(Removed|Would remove|Move|Would move) ").unwrap();
    let second = Regex::new(r"\.\d{10}\.backup$").unwrap();
    assert_recorded_with_files(
        "state_changes",
        |out| {
            // Terraform lists modules in random order.
            let mut lines: Vec<&str> = out.lines().filter(|line| told.is_match(line)).collect();
            if lines.iter().any(|line| line.contains("ove \"module.")) {
                lines.sort_unstable();
            }
            lines.join("\n")
        },
        |path, text| {
            // Another test compares plugins and modules.
            let is_other = path.starts_with(".terraform/modules") || path == ".terraform.lock.hcl";
            // Terraform leaves an empty file after it has moved a state.
            (!is_other && !text.is_empty())
                .then(|| (second.replace(path, ".[SECOND].backup").into_owned(), text.to_owned()))
        },
    );
}

/// The JSON is equal byte for byte, except for the order of relevant attributes, which is random in
/// Terraform, and for the details of diagnostics.
#[test]
fn plan_and_state_json_match_terraform() {
    let relevant = Regex::new(r#""relevant_attributes":\[(.*?\])\}\],"#).unwrap();
    let detail = Regex::new(r#""message":"(Unable to find remote state): (?:[^"\\]|\\.)+""#).unwrap();
    let sorted = |out: String| {
        let out = detail.replace_all(&out, r#""message":"$1""#).into_owned();
        let Some(found) = relevant.captures(&out) else { return out };
        let mut attributes: Vec<&str> = found[1].split("},").collect();
        attributes.sort_unstable();
        out.replace(&found[0], &format!("relevant: {}, ", attributes.join(" ")))
    };
    assert_recorded_with_files("plans", sorted, |_, _| None);
}

/// The keys, their order and the messages must match. For diagnostics, only the members that do not
/// depend on the wording must match. Events of different objects may be in any order.
#[test]
fn run_json_events_match_terraform() {
    let sorted = |out: String| {
        let mut lines: Vec<String> = out.lines().map(message).collect();
        lines.sort_unstable();
        lines.join("\n")
    };
    assert_recorded_with_files("messages", sorted, |_, _| None);
}

fn message(line: &str) -> String {
    let told: Value = serde_json::from_str(line).unwrap_or_default();
    if told["type"] != "diagnostic" {
        return line.to_owned();
    }
    let diagnostic = &told["diagnostic"];
    let summary = diagnostic["summary"].as_str().unwrap_or_default();
    assert!(!summary.is_empty(), "{line}");
    assert!(diagnostic["detail"].is_string(), "{line}");
    assert!(told["@message"].as_str().is_some_and(|message| message.ends_with(summary)), "{line}");
    let keys: Vec<&String> = told.as_object().into_iter().flat_map(|keys| keys.keys()).collect();
    let range = &diagnostic["range"];
    json!([keys, told["@level"], diagnostic["severity"], range["filename"], range["start"]["line"]])
        .to_string()
}
