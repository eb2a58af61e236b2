//! `moved`, `removed` and `import` blocks.

use wardian_lang::{Block, Body, Diagnostic, Diagnostics, Expression, Span, Traversal};

use super::references::provider_reference;
use super::{ProviderReference, Provisioner};
use crate::content::{Content, Shape, labels};

/// A `moved` block.
#[derive(Clone, Debug)]
pub struct Moved {
    /// The old address, relative to the module.
    pub from: Traversal,
    /// The new address.
    pub to: Traversal,
    /// The header.
    pub span: Span,
}

/// A `removed` block.
#[derive(Clone, Debug)]
pub struct Removed {
    /// The address that the configuration no longer has.
    pub from: Traversal,
    /// Whether objects are destroyed, or only forgotten.
    pub destroy: bool,
    /// What to run before an object is destroyed.
    pub provisioners: Vec<Provisioner>,
    /// The header.
    pub span: Span,
}

/// An `import` block.
#[derive(Clone, Debug)]
pub struct Import {
    /// The address of the resource instance; keys may be expressions.
    pub to: Expression,
    /// What identifies the object, as one text.
    pub id: Option<Expression>,
    /// What identifies the object, as attributes.
    pub identity: Option<Expression>,
    /// Several at once.
    pub for_each: Option<Expression>,
    /// Which provider configuration to ask.
    pub provider: Option<ProviderReference>,
    /// All of it.
    pub body: Body,
    /// The header.
    pub span: Span,
}

impl Moved {
    pub(crate) fn read(block: &Block, problems: &mut Diagnostics) -> Option<Self> {
        const SHAPE: Shape =
            Shape { noun: "a moved block", required: &["from", "to"], optional: &[], blocks: &[] };
        labels(block, [], problems);
        let content = SHAPE.read(&block.body, problems);
        let from = address(&content, "from", problems);
        let to = address(&content, "to", problems);
        Some(Self { from: from?, to: to?, span: block.header_span.clone() })
    }
}

impl Removed {
    pub(crate) fn read(block: &Block, problems: &mut Diagnostics) -> Option<Self> {
        const SHAPE: Shape = Shape {
            noun: "a removed block",
            required: &["from"],
            optional: &[],
            blocks: &["lifecycle", "provisioner"],
        };
        const LIFECYCLE: Shape = Shape {
            noun: "the lifecycle block of a removed block",
            required: &["destroy"],
            optional: &[],
            blocks: &[],
        };
        labels(block, [], problems);
        let content = SHAPE.read(&block.body, problems);
        let destroy = content
            .only_block("lifecycle", problems)
            .and_then(|lifecycle| LIFECYCLE.read(&lifecycle.body, problems).flag("destroy", problems));
        let provisioners = content
            .blocks
            .iter()
            .filter(|inner| &*inner.kind == "provisioner")
            .filter_map(|inner| Provisioner::read(inner, problems))
            .collect();
        Some(Self {
            from: address(&content, "from", problems)?,
            destroy: destroy.unwrap_or(true),
            provisioners,
            span: block.header_span.clone(),
        })
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
        labels(block, [], problems);
        let content = SHAPE.read(&block.body, problems);
        let id = content.expression("id", problems);
        let identity = content.expression("identity", problems);
        if id.is_some() == identity.is_some() {
            let detail = "Exactly one of id and identity must say which object is meant.";
            problems.push(Diagnostic::error("Invalid import block", detail).at(block.header_span.clone()));
        }
        let for_each = content.expression("for_each", problems);
        let provider = content
            .attribute("provider")
            .and_then(|attribute| provider_reference(&attribute.expression, problems));
        Some(Self {
            to: problems.collect(content.attribute("to")?.expression.unquoted())?,
            id,
            identity,
            for_each,
            provider,
            body: block.body.interpreted(&|name| SHAPE.expects(name), &mut Diagnostics::new()).into_owned(),
            span: block.header_span.clone(),
        })
    }
}

fn address(content: &Content<'_>, name: &str, problems: &mut Diagnostics) -> Option<Traversal> {
    let expression = &content.attribute(name)?.expression;
    let traversal = expression.as_traversal().filter(|_| !expression.is_native_quoted());
    if traversal.is_none() {
        let detail = "The address of a resource or a module is needed here, without quotes.";
        problems.push(Diagnostic::error("Invalid expression", detail).at(expression.span().clone()));
    }
    traversal
}
