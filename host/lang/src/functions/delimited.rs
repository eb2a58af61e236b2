//! `csvdecode`: parses comma-separated values.

use wardian_value::{Str, Type, Value};

use super::{Body, Failure, Function, Outcome, ResultType, check_parts, string, text};
use crate::budget::{Allowance, ENTRY};

pub(super) const FUNCTIONS: &[Function] =
    &[Function::new("csvdecode", &[string("str")], ResultType::Dynamic, Body::Expanding(csvdecode))];

fn csvdecode(arguments: &[Value], allowance: Allowance) -> Outcome {
    let mut records = Records { text: text(arguments, 0), line: 1 };
    let Some(header) = records.next_record()? else {
        return Err(Failure::argument(0, "the header line is missing"));
    };
    for (index, name) in header.fields.iter().enumerate() {
        if header.fields[..index].contains(name) {
            return Err(Failure::argument(0, format!("the column {name:?} occurs twice")));
        }
    }
    let element = Type::object(header.fields.iter().map(|name| (Str::new(name), Type::String)));
    let mut rows = Vec::new();
    while let Some(record) = records.next_record()? {
        if record.fields.len() != header.fields.len() {
            return Err(Failure::argument(
                0,
                format!(
                    "line {} has {} fields, the header has {}",
                    record.line,
                    record.fields.len(),
                    header.fields.len()
                ),
            ));
        }
        let fields = record.fields.into_iter().map(Value::from);
        rows.push(Value::object(header.fields.iter().cloned().zip(fields)));
        check_parts(rows.len().saturating_mul(header.fields.len() + 1), ENTRY, allowance)?;
    }
    Ok(Value::list(element, rows))
}

struct Records<'a> {
    text: &'a str,
    line: usize,
}

struct Record {
    line: usize,
    fields: Vec<String>,
}

impl Records<'_> {
    /// Returns the next record. Blank lines are skipped.
    fn next_record(&mut self) -> Result<Option<Record>, Failure> {
        loop {
            if self.text.is_empty() {
                return Ok(None);
            }
            let blank = self.text.strip_prefix("\r\n").or_else(|| self.text.strip_prefix('\n'));
            let Some(rest) = blank else { break };
            self.text = rest;
            self.line += 1;
        }
        let line = self.line;
        let mut fields = Vec::new();
        loop {
            fields.push(if self.text.starts_with('"') { self.quoted()? } else { self.plain()? });
            let mut rest = self.text.chars();
            match rest.next() {
                Some(',') => self.text = rest.as_str(),
                Some('\n') => {
                    self.text = rest.as_str();
                    self.line += 1;
                    break;
                }
                _ => break,
            }
        }
        Ok(Some(Record { line, fields }))
    }

    fn plain(&mut self) -> Result<String, Failure> {
        let end = self.text.find([',', '\n']).unwrap_or(self.text.len());
        let (field, rest) = self.text.split_at(end);
        if field.contains('"') {
            return Err(self.stray_quote());
        }
        self.text = rest;
        let field = if rest.starts_with('\n') || rest.is_empty() {
            field.strip_suffix('\r').unwrap_or(field)
        } else {
            field
        };
        Ok(field.to_owned())
    }

    fn quoted(&mut self) -> Result<String, Failure> {
        let start = self.line;
        let mut field = String::new();
        self.text = &self.text[1..];
        loop {
            let Some(quote) = self.text.find('"') else {
                return Err(Failure::argument(0, format!("a quote in line {start} is not closed")));
            };
            let part = &self.text[..quote];
            self.line += part.matches('\n').count();
            field.push_str(&part.replace("\r\n", "\n"));
            self.text = &self.text[quote + 1..];
            match self.text.strip_prefix('"') {
                Some(rest) => {
                    field.push('"');
                    self.text = rest;
                }
                None => break,
            }
        }
        if let Some(rest) = self.text.strip_prefix("\r\n") {
            self.text = &self.text[self.text.len() - rest.len() - 1..];
        }
        if self.text.is_empty() || self.text.starts_with([',', '\n']) {
            Ok(field)
        } else {
            Err(self.stray_quote())
        }
    }

    fn stray_quote(&self) -> Failure {
        Failure::argument(0, format!("line {} has a quote in the middle of a field", self.line))
    }
}
