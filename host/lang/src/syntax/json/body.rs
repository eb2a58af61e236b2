//! JSON bodies, which are interpreted according to the attributes and blocks that their callers expect.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use wardian_diagnostic::{Diagnostic, Diagnostics, SourceFile, Span};
use wardian_value::{PathStep, Str};

use super::{Json, Kind, Member};
use crate::{Attribute, Block, Body, Label};

/// The kind of item (attribute or blocks) that the caller expects of a property of a JSON body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    Argument,
    /// Blocks of this type, inside one level of properties for each label.
    Block {
        /// The number of labels of each block.
        labels: usize,
    },
}

struct Reader<'a> {
    expected: &'a dyn Fn(&str) -> Option<Expected>,
    /// The message for an argument that occurs twice.
    twice: &'static str,
}

/// A JSON body, or the properties of one that no caller has requested yet.
#[derive(Clone, Debug)]
pub(crate) struct Pending {
    file: Arc<SourceFile>,
    value: Arc<Json>,
    taken: BTreeSet<Str>,
}

impl Body {
    pub(super) fn from_json(file: &Arc<SourceFile>, value: &Arc<Json>) -> Self {
        let mut body = Self::empty(value.span(file));
        body.end = Some(match value.kind {
            Kind::Object(_) => Span::new(file, value.end.saturating_sub(1), value.end),
            _ => value.start_span(file),
        });
        let pending = Pending { file: Arc::clone(file), value: Arc::clone(value), taken: BTreeSet::new() };
        body.json.push(pending);
        body
    }

    /// Returns the body with the properties in `expected` as attributes and blocks, and all other
    /// properties unchanged. A body in the native syntax is returned unchanged.
    pub fn interpreted(
        &self,
        expected: &dyn Fn(&str) -> Option<Expected>,
        problems: &mut Diagnostics,
    ) -> Cow<'_, Self> {
        self.read(&Reader { expected, twice: "Duplicate argument" }, problems)
    }

    fn read(&self, reader: &Reader<'_>, problems: &mut Diagnostics) -> Cow<'_, Self> {
        if self.is_plain() {
            return Cow::Borrowed(self);
        }
        let mut body = Self {
            attributes: self.attributes.clone(),
            blocks: self.blocks.clone(),
            span: self.span.clone(),
            json: Vec::new(),
            overrides: Vec::new(),
            end: self.end.clone(),
        };
        for pending in &self.json {
            pending.read(reader, &mut body, problems);
        }
        for layer in &self.overrides {
            let mut layer = layer.read(reader, problems).into_owned();
            let known = |name: &str| (reader.expected)(name).is_some();
            let attributes = std::mem::take(&mut layer.attributes);
            let (taken, left) = attributes.into_iter().partition(|attribute| known(&attribute.name));
            layer.attributes = left;
            let blocks = std::mem::take(&mut layer.blocks);
            let (blocks, left) = blocks.into_iter().partition(|block| known(&block.kind));
            layer.blocks = left;
            body.replace(taken, blocks);
            if !layer.attributes.is_empty() || !layer.blocks.is_empty() || !layer.is_plain() {
                body.overrides.push(layer);
            }
        }
        Cow::Owned(body)
    }

    /// Returns the body with every property as an attribute.
    pub fn with_attributes_only(&self, problems: &mut Diagnostics) -> Cow<'_, Self> {
        for pending in &self.json {
            if matches!(pending.value.kind, Kind::Array(_)) {
                let detail = "An object is required here, whose properties are the arguments.";
                problems.push(wrong_type(detail, pending.value.start_span(&pending.file)));
                let mut nothing = self.clone();
                nothing.json.clear();
                return Cow::Owned(nothing);
            }
        }
        let argument = |name: &str| (name != "//").then_some(Expected::Argument);
        self.read(&Reader { expected: &argument, twice: "Duplicate attribute definition" }, problems)
    }

    /// Interprets the body without a schema, to visit every expression: properties that contain
    /// `dynamic` blocks are treated as blocks, all others as attributes.
    pub fn guessed(&self) -> Cow<'_, Self> {
        let mut problems = Diagnostics::new();
        let blocks: BTreeSet<&str> = self
            .layers()
            .flat_map(|layer| &layer.json)
            .flat_map(|pending| pending.value.members())
            .filter(|member| member.value.holds_dynamic && member.value.may_be_blocks())
            .map(|member| &**member.name())
            .collect();
        self.interpreted(
            &|name| match name {
                "//" => None,
                "dynamic" => Some(Expected::Block { labels: 1 }),
                _ if blocks.contains(name) => Some(Expected::Block { labels: 0 }),
                _ => Some(Expected::Argument),
            },
            &mut problems,
        )
    }

    /// Returns the properties that no caller has requested, with their spans.
    pub fn unread(&self) -> Vec<(Str, Span)> {
        self.layers()
            .flat_map(|layer| &layer.json)
            .flat_map(|pending| {
                let members = pending
                    .value
                    .members()
                    .filter(|member| &**member.name() != "//" && !pending.taken.contains(&**member.name()));
                members.map(|member| (member.name().clone(), member.name.span(&pending.file)))
            })
            .collect()
    }

    /// Returns this body, followed by its overrides that could not be merged yet.
    pub fn layers(&self) -> impl Iterator<Item = &Self> {
        let mut waiting = vec![self];
        std::iter::from_fn(move || {
            let layer = waiting.pop()?;
            waiting.extend(layer.overrides.iter().rev());
            Some(layer)
        })
    }

    /// Merges an overriding body into this body: its arguments replace arguments of the same name,
    /// and its blocks replace all blocks of their type.
    #[must_use]
    pub fn overridden_by(mut self, over: Self) -> Self {
        if self.is_plain() && over.is_plain() {
            self.replace(over.attributes, over.blocks);
        } else {
            self.overrides.push(over);
        }
        self
    }

    /// Adds another body's uninterpreted properties.
    pub fn take_uninterpreted(&mut self, other: &Self) {
        self.json.extend(other.json.iter().cloned());
        self.overrides.extend(other.overrides.iter().cloned());
    }

    fn is_plain(&self) -> bool {
        self.json.is_empty() && self.overrides.is_empty()
    }

    fn replace(&mut self, attributes: Vec<Attribute>, blocks: Vec<Block>) {
        let places: BTreeMap<Str, usize> =
            (0..self.attributes.len()).map(|index| (self.attributes[index].name.clone(), index)).collect();
        for attribute in attributes {
            match places.get(&*attribute.name).and_then(|index| self.attributes.get_mut(*index)) {
                Some(place) => *place = attribute,
                None => self.attributes.push(attribute),
            }
        }
        let replaced: BTreeSet<Str> = blocks.iter().map(stands_for).cloned().collect();
        self.blocks.retain(|block| !replaced.contains(stands_for(block)));
        self.blocks.extend(blocks);
    }

    /// Returns the source span of a path in uninterpreted properties, or of its nearest ancestor in
    /// the source.
    pub fn json_span(&self, path: &[PathStep]) -> Option<Span> {
        let pending = self.layers().flat_map(|layer| &layer.json);
        pending.filter_map(|pending| pending.value.place(path, &pending.file)).last()
    }
}

