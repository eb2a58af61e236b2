//! `wardian show`: shows the current state, a saved plan or a state file.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use wardian_address::{ProviderConfigAddress, ResourceInstanceAddress, ResourceMode};
use wardian_app::compatibility::TERRAFORM_VERSION;
use wardian_app::encryption::NamedStateError;
use wardian_app::saved_plan;
use wardian_app::{json_reason, state_access};
use wardian_diagnostic::system_reason;
use wardian_engine::{Schemas, decode_stored};
use wardian_review_terminal::ViewApproval;
use wardian_state::{Object, State, StateProblem};

use super::show_review::{self, ReviewForm};
use crate::arguments::ShowArguments;
use crate::command_context::CommandContext;
use crate::command_spec::{CommandSpec, InvalidOptions};
use crate::failure::{Failure, Outcome, Status};
use crate::interrupt;
use crate::plan_passphrase::decode_plan;
use crate::render::json::{PlanDocument, PlanJson, StateJson};
use crate::render::state::{StateObject, render_state};
use crate::report;
use crate::review_source::{FileReview, review_of_file};
use crate::review_view;
use crate::shell::ViewOptions;
use wardian_review_document::CommentOptions;

#[async_trait(?Send)]
impl CommandSpec for ShowArguments {
    fn view(&self) -> ViewOptions {
        ViewOptions { concise: self.concise, ..self.view.into() }
    }

    fn check(&self) -> Result<(), InvalidOptions> {
        let has_more = !self.more_files.is_empty();
        if has_more && !(self.html || self.summary || self.markdown.is_some()) {
            return Err(InvalidOptions::new(
                "Too many files",
                "Several plans are shown together only with -html, -markdown or -summary.",
            ));
        }
        let has_accesses = self.html || self.markdown.is_some() || self.review;
        if !self.audit.is_empty() && (has_more || !has_accesses) {
            return Err(InvalidOptions::new(
                "Incompatible options",
                "-audit adds the accesses of plugins to the view, the page or the comment of one plan. Use it with \
                 -review, -html or -markdown, and with one file.",
            ));
        }
        if self.limit.is_some_and(|limit| limit < CommentOptions::MIN_LIMIT) {
            return Err(InvalidOptions::new(
                "Invalid value for -limit",
                "A comment needs at least 2000 characters.",
            ));
        }
        Ok(())
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        run(context, self).await
    }
}

async fn run(context: &CommandContext, arguments: &ShowArguments) -> Outcome {
    if let Some(form) = ReviewForm::new(arguments) {
        let files = arguments.file.iter().chain(&arguments.more_files);
        return show_review::run(context, files, &arguments.audit, form).await;
    }
    let Some(path) = &arguments.file else {
        let configuration = context.app.configuration()?;
        let look = state_access::read_unlocked(&context.app, Some(&configuration), None).await?;
        return state(context, look.exists.then_some(&*look.state), arguments.json).await;
    };
    if arguments.review {
        review_view::check_terminal(context)?;
        let stop = interrupt::listen(&context.shell)?;
        let accesses = show_review::accesses(&arguments.audit)?;
        let FileReview { review, is_untrusted } = review_of_file(context, path).await?;
        let review = review.with_accesses(accesses);
        review_view::show_review(context, review, ViewApproval::None, is_untrusted, &stop)?;
        return Ok(Status::Success);
    }
    let bytes = fs::read(path).map_err(|error| unreadable(path, &system_reason(&error)))?;
    if saved_plan::is_plan(&bytes) {
        return plan(context, path, &bytes, arguments.json).await;
    }
    let decoded = context.app.decode_named_state(&bytes).await.map_err(|error| {
        let problem = match error {
            NamedStateError::Content(problem) => problem,
            NamedStateError::Configuration(error) => return error.into(),
        };
        let reason = match &problem {
            StateProblem::NotJson(problem) => json_reason(problem),
            problem => problem.to_string(),
        };
        unreadable(
            path,
            &format!(
                "it is neither a plan written by `plan -out=FILE` nor a state file: {reason}. Without a path, \
                 `show` prints the current state"
            ),
        )
    })?;
    state(context, decoded.as_ref(), arguments.json).await
}

