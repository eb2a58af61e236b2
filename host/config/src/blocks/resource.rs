//! `resource`, `data` and `ephemeral` blocks.

use wardian_lang::{Block, Body, Diagnostic, Diagnostics, Expression, Reference, Span};
use wardian_plugin::ResourceMode;
use wardian_value::Str;

use super::references::{depends_on, provider_reference};
use super::{Lifecycle, ProviderReference};
use crate::content::{Content, Shape, labels};
use crate::module::ResourceKey;
use crate::names::{block_kind, check_name};
use crate::walk::check_body;

/// A `resource`, `data` or `ephemeral` block.
#[derive(Clone, Debug)]
pub struct Resource {
    /// Which of the three.
    pub mode: ResourceMode,
    /// `aws_instance`.
    pub type_name: Str,
    /// Its name.
    pub name: Str,
    /// Which provider configuration it belongs to.
    pub provider: ProviderReference,
    /// How many instances.
    pub count: Option<Expression>,
    /// One instance for each element.
    pub for_each: Option<Expression>,
    /// What it waits for besides what it refers to.
    pub depends_on: Vec<Reference>,
    /// How its objects live.
    pub lifecycle: Lifecycle,
    /// What is run when an object is created or destroyed.
    pub provisioners: Vec<Provisioner>,
    /// How provisioners reach the object.
    pub connection: Option<Body>,
    /// What the provider is given: the body without all of the above.
    pub body: Body,
    /// The header.
    pub span: Span,
}

impl Resource {
    /// Its header as diagnostics name a block: `resource "aws_instance" "web"`.
    pub fn context(&self) -> String {
        format!("{} \"{}\" \"{}\"", block_kind(self.mode), self.type_name, self.name)
    }

    /// What names it in its module.
    pub fn key(&self) -> ResourceKey {
        (self.mode, self.type_name.clone(), self.name.clone())
    }
}

/// A `provisioner` block.
#[derive(Clone, Debug)]
pub struct Provisioner {
    /// `local-exec`.
    pub type_name: Str,
    /// Whether it runs when an object is destroyed rather than created.
    pub on_destroy: bool,
    /// Whether its failure is let pass.
    pub continue_on_failure: bool,
    /// How it reaches the object.
    pub connection: Option<Body>,
    /// What it is configured with.
    pub body: Body,
    /// The header.
    pub span: Span,
}

impl Resource {
    pub(crate) fn read(block: &Block, problems: &mut Diagnostics) -> Option<Self> {
        const SHAPE: Shape = Shape {
            noun: "a resource block",
            required: &[],
            optional: &["provider", "count", "for_each", "depends_on"],
            blocks: &["lifecycle", "provisioner", "connection", "locals", "_"],
        };
        let mode = match &*block.kind {
            "data" => ResourceMode::Data,
            "ephemeral" => ResourceMode::Ephemeral,
            _ => ResourceMode::Managed,
        };
        let [type_label, label] = labels(block, ["type", "name"], problems)?;
        check_name(type_label, "resource type", problems);
        check_name(label, "resource", problems);
        let (content, mut body) = SHAPE.split(&block.body, problems);
        let lifecycle = content
            .only_block("lifecycle", problems)
            .map(|inner| Lifecycle::read(inner, mode, problems))
            .unwrap_or_default();
        let managed = mode == ResourceMode::Managed;
        let reserved: &[&str] = if managed { &["locals"] } else { &["locals", "provisioner", "connection"] };
        take_escaped(&content, reserved, &block.kind, &mut body, problems);
        let provisioners = content
            .blocks
            .iter()
            .filter(|inner| managed && &*inner.kind == "provisioner")
            .filter_map(|inner| Provisioner::read(inner, problems))
            .collect();
        let connection = content
            .only_block("connection", problems)
            .filter(|_| managed)
            .map(|inner| checked_body(inner, problems));
        let provider = match content.attribute("provider") {
            Some(attribute) => provider_reference(&attribute.expression, problems),
            None => None,
        };
        let (count, for_each) = repetition(&content, problems);
        check_body(&body, problems);
        Some(Self {
            mode,
            provider: provider.unwrap_or_else(|| implied_provider(&type_label.text)),
            type_name: type_label.text.clone(),
            name: label.text.clone(),
            count,
            for_each,
            depends_on: depends_on(&content, problems),
            lifecycle,
            provisioners,
            connection,
            body,
            span: block.header_span.clone(),
        })
    }
}

