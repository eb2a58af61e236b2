//! Reads `moved`, `removed` and `import` blocks.

use wardian_address::ResourceMode;
use wardian_diagnostic::{Diagnostic, Diagnostics, Span};
use wardian_lang::{Block, Body, Expression};

use super::references::provider_reference;
use super::resource::{check_destroy_references, connection};
use super::target::Keywords;
use super::{ProviderReference, Provisioner, Target};
use crate::content::{Content, Shape, labels, missing_argument};

/// A `moved` block.
#[derive(Clone, Debug)]
pub struct Moved {
    pub from: Target,
    pub to: Target,
    /// The span of the new address.
    pub to_span: Span,
    /// The span of the header.
    pub span: Span,
}

/// A `removed` block.
#[derive(Clone, Debug)]
pub struct Removed {
    /// The address that is no longer declared.
    pub from: Target,
    /// True to destroy the objects, false to forget them.
    pub destroy: bool,
    /// The provisioners that run before an object is destroyed.
    pub provisioners: Vec<Provisioner>,
    /// The connection of the provisioners.
    pub connection: Option<Body>,
    /// The span of the header.
    pub span: Span,
}

/// An `import` block.
#[derive(Clone, Debug)]
pub struct Import {
    /// The address of the resource instance; keys may be expressions.
    pub to: Expression,
    /// The same resource without instance keys.
    pub target: Target,
    /// The object's ID.
    pub id: Option<Expression>,
    /// The object's identity, as attributes.
    pub identity: Option<Expression>,
    /// The collection that determines one import for each element.
    pub for_each: Option<Expression>,
    /// The provider configuration that reads the object.
    pub provider: Option<ProviderReference>,
    /// The complete body.
    pub body: Body,
    /// The span of the header.
    pub span: Span,
}

impl Moved {
    pub(crate) fn read(block: &Block, problems: &mut Diagnostics) -> Option<Self> {
        const SHAPE: Shape =
            Shape { noun: "a moved block", required: &["from", "to"], optional: &[], blocks: &[] };
        labels(block, [], problems)?;
        let content = SHAPE.read(&block.body, problems);
        let from = address(&content, "from", Keywords::Refused, problems);
        let to = address(&content, "to", Keywords::Refused, problems);
        let (from, to) = (from?, to?);
        let to_span = content.attribute("to")?.expression.span().clone();
        if from.resource.is_some() != to.resource.is_some() {
            let detail = "Both addresses must be resources, or both must be modules.";
            problems
                .push(Diagnostic::error("Invalid \"moved\" addresses", detail).at(block.header_span.clone()));
        }
        Some(Self { from, to, to_span, span: block.header_span.clone() })
    }
}

impl Removed {
    pub(crate) fn read(block: &Block, problems: &mut Diagnostics) -> Option<Self> {
        const SHAPE: Shape = Shape {
            noun: "a removed block",
            required: &["from"],
            optional: &[],
            blocks: &["lifecycle", "provisioner", "connection"],
        };
        const LIFECYCLE: Shape = Shape {
            noun: "the lifecycle block of a removed block",
            required: &[],
            optional: &["destroy"],
            blocks: &[],
        };
        labels(block, [], problems)?;
        let content = SHAPE.read(&block.body, problems);
        let mut destroy = true;
        for lifecycle in content.unlabeled("lifecycle", problems) {
            let flag = LIFECYCLE.read(&lifecycle.body, problems).flag("destroy", problems);
            destroy = flag.unwrap_or(destroy);
        }
        let from = address(&content, "from", Keywords::Taken, problems)?;
        check_removed(&content, &from, problems);
        let mut provisioners = Vec::new();
        for inner in content.blocks.iter().filter(|inner| &*inner.kind == "provisioner") {
            let Some(provisioner) = Provisioner::read(inner, problems) else { continue };
            let refused = if from.resource.is_none() {
                Some("Provisioners belong to a resource, but this block removes a module.")
            } else if provisioner.on_destroy {
                None
            } else {
                Some("Nothing is created here, so a provisioner must set: when = destroy")
            };
            if let Some(detail) = refused {
                problems.push(
                    Diagnostic::error("Invalid provisioner block", detail).at(inner.header_span.clone()),
                );
            }
            provisioners.push(provisioner);
        }
        let connection = connection(&content, problems);
        if let Some(connection) = &connection
            && !provisioners.is_empty()
        {
            check_destroy_references(connection, problems);
        }
        Some(Self { from, destroy, provisioners, connection, span: block.header_span.clone() })
    }
}

