//! Reads `terraform` blocks.

use wardian_address::{ConstraintDialect, Constraints, ProviderAddress, ProviderAddressError};
use wardian_diagnostic::{Diagnostic, Diagnostics, Span, did_you_mean};
use wardian_lang::{Attribute, Block, Body, Expression};
use wardian_value::convert::convert;
use wardian_value::{Str, Type, Value};

use super::encryption::EncryptionConfig;
use super::provider::constraints;
use crate::content::{Shape, labels, unexpected_block};
use crate::walk::check_body;

/// An entry of `required_providers`.
#[derive(Clone, Debug)]
pub struct RequiredProvider {
    /// The provider to which the local name refers.
    pub address: ProviderAddress,
    /// Allowed versions.
    pub constraints: Constraints,
    /// The names of provider configurations that callers must pass.
    pub configuration_aliases: Vec<(Str, Span)>,
    pub span: Span,
}

/// A `required_version` argument.
#[derive(Clone, Debug)]
pub struct RequiredVersion {
    /// The allowed versions of Terraform.
    pub constraints: Constraints,
    /// The span of the argument.
    pub span: Span,
}

/// A `backend` block.
#[derive(Clone, Debug)]
pub struct Backend {
    /// The backend type, such as `local`; `cloud` for a `cloud` block.
    pub type_name: Str,
    /// The backend's arguments.
    pub body: Body,
    /// The span of the header.
    pub span: Span,
    /// The span of the type; of the header for a `cloud` block.
    pub type_span: Span,
}

/// A `state_store` block: a service of a provider in which the states are stored.
#[derive(Clone, Debug)]
pub struct StateStoreBlock {
    /// The type of the state store, such as `cloud_bucket`.
    pub type_name: Str,
    /// The arguments of the state store. The provider defines their schema.
    pub body: Body,
    /// The span of the header.
    pub span: Span,
    /// The span of the type.
    pub type_span: Span,
    /// The local name of the provider, in `required_providers`.
    pub provider_name: Str,
    /// The provider's configuration, which applies only to the state store.
    pub provider_body: Body,
    /// The span of the header of the `provider` block.
    pub provider_span: Span,
}

/// The content of one `terraform` block.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    pub(crate) required_version: Option<RequiredVersion>,
    /// The entries of each `required_providers` block, with the span of the block.
    pub(crate) required_providers: Vec<(Span, Vec<(Str, RequiredProvider)>)>,
    pub(crate) backends: Vec<Backend>,
    pub(crate) clouds: Vec<Backend>,
    pub(crate) state_stores: Vec<StateStoreBlock>,
    /// The `encryption` blocks, with the spans of their headers.
    pub(crate) encryptions: Vec<(Span, EncryptionConfig)>,
    /// Metadata about the module for providers, by local name.
    pub(crate) provider_metas: Vec<(Str, ProviderMeta)>,
}

/// A `provider_meta` block: metadata about the module for a provider.
#[derive(Clone, Debug)]
pub struct ProviderMeta {
    /// The metadata. The provider defines its schema.
    pub body: Body,
    pub span: Span,
}

