//! Converts JSON values to expressions.

use std::sync::Arc;

use wardian_diagnostic::{Diagnostic, Diagnostics, SourceFile, Span};
use wardian_value::{Str, Type, Value};

use super::text::unescape;
use super::{Json, Kind, Member};
use crate::expression::Compiled;
use crate::node::{Item, Key, Kind as NodeKind, Node};
use crate::{Call, Expression, Traversal, compile};

/// Returns the value as an expression, which is compiled on first use.
pub(crate) fn compiled<'a>(value: &'a Json, file: &Arc<SourceFile>) -> &'a Arc<Compiled> {
    value.compiled.get_or_init(|| Compiled::new(file, Arc::new(node(value, file))))
}

fn node(value: &Json, file: &Arc<SourceFile>) -> Node {
    let kind = match &value.kind {
        Kind::Null => NodeKind::Constant(Value::null(Type::Dynamic)),
        Kind::Bool(flag) => NodeKind::Constant(Value::bool(*flag)),
        Kind::Number(number) => NodeKind::Constant(Value::number(number.clone())),
        Kind::Text(text) if text.contains("${") || text.contains("%{") => match template(value, file) {
            Ok(template) => NodeKind::Embedded(template),
            Err(problems) => NodeKind::Broken(problems),
        },
        Kind::Text(text) => NodeKind::Constant(Value::string(text.clone())),
        Kind::Array(items) => NodeKind::Tuple(items.iter().map(|item| Arc::new(node(item, file))).collect()),
        Kind::Object(members) => NodeKind::Object(object(members, file)),
        Kind::Invalid => NodeKind::Constant(Value::unknown(Type::Dynamic)),
    };
    Node::new(kind, value.start, value.end)
}

/// Compiles an object. The names of its members can be templates, and must be unique.
fn object(members: &[Member], file: &Arc<SourceFile>) -> Vec<Item> {
    let mut known = std::collections::BTreeMap::new();
    let item = |member| {
        let value = match first_of_name(&mut known, member) {
            None => node(&member.value, file),
            Some(first) => {
                let problem = defined_twice(first, member, file);
                Node::new(NodeKind::Broken(problem.into()), member.name.start, member.name.end)
            }
        };
        Item { key: Key::Expression(Arc::new(node(&member.name, file))), value: Arc::new(value) }
    };
    members.iter().map(item).collect()
}

/// Returns an earlier member with the same name.
fn first_of_name<'a>(
    known: &mut std::collections::BTreeMap<&'a str, &'a Member>,
    member: &'a Member,
) -> Option<&'a Member> {
    let first = known.get(&**member.name()).copied();
    if first.is_none() {
        known.insert(member.name(), member);
    }
    first
}

fn defined_twice(first: &Member, second: &Member, file: &Arc<SourceFile>) -> Diagnostic {
    let detail = format!(
        "The property \"{}\" is already set at {}. Remove one of the two.",
        second.name(),
        first.name.span(file)
    );
    Diagnostic::error("Duplicate object attribute", detail).at(second.name.span(file))
}

fn template(value: &Json, file: &Arc<SourceFile>) -> Result<Expression, Diagnostics> {
    let Some((file, from, to)) = source(value, file) else {
        return Ok(Expression::constant(Value::unknown(Type::Dynamic), &value.span(file)));
    };
    compile::template_in(&file, from, to, compile::Names::References)
}

/// Returns the text without quotes and escapes, for compilation.
fn source(value: &Json, file: &Arc<SourceFile>) -> Option<(Arc<SourceFile>, usize, usize)> {
    let literal = file.text().get(value.start..value.end)?;
    Some(unescape(literal, value.start).ok()?.source(file, value.start))
}

/// Returns the value with strings as literals.
pub(crate) fn constant(value: &Json, file: &Arc<SourceFile>) -> Result<Value, Diagnostics> {
    let mut problems = Diagnostics::new();
    let constant = literal(value, file, &mut problems);
    problems.into_result(constant)
}

fn literal(value: &Json, file: &Arc<SourceFile>, problems: &mut Diagnostics) -> Value {
    match &value.kind {
        Kind::Null => Value::null(Type::Dynamic),
        Kind::Bool(flag) => Value::bool(*flag),
        Kind::Number(number) => Value::number(number.clone()),
        Kind::Text(text) => Value::string(text.clone()),
        Kind::Array(items) => {
            Value::tuple(items.iter().map(|item| literal(item, file, problems)).collect::<Vec<_>>())
        }
        Kind::Object(members) => {
            let mut known = std::collections::BTreeMap::new();
            let mut attributes: Vec<(Str, Value)> = Vec::with_capacity(members.len());
            for member in members {
                match first_of_name(&mut known, member) {
                    None => attributes.push((member.name().clone(), literal(&member.value, file, problems))),
                    Some(first) => problems.push(defined_twice(first, member, file)),
                }
            }
            Value::object(attributes)
        }
        Kind::Invalid => Value::unknown(Type::Dynamic),
    }
}

/// Returns the text if it is a single identifier.
pub(crate) fn keyword(value: &Json) -> Option<&str> {
    let text = quoted(value)?;
    let mut characters = text.chars();
    let is_name = characters.next().is_some_and(|first| first.is_alphabetic() || first == '_')
        && characters.all(|character| character.is_alphanumeric() || matches!(character, '_' | '-'));
    is_name.then_some(text)
}

pub(crate) fn quoted(value: &Json) -> Option<&str> {
    match &value.kind {
        Kind::Text(text) => Some(text),
        _ => None,
    }
}

/// Returns the expression inside a string, or `None` if the value is not a string.
pub(crate) fn embedded(value: &Json, file: &Arc<SourceFile>) -> Option<Result<Expression, Diagnostics>> {
    quoted(value)?;
    let (file, from, to) = source(value, file)?;
    Some(compile::expression_in(&file, from, to))
}

pub(crate) fn traversal(value: &Json, file: &Arc<SourceFile>) -> Option<Traversal> {
    let inner = embedded(value, file)?.ok()?;
    if inner.is_native_quoted() { None } else { inner.as_traversal() }
}

pub(crate) fn call(value: &Json, file: &Arc<SourceFile>) -> Option<Call> {
    embedded(value, file)?.ok()?.as_call()
}

pub(crate) fn items(value: &Json, file: &Arc<SourceFile>) -> Option<Vec<Expression>> {
    match &value.kind {
        Kind::Array(items) => Some(items.iter().map(|item| item.expression(file)).collect()),
        _ => None,
    }
}

pub(crate) fn members(value: &Json, file: &Arc<SourceFile>) -> Option<Vec<(Expression, Expression)>> {
    match &value.kind {
        Kind::Object(members) => Some(
            members
                .iter()
                .map(|member| (member.name.expression(file), member.value.expression(file)))
                .collect(),
        ),
        _ => None,
    }
}

impl Json {
    pub(super) fn expression(self: &Arc<Self>, file: &Arc<SourceFile>) -> Expression {
        Expression::from_json(self, Span::new(file, self.start, self.end))
    }
}
