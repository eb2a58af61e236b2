//! The arguments and blocks that a body may contain, and diagnostics for all other content.

use std::borrow::Cow;
use std::collections::BTreeMap;

use wardian_diagnostic::{Diagnostic, Diagnostics, Span, did_you_mean};
use wardian_lang::{Attribute, Block, Body, Expected, Expression};
use wardian_value::convert::convert;
use wardian_value::{Type, Value};

/// The arguments and blocks that a block may contain.
pub(crate) struct Shape {
    /// The block's name in messages: `a variable block`.
    pub(crate) noun: &'static str,
    /// Required arguments.
    pub(crate) required: &'static [&'static str],
    /// Optional arguments.
    pub(crate) optional: &'static [&'static str],
    /// Allowed block types.
    pub(crate) blocks: &'static [&'static str],
}

/// The arguments and blocks of a body that match its shape. They are owned if the body is JSON,
/// because JSON must be interpreted first.
pub(crate) struct Content<'a> {
    attributes: BTreeMap<&'static str, Cow<'a, Attribute>>,
    /// The blocks in source order.
    pub(crate) blocks: Vec<Cow<'a, Block>>,
}

/// Returns the number of labels of a block type that the language defines. The number is the same
/// in every context, except for the `module` block of a test run, which has no labels.
pub(crate) fn label_count(kind: &str) -> usize {
    match kind {
        "resource" | "data" | "ephemeral" | "action" | "list" | "key_provider" | "method" => 2,
        "variable"
        | "output"
        | "module"
        | "provider"
        | "check"
        | "provisioner"
        | "backend"
        | "state_store"
        | "provider_meta"
        | "dynamic"
        | "run"
        | "mock_provider"
        | "mock_resource"
        | "mock_data"
        | "remote_state_data_source" => 1,
        _ => 0,
    }
}

impl Shape {
    /// Sorts the content of a body into arguments and blocks, and reports everything that does not
    /// match the shape.
    pub(crate) fn read<'a>(&self, body: &'a Body, problems: &mut Diagnostics) -> Content<'a> {
        self.read_labeled(body, label_count, problems)
    }

    /// Reads a body like [`Self::read`]; `label_count` returns the number of labels of a block type.
    pub(crate) fn read_labeled<'a>(
        &self,
        body: &'a Body,
        label_count: fn(&str) -> usize,
        problems: &mut Diagnostics,
    ) -> Content<'a> {
        let (content, rest) = self.split_labeled(body, label_count, problems);
        for layer in rest.layers() {
            for attribute in &layer.attributes {
                problems.push(self.unsupported_argument(attribute));
            }
            for block in &layer.blocks {
                problems.push(self.unsupported_block(block));
            }
        }
        refuse_unread(&rest, self.noun, || self.arguments().chain(self.blocks.iter().copied()), problems);
        content
    }

    /// Sorts the content of a body into arguments and blocks, and returns the remaining content for
    /// the caller to interpret.
    pub(crate) fn split<'a>(&self, body: &'a Body, problems: &mut Diagnostics) -> (Content<'a>, Body) {
        self.split_labeled(body, label_count, problems)
    }

    fn split_labeled<'a>(
        &self,
        body: &'a Body,
        label_count: fn(&str) -> usize,
        problems: &mut Diagnostics,
    ) -> (Content<'a>, Body) {
        let mut content = Content { attributes: BTreeMap::new(), blocks: Vec::new() };
        let expects = |name: &str| self.expects_labeled(name, label_count);
        let (attributes, blocks, mut rest) = match body.interpreted(&expects, problems) {
            Cow::Borrowed(body) => (
                body.attributes.iter().map(Cow::Borrowed).collect::<Vec<_>>(),
                body.blocks.iter().map(Cow::Borrowed).collect::<Vec<_>>(),
                Body::empty(body.span.clone()),
            ),
            Cow::Owned(mut body) => (
                std::mem::take(&mut body.attributes).into_iter().map(Cow::Owned).collect(),
                std::mem::take(&mut body.blocks).into_iter().map(Cow::Owned).collect(),
                body,
            ),
        };
        for attribute in attributes {
            if let Some(name) = self.arguments().find(|name| *name == &*attribute.name) {
                content.attributes.insert(name, attribute);
            } else {
                rest.attributes.push(attribute.into_owned());
            }
        }
        for block in blocks {
            if self.blocks.contains(&&*block.kind) {
                content.blocks.push(block);
            } else {
                rest.blocks.push(block.into_owned());
            }
        }
        for name in self.required {
            if !content.attributes.contains_key(name) {
                problems.push(missing_argument(name, body));
            }
        }
        (content, rest)
    }

    fn arguments(&self) -> impl Iterator<Item = &'static str> {
        self.required.iter().chain(self.optional).copied()
    }

    /// Returns the kind (argument or blocks) that this shape expects of a JSON property.
    pub(crate) fn expects(&self, name: &str) -> Option<Expected> {
        self.expects_labeled(name, label_count)
    }

    fn expects_labeled(&self, name: &str, label_count: fn(&str) -> usize) -> Option<Expected> {
        if self.arguments().any(|argument| argument == name) {
            Some(Expected::Argument)
        } else if self.blocks.contains(&name) {
            Some(Expected::Block { labels: label_count(name) })
        } else {
            None
        }
    }

    fn unsupported_argument(&self, attribute: &Attribute) -> Diagnostic {
        unsupported_argument(attribute, self.noun, self.arguments(), self.blocks.iter().copied())
    }

    fn unsupported_block(&self, block: &Block) -> Diagnostic {
        unsupported_block(block, self.noun, self.blocks.iter().copied(), self.arguments())
    }
}