/// Returns the type of a block, or of the blocks that it generates.
fn stands_for(block: &Block) -> &Str {
    match block.labels.first() {
        Some(label) if &*block.kind == "dynamic" => &label.text,
        _ => &block.kind,
    }
}

fn wrong_type(detail: &str, span: Span) -> Diagnostic {
    Diagnostic::error("Incorrect JSON value type", detail).at(span)
}

impl Json {
    /// Returns the members of an object, or of all objects in an array.
    fn members(&self) -> impl Iterator<Item = &Member> {
        let (own, items): (&[Member], &[Arc<Self>]) = match &self.kind {
            Kind::Object(members) => (members, &[]),
            Kind::Array(items) => (&[], items),
            _ => (&[], &[]),
        };
        let inside = items.iter().flat_map(|item| match &item.kind {
            Kind::Object(members) => members.as_slice(),
            _ => &[],
        });
        own.iter().chain(inside)
    }

    fn may_be_blocks(&self) -> bool {
        match &self.kind {
            Kind::Object(_) => true,
            Kind::Array(items) => items.iter().all(|item| matches!(item.kind, Kind::Object(_))),
            _ => false,
        }
    }

    /// Reports values that are neither objects nor arrays of objects. `purpose` is the end of the
    /// message and states the purpose of the objects.
    fn check_members(&self, file: &Arc<SourceFile>, purpose: &str, problems: &mut Diagnostics) {
        match &self.kind {
            Kind::Object(_) | Kind::Null => {}
            Kind::Array(items) => {
                for item in items.iter().filter(|item| !matches!(item.kind, Kind::Object(_))) {
                    let detail = format!("An object is required here, {purpose}.");
                    problems.push(wrong_type(&detail, item.start_span(file)));
                }
            }
            _ => {
                let detail = format!("An object or an array of objects is required here, {purpose}.");
                problems.push(wrong_type(&detail, self.start_span(file)));
            }
        }
    }

