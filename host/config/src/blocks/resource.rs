//! `resource`, `data` and `ephemeral` blocks.

use std::borrow::Cow;

use wardian_address::ResourceMode;
use wardian_diagnostic::{Diagnostic, Diagnostics, Span};
use wardian_lang::{Block, Body, Expression, Reference, ResourceMode as ModeInLanguage, Subject};
use wardian_value::Str;

use super::references::{depends_on, provider_reference};
use super::{Condition, Lifecycle, ProviderReference};
use crate::content::{Content, Shape, labels};
use crate::decode::references;
use crate::module::ResourceKey;
use crate::names::{block_kind, check_name};

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

impl Provisioner {
    /// How it reaches the object, where the block around it may say that too: what is said
    /// here comes first, argument by argument.
    pub fn connection_within<'a>(&'a self, around: Option<&'a Body>) -> Option<Cow<'a, Body>> {
        match (around, &self.connection) {
            (Some(around), Some(own)) => Some(Cow::Owned(around.clone().overridden_by(own.clone()))),
            (around, own) => around.or(own.as_ref()).map(Cow::Borrowed),
        }
    }
}

/// Types of provisioners that once were.
const REMOVED: [&str; 4] = ["chef", "habitat", "puppet", "salt-masterless"];

impl Resource {
    pub(crate) fn read(block: &Block, problems: &mut Diagnostics) -> Option<Self> {
        const MANAGED: Shape = Shape {
            noun: "a resource block",
            required: &[],
            optional: &["provider", "count", "for_each", "depends_on"],
            blocks: &["lifecycle", "provisioner", "connection", "locals", "_"],
        };
        // Whether there are other blocks is the provider's matter.
        const OTHER: Shape = Shape { blocks: &["lifecycle", "locals", "_"], ..MANAGED };
        let mode = match &*block.kind {
            "data" => ResourceMode::Data,
            "ephemeral" => ResourceMode::Ephemeral,
            _ => ResourceMode::Managed,
        };
        let [type_label, label] = labels(block, ["type", "name"], problems)?;
        let (invalid_type, invalid_name) = match mode {
            ResourceMode::Managed => ("Invalid resource type name", "Invalid resource name"),
            ResourceMode::Data => ("Invalid data source name", "Invalid data resource name"),
            ResourceMode::Ephemeral => ("Invalid ephemeral resource type", "Invalid ephemeral resource name"),
        };
        check_name(type_label, invalid_type, problems);
        check_name(label, invalid_name, problems);
        let shape = if mode == ResourceMode::Managed { MANAGED } else { OTHER };
        let (content, mut body) = shape.split(&block.body, problems);
        let lifecycle: Lifecycle = content
            .only_block("lifecycle", "Duplicate lifecycle block", problems)
            .map(|inner| Lifecycle::read(inner, mode, problems))
            .unwrap_or_default();
        take_escaped(&content, &["locals"], &block.kind, &mut body, problems);
        let provisioners: Vec<Provisioner> = content
            .blocks
            .iter()
            .filter(|inner| &*inner.kind == "provisioner")
            .filter_map(|inner| Provisioner::read(inner, problems))
            .collect();
        let connection = connection(&content, problems);
        if let Some(connection) = &connection
            && provisioners.iter().any(|provisioner| provisioner.on_destroy)
        {
            check_destroy_references(connection, problems);
        }
        let own = Subject::Resource {
            mode: match mode {
                ResourceMode::Managed => ModeInLanguage::Managed,
                ResourceMode::Data => ModeInLanguage::Data,
                ResourceMode::Ephemeral => ModeInLanguage::Ephemeral,
            },
            kind: type_label.text.clone(),
            name: label.text.clone(),
        };
        check_own_references(&lifecycle.preconditions, &own, "precondition", problems);
        check_own_references(&lifecycle.postconditions, &own, "postcondition", problems);
        let provider = match content.attribute("provider") {
            Some(attribute) => provider_reference(&attribute.expression, problems),
            None => None,
        };
        let (count, for_each) = repetition(&content, problems);
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
        if REMOVED.contains(&&*label.text) {
            let detail = "This kind of provisioner was removed from the language long ago. Have the machine set up by its \
                          image, or by its own start-up script.";
            problems.push(
                Diagnostic::error(format!("The \"{}\" provisioner has been removed", label.text), detail)
                    .at(label.span.clone()),
            );
            return None;
        }
        let (content, mut body) = SHAPE.split(&block.body, problems);
        take_escaped(&content, &["lifecycle"], "provisioner", &mut body, problems);
        let connection = connection(&content, problems);
        let on_destroy = keyword(&content, "when", ["create", "destroy"], problems);
        if on_destroy {
            for body in [Some(&body), connection.as_ref()].into_iter().flatten() {
                check_destroy_references(body, problems);
            }
        }
        Some(Self {
            type_name: label.text.clone(),
            on_destroy,
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
    if attribute.expression.is_native_quoted() {
        let detail = "The keyword is written as it is, without quotes.";
        problems.push(
            Diagnostic::warning("Quoted keywords are deprecated", detail)
                .at(attribute.expression.span().clone()),
        );
    }
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

pub(super) fn connection(content: &Content<'_>, problems: &mut Diagnostics) -> Option<Body> {
    let block = content.only_block("connection", "Duplicate connection block", problems)?;
    Some(block.body.clone())
}

/// When an object is destroyed, other objects may be gone already, and the
/// configuration may have changed: what is run then knows the object alone.
pub(super) fn check_destroy_references(body: &Body, problems: &mut Diagnostics) {
    for reference in references(body, None) {
        let allowed = matches!(
            reference.subject,
            Subject::SelfValue
                | Subject::CountIndex
                | Subject::EachKey
                | Subject::PathModule
                | Subject::PathRoot
                | Subject::PathCwd
                | Subject::Workspace
                | Subject::Applying
        );
        if !allowed {
            let detail = format!(
                "What is run when an object is destroyed can refer to that object only, as self, count.index or \
                 each.key, and not to {}. Keep what is needed in the object, and read it from self.",
                reference.subject
            );
            problems.push(
                Diagnostic::error("Invalid reference from destroy provisioner", detail).at(reference.span),
            );
        }
    }
}

/// A resource cannot wait for itself.
fn check_own_references(conditions: &[Condition], own: &Subject, kind: &str, problems: &mut Diagnostics) {
    let expressions =
        conditions.iter().flat_map(|condition| [&condition.condition, &condition.error_message]);
    for reference in expressions.flat_map(Expression::references) {
        if reference.subject == *own {
            let detail = format!(
                "The conditions of {own} cannot refer to it by its name; a postcondition can refer to it as self."
            );
            problems.push(
                Diagnostic::error(format!("Invalid reference in {kind}"), detail).at(reference.span.clone()),
            );
        }
    }
}

/// `count` and `for_each`, of which there can be one.
pub(super) fn repetition(
    content: &Content<'_>,
    problems: &mut Diagnostics,
) -> (Option<Expression>, Option<Expression>) {
    let count = content.expression("count");
    let for_each = content.expression("for_each");
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
    if let Some(escaped) = content.only_block("_", "Duplicate escaping block", problems) {
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
pub(crate) fn implied_provider(type_name: &str) -> ProviderReference {
    let local_name = type_name.split('_').next().unwrap_or(type_name);
    ProviderReference { local_name: Str::new(local_name), alias: None, span: None }
}
