//! Sensitive texts that a plugin was told, and that it must not repeat to people.
//!
//! This is the finder alone: nobody fills or asks it yet. What a plugin says (diagnostics,
//! log lines, progress) and what is recorded of it is to go through [`Secrets::mask`]. A text is found as it is, and as it stands in base64, in a
//! URL, and between quotes; of one with several lines each line is found too. What is
//! shorter than four bytes is not looked for: it would be found everywhere.
//!
//! This keeps secrets from being shown by a plugin that means well. One that does not
//! can write a secret in a way that nobody looks for; what it can reach is what keeps it
//! from being told.
//!
//! Nothing is searched for before something is said, and each text is prepared for that
//! a number of times that grows with the logarithm of how many there are: prepared texts
//! are kept in groups, and groups of a size are made one.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use wardian_value::{Value, View};

/// What stands in a secret's place.
const MASK: &str = "(sensitive value)";
/// What stands in the place of everything that is said, where more was to be looked for
/// than can be.
const ALL_MASKED: &str = "(not shown: the plugin was told more sensitive values than can be looked for)";
/// The shortest text that is looked for, in bytes.
const SHORTEST: usize = 4;
/// The shortest line of a text with several, and the shortest number.
const SHORTEST_PART: usize = 6;
/// The longest text that is looked for in one piece.
const LONGEST: usize = 4096;
/// All texts that are looked for, with their further forms, in bytes.
const MOST: usize = 16 << 20;

/// What one provider must not repeat. Clones are the same.
#[derive(Clone, Default)]
pub struct Secrets(Arc<Mutex<Known>>);

#[derive(Default)]
struct Known {
    texts: HashSet<Box<str>>,
    bytes: usize,
    longest: usize,
    is_too_much: bool,
    /// What was added since something was last said.
    new: Vec<Box<str>>,
    groups: Vec<Group>,
}

#[derive(Clone)]
struct Group {
    texts: Arc<[Box<str>]>,
    finder: AhoCorasick,
}

impl Secrets {
    /// Adds what of a value is marked as sensitive.
    pub fn add(&self, value: &Value) {
        if value.has_sensitive() {
            self.lock().add_marked(value);
        }
    }

    /// Adds a text.
    pub fn add_text(&self, text: &str) {
        self.lock().add_text(text);
    }

    /// The text without what is secret.
    pub fn mask<'text>(&self, text: &'text str) -> Cow<'text, str> {
        let groups = {
            let mut known = self.lock();
            if known.is_too_much {
                return Cow::Borrowed(ALL_MASKED);
            }
            known.prepare();
            known.groups.clone()
        };
        groups.iter().fold(Cow::Borrowed(text), |text, group| {
            if group.finder.is_match(&*text) { Cow::Owned(group.mask(&text)) } else { text }
        })
    }

    /// Bytes that must be seen together for nothing secret to be missed.
    pub fn longest(&self) -> usize {
        self.lock().longest
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Says nothing of what it knows.
impl fmt::Debug for Secrets {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secrets")
    }
}

impl Known {
    fn add_marked(&mut self, value: &Value) {
        if value.marks().is_sensitive() {
            return self.add_all(value);
        }
        let mut parts: Vec<&Value> = vec![value];
        while let Some(part) = parts.pop() {
            if part.marks().is_sensitive() {
                self.add_all(part);
            } else if part.has_sensitive() {
                push_parts(part, &mut parts);
            }
        }
    }

    fn add_all(&mut self, value: &Value) {
        let mut parts = vec![value];
        while let Some(part) = parts.pop() {
            match part.view() {
                View::String(text) => self.add_text(text.as_str()),
                View::Number(number) => {
                    let text = number.to_string();
                    if text.len() >= SHORTEST_PART {
                        self.add_text(&text);
                    }
                }
                _ => push_parts(part, &mut parts),
            }
        }
    }

    fn add_text(&mut self, text: &str) {
        if text.len() < SHORTEST || self.is_too_much || self.texts.contains(text) {
            return;
        }
        if text.len() > MOST {
            self.is_too_much = true;
            return;
        }
        // Long texts are found piece by piece.
        let mut rest = text;
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(rest.floor_char_boundary(LONGEST));
            if piece.len() >= SHORTEST {
                self.add_forms(piece);
            }
            rest = after;
        }
        if text.contains('\n') {
            let lines = text.lines().map(str::trim).filter(|line| line.len() >= SHORTEST_PART);
            lines.filter(|line| line.len() <= LONGEST).for_each(|line| self.add_forms(line));
        }
    }

    fn add_forms(&mut self, text: &str) {
        self.add_form(text.into());
        // What is set in front of it changes these, but for one that begins there.
        self.add_form(STANDARD_NO_PAD.encode(text).into());
        self.add_form(URL_SAFE_NO_PAD.encode(text).into());
        self.add_form(in_url(text).into());
        self.add_form(in_quotes(text).into());
    }

    fn add_form(&mut self, form: Box<str>) {
        if self.is_too_much || self.texts.contains(&form) {
            return;
        }
        self.bytes += form.len();
        if self.bytes > MOST {
            self.is_too_much = true;
            *self = Self { is_too_much: true, ..Self::default() };
            return;
        }
        self.longest = self.longest.max(form.len());
        self.new.push(form.clone());
        self.texts.insert(form);
    }

    /// Makes what is new a group, together with the groups that are no larger.
    fn prepare(&mut self) {
        if self.new.is_empty() {
            return;
        }
        let mut texts = std::mem::take(&mut self.new);
        while let Some(last) = self.groups.pop_if(|last| last.texts.len() <= texts.len()) {
            texts.extend(last.texts.iter().cloned());
        }
        let finder = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(texts.iter().map(|text| &**text));
        match finder {
            Ok(finder) => self.groups.push(Group { texts: texts.into(), finder }),
            Err(_) => self.is_too_much = true,
        }
    }
}

