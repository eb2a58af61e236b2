//! Commands that print what Terraform prints: exit codes, standard output and files,
//! as it answered the same command lines. `WARDIAN_RECORD=1` records again.

use regex::Regex;
use serde_json::{Value, json};
use wardian_end_to_end::{assert_recorded, assert_recorded_with_files};

#[test]
fn fmt_answers_as_terraform_does() {
    assert_recorded("fmt", |out| out);
}

/// The help is in our own words.
#[test]
fn console_answers_as_terraform_does() {
    assert_recorded("console", |out| {
        if out.contains("To exit") || out.contains("To end") { "help".into() } else { out }
    });
}

#[test]
fn graph_answers_as_terraform_does() {
    assert_recorded("graph", |out| out);
}

/// Terraform tells modules and providers in another order each time.
#[test]
fn providers_answers_as_terraform_does() {
    assert_recorded("providers", |out| {
        let mut lines: Vec<&str> =
            out.lines().map(|line| line.trim_start_matches(['│', '├', '└', '─', ' '])).collect();
        lines.sort_unstable();
        lines.join("\n")
    });
}

/// As above.
#[test]
fn get_and_modules_answer_as_terraform_does() {
    assert_recorded("modules", |out| {
        let Ok(mut report) = serde_json::from_str::<Value>(&out) else { return out };
        if let Some(modules) = report["modules"].as_array_mut() {
            modules.sort_by_key(ToString::to_string);
        }
        report.to_string()
    });
}

/// Byte for byte, but for the texts, which are our own.
#[test]
fn schemas_of_the_built_in_provider_are_the_same() {
    let texts = Regex::new(r#""(description|summary)":"([^"\\]|\\.)*""#).unwrap();
    assert_recorded("schemas", |out| {
        assert!(out.contains("\"terraform_data\""), "{out}");
        texts.replace_all(&out, "\"$1\":\"\"").into_owned()
    });
}

/// What is said is in our own words, and how much of a line is marked may differ; the
/// verdict, the lines and the structure do not.
#[test]
fn validate_answers_as_terraform_does() {
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

/// What commands on states print for programs.
#[test]
fn commands_that_look_into_states_answer_as_terraform_does() {
    // Terraform ends `state pull` with one more line break.
    assert_recorded_with_files("state_data", |out| out.trim_end().to_owned(), |_, _| None);
}

/// What is said is in our own words; what became of which address, and what is on disk
/// afterwards, is the same.
#[test]
fn commands_that_change_states_answer_as_terraform_does() {
    let told = Regex::new(r"^(Removed|Would remove|Move|Would move) ").unwrap();
    let second = Regex::new(r"\.\d{10}\.backup$").unwrap();
    assert_recorded_with_files(
        "state_changes",
        |out| {
            // Modules come in another order each time.
            let mut lines: Vec<&str> = out.lines().filter(|line| told.is_match(line)).collect();
            if lines.iter().any(|line| line.contains("ove \"module.")) {
                lines.sort_unstable();
            }
            lines.join("\n")
        },
        |path, text| {
            // Which plugins and modules there are is another suite's matter.
            let is_other = path.starts_with(".terraform/modules") || path == ".terraform.lock.hcl";
            // Terraform leaves an empty file where a state was that has moved on.
            (!is_other && !text.is_empty())
                .then(|| (second.replace(path, ".[SECOND].backup").into_owned(), text.to_owned()))
        },
    );
}
