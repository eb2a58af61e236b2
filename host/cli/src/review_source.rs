//! Creates reviews: from a plan, from a saved plan, or from the JSON document of a plan.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;

use wardian_address::ResourceAddress;
use wardian_app::compatibility::TERRAFORM_VERSION;
use wardian_app::saved_plan;
use wardian_config::{Configuration, ModuleNode};
use wardian_diagnostic::{Span, system_reason};
use wardian_engine::{ObjectSecrets, Plan, Schemas};
use wardian_lang::Expression;
use wardian_review::{ConfigurationFacts, LocalReferences, Review, SourcePosition};

use crate::command_context::CommandContext;
use crate::failure::{Failure, Outcome};
use crate::operation::Operation;
use crate::plan_passphrase::decode_plan;
use crate::render::json::ReviewInput;
use crate::render::review::render_summary;
use crate::report;

/// Maximum size of a file with a plan.
const MAX_PLAN_SIZE: u64 = 1 << 30;

/// Creates the review of a plan. `title` is the name under which the plan is shown.
///
/// # Errors
/// Returns an error if the plan contains an address that cannot be parsed, which only a bug can cause.
pub(crate) fn review_of_plan(
    title: &str,
    plan: &Plan,
    configuration: &Configuration,
    schemas: &Schemas,
) -> Outcome<Review> {
    let input = ReviewInput::new(TERRAFORM_VERSION, plan, Some((configuration, schemas)));
    review_of_input(title, &input, &configuration_facts(configuration))
}

/// Creates the review of a plan without causes and dependencies.
///
/// # Errors
/// Returns the same errors as [`review_of_plan`].
pub(crate) fn groups_of_plan(plan: &Plan) -> Outcome<Review> {
    let input = ReviewInput::new(TERRAFORM_VERSION, plan, None);
    review_of_input("plan", &input, &ConfigurationFacts::default())
}

fn review_of_input(title: &str, input: &ReviewInput<'_>, facts: &ConfigurationFacts) -> Outcome<Review> {
    let json = serde_json::to_vec(input).map_err(|error| invalid(title, &error.to_string()))?;
    Review::from_json(title, &json, facts).map_err(|error| invalid(title, &error.to_string()))
}

/// Reports a new plan. If `is_summarized` is true, the text contains only the summary.
///
/// # Errors
/// Returns an error if the schemas of the plugins cannot be loaded.
pub(crate) async fn report_plan(
    context: &CommandContext,
    plan: &Plan,
    operation: &Operation,
    is_summarized: bool,
) -> Outcome<()> {
    if !is_summarized || context.shell.is_for_programs() {
        report::plan(&context.shell, plan);
        return Ok(());
    }
    let schemas = operation.run.schemas(Some(&operation.state)).await?;
    let review = review_of_plan("plan", plan, operation.configuration(), &schemas);
    schemas.close().await;
    context.shell.print(render_summary(&review?, context.shell.render_options()));
    report::plan_messages(&context.shell, plan);
    Ok(())
}

/// The review of the plan in a file.
pub(crate) struct FileReview {
    pub(crate) review: Review,
    /// Whether the plan was created with `-untrusted`.
    pub(crate) is_untrusted: bool,
}

/// Creates the review of the plan in a file: a saved plan, or the JSON document of one. The title is the
/// path.
///
/// # Errors
/// Returns an error if the file cannot be read, or contains neither.
pub(crate) async fn review_of_file(context: &CommandContext, path: &Path) -> Outcome<FileReview> {
    let title = path.display().to_string();
    let bytes = read(path).map_err(|error| invalid(&title, &system_reason(&error)))?;
    if !saved_plan::is_plan(&bytes) {
        let review = Review::from_json(&title, &bytes, &ConfigurationFacts::default()).map_err(|error| {
            invalid(&title, &format!("it is not a plan that `plan -out=FILE` saved, and {error}"))
        })?;
        // The document contains no positions of source lines.
        return Ok(FileReview { review, is_untrusted: false });
    }
    let saved = decode_plan(path, &bytes, context, None).await?;
    drop(bytes);
    let state = saved.previous_state().clone();
    let plugins = context.app.plugins(&saved.configuration, Some(&state), &saved.lock, 1)?;
    let schemas = context.engine_run(saved.configuration.clone(), plugins).schemas(Some(&state)).await?;
    let configuration = Arc::clone(&saved.configuration);
    let plan = saved.into_plan(path, &schemas)?;
    let review = review_of_plan(&title, &plan, &configuration, &schemas);
    let is_untrusted = is_untrusted(&plan);
    // The process exits after the command, and freeing a large plan takes time.
    std::mem::forget(plan);
    Ok(FileReview { review: review?, is_untrusted })
}

/// Whether a plan was created with `-untrusted`.
pub(crate) fn is_untrusted(plan: &Plan) -> bool {
    plan.secrets == ObjectSecrets::Withheld
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    // The size of a pipe is 0.
    let size = usize::try_from(file.metadata()?.len().min(MAX_PLAN_SIZE)).unwrap_or_default();
    let mut bytes = Vec::with_capacity(size.saturating_add(1));
    file.take(MAX_PLAN_SIZE + 1).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length <= MAX_PLAN_SIZE) {
        return Ok(bytes);
    }
    Err(io::Error::new(io::ErrorKind::FileTooLarge, "the file is larger than 1 GiB"))
}

fn invalid(title: &str, problem: &str) -> Failure {
    Failure::error("Plan cannot be reviewed", format!("{title}: {problem}."))
}

/// Returns the positions of resources and variables, and the references that the document does not contain.
fn configuration_facts(configuration: &Configuration) -> ConfigurationFacts {
    let mut facts = ConfigurationFacts::default();
    for node in configuration.modules() {
        let module = node.path.to_string();
        let dot = if module.is_empty() { "" } else { "." };
        for resource in node.module.resources.values() {
            let (kind, name) = (resource.type_name.clone(), resource.name.clone());
            let address = ResourceAddress::new(node.path.clone(), resource.mode, kind, name);
            let address = address.to_string();
            let triggers = resource.lifecycle.replace_triggered_by.iter();
            let triggers: Vec<String> =
                triggers.flat_map(Expression::references).map(|one| one.to_string()).collect();
            if !triggers.is_empty() {
                facts.triggers.insert(address.clone(), triggers);
            }
            facts.positions.insert(address, position(&resource.span));
        }
        for variable in node.module.variables.values() {
            facts.positions.insert(format!("{module}{dot}var.{}", variable.name), position(&variable.span));
        }
        facts.locals.extend(locals(node, &module));
    }
    facts
}

fn locals<'a>(node: &'a ModuleNode, module: &'a str) -> impl Iterator<Item = LocalReferences> + 'a {
    node.module.locals.values().map(move |local| LocalReferences {
        module: module.to_owned(),
        name: local.name.to_string(),
        references: local.expression.references().iter().map(ToString::to_string).collect(),
    })
}

/// Returns the file and line of a source span.
pub(crate) fn position(span: &Span) -> SourcePosition {
    let line = u32::try_from(span.start_position().line).unwrap_or(u32::MAX);
    SourcePosition { file: span.file.name().into(), line }
}
