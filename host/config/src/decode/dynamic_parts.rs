//! Splits a `dynamic` block into its arguments and its content.

use std::borrow::Cow;

use wardian_diagnostic::{Diagnostic, Diagnostics, Span};
use wardian_lang::{Attribute, Block as SyntaxBlock, Expected, Expression, Scope};
use wardian_value::{Str, Type};

use super::evaluate;
use crate::content::{missing_argument, refuse_unread, unsupported_argument, unsupported_block};

const ARGUMENTS: [&str; 3] = ["for_each", "iterator", "labels"];

/// Returns the kind of a JSON property inside a `dynamic` block.
pub(crate) fn expected(name: &str) -> Option<Expected> {
    match name {
        "content" => Some(Expected::Block { labels: 0 }),
        _ => ARGUMENTS.contains(&name).then_some(Expected::Argument),
    }
}

/// The content of a `dynamic` block and its own arguments.
pub(super) struct DynamicParts<'a> {
    pub(super) for_each: Attribute,
    pub(super) iterator: Str,
    pub(super) labels: Vec<Expression>,
    /// The span of the name of the argument `labels`, if it is set.
    pub(super) labels_span: Option<Span>,
    pub(super) content: Cow<'a, SyntaxBlock>,
}

impl<'a> DynamicParts<'a> {
    /// Splits a `dynamic` block.
    pub(super) fn from_block(block: &'a SyntaxBlock, problems: &mut Diagnostics) -> Option<Self> {
        let name = &block.labels.first()?.text;
        let body = block.body.interpreted(&expected, problems);
        refuse_unread(&body, "a dynamic block", || ARGUMENTS.into_iter().chain(["content"]), problems);
        let for_each = body.attribute("for_each").cloned();
        if for_each.is_none() {
            problems.push(missing_argument("for_each", &block.body));
        }
        for argument in body.attributes.iter().filter(|argument| !ARGUMENTS.contains(&&*argument.name)) {
            problems.push(unsupported_argument(
                argument,
                "a dynamic block",
                ARGUMENTS.into_iter(),
                ["content"].into_iter(),
            ));
        }
        for other in body.blocks.iter().filter(|inner| &*inner.kind != "content") {
            problems.push(unsupported_block(
                other,
                "a dynamic block",
                ["content"].into_iter(),
                ARGUMENTS.into_iter(),
            ));
        }
        let iterator = match body.attribute("iterator") {
            None => name.clone(),
            Some(argument) => match argument.expression.as_keyword() {
                Some(keyword) => Str::new(keyword),
                None => {
                    let detail = "The \"iterator\" argument must be a bare name, such as: iterator = item";
                    problems.push(
                        Diagnostic::error("Invalid expression", detail)
                            .at(argument.expression.span().clone()),
                    );
                    name.clone()
                }
            },
        };
        let labels = match body.attribute("labels") {
            None => Vec::new(),
            Some(argument) => argument.expression.as_tuple_items().unwrap_or_else(|| {
                let detail = "The \"labels\" argument of a dynamic block must be a list.";
                problems.push(
                    Diagnostic::error("Invalid expression", detail).at(argument.expression.span().clone()),
                );
                Vec::new()
            }),
        };
        let labels_span = body.attribute("labels").map(|argument| argument.name_span.clone());
        let mut contents: Vec<Cow<'a, SyntaxBlock>> = match body {
            Cow::Borrowed(body) => body.blocks.iter().map(Cow::Borrowed).collect(),
            Cow::Owned(body) => body.blocks.into_iter().map(Cow::Owned).collect(),
        };
        contents.retain(|inner| &*inner.kind == "content");
        let mut contents = contents.into_iter();
        let content = contents.next();
        if content.is_none() {
            let detail = "A dynamic block needs a content block that defines each generated block.";
            problems.push(
                Diagnostic::error("Missing dynamic content block", detail).at(block.body.missing_item_span()),
            );
        }
        if let Some(second) = contents.next() {
            let detail = "A dynamic block has only one content block.";
            problems.push(
                Diagnostic::error("Extraneous dynamic content block", detail).at(second.header_span.clone()),
            );
        }
        Some(Self { for_each: for_each?, iterator, labels, labels_span, content: content? })
    }
}

/// Returns a label of the blocks that a `dynamic` block generates, or `None` if it is unknown or
/// invalid.
pub(super) fn dynamic_label(
    expression: &Expression,
    scope: &dyn Scope,
    problems: &mut Diagnostics,
) -> Option<Str> {
    let argument = Attribute {
        name: "labels".into(),
        name_span: expression.span().clone(),
        expression: expression.clone(),
        span: expression.span().clone(),
    };
    let before = problems.len();
    let value = evaluate(&argument, &Type::String, scope, problems);
    let text = value.as_str().filter(|_| value.marks().is_empty()).map(Str::new);
    if text.is_none() && problems.len() == before {
        let detail = "A label of a dynamic block must be a known string that is not sensitive.";
        problems.push(Diagnostic::error("Invalid dynamic block label", detail).at(expression.span().clone()));
    }
    text
}
