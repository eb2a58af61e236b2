//! Reads `run` blocks.

use std::collections::BTreeMap;

use wardian_address::{ConstraintDialect, ProviderAddress, ProviderAddressError};
use wardian_diagnostic::{Diagnostic, Diagnostics, Span};
use wardian_lang::{Attribute, Block};
use wardian_module_source::{ModuleSource, ModuleSourceError, RegistryModuleSource};
use wardian_value::Str;

use super::overrides::Overrides;
use super::{
    ExpectedFailure, OverrideDuring, OverrideKind, TestCommand, TestModule, TestPlanMode, TestPlanOptions,
    TestRun,
};
use crate::blocks::{
    Backend, ProviderReference, conditions, constraints, passed_providers, static_references,
};
use crate::content::{Content, Shape, label_count, labels, one_too_many, unexpected_block};
use crate::names::check_name;

/// The settings of a file that its runs inherit.
#[derive(Clone, Copy, Default)]
pub(super) struct FileSettings {
    pub(super) parallel: bool,
    pub(super) skip_cleanup: bool,
}

impl TestRun {
    pub(super) fn read(block: &Block, defaults: FileSettings, problems: &mut Diagnostics) -> Option<Self> {
        const SHAPE: Shape = Shape {
            noun: "a run block",
            required: &[],
            optional: &["command", "expect_failures", "parallel", "providers", "skip_cleanup", "state_key"],
            blocks: &[
                "assert",
                "backend",
                "module",
                "override_data",
                "override_module",
                "override_resource",
                "plan_options",
                "variables",
            ],
        };
        let [label] = labels(block, ["name"], problems)?;
        check_name(label, "Invalid run block name", problems);
        let content = SHAPE.read_labeled(&block.body, labels_in_run, problems);
        let command = match content.attribute("command").map(|attribute| &attribute.expression) {
            None => TestCommand::Apply,
            Some(expression) => match expression.as_keyword() {
                Some("apply") => TestCommand::Apply,
                Some("plan") => TestCommand::Plan,
                _ => {
                    let detail = "The argument is one of the keywords apply and plan, without quotes.";
                    problems.push(
                        Diagnostic::error("Invalid \"command\" keyword", detail)
                            .at(expression.span().clone()),
                    );
                    TestCommand::Apply
                }
            },
        };
        let mut late = Diagnostics::new();
        let expect_failures = static_references(&content, "expect_failures", problems);
        let expect_failures = expect_failures
            .iter()
            .filter_map(|traversal| late.collect(ExpectedFailure::parse(traversal)))
            .collect();
        let mut overrides = Overrides::default();
        for inner in &content.blocks {
            if let Some(kind) = OverrideKind::from_block_type(&inner.kind) {
                overrides.read(kind, inner, OverrideDuring::Apply, problems);
            }
        }
        let mut backends = content.blocks.iter().filter(|inner| &*inner.kind == "backend");
        let backend = backends.next();
        for other in backends {
            let first = backend.map_or(&other.header_span, |first| &first.header_span);
            problems.push(one_too_many("Multiple \"backend\" blocks", first, &other.header_span));
        }
        let backend = backend.and_then(|inner| {
            let [label] = labels(inner, ["type"], problems)?;
            Some(Backend::read(inner, &label.text, problems))
        });
        let only = |kind: &str, problems: &mut Diagnostics| {
            content.only_block(kind, &format!("Multiple \"{kind}\" blocks"), problems)
        };
        Some(Self {
            name: label.text.clone(),
            name_span: label.span.clone(),
            command,
            options: only("plan_options", problems)
                .map(|options| plan_options(options, problems))
                .unwrap_or_default(),
            module: only("module", problems).and_then(|module| TestModule::read(module, problems)),
            variables: only("variables", problems)
                .map(|variables| variables_in(variables, problems))
                .unwrap_or_default(),
            providers: providers(&content, problems),
            state_key: content.text("state_key", problems).map(|(key, span)| (Str::from(key), span)),
            parallel: content.flag("parallel", problems).unwrap_or(defaults.parallel),
            skip_cleanup: content.flag("skip_cleanup", problems).unwrap_or(defaults.skip_cleanup),
            backend,
            expect_failures,
            problems: late.in_block(&block.context()),
            assertions: conditions(&content, "assert", problems),
            overrides: overrides.list,
            span: block.header_span.clone(),
        })
    }
}

fn providers(
    content: &Content<'_>,
    problems: &mut Diagnostics,
) -> Vec<(ProviderReference, ProviderReference)> {
    let Some(attribute) = content.attribute("providers") else { return Vec::new() };
    let pairs = passed_providers(attribute, problems);
    for reference in pairs.iter().flat_map(|(inside, here)| [inside, here]) {
        match ProviderAddress::implied_by_local_name(&reference.local_name) {
            Ok(_) | Err(ProviderAddressError::RedundantPrefix { .. }) => {}
            Err(error) => {
                let problem = Diagnostic::error("Invalid provider local name", format!("{error}."));
                problems.push(match &reference.span {
                    Some(span) => problem.at(local_name_span(span)),
                    None => problem,
                });
            }
        }
    }
    pairs
}