/// Returns the diagnostic for an unknown argument.
pub(crate) fn unsupported_argument<'a>(
    attribute: &Attribute,
    noun: &str,
    arguments: impl Iterator<Item = &'a str>,
    blocks: impl Iterator<Item = &'a str>,
) -> Diagnostic {
    let name = &*attribute.name;
    let advice = if blocks.into_iter().any(|block| block == name) {
        format!(" To write a block of that name, omit the equals sign: {name} {{ ... }}.")
    } else {
        did_you_mean(name, arguments)
    };
    let detail = format!("{} has no argument named \"{name}\".{advice}", capitalized(noun));
    Diagnostic::error("Unsupported argument", detail).at(attribute.name_span.clone())
}

/// Returns the diagnostic for a block of an unknown type.
pub(crate) fn unsupported_block<'a>(
    block: &Block,
    noun: &str,
    blocks: impl Iterator<Item = &'a str>,
    arguments: impl Iterator<Item = &'a str>,
) -> Diagnostic {
    let name = &*block.kind;
    let advice = if arguments.into_iter().any(|argument| argument == name) {
        format!(" To set the argument of that name, write an equals sign: {name} = ...")
    } else {
        did_you_mean(name, blocks)
    };
    let detail = format!("{} has no blocks of type \"{name}\".{advice}", capitalized(noun));
    Diagnostic::error("Unsupported block type", detail).at(block.kind_span.clone())
}

/// Reports unknown JSON properties.
pub(crate) fn refuse_unread<'a, N: Iterator<Item = &'a str>>(
    body: &Body,
    noun: &str,
    known: impl Fn() -> N,
    problems: &mut Diagnostics,
) {
    for (name, span) in body.unread() {
        let advice = did_you_mean(&name, known());
        let detail = format!("{} has no argument and no blocks named \"{name}\".{advice}", capitalized(noun));
        problems.push(Diagnostic::error("Extraneous JSON object property", detail).at(span));
    }
}

/// Returns the diagnostic for a block in a body that may contain only arguments.
pub(crate) fn unexpected_block(block: &Block, noun: &str) -> Diagnostic {
    let name = &*block.kind;
    let detail = format!(
        "{} contains only arguments. To set the argument of that name, write an equals sign: {name} = ...",
        capitalized(noun)
    );
    Diagnostic::error(format!("Unexpected \"{name}\" block"), detail).at(block.kind_span.clone())
}

/// Returns the diagnostic for a missing required argument.
pub(crate) fn missing_argument(name: &str, body: &Body) -> Diagnostic {
    Diagnostic::error("Missing required argument", format!("The argument \"{name}\" must be set here."))
        .at(body.missing_item_span())
}

fn capitalized(noun: &str) -> String {
    let mut characters = noun.chars();
    match characters.next() {
        Some(first) => first.to_uppercase().chain(characters).collect(),
        None => String::new(),
    }
}

