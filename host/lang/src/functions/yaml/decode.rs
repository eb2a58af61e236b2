//! `yamldecode`: one YAML 1.1 document as a value.
//!
//! Mappings become objects, and sequences become tuples. Open sequences and mappings are on an
//! explicit stack, so nesting does not cause recursion.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span, Tag};
use wardian_value::{MAX_DEPTH, MAX_VALUES, Str, Type, Value, convert};

use super::super::{Failure, Outcome, text};
use super::scalar;

pub(super) fn yamldecode(arguments: &[Value]) -> Outcome {
    let mut source = Cow::Borrowed(text(arguments, 0));
    // The number of bytes is limited, because each repair parses the text from the start again.
    let mut bytes_left = 64 * 1024 * 1024_usize;
    loop {
        match read(&source)? {
            Read::Document(value) => return Ok(value),
            Read::Error(error) => {
                let better = bytes_left.checked_sub(source.len()).and_then(|left| {
                    bytes_left = left;
                    repaired(&source, &error)
                });
                match better {
                    Some(better) => source = Cow::Owned(better),
                    None => return Err(invalid(*error.marker(), error.info())),
                }
            }
        }
    }
}

enum Read {
    Document(Value),
    Error(ScanError),
}

fn read(source: &str) -> Result<Read, Failure> {
    let last_line = source.rsplit(['\n', '\r']).next().unwrap_or("");
    let ends_in_line = (!last_line.trim().is_empty()).then(|| source.chars().count());
    let mut reader = Reader { ends_in_line, ..Reader::default() };
    for event in Parser::new_from_str(source) {
        match event {
            Ok((event, span)) => reader.event(event, span)?,
            Err(error) => return Ok(Read::Error(error)),
        }
    }
    reader.document.map(Read::Document).ok_or_else(|| {
        Failure::argument(0, "it is not valid YAML: there is no document, not even an empty one")
    })
}

/// Returns the text with one line indented further, or with spaces instead of tabs, if this change
/// resolves the error: YAML 1.1 allows any indentation of lines inside brackets and quotes, and a
/// tab after a colon, but the parser implements YAML 1.2, which does not allow them. Returns `None`
/// for other errors.
fn repaired(source: &str, error: &ScanError) -> Option<String> {
    let mut lines: Vec<Cow<'_, str>> = source.split_inclusive('\n').map(Cow::Borrowed).collect();
    let indentation = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let deepest = lines.iter().map(|line| indentation(line)).max()? + 1;
    let at = error.marker().line().checked_sub(1)?;
    let column = error.marker().col();
    let at = match error.info() {
        "':' must be followed by a valid YAML whitespace" => {
            let line = lines.get_mut(at)?;
            let (end, _) = line.char_indices().nth(column)?;
            let start = line[..end].trim_end_matches('\t').len();
            let repaired = format!("{}{}{}", &line[..start], " ".repeat(end - start), &line[end..]);
            *line = Cow::Owned(repaired);
            return (start < end).then(|| lines.concat());
        }
        "invalid indentation" | "invalid indentation in flow construct" => at,
        // The marker is at the opening quote.
        "invalid indentation in quoted scalar" => {
            let later = lines.iter().skip(at + 1);
            let is_short = |line: &Cow<'_, str>| !line.trim().is_empty() && indentation(line) < column;
            at + 1 + later.map(is_short).position(|short| short)?
        }
        _ => return None,
    };
    let line = lines.get_mut(at)?;
    *line = Cow::Owned(format!("{}{line}", " ".repeat(deepest)));
    Some(lines.concat())
}

fn invalid(at: Marker, reason: &str) -> Failure {
    Failure::Argument(
        0,
        format!("it is not valid YAML: line {}, column {}: {reason}", at.line(), at.col() + 1),
    )
}

/// A value, and the number of values in it with aliases expanded.
#[derive(Clone)]
struct Node {
    value: Value,
    weight: usize,
}

/// An open sequence or mapping.
enum Open {
    Sequence { anchor: usize, items: Vec<Value>, weight: usize },
    Mapping { anchor: usize, items: BTreeMap<Str, Value>, key: Option<Key>, weight: usize },
}

enum Key {
    Name(Str),
    /// `<<`: the attributes of the value are added to the mapping.
    Merge,
}

#[derive(Default)]
struct Reader {
    open: Vec<Open>,
    anchors: HashMap<usize, Node>,
    document: Option<Value>,
    /// The number of characters in the text, if it does not end with a line break.
    ends_in_line: Option<usize>,
}