/// Checks that a `removed` block refers to a resource or module with all its instances.
fn check_removed(content: &Content<'_>, from: &Target, problems: &mut Diagnostics) {
    let (summary, detail) = if from.modules.iter().any(|(_, key)| key.is_some()) {
        (
            "Module instance keys not allowed",
            "A module is removed with all its instances: remove the key in brackets.",
        )
    } else if from.resource.as_ref().is_some_and(|resource| resource.key.is_some()) {
        (
            "Resource instance keys not allowed",
            "A resource is removed with all its instances: remove the key in brackets.",
        )
    } else if from.resource.as_ref().is_some_and(|resource| resource.mode == ResourceMode::Data) {
        (
            "Data source address not allowed",
            "Data sources have no objects to destroy: removing the block is enough.",
        )
    } else {
        return;
    };
    if let Some(attribute) = content.attribute("from") {
        problems.push(Diagnostic::error(summary, detail).at(attribute.expression.span().clone()));
    }
}

impl Import {
    pub(crate) fn read(block: &Block, problems: &mut Diagnostics) -> Option<Self> {
        const SHAPE: Shape = Shape {
            noun: "an import block",
            required: &["to"],
            optional: &["id", "identity", "for_each", "provider"],
            blocks: &[],
        };
        labels(block, [], problems)?;
        let content = SHAPE.read(&block.body, problems);
        let id = content.expression("id");
        let identity = content.expression("identity");
        match (content.attribute("id"), content.attribute("identity")) {
            (None, None) => problems.push(missing_argument("id", &block.body)),
            (Some(_), Some(identity)) => {
                let detail = "Only one of id and identity can identify the object.";
                problems
                    .push(Diagnostic::error("Invalid import block", detail).at(identity.name_span.clone()));
            }
            _ => {}
        }
        let for_each = content.expression("for_each");
        let provider = content
            .attribute("provider")
            .and_then(|attribute| provider_reference(&attribute.expression, problems));
        let to = problems.collect(content.attribute("to")?.expression.unquoted())?;
        let target = import_target(&to, problems)?;
        Some(Self {
            to,
            target,
            id,
            identity,
            for_each,
            provider,
            body: block.body.interpreted(&|name| SHAPE.expects(name), &mut Diagnostics::new()).into_owned(),
            span: block.header_span.clone(),
        })
    }
}

fn import_target(to: &Expression, problems: &mut Diagnostics) -> Option<Target> {
    let Some(traversal) = to.as_address().filter(|_| !to.is_native_quoted()) else {
        problems.push(no_address(to));
        return None;
    };
    let target = problems.collect(Target::parse(&traversal, Keywords::Refused))?;
    let (summary, detail) = match &target.resource {
        Some(resource) if resource.mode == ResourceMode::Managed => return Some(target),
        Some(_) => ("Invalid import address", "Only the objects of managed resources can be imported."),
        None => (
            "Invalid address",
            "Only resources can be imported, not modules: write the resource's type and \
                name.",
        ),
    };
    problems.push(Diagnostic::error(summary, detail).at(to.span().clone()));
    None
}

fn address(
    content: &Content<'_>,
    name: &str,
    keywords: Keywords,
    problems: &mut Diagnostics,
) -> Option<Target> {
    let expression = &content.attribute(name)?.expression;
    let Some(traversal) = expression.as_traversal().filter(|_| !expression.is_native_quoted()) else {
        problems.push(no_address(expression));
        return None;
    };
    problems.collect(Target::parse(&traversal, keywords))
}

fn no_address(expression: &Expression) -> Diagnostic {
    let detail = "The address of a resource or a module is required here, without quotes.";
    Diagnostic::error("Invalid expression", detail).at(expression.span().clone())
}
