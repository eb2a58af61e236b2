//! Reads `module` blocks.

use std::collections::BTreeMap;

use wardian_address::{ConstraintDialect, Constraints};
use wardian_diagnostic::{Diagnostic, Diagnostics, Span};
use wardian_lang::{Attribute, Block, Expression, Reference};
use wardian_value::Str;

use super::ProviderReference;
use super::meta_arguments::{repetition, take_escaped};
use super::provider::constraints;
use super::references::{depends_on, provider_reference};
use crate::content::{Shape, labels, unsupported_block};
use crate::names::check_name;

/// A `module` block.
#[derive(Clone, Debug)]
pub struct ModuleCall {
    pub name: Str,
    /// The module's address.
    pub source: String,
    pub source_span: Span,
    /// Allowed versions.
    pub version: Option<(Constraints, Span)>,
    /// The number of instances.
    pub count: Option<Expression>,
    /// The collection that determines one instance for each element.
    pub for_each: Option<Expression>,
    /// The objects that all objects of the module depend on.
    pub depends_on: Vec<Reference>,
    /// The passed provider configurations: for each, the name in the module and the name in the
    /// caller. `None` if the argument is not set.
    pub providers: Option<Vec<(ProviderReference, ProviderReference)>>,
    /// The module's variable values by name.
    pub inputs: BTreeMap<Str, Attribute>,
    /// The span of the header.
    pub span: Span,
    /// The span for errors about missing inputs.
    pub missing_input_span: Span,
}

impl ModuleCall {
    pub(crate) fn read(block: &Block, problems: &mut Diagnostics) -> Option<Self> {
        const SHAPE: Shape = Shape {
            noun: "a module block",
            required: &["source"],
            optional: &["version", "count", "for_each", "depends_on", "providers"],
            blocks: &["_", "lifecycle", "locals", "provider"],
        };
        let [label] = labels(block, ["name"], problems)?;
        check_name(label, "Invalid module instance name", problems);
        let (content, mut rest) = SHAPE.split(&block.body, problems);
        take_escaped(&content, &["lifecycle", "locals", "provider"], "module", &mut rest, problems);
        let rest = rest.with_attributes_only(problems).into_owned();
        for inner in &rest.blocks {
            problems.push(unsupported_block(
                inner,
                "a module block",
                [].into_iter(),
                SHAPE.required.iter().chain(SHAPE.optional).copied(),
            ));
        }
        let mut inputs = BTreeMap::new();
        for attribute in rest.attributes {
            inputs.insert(attribute.name.clone(), attribute);
        }
        let version = content.nullable_text("version", problems).and_then(|(text, span)| {
            let constraints = constraints(&text, ConstraintDialect::Module, &span, problems)?;
            Some((constraints, span))
        });
        let (count, for_each) = repetition(&content, problems);
        let depends_on = depends_on(&content, problems);
        let providers = content.attribute("providers").map(|attribute| passed_providers(attribute, problems));
        let (source, source_span) = content.text("source", problems)?;
        Some(Self {
            name: label.text.clone(),
            source,
            source_span,
            version,
            count,
            for_each,
            depends_on,
            providers,
            inputs,
            span: block.header_span.clone(),
            missing_input_span: block.body.missing_item_span(),
        })
    }
}

/// Reads a `providers` argument.
pub(crate) fn passed_providers(
    attribute: &Attribute,
    problems: &mut Diagnostics,
) -> Vec<(ProviderReference, ProviderReference)> {
    let Some(items) = attribute.expression.as_object_items() else {
        let detail = "The \"providers\" argument must be a map from the provider configurations of the \
                      called module to those of the calling module, such as { aws = aws.west }.";
        problems.push(Diagnostic::error("Invalid expression", detail).at(attribute.expression.beginning()));
        return Vec::new();
    };
    let mut pairs: Vec<(ProviderReference, ProviderReference)> = Vec::new();
    for (inside, here) in items {
        let inside = provider_reference(&inside, problems);
        let here = provider_reference(&here, problems);
        let (Some(inside), Some(here)) = (inside, here) else {
            continue;
        };
        let twice = pairs
            .iter()
            .any(|(earlier, _)| earlier.local_name == inside.local_name && earlier.alias == inside.alias);
        if twice {
            let mut diagnostic = Diagnostic::error(
                "Duplicate provider address",
                "A provider configuration with this name is already passed.",
            );
            diagnostic.subject = here.span;
            problems.push(diagnostic);
        } else {
            pairs.push((inside, here));
        }
    }
    pairs
}