impl Reader {
    fn event(&mut self, event: Event<'_>, span: Span) -> Result<(), Failure> {
        let at = span.start;
        match event {
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
            Event::DocumentStart(_) if self.document.is_some() => {
                Err(invalid(at, "there is more than one document"))
            }
            Event::DocumentStart(_) => Ok(()),
            Event::Alias(anchor) => match self.anchors.get(&anchor).cloned() {
                Some(node) => self.place(node, at),
                None => Err(invalid(at, "an alias is inside the value that it refers to")),
            },
            Event::Scalar(text, style, anchor, tag) => {
                if tag.is_none() && text == "<<" && self.awaits_key() {
                    return self.merge_key();
                }
                // A block scalar at the end of the text must not have more line breaks than the
                // text.
                let is_block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
                let is_last = is_block && self.ends_in_line.is_some_and(|end| span.end.index() >= end);
                let text = match text.strip_suffix('\n') {
                    Some(text) if is_last => text,
                    _ => &*text,
                };
                let value = scalar::resolve(text, style, tag.as_deref()).map_err(|why| invalid(at, &why))?;
                self.complete(Node { value, weight: 1 }, anchor, at)
            }
            Event::SequenceStart(anchor, tag) => {
                expect_tag(tag.as_deref(), "seq", at)?;
                self.begin(Open::Sequence { anchor, items: Vec::new(), weight: 1 }, at)
            }
            Event::MappingStart(anchor, tag) => {
                expect_tag(tag.as_deref(), "map", at)?;
                self.begin(Open::Mapping { anchor, items: BTreeMap::new(), key: None, weight: 1 }, at)
            }
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(Open::Sequence { anchor, items, weight }) => {
                    self.complete(Node { value: Value::tuple(items), weight }, anchor, at)
                }
                Some(Open::Mapping { anchor, items, weight, .. }) => {
                    self.complete(Node { value: Value::object(items), weight }, anchor, at)
                }
                None => Err(invalid(at, "a collection ends without a start")),
            },
        }
    }

    fn begin(&mut self, open: Open, at: Marker) -> Result<(), Failure> {
        if self.awaits_key() {
            return Err(invalid(at, "a key must be a string, number, bool or time"));
        }
        if self.open.len() >= MAX_DEPTH {
            return Err(invalid(at, &format!("it is nested more than {MAX_DEPTH} levels deep")));
        }
        self.open.push(open);
        Ok(())
    }

    fn awaits_key(&self) -> bool {
        matches!(self.open.last(), Some(Open::Mapping { key: None, .. }))
    }

    fn merge_key(&mut self) -> Result<(), Failure> {
        if let Some(Open::Mapping { key, .. }) = self.open.last_mut() {
            *key = Some(Key::Merge);
        }
        Ok(())
    }

    fn complete(&mut self, node: Node, anchor: usize, at: Marker) -> Result<(), Failure> {
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        self.place(node, at)
    }

    /// Adds a finished value to its parent.
    fn place(&mut self, node: Node, at: Marker) -> Result<(), Failure> {
        let Some(open) = self.open.last_mut() else {
            self.document = Some(node.value);
            return Ok(());
        };
        let (Open::Sequence { weight, .. } | Open::Mapping { weight, .. }) = open;
        *weight = weight.saturating_add(node.weight);
        // Nested aliases could require any amount of memory.
        if *weight > MAX_VALUES {
            return Err(invalid(at, &format!("with its aliases it has more than {MAX_VALUES} values")));
        }
        match open {
            Open::Sequence { items, .. } => items.push(node.value),
            Open::Mapping { items, key, .. } => match key.take() {
                None => *key = Some(Key::Name(key_name(&node.value, at)?)),
                Some(Key::Name(name)) => {
                    items.insert(name, node.value);
                }
                Some(Key::Merge) => {
                    let merged = node.value.as_mapping().ok_or_else(|| {
                        invalid(at, "only a mapping, or an alias of one, can be merged with <<")
                    })?;
                    items.extend(merged.iter().map(|(name, value)| (name.clone(), value.clone())));
                }
            },
        }
        Ok(())
    }
}

fn key_name(value: &Value, at: Marker) -> Result<Str, Failure> {
    convert::convert(value, &Type::String)
        .ok()
        .and_then(|text| text.as_str().map(Str::new))
        .ok_or_else(|| invalid(at, "a key must be a string, number, bool or time"))
}

fn expect_tag(tag: Option<&Tag>, expected: &str, at: Marker) -> Result<(), Failure> {
    match tag {
        Some(tag) if scalar::core_tag(tag) != Some(expected) => {
            Err(invalid(at, &format!("the tag {tag} is not allowed here")))
        }
        _ => Ok(()),
    }
}
