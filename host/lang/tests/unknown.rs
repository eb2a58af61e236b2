//! Expressions with unknown values, compared with the results in the plan file of `terraform plan`.
//!
//! `tests/data/unknown.tsv` contains one expression per line with its result: the type and the
//! refinement; `!` if Terraform rejects it. `unknown.tf` declares the names. `unknown-ours.tsv`
//! contains Wardian's results that differ from Terraform's, with the reason. To record again with
//! the `terraform` on PATH:
//!
//! ```text
//! WARDIAN_RECORD=1 cargo test -p wardian-lang --test unknown
//! ```

#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{Cursor, Read as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use wardian_diagnostic::{Diagnostics, SourceFile, Span};
use wardian_lang::{ReferenceSubject, Resolved, Scope, parse_expression};
use wardian_value::{Refinement, Str, Type, Value, View, msgpack};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn is_row(line: &str) -> bool {
    !line.is_empty() && !line.starts_with("# ")
}

/// A scope with the values in `unknown.tf`. The first rows verify these values.
struct Plan;

impl Scope for Plan {
    fn resolve(
        &self,
        subject: &ReferenceSubject,
        _: Option<&Value>,
        span: &Span,
    ) -> Result<Resolved, Diagnostics> {
        let text = || Type::list(Type::String);
        let object = || Type::object([(Str::new("a"), Type::String), (Str::new("b"), Type::Number)]);
        let ty = match subject.to_string().as_str() {
            "local.id" => {
                return Ok(Resolved::Whole(Value::unknown_with(Type::String, Refinement::not_null())));
            }
            "local.string" => Type::String,
            "local.number" => Type::Number,
            "local.bool" => Type::Bool,
            "local.list" => text(),
            "local.set" => Type::set(Type::String),
            "local.map" => Type::map(Type::String),
            "local.tuple" => Type::tuple([Type::String, Type::Number]),
            "local.object" => object(),
            "local.lists" => Type::list(text()),
            "local.objects" => Type::list(object()),
            "local.numbers" => Type::set(Type::Number),
            "local.any" => Type::Dynamic,
            name => {
                return Err(wardian_diagnostic::Diagnostic::error("Undeclared", name)
                    .at(span.clone())
                    .into());
            }
        };
        Ok(Resolved::Whole(Value::unknown(ty)))
    }
}

/// Returns type and content in one line.
fn describe(value: &Value) -> String {
    let mut text = format!("{}\t", value.ty());
    write_content(value, &mut text);
    text
}

fn write_content(value: &Value, text: &mut String) {
    let items = |items: &[Value], text: &mut String| {
        text.push('[');
        for (index, item) in items.iter().enumerate() {
            text.push_str(if index == 0 { "" } else { ", " });
            write_content(item, text);
        }
        text.push(']');
    };
    match value.view() {
        View::Null => text.push_str("null"),
        View::Unknown => {
            text.push('?');
            if let Some(facts) = value.refinement() {
                write_facts(facts, text);
            }
        }
        View::Bool(truth) => write!(text, "{truth}").unwrap(),
        View::Number(number) => write!(text, "{number}").unwrap(),
        View::String(string) => write!(text, "{:?}", string.as_str()).unwrap(),
        View::List(elements) | View::Set(elements) | View::Tuple(elements) => items(elements, text),
        View::Map(elements) | View::Object(elements) => {
            text.push('{');
            for (index, (key, item)) in elements.iter().enumerate() {
                text.push_str(if index == 0 { "" } else { ", " });
                write!(text, "{:?}: ", key.as_str()).unwrap();
                write_content(item, text);
            }
            text.push('}');
        }
    }
}

fn write_facts(facts: &Refinement, text: &mut String) {
    let mut known: Vec<String> = Vec::new();
    if facts.not_null {
        known.push("not null".to_owned());
    }
    if let Some(prefix) = &facts.prefix {
        known.push(format!("prefix {:?}", prefix.as_str()));
    }
    if let Some(bound) = &facts.lower {
        known.push(format!("{} {}", if bound.inclusive { ">=" } else { ">" }, bound.value));
    }
    if let Some(bound) = &facts.upper {
        known.push(format!("{} {}", if bound.inclusive { "<=" } else { "<" }, bound.value));
    }
    if let Some(length) = facts.min_length {
        known.push(format!("length >= {length}"));
    }
    if let Some(length) = facts.max_length {
        known.push(format!("length <= {length}"));
    }
    write!(text, "({})", known.join(", ")).unwrap();
}

/// Returns the result after encoding it as in a plan file, which drops refinements that cannot be
/// stored.
fn answer(expression: &str) -> Result<String, String> {
    let file = SourceFile::new("<test>", expression);
    let value = parse_expression(&file)
        .and_then(|expression| expression.evaluate(&Plan))
        .map_err(|problems| problems.to_string())?;
    let bytes = msgpack::encode(&value.unmark_deep(), &Type::Dynamic).map_err(|error| error.to_string())?;
    msgpack::decode(&bytes, &Type::Dynamic).map(|value| describe(&value)).map_err(|error| error.to_string())
}

fn columns(row: &str) -> (&str, &str) {
    row.split_once('\t').unwrap_or((row, ""))
}

