//! Values as they are written out in a policy.

use wardian_diagnostic::{Span, closest};
use wardian_lang::{Attribute, Expression};

use super::Reader;

/// The most of a text that a message repeats.
const MOST_SHOWN: usize = 80;

/// A text between quotes, for a message.
pub(super) fn quoted(text: &str) -> String {
    let mut short: String = text.chars().take(MOST_SHOWN).collect();
    if short.len() < text.len() {
        short.push_str("...");
    }
    format!("{short:?}")
}

/// What is shown again must not drive a terminal.
pub(super) fn without_control(text: &str) -> Result<&str, &'static str> {
    if text.chars().any(char::is_control) { Err("it has a control character in it") } else { Ok(text) }
}

impl Reader<'_> {
    /// A text in quotes, without anything to be computed.
    pub(super) fn text(&mut self, attribute: &Attribute) -> Option<String> {
        self.text_of(&attribute.expression, &attribute.name)
    }

    fn text_of(&mut self, expression: &Expression, name: &str) -> Option<String> {
        let text = expression.as_quoted().map(str::to_owned);
        if text.is_none() {
            let detail = format!("\"{name}\" takes text in quotes, written out: a policy computes nothing.");
            self.problem("Text required", detail, expression.span());
        }
        text
    }

    /// One of some words.
    pub(super) fn word<T: Copy>(&mut self, attribute: &Attribute, words: &[(&str, T)]) -> Option<T> {
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
        let meant = closest(text, known()).map_or(String::new(), |near| format!(" Did you mean \"{near}\"?"));
        let list = known().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ");
        let detail = format!("\"{name}\" cannot be {}; there are {list}.{meant}", quoted(text));
        self.problem("Invalid value", detail, at);
        None
    }

    /// `true` or `false`.
    pub(super) fn truth(&mut self, attribute: &Attribute) -> Option<bool> {
        match attribute.expression.span().text() {
            "true" => Some(true),
            "false" => Some(false),
            _ => {
                let detail = format!("\"{}\" is true or false.", attribute.name);
                self.problem("Invalid value", detail, attribute.expression.span());
                None
            }
        }
    }

    /// The items of a list that has some.
    pub(super) fn items(&mut self, attribute: &Attribute) -> Option<Vec<Expression>> {
        let name = &attribute.name;
        let items = attribute.expression.as_tuple_items();
        let detail = match &items {
            Some(items) if !items.is_empty() => return Some(items.clone()),
            Some(_) => format!("\"{name}\" lists nothing. List what the rule is about, or remove the rule."),
            None => format!("\"{name}\" takes a list: {name} = [\"...\"]."),
        };
        self.problem("List required", detail, attribute.expression.span());
        None
    }

    /// Each text of a list as what `read` makes of it. [`None`] where any is wrong.
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
                Err(problem) => self.unusable(summary, &text, &problem, item.span()),
            }
        }
        (values.len() == items.len()).then_some(values)
    }

    /// Each text of a list as one of some words.
    pub(super) fn words<T: Copy>(&mut self, attribute: &Attribute, words: &[(&str, T)]) -> Option<Vec<T>> {
        let items = self.items(attribute)?;
        let mut values = Vec::with_capacity(items.len());
        for item in &items {
            let Some(text) = self.text_of(item, &attribute.name) else { continue };
            values.extend(self.one_of(&text, words, &attribute.name, item.span()));
        }
        (values.len() == items.len()).then_some(values)
    }

    /// One text as what `read` makes of it.
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
                self.unusable(summary, &text, &problem, attribute.expression.span());
                None
            }
        }
    }

    pub(super) fn unusable(&mut self, summary: &str, text: &str, problem: &dyn std::fmt::Display, at: &Span) {
        let problem = problem.to_string();
        let detail = format!("{} cannot be used: {}.", quoted(text), problem.trim_end_matches(['.', '?']));
        self.problem(summary, detail, at);
    }
}