impl Settings {
    pub(crate) fn read(block: &Block, problems: &mut Diagnostics) -> Self {
        const SHAPE: Shape = Shape {
            noun: "a terraform block",
            required: &[],
            optional: &["required_version", "experiments", "language"],
            blocks: &["backend", "cloud", "state_store", "encryption", "required_providers", "provider_meta"],
        };
        if labels(block, [], problems).is_none() {
            return Self::default();
        }
        let content = SHAPE.read(&block.body, problems);
        let required_version =
            content.nullable_text("required_version", problems).and_then(|(text, span)| {
                let constraints = constraints(&text, ConstraintDialect::Tool, &span, problems)?;
                let span = content.attribute("required_version").map_or(span, |set| set.span.clone());
                Some(RequiredVersion { constraints, span })
            });
        let mut settings = Self { required_version, ..Self::default() };
        if let Some(attribute) = content.attribute("experiments") {
            let detail = "This program has no experimental language features; remove the argument.";
            problems.push(
                Diagnostic::error("Module uses experimental features", detail)
                    .at(attribute.expression.span().clone()),
            );
        }
        if let Some(attribute) = content.attribute("language")
            && attribute.expression.as_keyword() != Some("TF2021")
        {
            let (summary, detail) = if attribute.expression.as_keyword().is_some() {
                ("Unsupported language edition", "TF2021 is the only edition of the language.")
            } else {
                ("Invalid language edition", "The edition is a keyword without quotes: language = TF2021")
            };
            problems.push(Diagnostic::error(summary, detail).at(attribute.expression.span().clone()));
        }
        for inner in &content.blocks {
            match &*inner.kind {
                "backend" => {
                    if let Some([label]) = labels(inner, ["type"], problems) {
                        settings.backends.push(Backend::read(inner, &label.text, problems));
                    }
                }
                "cloud" => {
                    if labels(inner, [], problems).is_some() {
                        settings.clouds.push(Backend::read(inner, "cloud", problems));
                    }
                }
                "state_store" => {
                    settings.state_stores.extend(StateStoreBlock::read(inner, problems));
                }
                "encryption" => {
                    if let Some(encryption) = EncryptionConfig::read(inner, problems) {
                        settings.encryptions.push((inner.header_span.clone(), encryption));
                    }
                }
                "provider_meta" => {
                    if let Some([label]) = labels(inner, ["provider"], problems) {
                        check_body(&inner.body, problems);
                        let meta = ProviderMeta { body: inner.body.clone(), span: inner.header_span.clone() };
                        settings.provider_metas.push((label.text.clone(), meta));
                    }
                }
                _ => {
                    if labels(inner, [], problems).is_some() {
                        let entries = required_providers(inner, problems);
                        settings.required_providers.push((inner.header_span.clone(), entries));
                    }
                }
            }
        }
        settings
    }
}

impl Backend {
    pub(crate) fn read(block: &Block, type_name: &str, problems: &mut Diagnostics) -> Self {
        check_body(&block.body, problems);
        Self {
            type_name: Str::new(type_name),
            // The backend's schema is not available here, and no supported backend has relevant
            // blocks.
            body: block.body.guessed().into_owned(),
            span: block.header_span.clone(),
            type_span: block.labels.first().map_or(&block.header_span, |label| &label.span).clone(),
        }
    }
}

impl StateStoreBlock {
    fn read(block: &Block, problems: &mut Diagnostics) -> Option<Self> {
        const SHAPE: Shape =
            Shape { noun: "a state_store block", required: &[], optional: &[], blocks: &["provider"] };
        let [label] = labels(block, ["type"], problems)?;
        check_body(&block.body, problems);
        let (content, body) = SHAPE.split(&block.body, problems);
        let mut providers = content.blocks.iter();
        let Some(provider) = providers.next() else {
            let detail = format!(
                "A state_store block contains a block that names its provider in required_providers, and \
                 configures it: provider \"NAME\" {{ ... }}. The type \"{}\" suggests the provider \"{}\".",
                label.text,
                label.text.split('_').next().unwrap_or_default()
            );
            problems.push(
                Diagnostic::error("Missing provider block", detail)
                    .at(block.header_span.clone())
                    .in_block("terraform"),
            );
            return None;
        };
        if let Some(second) = providers.next() {
            let detail = "A state store has one provider: remove all but one of the provider blocks.";
            problems
                .push(Diagnostic::error("Duplicate provider block", detail).at(second.header_span.clone()));
        }
        let [name] = labels(provider, ["name"], problems)?;
        Some(Self {
            type_name: label.text.clone(),
            body,
            span: block.header_span.clone(),
            type_span: label.span.clone(),
            provider_name: name.text.clone(),
            provider_body: provider.body.clone(),
            provider_span: provider.header_span.clone(),
        })
    }
}

fn required_providers(block: &Block, problems: &mut Diagnostics) -> Vec<(Str, RequiredProvider)> {
    let body = block.body.with_attributes_only(problems);
    for inner in &body.blocks {
        problems.push(unexpected_block(inner, "a required_providers block"));
    }
    let mut entries = Vec::new();
    for attribute in &body.attributes {
        if let Some(problem) = improper_name(attribute) {
            problems.push(problem);
            continue;
        }
        if let Some(entry) = required_provider(attribute, problems) {
            entries.push((attribute.name.clone(), entry));
        }
    }
    entries
}

/// Returns an error if a local name is not a valid provider name, as registries require.
fn improper_name(attribute: &Attribute) -> Option<Diagnostic> {
    let name = &*attribute.name;
    let detail = match ProviderAddress::implied_by_local_name(name) {
        // With a source, the name does not determine the provider.
        Err(ProviderAddressError::RedundantPrefix { .. }) => return None,
        Err(error) => format!("{error}."),
        Ok(address) if address.type_name() != name => {
            format!("Provider names are lowercase: \"{}\".", address.type_name())
        }
        Ok(_) => return None,
    };
    Some(Diagnostic::error("Invalid provider local name", detail).at(attribute.span.clone()))
}

