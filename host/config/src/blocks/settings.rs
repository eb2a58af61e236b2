//! `terraform` blocks.

use wardian_lang::{Attribute, Block, Body, Diagnostic, Diagnostics, Expression, Span};
use wardian_plugin::address::ProviderAddress;
use wardian_plugin::version::{Constraints, Dialect};
use wardian_value::Str;

use super::provider::constraints;
use crate::content::{Shape, did_you_mean, labels, unsupported_block};
use crate::names::check_identifier;

/// One entry of `required_providers`.
#[derive(Clone, Debug)]
pub struct RequiredProvider {
    /// Which provider the local name stands for.
    pub address: ProviderAddress,
    /// Which versions will do.
    pub constraints: Constraints,
    /// Names of configurations that callers hand over.
    pub configuration_aliases: Vec<(Str, Span)>,
    /// The entry.
    pub span: Span,
}

/// A `required_version` argument.
#[derive(Clone, Debug)]
pub struct RequiredVersion {
    /// Which versions of the program will do.
    pub constraints: Constraints,
    /// The argument's value.
    pub span: Span,
}

/// A `backend` block.
#[derive(Clone, Debug)]
pub struct Backend {
    /// `local`.
    pub type_name: Str,
    /// What it is configured with.
    pub body: Body,
    /// The header.
    pub span: Span,
}

/// What one `terraform` block says.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    pub(crate) required_version: Option<RequiredVersion>,
    /// With the span of the block that they stand in.
    pub(crate) required_providers: Vec<(Span, Vec<(Str, RequiredProvider)>)>,
    pub(crate) backends: Vec<Backend>,
}

impl Settings {
    pub(crate) fn read(block: &Block, problems: &mut Diagnostics) -> Self {
        const SHAPE: Shape = Shape {
            noun: "a terraform block",
            required: &[],
            optional: &["required_version", "experiments", "language"],
            blocks: &["backend", "cloud", "required_providers", "provider_meta"],
        };
        labels(block, [], problems);
        let content = SHAPE.read(&block.body, problems);
        let required_version =
            content.nullable_text("required_version", problems).and_then(|(text, span)| {
                let constraints = constraints(&text, Dialect::Tool, &span, problems)?;
                Some(RequiredVersion { constraints, span })
            });
        let mut settings = Self { required_version, ..Self::default() };
        if let Some(attribute) = content.attribute("experiments") {
            let none = attribute.expression.as_tuple_items().is_some_and(|items| items.is_empty());
            if !none {
                let detail = "This program has no experimental language features; leave the argument out.";
                problems.push(
                    Diagnostic::error("Unsupported experiments", detail)
                        .at(attribute.expression.span().clone()),
                );
            }
        }
        if let Some(attribute) = content.attribute("language")
            && attribute.expression.as_keyword() != Some("TF2021")
        {
            let detail = "TF2021 is the only edition of the language.";
            problems.push(
                Diagnostic::error("Invalid language edition", detail).at(attribute.expression.span().clone()),
            );
        }
        for inner in &content.blocks {
            match &*inner.kind {
                "backend" => settings.backends.extend(Backend::read(inner, problems)),
                "required_providers" => {
                    let entries = required_providers(inner, problems);
                    settings.required_providers.push((inner.header_span.clone(), entries));
                }
                other => problems.push(
                    Diagnostic::error(
                        "Unsupported block type",
                        format!("Blocks of type \"{other}\" in a terraform block are not supported yet."),
                    )
                    .at(inner.header_span.clone()),
                ),
            }
        }
        settings
    }
}

impl Backend {
    fn read(block: &Block, problems: &mut Diagnostics) -> Option<Self> {
        let [label] = labels(block, ["type"], problems)?;
        if &*label.text != "local" {
            let detail = format!(
                "The backend \"{}\" is not supported yet: state is only kept in local files (backend \
                 \"local\", which needs no block).",
                label.text
            );
            problems.push(Diagnostic::error("Unsupported backend type", detail).at(label.span.clone()));
        }
        crate::walk::check_body(&block.body, problems);
        Some(Self {
            type_name: label.text.clone(),
            // No schema of a backend is known here; none has blocks that matter.
            body: block.body.guessed().into_owned(),
            span: block.header_span.clone(),
        })
    }
}

