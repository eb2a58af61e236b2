//! Reads the `list` blocks of query files.

use wardian_diagnostic::{Diagnostic, Diagnostics, Span};
use wardian_lang::{Block, Body, Expression};
use wardian_value::Str;

use super::ProviderReference;
use super::meta_arguments::repetition;
use super::references::provider_reference;
use super::resource::implied_provider;
use crate::content::{Shape, labels};
use crate::names::check_name;

/// A `list` block: a query for the objects of a resource type.
#[derive(Clone, Debug)]
pub struct ListBlock {
    /// The resource type, such as `aws_instance`.
    pub type_name: Str,
    pub name: Str,
    /// The provider configuration.
    pub provider: ProviderReference,
    /// The number of queries.
    pub count: Option<Expression>,
    /// The collection that determines one query for each element.
    pub for_each: Option<Expression>,
    /// Whether the results contain complete objects.
    pub include_resource: Option<Expression>,
    /// The maximum number of results.
    pub limit: Option<Expression>,
    /// The provider's arguments: the body of the `config` block.
    pub config: Body,
    /// The span of the header.
    pub span: Span,
    /// The span of the type in the header.
    pub type_span: Span,
}

impl ListBlock {
    pub(crate) fn read(block: &Block, problems: &mut Diagnostics) -> Option<Self> {
        const SHAPE: Shape = Shape {
            noun: "a list block",
            required: &[],
            optional: &["provider", "count", "for_each", "include_resource", "limit"],
            blocks: &["config"],
        };
        let [type_label, label] = labels(block, ["type", "name"], problems)?;
        check_name(type_label, "Invalid list type name", problems);
        check_name(label, "Invalid list name", problems);
        let content = SHAPE.read(&block.body, problems);
        let provider = match content.attribute("provider") {
            Some(attribute) => provider_reference(&attribute.expression, problems),
            None => {
                let implied = implied_provider(&type_label.text).local_name;
                let detail = format!(
                    "A list block must name the provider configuration that it uses. To use the default \
                     configuration of the provider \"{implied}\", set: provider = {implied}"
                );
                problems.push(
                    Diagnostic::error("Missing provider for list", detail).at(block.header_span.clone()),
                );
                None
            }
        };
        let (count, for_each) = repetition(&content, problems);
        let config = content.only_block("config", "Duplicate config block", problems);
        Some(Self {
            provider: provider.unwrap_or_else(|| implied_provider(&type_label.text)),
            type_name: type_label.text.clone(),
            name: label.text.clone(),
            count,
            for_each,
            include_resource: content.expression("include_resource"),
            limit: content.expression("limit"),
            config: config.map_or_else(|| Body::empty(block.body.span.clone()), |config| config.body.clone()),
            span: block.header_span.clone(),
            type_span: type_label.span.clone(),
        })
    }

    /// Returns the header as it is displayed in diagnostics: `list "aws_instance" "web"`.
    pub fn context(&self) -> String {
        format!("list \"{}\" \"{}\"", self.type_name, self.name)
    }

    /// Returns all expressions of the block except those of the provider's arguments.
    pub fn expressions(&self) -> impl Iterator<Item = &Expression> {
        [&self.count, &self.for_each, &self.include_resource, &self.limit].into_iter().flatten()
    }
}
