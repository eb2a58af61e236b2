//! Renders expressions as JSON: constants with their values, all other expressions with their
//! references.

use std::collections::BTreeMap;

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use wardian_config::{arguments_and_blocks, decode_constant_blocks, references};
use wardian_diagnostic::Diagnostics;
use wardian_lang::{Body, Expression, Reference, ReferenceSubject};
use wardian_plugin::{Attribute, Block, BlockNesting};
use wardian_value::{PathStep, Str, Value};

use crate::render::json::values::PlainValue;

/// One expression.
pub(super) struct ExpressionDocument {
    constant: Option<Value>,
    references: Vec<String>,
}

impl ExpressionDocument {
    pub(super) fn new(expression: &Expression) -> Self {
        let constant = expression.evaluate_constant().ok().filter(Value::is_wholly_known);
        let mut references = Vec::new();
        for reference in expression.references() {
            push_parts(reference, &mut references);
        }
        Self { constant, references }
    }

    /// Returns whether the document is empty: the expression is not constant and has no references.
    pub(super) fn is_empty(&self) -> bool {
        self.constant.is_none() && self.references.is_empty()
    }
}

impl Serialize for ExpressionDocument {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(constant) = &self.constant {
            map.serialize_entry("constant_value", &PlainValue(constant))?;
        }
        if !self.references.is_empty() {
            map.serialize_entry("references", &self.references)?;
        }
        map.end()
    }
}

/// Adds the reference itself, then the reference without its last step, and so on until only the
/// object remains, because programs search for objects by comparing strings.
fn push_parts(reference: &Reference, found: &mut Vec<String>) {
    let steps = &reference.remaining;
    // An output of a module instance refers to that instance, not to the whole call.
    let is_output = matches!(
        (&reference.subject, steps.as_slice()),
        (ReferenceSubject::Module(_), [PathStep::Key(_) | PathStep::Index(_), _, ..])
    );
    let mut part = reference.clone();
    for length in (usize::from(is_output)..=steps.len()).rev() {
        part.remaining.truncate(length);
        found.push(part.to_string());
    }
}

/// The expressions of a body, by name.
#[derive(Default, Serialize)]
#[serde(transparent)]
pub(super) struct Expressions(BTreeMap<String, Part>);

#[derive(Serialize)]
#[serde(untagged)]
enum Part {
    Argument(ExpressionDocument),
    Block(Expressions),
    Blocks(Vec<Expressions>),
    Labelled(BTreeMap<String, Expressions>),
}

impl Expressions {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn of_arguments<'a>(arguments: impl Iterator<Item = (&'a str, &'a Expression)>) -> Self {
        let arguments = arguments
            .map(|(name, expression)| (name.to_owned(), Part::Argument(ExpressionDocument::new(expression))));
        Self(arguments.collect())
    }

    /// Returns the arguments of a body that has no schema.
    pub(super) fn without_schema(body: &Body) -> Self {
        // Errors in the body were reported when the plan was created.
        let body = body.with_attributes_only(&mut Diagnostics::new());
        Self::of_arguments(body.attributes.iter().map(|argument| (&*argument.name, &argument.expression)))
    }

    /// Returns the expressions of a body with a schema, without expanding `dynamic` blocks.
    pub(super) fn of_body(body: &Body, schema: &Block) -> Self {
        let body = arguments_and_blocks(body, schema);
        let arguments =
            body.attributes.iter().filter(|argument| schema.attributes.contains_key(&*argument.name));
        let mut all = Self::of_arguments(arguments.map(|argument| (&*argument.name, &argument.expression)));
        for block in &body.blocks {
            let Some(nested) = schema.block_types.get(&*block.kind) else {
                if let Some(attribute) = schema.attributes.get(&*block.kind) {
                    all.add_written_as_block(&block.kind, &block.body);
                    all.add_constant_blocks(&block.kind, attribute, &body);
                }
                continue;
            };
            let inner = Self::of_body(&block.body, &nested.block);
            let name = block.kind.to_string();
            match nested.nesting {
                BlockNesting::Single | BlockNesting::Group => {
                    all.0.insert(name, Part::Block(inner));
                }
                BlockNesting::List | BlockNesting::Set => {
                    if let Part::Blocks(blocks) =
                        all.0.entry(name).or_insert_with(|| Part::Blocks(Vec::new()))
                    {
                        blocks.push(inner);
                    }
                }
                BlockNesting::Map => {
                    let Some(label) = block.labels.first() else { continue };
                    let empty = || Part::Labelled(BTreeMap::new());
                    if let Part::Labelled(blocks) = all.0.entry(name).or_insert_with(empty) {
                        blocks.insert(label.text.to_string(), inner);
                    }
                }
            }
        }
        all
    }

    /// Sets the constant value of an argument that is written as blocks without references.
    fn add_constant_blocks(&mut self, name: &Str, attribute: &Attribute, body: &Body) {
        if !self.0.contains_key(&**name)
            && let Some(constant) = decode_constant_blocks(name, attribute, body)
        {
            let argument = ExpressionDocument { constant: Some(constant), references: Vec::new() };
            self.0.insert(name.to_string(), Part::Argument(argument));
        }
    }

    /// Adds an argument that is written as blocks with its name. It contains the references in all
    /// of these blocks.
    fn add_written_as_block(&mut self, name: &str, body: &Body) {
        let mut found = Vec::new();
        for reference in references(body, None) {
            push_parts(&reference, &mut found);
        }
        if found.is_empty() {
            return;
        }
        let nothing = || Part::Argument(ExpressionDocument { constant: None, references: Vec::new() });
        if let Part::Argument(argument) = self.0.entry(name.to_owned()).or_insert_with(nothing) {
            // An earlier block may have no references.
            argument.constant = None;
            argument.references.append(&mut found);
        }
    }
}
