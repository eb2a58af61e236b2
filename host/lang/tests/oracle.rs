//! Expressions whose results were recorded from `terraform console`.
//!
//! `tests/data/expressions.tsv` contains one expression per line with its result: the value as
//! `jsonencode` returns it, and its type; `!` if Terraform rejects it. To record again with the
//! `terraform` on PATH:
//!
//! ```text
//! WARDIAN_RECORD=1 cargo test -p wardian-lang --test oracle
//! ```
//!
//! `tests/data/headlines.tsv` contains expressions that Terraform rejects, with the summaries of
//! its errors, because users search for them. It is recorded in the same way.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use wardian_diagnostic::SourceFile;
use wardian_lang::{EmptyScope, parse_expression};
use wardian_value::Value;

struct Row {
    expression: String,
    json: String,
    ty: String,
}

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/expressions.tsv")
}

fn rows() -> Vec<Row> {
    let text = std::fs::read_to_string(data()).unwrap();
    text.lines()
        .filter(|line| !line.is_empty() && !line.starts_with("# "))
        .map(|line| {
            let mut columns = line.split('\t').map(str::to_owned);
            let mut next = || columns.next().unwrap_or_default();
            Row { expression: next(), json: next(), ty: next() }
        })
        .collect()
}

fn evaluated(expression: &str) -> Result<Value, String> {
    let file = SourceFile::new("<test>", expression);
    parse_expression(&file)
        .and_then(|expression| expression.evaluate(&EmptyScope))
        .map_err(|problems| problems.to_string())
}

/// Returns the difference between Wardian's result and the recorded result, if any.
fn difference(row: &Row) -> Option<String> {
    let Row { expression, json, ty } = row;
    let encoded = evaluated(&format!("jsonencode({expression})"));
    let answer = match &encoded {
        Err(_) => "!",
        Ok(value) => value.as_str().unwrap_or("not a string"),
    };
    if answer != json {
        let found = encoded.as_ref().map_or_else(String::as_str, |_| answer);
        return Some(format!("{expression}\n  expected {json}\n  found    {found}"));
    }
    if json == "!" {
        return None;
    }
    let found = evaluated(expression).map(|value| value.ty().to_string());
    let found = found.map(|found| found.split_whitespace().collect::<String>());
    (found.as_ref() != Ok(ty)).then(|| format!("{expression}\n  expected type {ty}\n  found {found:?}"))
}

#[test]
fn results_match_terraform_console() {
    if std::env::var_os("WARDIAN_RECORD").is_some() {
        record();
    }
    let rows = rows();
    assert!(rows.len() > 2500, "{}", rows.len());
    let wrong: Vec<String> = rows.iter().filter_map(difference).collect();
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// Expressions for which Wardian's error has a different summary, with the reason.
const OTHER_HEADLINES: [(&str, &str); 13] = [
    ("convert(1)", "the function exists in later versions of Terraform"),
    ("range(0,3,-1)", "Terraform classifies the sign of the step differently from all other arguments"),
    ("var", "an undeclared variable needs a name, which is missing"),
    ("{ a.b = 1 }", "the key is ambiguous, whether or not the name is declared"),
    ("{ a[0] = 1 }", "the key is ambiguous, whether or not the name is declared"),
    ("can(1, 2)", "the function has no fixed parameters in Wardian"),
    ("can(\"/(.)b/\", tomap({}))", "the function has no fixed parameters in Wardian"),
    ("can(false, sensitive(1))", "the function has no fixed parameters in Wardian"),
    ("can()", "the function has no fixed parameters in Wardian"),
    ("formatlist(\"%s %s\", [\"a\"], [\"b\",\"c\"])", "all errors of the function are errors of the call"),
    ("tomap(\"10.0.0.0/8\", anytrue(tolist([1,2])))", "arguments are evaluated before they are counted"),
    ("jsonencode(substr(\"90s\", 0.1, 1e21), 0.5)", "arguments are evaluated before they are counted"),
    (
        "urlencode(\"90s\", matchkeys([[1],[2,3]], [toset([\"q\"])], tolist([{a=1},{a=1}])))",
        "arguments are evaluated before they are counted",
    ),
];

fn headlines_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/headlines.tsv")
}

/// Returns the distinct summaries of the errors in an expression.
fn headlines(expression: &str) -> Vec<String> {
    let file = SourceFile::new("<test>", expression);
    let evaluated = parse_expression(&file).and_then(|expression| expression.evaluate(&EmptyScope));
    let mut found = Vec::new();
    for problem in evaluated.err().iter().flatten() {
        if !found.contains(&problem.summary) {
            found.push(problem.summary.clone());
        }
    }
    found
}