/// Returns the difference between Wardian's result and the recorded result, if any.
fn difference(expression: &str, expected: &str) -> Option<String> {
    let found = answer(expression);
    let same = match &found {
        Ok(found) => found == expected,
        Err(_) => expected == "!",
    };
    (!same).then(|| {
        let found = found.unwrap_or_else(|problem| format!("! {problem}"));
        format!("{expression}\n  expected {expected}\n  found    {found}")
    })
}

#[test]
fn unknown_results_match_terraform() {
    if std::env::var_os("WARDIAN_RECORD").is_some() {
        record();
    }
    let text = std::fs::read_to_string(data("unknown.tsv")).unwrap();
    let mut rows: BTreeMap<&str, &str> = text.lines().filter(|line| is_row(line)).map(columns).collect();
    assert!(rows.len() > 1500, "{}", rows.len());
    let ours = std::fs::read_to_string(data("unknown-ours.tsv")).unwrap();
    for (expression, answer) in ours.lines().filter(|line| is_row(line)).map(columns) {
        let theirs = rows.insert(expression, answer);
        assert!(theirs.is_some_and(|theirs| theirs != answer), "{expression} does not differ");
    }
    let wrong: Vec<String> =
        rows.iter().filter_map(|(expression, answer)| difference(expression, answer)).collect();
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

fn record() {
    let directory = std::env::temp_dir().join("wardian-unknown");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::copy(data("unknown.tf"), directory.join("unknown.tf")).unwrap();
    let text = std::fs::read_to_string(data("unknown.tsv")).unwrap();
    let expressions: Vec<&str> =
        text.lines().filter(|line| is_row(line)).map(|line| line.split('\t').next().unwrap()).collect();
    let mut answers: Vec<Option<String>> = vec![None; expressions.len()];
    terraform(&directory, &["init"]);
    // Each round excludes the expressions that cannot be planned, until the remaining ones can.
    loop {
        let mut outputs = String::new();
        for (index, expression) in expressions.iter().enumerate() {
            if answers[index].is_none() {
                let attributes = format!("  sensitive = true\n  value = [{expression}]");
                write!(outputs, "output \"r{index}\" {{\n{attributes}\n}}\n").unwrap();
            }
        }
        std::fs::write(directory.join("outputs.tf"), outputs).unwrap();
        let messages = terraform(&directory, &["plan", "-json", "-out=plan"]);
        let refused: Vec<usize> = messages.lines().filter_map(refused_row).collect();
        if refused.is_empty() {
            break;
        }
        for row in refused {
            answers[row] = Some("!".to_owned());
        }
    }
    for (row, value) in planned(&std::fs::read(directory.join("plan")).unwrap()) {
        answers[row] = Some(value);
    }
    let mut answers = answers.into_iter();
    let mut recorded = String::new();
    for line in text.lines() {
        recorded.push_str(line.split('\t').next().unwrap());
        if is_row(line) {
            write!(recorded, "\t{}", answers.next().unwrap().unwrap()).unwrap();
        }
        recorded.push('\n');
    }
    std::fs::write(data("unknown.tsv"), recorded).unwrap();
}

fn terraform(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new("terraform").args(arguments).current_dir(directory).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the row whose output caused an error.
fn refused_row(message: &str) -> Option<usize> {
    let message: serde_json::Value = serde_json::from_str(message).ok()?;
    let diagnostic = message.get("diagnostic").filter(|_| message["@level"] == "error")?;
    assert_eq!(diagnostic["range"]["filename"], "outputs.tf", "{message}");
    let context = diagnostic["snippet"]["context"].as_str()?;
    context.strip_prefix("output \"r")?.strip_suffix('"')?.parse().ok()
}

/// Returns the outputs in a plan file.
fn planned(file: &[u8]) -> Vec<(usize, String)> {
    let mut archive = zip::ZipArchive::new(Cursor::new(file)).unwrap();
    let mut plan = Vec::new();
    archive.by_name("tfplan").unwrap().read_to_end(&mut plan).unwrap();
    let outputs = fields(&plan).into_iter().filter(|(number, _)| *number == 4);
    outputs
        .map(|(_, output)| {
            let name = std::str::from_utf8(field(output, 1)).unwrap();
            let row = name.strip_prefix('r').unwrap().parse().unwrap();
            let bytes = field(field(field(output, 2), 2), 1);
            let tuple = msgpack::decode(bytes, &Type::Dynamic).unwrap();
            (row, tuple.as_elements().map_or("any\t?".to_owned(), |elements| describe(&elements[0])))
        })
        .collect()
}

fn field(message: &[u8], wanted: u64) -> &[u8] {
    fields(message).into_iter().find(|(number, _)| *number == wanted).unwrap().1
}

/// Returns the length-delimited fields of a protobuf message.
fn fields(mut message: &[u8]) -> Vec<(u64, &[u8])> {
    let mut found = Vec::new();
    while !message.is_empty() {
        let tag = variable_length(&mut message);
        match tag & 7 {
            0 => {
                variable_length(&mut message);
            }
            2 => {
                let length = usize::try_from(variable_length(&mut message)).unwrap();
                let (bytes, rest) = message.split_at(length);
                found.push((tag >> 3, bytes));
                message = rest;
            }
            kind => unreachable!("a plan file has no fields of kind {kind}"),
        }
    }
    found
}

fn variable_length(message: &mut &[u8]) -> u64 {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = message.split_first().unwrap();
        *message = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            break;
        }
    }
    number
}