/// Returns the span of the local name in a reference to a provider configuration.
pub(super) fn local_name_span(reference: &Span) -> Span {
    let length = reference.text().find('.').unwrap_or(reference.end - reference.start);
    Span { end: reference.start + length, ..reference.clone() }
}

/// Returns the number of labels of a block type in a run.
fn labels_in_run(kind: &str) -> usize {
    if kind == "module" { 0 } else { label_count(kind) }
}

/// Reads a `variables` block.
pub(super) fn variables_in(block: &Block, problems: &mut Diagnostics) -> BTreeMap<Str, Attribute> {
    let body = block.body.with_attributes_only(problems);
    for inner in &body.blocks {
        problems.push(unexpected_block(inner, "a variables block"));
    }
    body.attributes.iter().map(|attribute| (attribute.name.clone(), attribute.clone())).collect()
}

fn plan_options(block: &Block, problems: &mut Diagnostics) -> TestPlanOptions {
    const SHAPE: Shape = Shape {
        noun: "a plan_options block",
        required: &[],
        optional: &["mode", "refresh", "replace", "target"],
        blocks: &[],
    };
    let content = SHAPE.read(&block.body, problems);
    let mode = match content.attribute("mode").map(|attribute| &attribute.expression) {
        None => TestPlanMode::Normal,
        Some(expression) => match expression.as_keyword() {
            Some("normal") => TestPlanMode::Normal,
            Some("refresh-only") => TestPlanMode::RefreshOnly,
            _ => {
                let detail = "The argument is one of the keywords normal and refresh-only, without quotes.";
                problems.push(
                    Diagnostic::error("Invalid \"mode\" keyword", detail).at(expression.span().clone()),
                );
                TestPlanMode::Normal
            }
        },
    };
    let refresh = content.flag("refresh", problems).unwrap_or(true);
    if let Some(attribute) = content.attribute("refresh").filter(|_| !refresh)
        && mode == TestPlanMode::RefreshOnly
    {
        let detail = "A plan with the mode refresh-only consists only of a refresh, so \"refresh\" cannot be \
                      false.";
        problems.push(Diagnostic::error("Incompatible plan options", detail).at(attribute.span.clone()));
    }
    TestPlanOptions {
        mode,
        refresh,
        replace: static_references(&content, "replace", problems),
        targets: static_references(&content, "target", problems),
    }
}

impl TestModule {
    fn read(block: &Block, problems: &mut Diagnostics) -> Option<Self> {
        const SHAPE: Shape = Shape {
            noun: "a module block in a run",
            required: &[],
            optional: &["source", "version"],
            blocks: &[],
        };
        let content = SHAPE.read(&block.body, problems);
        let version = match content.nullable_text("version", problems) {
            None => None,
            Some((text, span)) => {
                Some((constraints(&text, ConstraintDialect::Module, &span, problems)?, span))
            }
        };
        let Some(attribute) = content.attribute("source") else {
            let detail = "The source of the module that the run executes is required.";
            problems.push(
                Diagnostic::error("Missing \"source\" attribute for module block", detail)
                    .at(block.header_span.clone()),
            );
            return None;
        };
        let (source, _) = content.text("source", problems)?;
        check_source(&source, &content, &attribute.span, problems)?;
        Some(Self { source, source_span: attribute.span.clone(), version, span: block.header_span.clone() })
    }
}

fn check_source(source: &str, content: &Content<'_>, span: &Span, problems: &mut Diagnostics) -> Option<()> {
    let has_version = content.attribute("version").is_some();
    let problem = match ModuleSource::parse(source) {
        Ok(ModuleSource::Registry(_)) => return Some(()),
        Ok(ModuleSource::Local(_)) if !has_version => return Some(()),
        Ok(ModuleSource::Local(_)) => {
            "Only modules from a registry have versions; a module in a local directory has none. Remove the \
             \"version\" argument."
                .to_owned()
        }
        Ok(ModuleSource::Remote(_)) if has_version => {
            let reason = RegistryModuleSource::parse(source).err().map(|error| error.to_string());
            reason.unwrap_or_else(|| "Only modules from a registry have versions.".to_owned())
        }
        Ok(ModuleSource::Remote(_)) => {
            "A run can only execute a module in a local directory or from a registry. To test another \
             module, call it in a local module."
                .to_owned()
        }
        Err(error) => error.to_string(),
    };
    problems.push(Diagnostic::error(ModuleSourceError::summary(has_version), problem).at(span.clone()));
    None
}
