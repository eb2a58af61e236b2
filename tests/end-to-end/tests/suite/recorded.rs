//! Commands that print what Terraform prints: exit codes, standard output and files,
//! as it answered the same command lines. `WARDIAN_RECORD=1` records again.

use regex::Regex;
use serde_json::{Value, json};
use wardian_end_to_end::assert_recorded;

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
