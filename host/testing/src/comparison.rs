//! Explains a failed comparison: the values of both sides, and the parts in which large values differ.

use wardian_diagnostic::ValueNote;
use wardian_lang::{Expression, Scope};
use wardian_value::{Value, View, json};

/// Maximum number of differing parts that are listed.
const MAX_DIFFERENCES: usize = 20;

/// Maximum length of a value in a note, in characters.
const MAX_LENGTH: usize = 200;

/// Returns notes on the comparisons `a == b` that are false in an expression. Sensitive values are not
/// shown.
pub(crate) fn notes(condition: &Expression, scope: &dyn Scope) -> Vec<ValueNote> {
    let mut notes = Vec::new();
    for part in condition.conjuncts() {
        let Some((left, right)) = part.equality() else { continue };
        let is_false = part.evaluate(scope).is_ok_and(|value| value.unmark().as_bool() == Some(false));
        let (Ok(left_value), Ok(right_value)) = (left.evaluate(scope), right.evaluate(scope)) else {
            continue;
        };
        if !is_false {
            continue;
        }
        let is_large = |value: &Value| value.as_elements().is_some() || value.as_mapping().is_some();
        let mut differences = Differences::default();
        differences.compare("", &left_value, &right_value);
        if is_large(&left_value) && is_large(&right_value) {
            notes.extend(differences.notes());
        } else {
            // A reference is described already, and a literal is in the source text.
            for (side, expression, value) in [("left", &left, &left_value), ("right", &right, &right_value)] {
                if expression.as_traversal().is_none() && expression.span().text() != shown(value) {
                    notes.push(note(format!("the {side} side"), format!("is {}", shown(value))));
                }
            }
        }
    }
    notes
}

fn note(traversal: String, statement: String) -> ValueNote {
    ValueNote { traversal, statement }
}

#[derive(Default)]
struct Differences {
    found: Vec<(String, String, String)>,
    /// The number of differences that are not listed.
    further: usize,
}

impl Differences {
    fn add(&mut self, path: &str, left: String, right: String) {
        if self.found.len() < MAX_DIFFERENCES {
            self.found.push((path.to_owned(), left, right));
        } else {
            self.further += 1;
        }
    }

    /// Compares two values. Cost: O(size of both).
    fn compare(&mut self, path: &str, left: &Value, right: &Value) {
        if left.marks().is_sensitive() || right.marks().is_sensitive() {
            let is_same = left.unmark_deep() == right.unmark_deep();
            if !is_same {
                self.add(path, shown(left), shown(right));
            }
            return;
        }
        match (left.view(), right.view()) {
            (View::List(a) | View::Tuple(a), View::List(b) | View::Tuple(b)) => {
                for index in 0..a.len().max(b.len()) {
                    let path = format!("{path}[{index}]");
                    self.compare_parts(&path, a.get(index), b.get(index));
                }
            }
            (View::Map(a) | View::Object(a), View::Map(b) | View::Object(b)) => {
                let keys: std::collections::BTreeSet<_> = a.keys().chain(b.keys()).collect();
                for key in keys {
                    let path = format!("{path}.{key}");
                    self.compare_parts(&path, a.get(key), b.get(key));
                }
            }
            (View::Set(a), View::Set(b)) => {
                for element in a.iter().filter(|element| !b.contains(element)) {
                    self.add(path, shown(element), "missing".to_owned());
                }
                for element in b.iter().filter(|element| !a.contains(element)) {
                    self.add(path, "missing".to_owned(), shown(element));
                }
            }
            _ if left != right => self.add(path, shown_with_type(left, right), shown_with_type(right, left)),
            _ => {}
        }
    }

    fn compare_parts(&mut self, path: &str, left: Option<&Value>, right: Option<&Value>) {
        match (left, right) {
            (Some(left), Some(right)) => self.compare(path, left, right),
            (Some(left), None) => self.add(path, shown(left), "missing".to_owned()),
            (None, Some(right)) => self.add(path, "missing".to_owned(), shown(right)),
            (None, None) => {}
        }
    }

