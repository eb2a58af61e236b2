//! Reads `provider` blocks and references to them.

use wardian_address::{ConstraintDialect, Constraints, ProviderAddress};
use wardian_diagnostic::{Diagnostic, Diagnostics, Span};
use wardian_lang::{Block, Body};
use wardian_value::Str;

use super::meta_arguments::take_escaped;
use crate::content::{Shape, labels};
use crate::names::check_identifier;

/// A `provider` block.
#[derive(Clone, Debug)]
pub struct ProviderConfig {
    pub local_name: Str,
    /// The configuration's alias; `None` for the default configuration.
    pub alias: Option<Str>,
    /// The deprecated version constraint.
    pub version: Option<(Constraints, Span)>,
    /// The provider's arguments.
    pub body: Body,
    /// The span of the header.
    pub span: Span,
    pub origin: ProviderConfigOrigin,
}

/// The source of a provider configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProviderConfigOrigin {
    Configuration,
    /// A `provider` block of a test file. Its expressions can refer to runs, and to variables that the
    /// module does not declare.
    TestFile,
    /// A `mock_provider` block. The provider is not configured.
    Mock,
}

/// A reference such as `aws.west`, or the reference that a resource type implies.
#[derive(Clone, Debug)]
pub struct ProviderReference {
    pub local_name: Str,
    /// The alias; `None` for the default configuration.
    pub alias: Option<Str>,
    /// The reference's span; `None` if it is implied.
    pub span: Option<Span>,
}

/// The kind of file that contains a `provider` block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ProviderFile {
    Module,
    Test,
}

impl ProviderConfig {
    pub(crate) fn read(block: &Block, problems: &mut Diagnostics) -> Option<Self> {
        Self::read_in(ProviderFile::Module, block, problems)
    }

    /// Reads a block of a test file, which cannot constrain the provider's version.
    pub(crate) fn read_in_test(block: &Block, problems: &mut Diagnostics) -> Option<Self> {
        Self::read_in(ProviderFile::Test, block, problems)
    }

    fn read_in(file: ProviderFile, block: &Block, problems: &mut Diagnostics) -> Option<Self> {
        const SHAPE: Shape = Shape {
            noun: "a provider block",
            required: &[],
            optional: &["alias", "version", "count", "depends_on", "for_each", "source"],
            blocks: &["_", "lifecycle", "locals"],
        };
        let [label] = labels(block, ["name"], problems)?;
        if let Err(error) = ProviderAddress::implied_by_local_name(&label.text) {
            let span = if file == ProviderFile::Test { &block.header_span } else { &label.span };
            problems
                .push(Diagnostic::error("Invalid provider local name", format!("{error}.")).at(span.clone()));
        }
        let (content, mut body) = SHAPE.split(&block.body, problems);
        for attribute in
            ["count", "depends_on", "for_each", "source"].iter().filter_map(|name| content.attribute(name))
        {
            let detail = format!(
                "The argument \"{}\" has no meaning in a provider block and is reserved.",
                attribute.name
            );
            problems.push(
                Diagnostic::error("Reserved argument name in provider block", detail)
                    .at(attribute.name_span.clone()),
            );
        }
        take_escaped(&content, &["lifecycle", "locals"], "provider", &mut body, problems);
        let alias = content.text("alias", problems);
        if let Some((text, span)) = &alias {
            check_identifier(text, span, "Invalid provider configuration alias", problems);
        }
        let version = content.text("version", problems).and_then(|(text, span)| {
            if file == ProviderFile::Test {
                let detail = "Specify the version in required_providers of the configuration, inside its \
                              terraform block, instead.";
                problems.push(
                    Diagnostic::error("Version constraints are not allowed in test files", detail).at(span),
                );
                return None;
            }
            problems.push(
                Diagnostic::warning(
                    "Version constraints inside provider configuration blocks are deprecated",
                    "Specify the version in required_providers, inside the terraform block, instead.",
                )
                .at(span.clone()),
            );
            let constraints = constraints(&text, ConstraintDialect::Provider, &span, problems)?;
            Some((constraints, span))
        });
        Some(Self {
            local_name: label.text.clone(),
            alias: alias.map(|(text, _)| text.into()),
            version,
            body,
            span: block.header_span.clone(),
            origin: ProviderConfigOrigin::Configuration,
        })
    }
}

/// Parses version constraints, or reports a problem.
pub(crate) fn constraints(
    text: &str,
    dialect: ConstraintDialect,
    span: &Span,
    problems: &mut Diagnostics,
) -> Option<Constraints> {
    match Constraints::parse(text, dialect) {
        Ok(constraints) => Some(constraints),
        Err(error) => {
            let advice = match dialect {
                ConstraintDialect::Tool => "",
                ConstraintDialect::Provider | ConstraintDialect::Module => {
                    " Without a constraint, the newest version is selected."
                }
            };
            let detail = format!("This is not a version constraint, such as \">= 2.5\": {error}.{advice}");
            problems.push(Diagnostic::error("Invalid version constraint", detail).at(span.clone()));
            None
        }
    }
}
