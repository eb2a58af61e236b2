//! Reads `resource`, `data` and `ephemeral` blocks.

use std::borrow::Cow;

use wardian_address::ResourceMode;
use wardian_diagnostic::{Diagnostic, Diagnostics, Span};
use wardian_lang::{Block, Body, Expression, Reference, ReferenceMode, ReferenceSubject};
use wardian_value::Str;

use super::meta_arguments::{repetition, take_escaped};
use super::references::{depends_on, provider_reference};
use super::{Condition, Lifecycle, ProviderReference};
use crate::content::{Content, Shape, labels};
use crate::decode::references;
use crate::names::{ResourceKey, block_kind, check_name};

/// A `resource`, `data` or `ephemeral` block.
#[derive(Clone, Debug)]
pub struct Resource {
    pub mode: ResourceMode,
    /// The resource type, such as `aws_instance`.
    pub type_name: Str,
    pub name: Str,
    /// The provider configuration.
    pub provider: ProviderReference,
    /// The number of instances.
    pub count: Option<Expression>,
    /// The collection that determines one instance for each element.
    pub for_each: Option<Expression>,
    /// Dependencies in addition to the body's references.
    pub depends_on: Vec<Reference>,
    pub lifecycle: Lifecycle,
    /// The provisioners that run when an object is created or destroyed.
    pub provisioners: Vec<Provisioner>,
    /// The connection of the provisioners.
    pub connection: Option<Body>,
    /// The provider's arguments: the body without the arguments and blocks above.
    pub body: Body,
    /// The span of the header.
    pub span: Span,
    /// The span of the type in the header.
    pub type_span: Span,
}

impl Resource {
    /// Returns the header as it is displayed in diagnostics: `resource "aws_instance" "web"`.
    pub fn context(&self) -> String {
        format!("{} \"{}\" \"{}\"", block_kind(self.mode), self.type_name, self.name)
    }

    /// Returns the resource's key, which is unique in its module.
    pub fn key(&self) -> ResourceKey {
        (self.mode, self.type_name.clone(), self.name.clone())
    }
}

/// A `provisioner` block.
#[derive(Clone, Debug)]
pub struct Provisioner {
    /// The provisioner type, such as `local-exec`.
    pub type_name: Str,
    /// True if the provisioner runs when an object is destroyed, not when it is created.
    pub on_destroy: bool,
    /// True if a failure of the provisioner is ignored.
    pub continue_on_failure: bool,
    /// The provisioner's own connection.
    pub connection: Option<Body>,
    /// The provisioner's arguments.
    pub body: Body,
    /// The span of the header.
    pub span: Span,
}

impl Provisioner {
    /// Returns the connection to the object, merged with the connection of the surrounding block.
    /// The provisioner's own arguments have precedence.
    pub fn connection_within<'a>(&'a self, around: Option<&'a Body>) -> Option<Cow<'a, Body>> {
        match (around, &self.connection) {
            (Some(around), Some(own)) => Some(Cow::Owned(around.clone().overridden_by(own.clone()))),
            (around, own) => around.or(own.as_ref()).map(Cow::Borrowed),
        }
    }
}

/// Provisioner types that Terraform has removed.
const REMOVED: [&str; 4] = ["chef", "habitat", "puppet", "salt-masterless"];

impl Resource {
    pub(crate) fn read(block: &Block, problems: &mut Diagnostics) -> Option<Self> {
        const MANAGED: Shape = Shape {
            noun: "a resource block",
            required: &[],
            optional: &["provider", "count", "for_each", "depends_on"],
            blocks: &["lifecycle", "provisioner", "connection", "locals", "_"],
        };
        // The provider determines which other blocks are allowed.
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
        let own = ReferenceSubject::Resource {
            mode: match mode {
                ResourceMode::Managed => ReferenceMode::Managed,
                ResourceMode::Data => ReferenceMode::Data,
                ResourceMode::Ephemeral => ReferenceMode::Ephemeral,
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
            type_span: type_label.span.clone(),
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
            let detail = "This provisioner type has been removed from the language. Configure the machine \
                          in its image, or in its startup script.";
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

/// Returns true if the value of an argument is the second of two keywords, unquoted or quoted (the
/// legacy syntax). The first keyword is the default.
fn keyword(content: &Content<'_>, name: &str, words: [&str; 2], problems: &mut Diagnostics) -> bool {
    let Some(attribute) = content.attribute(name) else {
        return false;
    };
    let word = attribute.expression.as_keyword().or(attribute.expression.as_quoted());
    if attribute.expression.is_native_quoted() {
        let detail = "Keywords are written without quotes.";
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
                format!("The argument \"{name}\" must be one of the keywords {first} and {second}."),
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

/// Checks the references in destroy-time provisioners. When an object is destroyed, other objects
/// may no longer exist, and the configuration may have changed. Therefore, these provisioners may
/// refer only to the object itself.
pub(super) fn check_destroy_references(body: &Body, problems: &mut Diagnostics) {
    for reference in references(body, None) {
        let allowed = matches!(
            reference.subject,
            ReferenceSubject::SelfValue
                | ReferenceSubject::CountIndex
                | ReferenceSubject::EachKey
                | ReferenceSubject::PathModule
                | ReferenceSubject::PathRoot
                | ReferenceSubject::PathCwd
                | ReferenceSubject::Workspace
                | ReferenceSubject::Applying
        );
        if !allowed {
            let detail = format!(
                "A destroy-time provisioner can only refer to its own object, as self, count.index or \
                 each.key, and not to {}. Store the needed values in the object, and read them from \
                 self.",
                reference.subject
            );
            problems.push(
                Diagnostic::error("Invalid reference from destroy provisioner", detail).at(reference.span),
            );
        }
    }
}

/// Reports conditions in which a resource refers to itself by its address.
fn check_own_references(
    conditions: &[Condition],
    own: &ReferenceSubject,
    kind: &str,
    problems: &mut Diagnostics,
) {
    let expressions =
        conditions.iter().flat_map(|condition| [&condition.condition, &condition.error_message]);
    for expression in expressions {
        if expression.references().iter().any(|reference| reference.subject == *own) {
            let detail = format!(
                "The conditions of {own} cannot refer to it by its name; a postcondition can refer to it as self."
            );
            problems.push(
                Diagnostic::error(format!("Invalid reference in {kind}"), detail)
                    .at(expression.span().clone()),
            );
        }
    }
}

/// Returns the provider that is implied by the first word of a resource type's name.
pub(crate) fn implied_provider(type_name: &str) -> ProviderReference {
    let local_name = type_name.split('_').next().unwrap_or(type_name);
    ProviderReference { local_name: Str::new(local_name), alias: None, span: None }
}
