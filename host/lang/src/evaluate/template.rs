//! Evaluates templates.

use wardian_diagnostic::Diagnostics;
use wardian_value::{Marks, Refinement, Str, Type, Value, convert, graphemes};

use super::{Evaluated, Evaluation};
use crate::node::{Node, Part};

/// The cost in bytes of one iteration of a directive. Even an empty iteration takes time.
const ITERATION: u64 = 16;

/// The rendered text so far.
#[derive(Default)]
struct Text {
    content: String,
    marks: Marks,
    /// True after an unknown interpolation; the text ends before it.
    unknown: bool,
}

impl Text {
    fn push(&mut self, text: &str) {
        if !self.unknown {
            self.content.push_str(text);
        }
    }

    /// Returns the text's length if all of the text is known.
    fn known_length(&self) -> Option<usize> {
        (!self.unknown).then_some(self.content.len())
    }

    /// Discards the text after `length`, the position of a directive whose condition or collection
    /// is unknown.
    fn forget_since(&mut self, length: Option<usize>) {
        if self.unknown
            && let Some(length) = length
        {
            self.content.truncate(length);
        }
    }
}

impl Evaluation<'_> {
    pub(super) fn template(&mut self, parts: &[Part], node: &Node) -> Evaluated {
        let mut text = Text { content: String::with_capacity(64), ..Text::default() };
        self.parts(parts, &mut text, node)?;
        let result = if text.unknown {
            let prefix = safe_prefix(&text.content);
            Value::unknown_with(
                Type::String,
                Refinement {
                    not_null: true,
                    prefix: (!prefix.is_empty()).then(|| Str::new(prefix)),
                    ..Refinement::default()
                },
            )
        } else {
            Value::string(text.content)
        };
        Ok(result.with_marks(text.marks))
    }

    fn parts(&mut self, parts: &[Part], text: &mut Text, node: &Node) -> Result<(), Diagnostics> {
        let mut problems = Diagnostics::new();
        for part in parts {
            let before = text.content.len();
            let done = self.part(part, text, node);
            problems.collect(done);
            // The parts inside a directive are counted one by one when they are added.
            if matches!(part, Part::Literal(_) | Part::Interpolation(_)) {
                self.spend(text.content.len().saturating_sub(before), 1, node)?;
            }
        }
        problems.into_result(())
    }

    fn part(&mut self, part: &Part, text: &mut Text, node: &Node) -> Result<(), Diagnostics> {
        match part {
            Part::Literal(literal) => text.push(literal),
            Part::Interpolation(inner) => self.interpolation(inner, text, node)?,
            Part::If { condition, then, otherwise } => {
                let (truth, marks) = self.condition(condition, node)?;
                let length = text.known_length();
                text.marks |= marks;
                match truth {
                    Some(true) => self.parts(then, text, node)?,
                    Some(false) => self.parts(otherwise, text, node)?,
                    None => text.unknown = true,
                }
                text.forget_since(length);
            }
            Part::For { collection, slot, has_key, body } => {
                let value = self.node(collection)?;
                text.marks |= value.marks();
                let length = text.known_length();
                let Some(pairs) = self.pairs(&value, collection, node)? else {
                    text.unknown = true;
                    return Ok(());
                };
                for pair in pairs {
                    self.spend(1, ITERATION, node)?;
                    self.set_pair(*slot, *has_key, pair);
                    let done = self.parts(body, text, node);
                    if done.is_err() {
                        self.clear_slots(*slot);
                        return done;
                    }
                }
                self.clear_slots(*slot);
                text.forget_since(length);
            }
        }
        Ok(())
    }

    fn interpolation(&mut self, inner: &Node, text: &mut Text, node: &Node) -> Result<(), Diagnostics> {
        const SUMMARY: &str = "Invalid template interpolation value";
        let value = self.node(inner)?;
        if let Some(part) = value.as_str() {
            self.record_secret(&value);
            text.push(part);
            text.marks |= value.marks();
            return Ok(());
        }
        let place = (inner.start, inner.end);
        if value.is_null() {
            let detail = "This value is null, which cannot be included in a string.";
            return Err(self.problem_at(SUMMARY, detail, place, node).into());
        }
        text.marks |= value.inside_marks();
        if !value.is_known() {
            // When the value is known, the evaluation checks whether it can be included in a
            // string.
            text.unknown = true;
            return Ok(());
        }
        if let Some(number) = value.as_number() {
            text.push(&number.to_string());
            return Ok(());
        }
        match convert::convert(&value.unmark_deep(), &Type::String) {
            Ok(converted) => text.push(converted.as_str().unwrap_or("")),
            Err(error) => {
                let detail = format!("This value cannot be included in a string: {error}.");
                return Err(self.problem_at(SUMMARY, &detail, place, node).into());
            }
        }
        Ok(())
    }
}

/// Returns the part of a prefix that no following text can change. The last character may be
/// excluded, because a following combining character could change it.
pub(crate) fn safe_prefix(text: &str) -> &str {
    match text.chars().next_back() {
        // Following text cannot combine with these characters.
        Some(' ' | '\t') => text,
        Some(last) if last.is_ascii_punctuation() && !matches!(last, '<' | '=' | '>' | '`') => text,
        Some(_) => graphemes(text).last().map_or("", |last| &text[..text.len() - last.len()]),
        None => "",
    }
}
