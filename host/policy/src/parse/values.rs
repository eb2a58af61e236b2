//! Parses literal values.

use wardian_diagnostic::{Span, did_you_mean};
use wardian_lang::{Attribute, Expression};

use super::Reader;

/// Maximum length of a value that is quoted in a message.
const MAX_DISPLAYED_LENGTH: usize = 80;

/// Quotes a string for a message.
pub(super) fn quote(text: &str) -> String {
    let mut short: String = text.chars().take(MAX_DISPLAYED_LENGTH).collect();
    if short.len() < text.len() {
        short.push_str("...");
    }
    format!("{short:?}")
}

/// Rejects control characters, since the value may be printed on a terminal.
pub(super) fn reject_control_characters(text: &str) -> Result<&str, &'static str> {
    if text.chars().any(char::is_control) { Err("it contains a control character") } else { Ok(text) }
}

impl Reader<'_> {
    /// Parses a string literal.
    pub(super) fn text(&mut self, attribute: &Attribute) -> Option<String> {
        self.text_of(&attribute.expression, &attribute.name)
    }

    fn text_of(&mut self, expression: &Expression, name: &str) -> Option<String> {
        let text = expression.as_quoted().map(str::to_owned);
        if text.is_none() {
            let detail = format!("\"{name}\" must be a quoted string; policies have no expressions.");
            self.problem("Text required", detail, expression.span());
        }
        text
    }

    /// Parses one of several keywords.
    pub(super) fn keyword<T: Copy>(&mut self, attribute: &Attribute, words: &[(&str, T)]) -> Option<T> {
        let text = self.text(attribute)?;
        self.one_of(&text, words, &attribute.name, attribute.expression.span())
    }

    pub(super) fn one_of<T: Copy>(
        &mut self,
        text: &str,
        words: &[(&str, T)],
        name: &str,
        at: &Span,
    ) -> Option<T> {
        if let Some((_, meaning)) = words.iter().find(|(word, _)| *word == text) {
            return Some(*meaning);
        }
        let known = || words.iter().map(|(word, _)| *word);
        let meant = did_you_mean(text, known());
        let list = known().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ");
        let detail = format!("\"{name}\" cannot be {}; use one of {list}.{meant}", quote(text));
        self.problem("Invalid value", detail, at);
        None
    }

    /// Parses `true` or `false`.
    pub(super) fn boolean(&mut self, attribute: &Attribute) -> Option<bool> {
        match attribute.expression.span().text() {
            "true" => Some(true),
            "false" => Some(false),
            _ => {
                let detail = format!("\"{}\" must be true or false.", attribute.name);
                self.problem("Invalid value", detail, attribute.expression.span());
                None
            }
        }
    }

    /// Returns the items of a list that is not empty.
    pub(super) fn items(&mut self, attribute: &Attribute) -> Option<Vec<Expression>> {
        let name = &attribute.name;
        let items = attribute.expression.as_tuple_items();
        let detail = match &items {
            Some(items) if !items.is_empty() => return Some(items.clone()),
            Some(_) => format!("\"{name}\" must not be empty. List the values, or remove the rule."),
            None => format!("\"{name}\" must be a list: {name} = [\"...\"]."),
        };
        self.problem("List required", detail, attribute.expression.span());
        None
    }

    /// Parses each string of a list with `read`. Returns [`None`] if one is invalid.
    pub(super) fn each<T, E: std::fmt::Display>(
        &mut self,
        attribute: &Attribute,
        summary: &str,
        read: impl Fn(&str) -> Result<T, E>,
    ) -> Option<Vec<T>> {
        let items = self.items(attribute)?;
        let mut values = Vec::with_capacity(items.len());
        for item in &items {
            let Some(text) = self.text_of(item, &attribute.name) else { continue };
            match read(&text) {
                Ok(value) => values.push(value),
                Err(problem) => self.invalid_value(summary, &text, &problem, item.span()),
            }
        }
        (values.len() == items.len()).then_some(values)
    }

    /// Parses a list of keywords.
    pub(super) fn keywords<T: Copy>(&mut self, attribute: &Attribute, words: &[(&str, T)]) -> Option<Vec<T>> {
        let items = self.items(attribute)?;
        let mut values = Vec::with_capacity(items.len());
        for item in &items {
            let Some(text) = self.text_of(item, &attribute.name) else { continue };
            values.extend(self.one_of(&text, words, &attribute.name, item.span()));
        }
        (values.len() == items.len()).then_some(values)
    }

    /// Parses a string with `read`.
    pub(super) fn one<T, E: std::fmt::Display>(
        &mut self,
        attribute: &Attribute,
        summary: &str,
        read: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        let text = self.text(attribute)?;
        match read(&text) {
            Ok(value) => Some(value),
            Err(problem) => {
                self.invalid_value(summary, &text, &problem, attribute.expression.span());
                None
            }
        }
    }

    pub(super) fn invalid_value(
        &mut self,
        summary: &str,
        text: &str,
        problem: &dyn std::fmt::Display,
        at: &Span,
    ) {
        let problem = problem.to_string();
        let detail = format!("{} cannot be used: {}.", quote(text), problem.trim_end_matches(['.', '?']));
        self.problem(summary, detail, at);
    }
}