fn required_providers(block: &Block, problems: &mut Diagnostics) -> Vec<(Str, RequiredProvider)> {
    labels(block, [], problems);
    let body = block.body.with_attributes_only(problems);
    for inner in &body.blocks {
        let noun = "a required_providers block";
        problems.push(unsupported_block(inner, noun, [].into_iter(), [].into_iter()));
    }
    let mut entries = Vec::new();
    for attribute in &body.attributes {
        if !check_identifier(&attribute.name, &attribute.name_span, "provider local", problems) {
            continue;
        }
        if let Some(entry) = required_provider(attribute, problems) {
            entries.push((attribute.name.clone(), entry));
        }
    }
    entries
}

fn required_provider(attribute: &Attribute, problems: &mut Diagnostics) -> Option<RequiredProvider> {
    let expression = &attribute.expression;
    let implied = |problems: &mut Diagnostics| {
        let address = ProviderAddress::implied_by_local_name(&attribute.name)
            .map_err(|error| invalid_entry(&format!("{error}."), &attribute.name_span));
        problems.collect(address)
    };
    // From before sources had to be named: only a version.
    if let Some(text) = expression.as_quoted() {
        return Some(RequiredProvider {
            address: implied(problems)?,
            constraints: constraints(text, Dialect::Provider, expression.span(), problems)?,
            configuration_aliases: Vec::new(),
            span: attribute.span.clone(),
        });
    }
    let Some(items) = expression.as_object_items() else {
        let detail = "A required provider is written in braces: { source = \"hashicorp/random\", version = \
                      \"~> 3.7\" }.";
        problems.push(invalid_entry(detail, expression.span()));
        return None;
    };
    let mut address = None;
    let mut has_source = false;
    let mut versions = Constraints::default();
    let mut configuration_aliases = Vec::new();
    for (key, value) in &items {
        match key.as_keyword().or(key.as_quoted()) {
            Some("source") => {
                has_source = true;
                address = constant_text(value, problems).and_then(|text| {
                    let parsed = ProviderAddress::parse(&text).map_err(|error| {
                        Diagnostic::error("Invalid provider source string", format!("{error}."))
                            .at(value.span().clone())
                    });
                    problems.collect(parsed)
                });
            }
            Some("version") => {
                if let Some(text) = constant_text(value, problems)
                    && let Some(found) = constraints(&text, Dialect::Provider, value.span(), problems)
                {
                    versions = found;
                }
            }
            Some("configuration_aliases") => {
                configuration_aliases = aliases(&attribute.name, value, problems);
            }
            Some(other) => {
                let known = ["source", "version", "configuration_aliases"];
                let advice = did_you_mean(other, known.into_iter());
                problems.push(invalid_entry(
                    &format!(
                        "A required provider has no \"{other}\", only source, version and \
                         configuration_aliases.{advice}"
                    ),
                    key.span(),
                ));
            }
            None => {
                problems.push(invalid_entry("The names in a required provider are constant.", key.span()));
            }
        }
    }
    let address = if has_source { address? } else { implied(problems)? };
    Some(RequiredProvider {
        address,
        constraints: versions,
        configuration_aliases,
        span: attribute.span.clone(),
    })
}

fn aliases(local_name: &str, value: &Expression, problems: &mut Diagnostics) -> Vec<(Str, Span)> {
    let mut found = Vec::new();
    for item in value.as_tuple_items().unwrap_or_else(|| vec![value.clone()]) {
        let traversal = item.as_traversal();
        let names = traversal.as_ref().and_then(|traversal| traversal.names());
        match names.as_deref() {
            Some([root, alias]) if &***root == local_name => {
                found.push(((*alias).clone(), item.span().clone()));
            }
            _ => problems.push(
                Diagnostic::error(
                    "Invalid configuration_aliases value",
                    format!(
                        "A list of names such as [{local_name}.a, {local_name}.b] is needed, each beginning with \
                         the provider's own local name."
                    ),
                )
                .at(item.span().clone()),
            ),
        }
    }
    found
}

fn constant_text(value: &Expression, problems: &mut Diagnostics) -> Option<String> {
    let evaluated = problems.collect(value.evaluate_constant())?;
    let text = evaluated.as_str().map(str::to_owned);
    if text.is_none() {
        problems.push(invalid_entry("A constant text in quotes is needed here.", value.span()));
    }
    text
}

fn invalid_entry(detail: &str, span: &Span) -> Diagnostic {
    Diagnostic::error("Invalid required_providers object", detail).at(span.clone())
}