async fn plan(context: &CommandContext, path: &Path, bytes: &[u8], as_json: bool) -> Outcome {
    let saved = decode_plan(path, bytes, context, None).await?;
    let state = saved.previous_state().clone();
    let plugins = context.app.plugins(&saved.configuration, Some(&state), &saved.lock, 1)?;
    let schemas = context.engine_run(saved.configuration.clone(), plugins).schemas(Some(&state)).await?;
    let configuration = Arc::clone(&saved.configuration);
    let plan = saved.into_plan(path, &schemas)?;
    if as_json {
        let from = PlanJson {
            plan: &plan,
            configuration: &configuration,
            schemas: &schemas,
            prior_objects: state_objects(&plan.prior_state, &schemas)?,
        };
        let document = PlanDocument::new(TERRAFORM_VERSION, from);
        context.shell.document(&document);
        // The process exits next, and freeing a large plan would take as long as printing it.
        std::mem::forget(document);
        return Ok(Status::Success);
    }
    context.shell.print(report::plan_text(&context.shell, &plan));
    Ok(Status::Success)
}

async fn state(context: &CommandContext, state: Option<&State>, as_json: bool) -> Outcome {
    let Some(state) = state else {
        if as_json {
            context.shell.document(&StateJson::empty());
        } else {
            context.shell.say("No state.");
        }
        return Ok(Status::Success);
    };
    let schemas = if state.resources().len() > 0 { Some(schemas(context, state).await?) } else { None };
    let objects = match &schemas {
        Some(schemas) => state_objects(state, schemas)?,
        None => Vec::new(),
    };
    if as_json {
        let checks = state.check_results.as_deref();
        let document = StateJson::new(TERRAFORM_VERSION, objects, &state.outputs, checks);
        context.shell.document(&document);
        // The process exits next, and freeing a large state would take as long as printing it.
        std::mem::forget(document);
    } else if objects.is_empty() && state.outputs.is_empty() {
        context.shell.say("The state file is empty. No resources are represented.");
    } else {
        context.shell.print(render_state(objects, &state.outputs, context.shell.render_options()));
    }
    Ok(Status::Success)
}

/// Returns all objects in a state. Deposed objects follow the current object of their instance.
pub(super) fn state_objects<'a>(state: &'a State, schemas: &'a Schemas) -> Outcome<Vec<StateObject<'a>>> {
    let mut objects = Vec::new();
    for (address, provider, instance) in state.instances() {
        if let Some(object) = &instance.current {
            objects.push(state_object(address.clone(), None, provider, object, schemas)?);
        }
        for (key, object) in &instance.deposed {
            objects.push(state_object(address.clone(), Some(key.as_str()), provider, object, schemas)?);
        }
    }
    Ok(objects)
}

/// Returns the schemas of all objects in a state.
///
/// # Errors
/// Returns an error if a plugin is not installed or does not return its schema.
pub(super) async fn schemas(context: &CommandContext, state: &State) -> Outcome<Schemas> {
    let configuration = context.app.configuration()?;
    let lock = context.app.lock_file()?;
    let plugins = context.app.plugins(&configuration, Some(state), &lock, 1)?;
    Ok(context.engine_run(configuration, plugins).schemas(Some(state)).await?)
}

/// Returns a stored object with the data that is required to show it.
///
/// # Errors
/// Returns an error if the provider does not have the resource type, or has a different schema version.
pub(super) fn state_object<'a>(
    address: ResourceInstanceAddress,
    deposed: Option<&'a str>,
    provider: &'a ProviderConfigAddress,
    object: &'a Object,
    schemas: &'a Schemas,
) -> Outcome<StateObject<'a>> {
    let schema = schemas.resource(&provider.provider, address.mode(), address.type_name());
    let Some(schema) = schema else {
        return Err(Failure::error(
            "Unknown resource type",
            format!(
                "The provider {} has no resource type \"{}\", so {address} cannot be shown.",
                provider.provider.for_display(),
                address.type_name()
            ),
        ));
    };
    // Data sources have no schema versions, since each plan reads them again.
    let is_of_schema =
        address.mode() == ResourceMode::Data || i64::try_from(object.schema_version) == Ok(schema.version);
    let Some(value) = is_of_schema.then(|| decode_stored(object, schema)).flatten() else {
        return Err(Failure::error(
            "Object has a different schema version",
            format!(
                "{address} was stored with a schema version that differs from its provider's, and cannot be \
                 shown. `wardian refresh` updates it."
            ),
        ));
    };
    Ok(StateObject {
        address,
        deposed,
        provider,
        schema,
        schema_version: object.schema_version,
        value,
        tainted: object.is_tainted(),
        dependencies: &object.dependencies,
    })
}

fn unreadable(path: &Path, problem: &str) -> Failure {
    Failure::error("File cannot be shown", format!("{}: {problem}.", path.display()))
}