fn push_parts<'value>(value: &'value Value, parts: &mut Vec<&'value Value>) {
    if let Some(elements) = value.as_elements() {
        parts.extend(elements);
    } else if let Some(elements) = value.as_mapping() {
        parts.extend(elements.values());
    }
}

impl Group {
    fn mask(&self, text: &str) -> String {
        let mut masked = String::with_capacity(text.len());
        let mut end = 0;
        for found in self.finder.find_iter(text) {
            masked.push_str(text.get(end..found.start()).unwrap_or_default());
            masked.push_str(MASK);
            end = found.end();
        }
        masked.push_str(text.get(end..).unwrap_or_default());
        masked
    }
}

/// With what has a meaning in a URL written in hexadecimal digits.
fn in_url(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            // Writing into a string cannot fail.
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    escaped
}

/// As JSON and most languages write it between quotes.
fn in_quotes(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '"' => escaped.push_str("\\\""),
            '\\' => escaped.push_str("\\\\"),
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            '\t' => escaped.push_str("\\t"),
            letter => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use wardian_value::Marks;

    use super::*;

    fn secrets(texts: &[&str]) -> Secrets {
        let secrets = Secrets::default();
        for text in texts {
            secrets.add_text(text);
        }
        secrets
    }

    #[test]
    fn a_secret_is_found_in_its_forms() {
        let secrets = secrets(&["s3cr\"t/ü"]);
        for said in [
            "s3cr\"t/ü",
            "s3cr\\\"t/ü",
            "s3cr%22t%2F%C3%BC",
            &STANDARD_NO_PAD.encode("s3cr\"t/ü"),
            &URL_SAFE_NO_PAD.encode("s3cr\"t/ü"),
        ] {
            assert_eq!(secrets.mask(&format!("it is {said}!")), "it is (sensitive value)!", "{said}");
        }
        assert!(matches!(secrets.mask("nothing of it"), Cow::Borrowed("nothing of it")));
    }

    #[test]
    fn of_two_secrets_the_longer_is_masked_whole() {
        assert_eq!(
            secrets(&["hunter", "hunter22"]).mask("hunter22 hunter"),
            "(sensitive value) (sensitive value)"
        );
        let secrets = secrets(&["hunter"]);
        assert_eq!(secrets.mask("hunter22"), "(sensitive value)22");
        secrets.add_text("hunter22");
        secrets.add_text("another one");
        secrets.add_text("and more");
        assert_eq!(secrets.mask("hunter22"), "(sensitive value)", "whichever came first");
    }

    #[test]
    fn only_what_is_marked_is_secret() {
        let secrets = Secrets::default();
        let list =
            Value::tuple([Value::from("inner secret"), Value::from(1_234_567_i64), Value::from(12_i64)]);
        secrets.add(&Value::object([
            ("name", Value::from("not secret")),
            ("list", list.with_marks(Marks::SENSITIVE)),
            ("text", Value::object([("x", Value::from("outer secret").with_marks(Marks::SENSITIVE))])),
        ]));
        assert_eq!(
            secrets.mask("not secret; inner secret; outer secret; 1234567; 12"),
            "not secret; (sensitive value); (sensitive value); (sensitive value); 12"
        );
    }

    #[test]
    fn lines_of_a_secret_are_secret_and_short_texts_are_not() {
        let secrets = secrets(&["-----BEGIN-----\nbase64line\n}\n", "abc", ""]);
        assert_eq!(secrets.mask("base64line"), "(sensitive value)");
        assert_eq!(secrets.mask("} abc"), "} abc");
    }

    #[test]
    fn a_long_secret_is_masked_from_its_beginning_to_its_end() {
        let long = "0123456789".repeat(10_000);
        let masked = secrets(&[&long]).mask(&long).into_owned();
        assert!(!masked.contains('5'), "{}", &masked[..100]);
    }

    #[test]
    fn where_too_much_is_secret_nothing_is_shown() {
        let secrets = Secrets::default();
        for number in 0..10_000 {
            secrets.add_text(&number.to_string().repeat(500));
        }
        assert_eq!(secrets.mask("hello"), ALL_MASKED);
        assert_eq!(format!("{secrets:?}"), "Secrets");
    }

    #[test]
    fn many_secrets_between_many_lines_cost_little() {
        let secrets = Secrets::default();
        let began = std::time::Instant::now();
        for number in 0..5_000 {
            secrets.add_text(&format!("secret number {number}"));
            assert_eq!(secrets.mask(&format!("it is secret number {number}.")), "it is (sensitive value).");
        }
        assert!(secrets.lock().groups.len() < 20);
        assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
    }
}