impl Content<'_> {
    pub(crate) fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.get(name).map(|attribute| &**attribute)
    }

    /// Returns the expression of an argument.
    pub(crate) fn expression(&self, name: &str) -> Option<Expression> {
        Some(self.attribute(name)?.expression.clone())
    }

    /// Returns a constant string, or a constant that can be converted to a string.
    pub(crate) fn text(&self, name: &str, problems: &mut Diagnostics) -> Option<(String, Span)> {
        let expression = &self.attribute(name)?.expression;
        let value = constant(expression, &Type::String, "a quoted string", problems)?;
        Some((value.as_str()?.to_owned(), expression.span().clone()))
    }

    /// Returns a constant string. Null is the same as an absent argument.
    pub(crate) fn nullable_text(&self, name: &str, problems: &mut Diagnostics) -> Option<(String, Span)> {
        let value = self.attribute(name)?.expression.evaluate_constant();
        // An invalid value has been reported and is unknown.
        if value.is_ok_and(|value| value.is_null() || !value.is_known()) {
            None
        } else {
            self.text(name, problems)
        }
    }

    /// Returns a constant bool, or a constant that can be converted to a bool.
    pub(crate) fn flag(&self, name: &str, problems: &mut Diagnostics) -> Option<bool> {
        let expression = &self.attribute(name)?.expression;
        constant(expression, &Type::Bool, "true or false", problems)?.as_bool()
    }

    /// Returns the blocks of a type that has no labels, and reports labels.
    pub(crate) fn unlabeled(&self, kind: &str, problems: &mut Diagnostics) -> Vec<&Block> {
        let of_kind = self.blocks.iter().map(|block| &**block).filter(|block| &*block.kind == kind);
        of_kind.filter(|block| labels(block, [], problems).is_some()).collect()
    }

    /// Returns the only block of a type that has no labels. Reports additional blocks with the
    /// summary `summary`.
    pub(crate) fn only_block(&self, kind: &str, summary: &str, problems: &mut Diagnostics) -> Option<&Block> {
        let mut found = self.unlabeled(kind, problems).into_iter();
        let first = found.next()?;
        for block in found {
            problems.push(one_too_many(summary, &first.header_span, &block.header_span));
        }
        Some(first)
    }
}

/// Returns the diagnostic for a second block of a type that allows only one block.
pub(crate) fn one_too_many(summary: &str, first: &Span, second: &Span) -> Diagnostic {
    let detail = format!("Only one is allowed here; the first is at {first}.");
    Diagnostic::error(summary, detail).at(second.clone())
}

fn constant(
    expression: &Expression,
    wanted: &Type,
    named: &str,
    problems: &mut Diagnostics,
) -> Option<Value> {
    let value = problems.collect(expression.evaluate_constant())?;
    match convert(&value, wanted) {
        Ok(value) if value.is_known() && !value.is_null() => Some(value),
        _ => {
            problems.push(unsuitable(expression, &format!("{named} is required")));
            None
        }
    }
}

/// Returns the diagnostic for an expression of the wrong type.
pub(crate) fn unsuitable(expression: &Expression, problem: &str) -> Diagnostic {
    Diagnostic::error("Unsuitable value type", format!("This value cannot be used here: {problem}."))
        .at(expression.beginning())
}

/// Returns the labels of a block if their number is correct; `names` describes each label.
pub(crate) fn labels<'a, const COUNT: usize>(
    block: &'a Block,
    names: [&str; COUNT],
    problems: &mut Diagnostics,
) -> Option<[&'a wardian_lang::Label; COUNT]> {
    let kind = &block.kind;
    if let Some(extra) = block.labels.get(COUNT) {
        let wanted = match COUNT {
            0 => "no labels".to_owned(),
            1 => format!("one label, its {}", names.join("")),
            _ => format!("{COUNT} labels: its {}", names.join(" and its ")),
        };
        problems.push(
            Diagnostic::error(
                format!("Extraneous label for {kind}"),
                format!("A {kind} block has {wanted}."),
            )
            .at(extra.span.clone()),
        );
        return None;
    }
    if let Some(missing) = names.get(block.labels.len()) {
        problems.push(
            Diagnostic::error(
                format!("Missing {missing} for {kind}"),
                format!("A {kind} block needs its {} as a label before the brace.", names.join(" and its ")),
            )
            .at(block.header_span.next_character()),
        );
        return None;
    }
    let labels: Vec<&wardian_lang::Label> = block.labels.iter().collect();
    labels.try_into().ok()
}