#[test]
fn error_summaries_match_terraform_console() {
    if std::env::var_os("WARDIAN_RECORD").is_some() {
        record_headlines();
    }
    let text = std::fs::read_to_string(headlines_file()).unwrap();
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in text.lines() {
        let (expression, recorded) = line.split_once('\t').unwrap();
        count += 1;
        let mut expected: Vec<&str> = recorded.split(" | ").collect();
        let mut found = headlines(expression);
        expected.sort_unstable();
        found.sort_unstable();
        let is_exception = OTHER_HEADLINES.iter().any(|(known, _)| *known == expression);
        if found != expected && !is_exception {
            wrong.push(format!("{expression}\n  expected {expected:?}\n  found    {found:?}"));
        }
    }
    assert!(count > 1200, "{count}");
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// Records the error summaries of every expression that is listed as rejected.
fn record_headlines() {
    let directory = std::env::temp_dir().join("wardian-oracle");
    std::fs::create_dir_all(&directory).unwrap();
    let mut recorded = String::new();
    for row in rows().iter().filter(|row| row.json == "!") {
        let output = Command::new("terraform")
            .arg("console")
            .current_dir(&directory)
            .env("NO_COLOR", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .and_then(|mut child| {
                child.stdin.take().unwrap().write_all(row.expression.as_bytes())?;
                child.wait_with_output()
            })
            .unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        let mut found: Vec<&str> = Vec::new();
        for headline in text.lines().filter_map(|line| line.split_once("Error: ")) {
            let headline = headline.1.trim_end_matches("\u{1b}[0m").trim_start_matches("\u{1b}[0m");
            let headline = headline.trim_start_matches("\u{1b}[1m");
            if !found.contains(&headline) {
                found.push(headline);
            }
        }
        if !found.is_empty() {
            writeln!(recorded, "{}\t{}", row.expression, found.join(" | ")).unwrap();
        }
    }
    std::fs::write(headlines_file(), recorded).unwrap();
}

fn record() {
    let directory = std::env::temp_dir().join("wardian-oracle");
    std::fs::create_dir_all(&directory).unwrap();
    let text = std::fs::read_to_string(data()).unwrap();
    let is_row = |line: &&str| !line.is_empty() && !line.starts_with("# ");
    let expressions: Vec<&str> =
        text.lines().filter(is_row).map(|line| line.split('\t').next().unwrap()).collect();
    let answers: Vec<String> =
        expressions.chunks(200).flat_map(|some| halving(some, &|some| answers(&directory, some))).collect();
    let valid: Vec<&str> = std::iter::zip(&expressions, &answers)
        .filter(|(_, answer)| *answer != "!")
        .map(|(expression, _)| *expression)
        .collect();
    let mut types = valid.chunks(200).flat_map(|some| halving(some, &|some| types(&directory, some)));
    let mut answers = answers.iter();
    let mut recorded = String::new();
    for line in text.lines() {
        recorded.push_str(line.split('\t').next().unwrap());
        if is_row(&line) {
            let answer = answers.next().unwrap();
            write!(recorded, "\t{answer}").unwrap();
            if answer != "!" {
                write!(recorded, "\t{}", types.next().unwrap()).unwrap();
            }
        }
        recorded.push('\n');
    }
    std::fs::write(data(), recorded).unwrap();
}

/// Evaluates many expressions in one input. If this fails, bisection finds the invalid expressions.
fn halving(expressions: &[&str], ask: &dyn Fn(&[&str]) -> Option<Vec<String>>) -> Vec<String> {
    match (ask(expressions), expressions) {
        (Some(answers), _) if answers.len() == expressions.len() => answers,
        (_, [_]) => vec!["!".to_owned()],
        _ => {
            let (first, second) = expressions.split_at(expressions.len() / 2);
            [halving(first, ask), halving(second, ask)].concat()
        }
    }
}

fn answers(directory: &Path, expressions: &[&str]) -> Option<Vec<String>> {
    let each = expressions.iter().map(|expression| format!("try(jsonencode({expression}), \"!\")"));
    let all = each.collect::<Vec<_>>().join(", ");
    let output = console(directory, &format!("nonsensitive(sensitive(base64encode(jsonencode([{all}]))))"))?;
    let decoded = STANDARD.decode(output.trim().trim_matches('"')).ok()?;
    serde_json::from_slice(&decoded).ok()
}

/// Determines the types of all expressions by evaluating them as one tuple and parsing its type.
fn types(directory: &Path, expressions: &[&str]) -> Option<Vec<String>> {
    let output = console(directory, &format!("type([{}])", expressions.join(", ")))?;
    let line = one_line(&output);
    let inside = line.strip_prefix("tuple([")?.strip_suffix("])")?;
    let mut types = vec![String::new()];
    let mut depth = 0;
    for character in inside.chars() {
        match character {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                types.push(String::new());
                continue;
            }
            _ => {}
        }
        types.last_mut()?.push(character);
    }
    Some(types)
}

fn console(directory: &Path, input: &str) -> Option<String> {
    let mut child = Command::new("terraform")
        .arg("console")
        .current_dir(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    output.status.success().then_some(text)
}

/// Converts a multi-line `type(...)` output to the single line that `Type` prints.
fn one_line(ty: &str) -> String {
    let joined: String = ty.replace(": ", "=").split_whitespace().collect();
    joined.replace(",])", "])").replace(",})", "})").replace(",)", ")").replace("dynamic", "any")
}
