//! A comparison of this crate's parser with hcl-edit, an independent parser of the same syntax.
//!
//! If hcl-edit parses a body and no known difference applies, this crate's parser reports no error
//! and returns the same attributes, blocks, labels and literals. The known differences are:
//!
//! - hcl-edit accepts fewer inputs: it limits nesting, consecutive operators and the size of
//!   numbers, and rejects byte order marks and duplicate object keys. Only inputs that hcl-edit
//!   accepts are compared.
//! - hcl-edit reads heredocs, and line breaks inside `for` expressions, differently from Terraform.
//! - hcl-edit does not normalize strings to NFC.

use crate::hcl_edit::expr::{Expression, ObjectKey, ObjectValue};
use crate::hcl_edit::parser::parse_body as parse_with_hcl_edit;
use crate::hcl_edit::structure::{BlockLabel, Body as TheirBody, Structure};
use wardian_diagnostic::SourceFile;
use wardian_lang::{Body, parse_body};
use wardian_value::{Number, Type, Value};

/// Compares the two parsers. Returns whether hcl-edit parsed the text and the results were
/// compared.
///
/// # Panics
///
/// Panics if the parsers disagree.
pub fn assert_agrees_with_hcl_edit(text: &str) -> bool {
    if has_known_difference(text) {
        return false;
    }
    let Ok(theirs) = parse_with_hcl_edit(text) else { return false };
    let (ours, problems) = parse_body(&SourceFile::new("main.tf", text));
    assert!(!problems.has_errors(), "only hcl-edit accepts this file: {problems}\n{text}");
    compare(&theirs, &ours, text);
    true
}

fn has_known_difference(text: &str) -> bool {
    !is_normalized(text) || text.contains("<<") || text.contains("for")
}

/// Returns whether NFC certainly leaves the text unchanged: it has no characters from U+0300, and
/// lower characters do not combine.
fn is_normalized(text: &str) -> bool {
    text.chars().all(|char| char < '\u{300}')
}

fn compare(theirs: &TheirBody, ours: &Body, text: &str) {
    let mut attributes = ours.attributes.iter();
    let mut blocks = ours.blocks.iter();
    for structure in theirs {
        match structure {
            Structure::Attribute(expected) => {
                let Some(found) = attributes.next() else {
                    panic!("the attribute {} is missing\n{text}", expected.key.as_str())
                };
                assert_eq!(&*found.name, expected.key.as_str(), "{text}");
                if let Some(value) = literal(&expected.value) {
                    let found = found.expression.evaluate_constant();
                    assert_eq!(found.ok(), Some(value), "{}\n{text}", expected.key.as_str());
                }
            }
            Structure::Block(expected) => {
                let Some(found) = blocks.next() else {
                    panic!("the block {} is missing\n{text}", expected.ident.as_str())
                };
                assert_eq!(&*found.kind, expected.ident.as_str(), "{text}");
                let labels: Vec<&str> = expected.labels.iter().map(label).collect();
                // hcl-edit does not normalize labels with escapes.
                if labels.iter().all(|label| is_normalized(label)) {
                    assert_eq!(found.label_texts(), labels, "{text}");
                }
                compare(&expected.body, &found.body, text);
            }
        }
    }
    assert!(attributes.next().is_none() && blocks.next().is_none(), "only hcl-edit ends here\n{text}");
}

fn label(label: &BlockLabel) -> &str {
    match label {
        BlockLabel::Ident(ident) => ident.as_str(),
        BlockLabel::String(text) => text.value(),
    }
}

/// Returns the value of an expression that consists of literals; `None` for other expressions, for
/// numbers that are not 64-bit integers, and for strings that NFC might change.
fn literal(expression: &Expression) -> Option<Value> {
    Some(match expression {
        Expression::Null(_) => Value::null(Type::Dynamic),
        Expression::Bool(value) => Value::bool(*value.value()),
        Expression::Number(number) => {
            let integer = number.value().as_u64()?;
            Value::number(Number::parse(&integer.to_string()).ok()?)
        }
        Expression::String(text) if is_normalized(text.value()) => Value::string(text.value().as_str()),
        Expression::Array(elements) => {
            Value::tuple(elements.iter().map(literal).collect::<Option<Vec<_>>>()?)
        }
        Expression::Object(object) => {
            let member = |(key, value): (&ObjectKey, &ObjectValue)| {
                let key = match key {
                    ObjectKey::Ident(ident) => ident.as_str().to_owned(),
                    ObjectKey::Expression(Expression::String(text)) => text.value().clone(),
                    ObjectKey::Expression(_) => return None,
                };
                Some((key, literal(value.expr())?))
            };
            Value::object(object.iter().map(member).collect::<Option<Vec<_>>>()?)
        }
        Expression::Parenthesis(inner) => literal(inner.inner())?,
        _ => return None,
    })
}