    fn place(&self, path: &[PathStep], file: &Arc<SourceFile>) -> Option<Span> {
        let Some((step, rest)) = path.split_first() else {
            return Some(self.start_span(file));
        };
        let inner = match (step, &self.kind) {
            (PathStep::Attribute(name) | PathStep::Key(name), Kind::Object(_) | Kind::Array(_)) => {
                let named = |wanted: &str, value: &Self| -> Option<Arc<Self>> {
                    let member = value.members().find(|member| &**member.name() == wanted)?;
                    Some(Arc::clone(&member.value))
                };
                if let Some(member) = self.members().find(|member| member.name() == name) {
                    let place = || member.value.place(rest, file);
                    return if rest.is_empty() { Some(member.value.span(file)) } else { place() };
                }
                let made = named("dynamic", self).and_then(|dynamic| named(name, &dynamic))?;
                let rest = if matches!(rest.first(), Some(PathStep::Index(_) | PathStep::Key(_))) {
                    &rest[1..]
                } else {
                    rest
                };
                return named("content", &made)
                    .and_then(|content| content.place(rest, file))
                    .or_else(|| Some(made.start_span(file)));
            }
            (PathStep::Index(index), Kind::Array(items)) => {
                usize::try_from(*index).ok().and_then(|index| items.get(index))?.place(rest, file)
            }
            // A single block does not need an array.
            (PathStep::Index(_), Kind::Object(_)) => self.place(rest, file),
            _ => None,
        };
        inner.or_else(|| Some(self.start_span(file)))
    }
}

impl Pending {
    /// Moves the expected properties into `body` as attributes and blocks.
    fn read(&self, reader: &Reader<'_>, body: &mut Body, problems: &mut Diagnostics) {
        let mut left = Self { taken: self.taken.clone(), ..self.clone() };
        let mut first: BTreeMap<&str, Span> = BTreeMap::new();
        let mut unread = false;
        self.value.check_members(&self.file, "whose properties are arguments and blocks", problems);
        for member in self.value.members().filter(|member| !self.taken.contains(&**member.name())) {
            let name = member.name();
            let name_span = member.name.span(&self.file);
            match (reader.expected)(name) {
                None => unread = true,
                Some(Expected::Argument) => {
                    left.taken.insert(name.clone());
                    let span = name_span.to(&member.value.span(&self.file));
                    if let Some(first) = first.get(&**name) {
                        let detail = format!("The argument \"{name}\" is already set at {first}.");
                        problems.push(Diagnostic::error(reader.twice, detail).at(name_span));
                        continue;
                    }
                    first.insert(name, span.clone());
                    let expression = member.value.expression(&self.file);
                    body.attributes.push(Attribute { name: name.clone(), name_span, expression, span });
                }
                Some(Expected::Block { labels }) => {
                    left.taken.insert(name.clone());
                    let mut unpack = Unpack {
                        file: &self.file,
                        kind: name,
                        kind_span: name_span,
                        blocks: &mut body.blocks,
                        problems,
                    };
                    unpack.blocks(&member.value, labels, &mut Vec::new());
                }
            }
        }
        if unread {
            body.json.push(left);
        }
    }
}

/// The blocks of one property.
struct Unpack<'a> {
    file: &'a Arc<SourceFile>,
    kind: &'a Str,
    kind_span: Span,
    blocks: &'a mut Vec<Block>,
    problems: &'a mut Diagnostics,
}

impl Unpack<'_> {
    /// Unwraps one level of properties for each missing label.
    fn blocks(&mut self, value: &Arc<Json>, missing: usize, labels: &mut Vec<Label>) {
        if let Some(missing) = missing.checked_sub(1) {
            let purpose = format!("whose properties are the labels of {} blocks", self.kind);
            let mut none = true;
            value.check_members(self.file, &purpose, self.problems);
            for member in value.members() {
                none = false;
                let span = member.name.span(self.file);
                labels.push(Label { text: member.name().clone(), span });
                self.blocks(&member.value, missing, labels);
                labels.pop();
            }
            if none {
                let detail = format!(
                    "A {} block needs another label: write a property whose name is the label and whose \
                     value is the block.",
                    self.kind
                );
                self.problems
                    .push(Diagnostic::error("Missing block label", detail).at(value.start_span(self.file)));
            }
            return;
        }
        match &value.kind {
            Kind::Null => {}
            Kind::Object(_) => self.block(value, value, labels),
            Kind::Array(items) => {
                for item in items {
                    self.block(item, value, labels);
                }
            }
            _ => {
                let detail =
                    format!("The content of a {} block must be an object or an array of objects.", self.kind);
                self.problems.push(wrong_type(&detail, value.start_span(self.file)));
            }
        }
    }

    fn block(&mut self, body: &Arc<Json>, header: &Json, labels: &[Label]) {
        self.blocks.push(Block {
            kind: self.kind.clone(),
            kind_span: self.kind_span.clone(),
            labels: labels.to_vec(),
            body: Body::from_json(self.file, body),
            header_span: header.start_span(self.file),
            span: body.span(self.file),
        });
    }
}