fn required_provider(attribute: &Attribute, problems: &mut Diagnostics) -> Option<RequiredProvider> {
    let expression = &attribute.expression;
    let implied = |problems: &mut Diagnostics| {
        let address = ProviderAddress::implied_by_local_name(&attribute.name)
            .map_err(|error| invalid_entry(&format!("{error}."), &attribute.name_span));
        problems.collect(address)
    };
    // The legacy form, used before `source` existed: only a version constraint.
    let plain = expression.evaluate_constant().ok().and_then(|value| convert(&value, &Type::String).ok());
    if let Some(text) = plain.as_ref().and_then(Value::as_str) {
        return Some(RequiredProvider {
            address: implied(problems)?,
            constraints: constraints(text, ConstraintDialect::Provider, expression.span(), problems)?,
            configuration_aliases: Vec::new(),
            span: attribute.span.clone(),
        });
    }
    let Some(items) = expression.as_object_items() else {
        let detail = "A required provider must be an object, such as { source = \"hashicorp/random\", \
                      version = \"~> 3.7\" }.";
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
                address = constant_text(value, "Invalid source", problems)
                    .and_then(|text| problems.collect(source_address(&text, value.span())));
            }
            Some("version") => {
                if let Some(text) = constant_text(value, "Invalid version constraint", problems)
                    && let Some(found) =
                        constraints(&text, ConstraintDialect::Provider, value.span(), problems)
                {
                    versions = found;
                }
            }
            Some("configuration_aliases") => {
                configuration_aliases = aliases(&attribute.name, value, problems);
            }
            Some(other) => {
                let known = ["source", "version", "configuration_aliases"];
                let advice = did_you_mean(other, known);
                problems.push(invalid_entry(
                    &format!(
                        "A required provider has no \"{other}\" argument, only source, version and \
                         configuration_aliases.{advice}"
                    ),
                    key.span(),
                ));
            }
            None => {
                problems
                    .push(invalid_entry("The names in a required provider must be constant.", key.span()));
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
    let mut found: Vec<(Str, Span)> = Vec::new();
    for item in value.as_tuple_items().unwrap_or_else(|| vec![value.clone()]) {
        let traversal = item.as_traversal();
        let names = traversal.as_ref().and_then(|traversal| traversal.names());
        match names.as_deref() {
            _ if item.is_native_quoted() => problems.push(
                Diagnostic::error("Invalid expression", "Provider references are written without quotes.")
                    .at(item.span().clone()),
            ),
            // The default configuration requires no entry.
            Some([root]) if &***root == local_name => {}
            Some([root, alias]) if &***root == local_name => {
                found.push(((*alias).clone(), item.span().clone()));
            }
            None => problems.push(
                Diagnostic::error(
                    "Invalid expression",
                    "References to provider configurations are required here.",
                )
                .at(item.span().clone()),
            ),
            _ => problems.push(
                Diagnostic::error(
                    "Invalid configuration_aliases value",
                    format!(
                        "A list of references such as [{local_name}.a, {local_name}.b] is required, each \
                         beginning with the provider's own local name."
                    ),
                )
                .at(item.span().clone()),
            ),
        }
    }
    found
}

fn source_address(text: &str, span: &Span) -> Result<ProviderAddress, Diagnostic> {
    ProviderAddress::parse(text).map_err(|error| {
        let summary = match error {
            ProviderAddressError::Hostname { .. }
            | ProviderAddressError::Namespace { .. }
            | ProviderAddressError::Type { .. }
            | ProviderAddressError::RedundantPrefix { .. } => "Invalid provider type",
            _ => "Invalid provider source string",
        };
        Diagnostic::error(summary, format!("{error}.")).at(span.clone())
    })
}

/// Returns a constant string, or reports a problem with the summary `summary`.
fn constant_text(value: &Expression, summary: &str, problems: &mut Diagnostics) -> Option<String> {
    let text = value.evaluate_constant().ok().and_then(|value| value.as_str().map(str::to_owned));
    if text.is_none() {
        let detail = "A constant string in quotes is required here.";
        problems.push(Diagnostic::error(summary, detail).at(value.span().clone()));
    }
    text
}

fn invalid_entry(detail: &str, span: &Span) -> Diagnostic {
    Diagnostic::error("Invalid required_providers object", detail).at(span.clone())
}