impl Provisioner {
    pub(super) fn read(block: &Block, problems: &mut Diagnostics) -> Option<Self> {
        const SHAPE: Shape = Shape {
            noun: "a provisioner block",
            required: &[],
            optional: &["when", "on_failure"],
            blocks: &["connection", "lifecycle", "_"],
        };
        let [label] = labels(block, ["type"], problems)?;
        let (content, mut body) = SHAPE.split(&block.body, problems);
        take_escaped(&content, &["lifecycle"], "provisioner", &mut body, problems);
        let connection =
            content.only_block("connection", problems).map(|inner| checked_body(inner, problems));
        check_body(&body, problems);
        Some(Self {
            type_name: label.text.clone(),
            on_destroy: keyword(&content, "when", ["create", "destroy"], problems),
            continue_on_failure: keyword(&content, "on_failure", ["fail", "continue"], problems),
            connection,
            body,
            span: block.header_span.clone(),
        })
    }
}

/// Whether an argument is the second of two keywords, bare or quoted as of old;
/// the first is meant where there is none.
fn keyword(content: &Content<'_>, name: &str, words: [&str; 2], problems: &mut Diagnostics) -> bool {
    let Some(attribute) = content.attribute(name) else {
        return false;
    };
    let word = attribute.expression.as_keyword().or(attribute.expression.as_quoted());
    if !word.is_some_and(|word| words.contains(&word)) {
        let [first, second] = words;
        problems.push(
            Diagnostic::error(
                format!("Invalid \"{name}\" keyword"),
                format!("The argument \"{name}\" is one of the keywords {first} and {second}."),
            )
            .at(attribute.expression.span().clone()),
        );
    }
    word == Some(words[1])
}

fn checked_body(block: &Block, problems: &mut Diagnostics) -> Body {
    labels(block, [], problems);
    check_body(&block.body, problems);
    block.body.clone()
}

/// `count` and `for_each`, of which there can be one.
pub(super) fn repetition(
    content: &Content<'_>,
    problems: &mut Diagnostics,
) -> (Option<Expression>, Option<Expression>) {
    let count = content.expression("count", problems);
    let for_each = content.expression("for_each", problems);
    if let (Some(_), Some(both)) = (&count, content.attribute("for_each")) {
        let detail = "Only one of count and for_each can say how many instances there are.";
        problems.push(
            Diagnostic::error("Invalid combination of \"count\" and \"for_each\"", detail)
                .at(both.name_span.clone()),
        );
    }
    (count, for_each)
}

/// Refuses reserved blocks, and puts what is inside `_` blocks into the body:
/// the way to set arguments that are named like our own.
pub(super) fn take_escaped(
    content: &Content<'_>,
    reserved: &[&str],
    kind: &str,
    body: &mut Body,
    problems: &mut Diagnostics,
) {
    for block in content.blocks.iter().filter(|block| reserved.contains(&&*block.kind)) {
        let detail = format!("Blocks of type \"{}\" cannot be used in a {kind} block.", block.kind);
        problems.push(
            Diagnostic::error(format!("Reserved block type name in {kind} block"), detail)
                .at(block.kind_span.clone()),
        );
    }
    if let Some(escaped) = content.only_block("_", problems) {
        for attribute in &escaped.body.attributes {
            if let Some(first) = body.attribute(&attribute.name) {
                let detail =
                    format!("The argument \"{}\" was set at {} already.", attribute.name, first.name_span);
                problems
                    .push(Diagnostic::error("Attribute redefined", detail).at(attribute.name_span.clone()));
            } else {
                body.attributes.push(attribute.clone());
            }
        }
        body.blocks.extend(escaped.body.blocks.iter().cloned());
        body.take_uninterpreted(&escaped.body);
    }
}

/// The provider that a type's name begins with.
fn implied_provider(type_name: &str) -> ProviderReference {
    let local_name = type_name.split('_').next().unwrap_or(type_name);
    ProviderReference { local_name: Str::new(local_name), alias: None, span: None }
}
