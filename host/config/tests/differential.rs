//! Compares the diagnostics for configurations in JSON and for override files with the diagnostics
//! of `terraform validate -json` 1.11.4: whether the configuration is valid, and the severity,
//! file, line and summary of each diagnostic.
//!
//! With `WARDIAN_RECORD=1` and `terraform` on the PATH, the results are recorded again. A
//! configuration is a section `=== name` with files `-- path --`; the last file contains the
//! result.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test ends there")]

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use wardian_config::{MemoryFiles, load_root_from};

struct Case {
    name: String,
    files: Vec<(String, String)>,
    answer: String,
}

fn cases(text: &str) -> Vec<Case> {
    let mut paragraphs: Vec<String> = Vec::new();
    for line in text.split_inclusive('\n') {
        match (line.strip_prefix("=== "), paragraphs.last_mut()) {
            (Some(name), _) => paragraphs.push(name.to_owned()),
            (None, Some(paragraph)) => paragraph.push_str(line),
            (None, None) => panic!("text before the first configuration"),
        }
    }
    paragraphs.iter().map(|paragraph| case(paragraph)).collect()
}

fn case(paragraph: &str) -> Case {
    let (name, rest) = paragraph.split_once('\n').unwrap();
    let mut files: Vec<(String, String)> = Vec::new();
    for line in rest.split_inclusive('\n') {
        let path = line.trim_end().strip_prefix("-- ").and_then(|path| path.strip_suffix(" --"));
        match (path, files.last_mut()) {
            (Some(path), _) => files.push((path.to_owned(), String::new())),
            (None, Some((_, text))) => text.push_str(line),
            (None, None) => panic!("text before the first file of {name}"),
        }
    }
    let answer = match files.pop() {
        Some((path, answer)) if path == "answer" => answer.trim_end().to_owned(),
        other => {
            files.extend(other);
            String::new()
        }
    };
    Case { name: name.to_owned(), files, answer }
}

/// Writes each diagnostic once, in source order.
fn answer(valid: bool, diagnostics: impl Iterator<Item = (bool, String, usize, String)>) -> String {
    let mut text = String::from(if valid { "valid" } else { "invalid" });
    let lines: BTreeSet<(String, usize, bool, String)> =
        diagnostics.map(|(error, file, line, summary)| (file, line, error, summary)).collect();
    for (file, line, error, summary) in lines {
        let severity = if error { "error" } else { "warning" };
        write!(text, "\n{severity} {file}:{line} {summary}").unwrap();
    }
    text
}

fn ours(case: &Case) -> String {
    let files = MemoryFiles::new(case.files.iter().map(|(path, text)| (path.as_str(), text.as_str())));
    let found = match load_root_from(&files, Path::new("")) {
        Ok(configuration) => {
            let mut found = configuration.warnings.clone();
            found.extend(configuration.check_references());
            found.extend(configuration.check_expressions());
            found
        }
        Err(found) => found,
    };
    let lines = found.iter().map(|diagnostic| {
        let (file, line) = match &diagnostic.subject {
            Some(span) => (span.file.name().to_owned(), span.start_position().line),
            None => ("-".to_owned(), 0),
        };
        (diagnostic.is_error(), file, line, diagnostic.summary.clone())
    });
    answer(!found.has_errors(), lines)
}

fn theirs(case: &Case) -> String {
    let directory = env::temp_dir().join(format!("wardian-differential-{}", std::process::id()));
    fs::create_dir_all(&directory).unwrap();
    for (path, text) in &case.files {
        let path = directory.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let terraform = |arguments: &[&str]| {
        Command::new("terraform").args(arguments).current_dir(&directory).output().expect("terraform").stdout
    };
    if case.files.iter().any(|(path, _)| path.contains('/')) {
        terraform(&["init", "-backend=false"]);
    }
    let output: serde_json::Value = serde_json::from_slice(&terraform(&["validate", "-json"])).unwrap();
    fs::remove_dir_all(&directory).unwrap();
    let lines = output["diagnostics"].as_array().unwrap().iter().map(|diagnostic| {
        let range = &diagnostic["range"];
        (
            diagnostic["severity"] == "error",
            range["filename"].as_str().unwrap_or("-").to_owned(),
            usize::try_from(range["start"]["line"].as_u64().unwrap_or(0)).unwrap(),
            diagnostic["summary"].as_str().unwrap().to_owned(),
        )
    });
    answer(output["valid"].as_bool().unwrap(), lines)
}

#[test]
fn diagnostics_match_terraform() {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/configurations");
    let record = env::var("WARDIAN_RECORD").is_ok_and(|value| value == "1");
    let mut differences = String::new();
    let mut count = 0;
    let mut paths: Vec<PathBuf> =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        let mut recorded = String::new();
        for mut case in cases(&fs::read_to_string(&path).unwrap()) {
            count += 1;
            if record {
                case.answer = theirs(&case);
            }
            writeln!(recorded, "=== {}", case.name).unwrap();
            for (path, text) in &case.files {
                write!(recorded, "-- {path} --\n{text}").unwrap();
            }
            writeln!(recorded, "-- answer --\n{}", case.answer).unwrap();
            let ours = ours(&case);
            if ours != case.answer {
                writeln!(differences, "{}\nterraform: {}\nours: {ours}\n", case.name, case.answer).unwrap();
            }
        }
        if record {
            fs::write(&path, recorded).unwrap();
        }
    }
    assert!(differences.is_empty(), "\n{differences}");
    assert!(count >= 60, "only {count} configurations");
}