    fn notes(self) -> Vec<ValueNote> {
        let Self { found, further } = self;
        let mut notes: Vec<ValueNote> = found
            .into_iter()
            .map(|(path, left, right)| {
                let place = path.trim_start_matches('.');
                let place = if place.is_empty() { "an element" } else { place };
                note(place.to_owned(), format!("is {left} on the left side, {right} on the right side"))
            })
            .collect();
        if further > 0 {
            notes.push(note(format!("{further} more"), "parts differ".to_owned()));
        }
        if notes.is_empty() {
            let statement = "have the same parts, but different types".to_owned();
            notes.push(note("both sides".to_owned(), statement));
        }
        notes
    }
}

/// Returns a value, with its type if the other value looks the same.
fn shown_with_type(value: &Value, other: &Value) -> String {
    let text = shown(value);
    if text == shown(other) { format!("{text} ({})", value.ty().friendly_name()) } else { text }
}

fn shown(value: &Value) -> String {
    if value.has_sensitive() {
        return "sensitive".to_owned();
    }
    if value.inside_marks().is_ephemeral() {
        return "ephemeral".to_owned();
    }
    if !value.is_wholly_known() {
        return "not known yet".to_owned();
    }
    let text = json::encode_simple(value).unwrap_or_else(|_| value.ty().friendly_name());
    match text.char_indices().nth(MAX_LENGTH) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use wardian_diagnostic::SourceFile;
    use wardian_lang::{EmptyScope, parse_expression};
    use wardian_value::{Marks, Type};

    use super::*;

    fn notes_of(text: &str) -> Vec<String> {
        let expression = parse_expression(&SourceFile::new("a.tftest.hcl", text)).unwrap();
        let notes = notes(&expression, &EmptyScope);
        notes.iter().map(|note| format!("{} {}", note.traversal, note.statement)).collect()
    }

    #[test]
    fn differing_parts_of_collections_are_listed() {
        let found = notes_of(r#"{ a = [1, 2], b = "x", c = 1 } == { a = [1, 3, 4], b = "x", d = true }"#);
        let expected = [
            "a[1] is 2 on the left side, 3 on the right side",
            "a[2] is missing on the left side, 4 on the right side",
            "c is 1 on the left side, missing on the right side",
            "d is missing on the left side, true on the right side",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn elements_of_one_set_are_listed() {
        let found = notes_of(r#"toset(["a", "b"]) == toset(["b", "c"])"#);
        let expected = [
            "an element is \"a\" on the left side, missing on the right side",
            "an element is missing on the left side, \"c\" on the right side",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn only_false_comparisons_are_explained() {
        assert_eq!(notes_of(r#"upper("a") == "A" && upper("b") == "C""#), ["the left side is \"B\""]);
        assert_eq!(notes_of("1 == 1 || 1 == 2"), [""; 0]);
        assert_eq!(notes_of("1 == 2"), [""; 0], "both sides are in the source text");
    }

    #[test]
    fn types_are_shown_if_values_look_the_same() {
        let found = notes_of("[tostring(1)] == [1]");
        assert_eq!(found, ["[0] is \"1\" on the left side, 1 on the right side"]);
        let found = notes_of("[tolist([])] == [[]]");
        assert_eq!(found, ["both sides have the same parts, but different types"]);
    }

    #[test]
    fn many_differences_are_counted() {
        let found = notes_of("range(30) == range(1, 31)");
        assert_eq!(found.len(), MAX_DIFFERENCES + 1);
        assert_eq!(found[MAX_DIFFERENCES], "10 more parts differ");
    }

    #[test]
    fn sensitive_and_unknown_values_are_not_shown() {
        assert_eq!(
            notes_of(r#"[sensitive("secret")] == ["other"]"#),
            ["[0] is sensitive on the left side, \"other\" on the right side"]
        );
        assert_eq!(shown(&Value::unknown(Type::String)), "not known yet");
        assert_eq!(shown(&Value::string("x").with_marks(Marks::EPHEMERAL)), "ephemeral");
        assert_eq!(shown(&Value::string("x".repeat(300))).len(), MAX_LENGTH + 3);
    }
}
