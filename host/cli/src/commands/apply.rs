//! `wardian apply` and `wardian destroy`: change objects to match the configuration, or destroy
//! them.

use std::mem::ManuallyDrop;
use std::path::Path;

use async_trait::async_trait;
use wardian_access::ProtectedClass;
use wardian_app::protected_files::NamedFile;
use wardian_app::state_access::{self, LockPurpose};
use wardian_config::RootVariables;
use wardian_diagnostic::{Diagnostic, DiagnosticOrigin, Diagnostics};
use wardian_engine::{Mode, ObjectSecrets, Plan};
use wardian_review_terminal::ViewApproval;

use crate::arguments::{ApplyArguments, DestroyArguments};
use crate::command_context::CommandContext;
use crate::command_spec::{CommandSpec, InvalidOptions};
use crate::failure::{Failure, Outcome, Status};
use crate::interrupt;
use crate::operation::{
    Approval, ApprovedPlan, Operation, OperationRequest, Replan, ask_for_approval, mode, plan_options,
    stores_moves_first,
};
use crate::plan_passphrase::read_plan;
use crate::render::json::Summary;
use crate::report;
use crate::review_source::report_plan;
use crate::review_view::{self, Decision};
use crate::shell::{OutputKind, ViewOptions};
use crate::variables;
use wardian_printable::printable;

#[async_trait(?Send)]
impl CommandSpec for ApplyArguments {
    fn view(&self) -> ViewOptions {
        let view = self.output.view();
        ViewOptions { concise: view.concise || self.summary, ..view }
    }

    fn output_kind(&self) -> OutputKind {
        self.output.kind()
    }

    fn json_into(&self) -> Option<&Path> {
        self.output.json_into()
    }

    fn audit_log(&self) -> Option<&Path> {
        self.audit.audit_log.as_deref()
    }

    fn shows_accesses(&self) -> bool {
        self.review
    }

    fn check(&self) -> Result<(), InvalidOptions> {
        self.planning.check()
    }

    fn named_files(&self) -> Vec<NamedFile> {
        let plan = self.plan.iter().map(|path| (ProtectedClass::Plans, path.clone()));
        let variables = self.planning.scope.variables.named_files();
        plan.chain(variables).chain(self.lock.named_files()).chain(self.state_out.named_files()).collect()
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        run(context, self).await
    }
}

#[async_trait(?Send)]
impl CommandSpec for DestroyArguments {
    fn view(&self) -> ViewOptions {
        let view = self.output.view();
        ViewOptions { concise: view.concise || self.summary, ..view }
    }

    fn output_kind(&self) -> OutputKind {
        self.output.kind()
    }

    fn json_into(&self) -> Option<&Path> {
        self.output.json_into()
    }

    fn audit_log(&self) -> Option<&Path> {
        self.audit.audit_log.as_deref()
    }

    fn shows_accesses(&self) -> bool {
        self.review
    }

    fn check(&self) -> Result<(), InvalidOptions> {
        self.scope.check_replace(false)
    }

    fn named_files(&self) -> Vec<NamedFile> {
        let variables = self.scope.variables.named_files();
        variables.chain(self.lock.named_files()).chain(self.state_out.named_files()).collect()
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        destroy(context, self).await
    }
}

/// Creates a plan, asks for approval and applies it; or applies a saved plan.
async fn run(context: &CommandContext, arguments: &ApplyArguments) -> Outcome {
    if let Some(path) = &arguments.plan {
        return saved(context, path, arguments).await;
    }
    let scope = &arguments.planning.scope;
    let mut options = plan_options(mode(&arguments.planning), scope, arguments.operation)?;
    options.invoke.clone_from(&arguments.planning.invoke);
    let request = OperationRequest {
        options,
        variables: &scope.variables,
        operation: arguments.operation,
        lock: &arguments.lock,
        state_out: &arguments.state_out,
        purpose: LockPurpose::Apply,
        is_summarized: arguments.summary,
    };
    let approval = ApprovalMode::new(arguments.auto_approve, arguments.review);
    plan_and_apply(context, &request, approval, Summary::Apply).await
}

async fn destroy(context: &CommandContext, arguments: &DestroyArguments) -> Outcome {
    let request = OperationRequest {
        options: plan_options(Mode::Destroy, &arguments.scope, arguments.operation)?,
        variables: &arguments.scope.variables,
        operation: arguments.operation,
        lock: &arguments.lock,
        state_out: &arguments.state_out,
        purpose: LockPurpose::Apply,
        is_summarized: arguments.summary,
    };
    let approval = ApprovalMode::new(arguments.auto_approve, arguments.review);
    plan_and_apply(context, &request, approval, Summary::Destroy).await
}

/// The way in which a plan is approved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ApprovalMode {
    Automatic,
    Question,
    /// In the terminal view.
    Review,
}

impl ApprovalMode {
    fn new(auto_approve: bool, review: bool) -> Self {
        match (auto_approve, review) {
            (true, _) => Self::Automatic,
            (false, true) => Self::Review,
            (false, false) => Self::Question,
        }
    }
}

async fn plan_and_apply(
    context: &CommandContext,
    request: &OperationRequest<'_>,
    approval: ApprovalMode,
    summary: Summary,
) -> Outcome {
    if approval == ApprovalMode::Review {
        review_view::check_terminal(context)?;
    }
    if context.shell.is_for_programs() && approval != ApprovalMode::Automatic {
        return Err(Failure::error(
            "Plan file or auto-approve required",
            "With -json there is no prompt to approve the plan. Specify a saved plan, or add -auto-approve.",
        ));
    }
    let mode = request.options.mode;
    let mut operation = Operation::prepare(context, request).await?;
    let (plan, diagnostics) = operation.plan(&request.options, context).await;
    // The process ends after the apply, and freeing a large plan takes time.
    let Some(plan) = plan.map(ManuallyDrop::new) else { return Err(Failure::Diagnostics(diagnostics)) };
    let is_reviewed = approval == ApprovalMode::Review && plan.is_applyable() && !diagnostics.has_errors();
    if is_reviewed {
        report::plan_messages(&context.shell, &plan);
    } else {
        report_plan(context, &plan, &operation, request.is_summarized).await?;
    }
    if diagnostics.has_errors() {
        return Err(Failure::Diagnostics(diagnostics));
    }
    let mut untold = diagnostics;
    if plan.is_applyable() && approval != ApprovalMode::Automatic {
        // The user must see the warnings before approving.
        context.shell.diagnostics(&std::mem::take(&mut untold));
        let answer = if is_reviewed {
            reviewed(review_view::review_plan(context, &plan, &operation, ViewApproval::Apply).await?)
        } else {
            ask_for_approval(mode, &operation.stop, context).await?
        };
        match answer {
            Approval::Given => {}
            Approval::Refused => {
                let what = if mode == Mode::Destroy { "Destroy" } else { "Apply" };
                context.shell.say(printable!("{what} cancelled."));
                return Ok(Status::Failed);
            }
        }
    }
    let approval = if approval == ApprovalMode::Automatic { ApprovedPlan::Any } else { ApprovedPlan::Shown };
    let plan =
        operation.lock_rows(plan, Replan::With(&request.options), approval, request.lock, context).await?;
    // The apply runs every check again, so the plan's check results are outdated.
    untold = untold.into_iter().filter(|warning| warning.origin != DiagnosticOrigin::Check).collect();
    finish(context, &mut operation, &plan, untold, request.operation.parallelism, summary).await
}

fn reviewed(decision: Decision) -> Approval {
    match decision {
        Decision::Approved => Approval::Given,
        Decision::NotApproved => Approval::Refused,
    }
}

async fn finish(
    context: &CommandContext,
    operation: &mut Operation,
    plan: &Plan,
    untold: Diagnostics,
    parallelism: usize,
    summary: Summary,
) -> Outcome {
    let done = operation.apply(plan, untold, parallelism, context).await?;
    if done.status == Status::Success {
        done.report(summary, context);
    }
    Ok(done.status)
}

async fn saved(context: &CommandContext, path: &Path, arguments: &ApplyArguments) -> Outcome {
    if arguments.review {
        review_view::check_terminal(context)?;
    }
    let planning = &arguments.planning;
    let scope = &planning.scope;
    let shapes_plan = planning.destroy || planning.refresh_only || !scope.refresh;
    let mut warnings = Diagnostics::new();
    if shapes_plan || scope.is_partial() || !scope.replace.is_empty() || !planning.invoke.is_empty() {
        warnings.push(Diagnostic::warning(
            "Options without effect on a saved plan",
            "The actions of a saved plan were determined when it was created. Pass -destroy, -refresh-only, \
             -refresh=false, -target, -exclude, -replace and -invoke to `wardian plan` instead.",
        ));
    }
    let parallelism = arguments.operation.parallelism;
    let stop = interrupt::listen(&context.shell)?;
    context
        .app
        .set_encryption_variable_inputs(variables::inputs(&scope.variables, &context.app.environment)?);
    let saved = read_plan(path, context, Some(&stop)).await?;
    saved.check_workspace(&context.app.workspace.name)?;
    let configuration = saved.configuration.clone();
    context.app.set_encryption_root_of_plan(&configuration)?;
    let mut manager = state_access::open(
        &context.app,
        &configuration,
        &arguments.lock.options(),
        &arguments.state_out.options(),
        LockPurpose::SavedPlan,
        &stop,
    )
    .await?;
    let state = manager.read().await?;
    if manager.has_rows() {
        // The rows that the plan uses are checked when they are locked.
        saved.check_lineage(&state)?;
    } else {
        saved.check_fresh(&state)?;
    }
    let plugins = context.app.plugins(&configuration, Some(&state), &saved.lock, parallelism)?;
    let digests = plugins.digests();
    saved.check_plugins(&context.app, &digests)?;
    let run = context.engine_run(configuration, plugins);
    let schemas = run.schemas(Some(&state)).await?;
    // The process ends after the apply, and freeing a large plan takes time.
    let mut plan = ManuallyDrop::new(saved.into_plan(path, &schemas)?);
    schemas.close().await;
    // Moves are stored in one step, which would undo later changes of the state.
    if manager.has_rows() && stores_moves_first(&plan, &state) && plan.previous_state.serial != state.serial {
        return Err(Failure::error(
            "Saved plan is stale",
            "The plan moves objects or destroys all of them, and the state has changed since the plan was \
             created. Create a new plan.",
        ));
    }
    if plan.errored {
        return Err(Failure::error(
            "Cannot apply incomplete plan",
            "An error ended the planning early, and the incomplete plan was saved for inspection only. Fix \
             the error and create a new plan.",
        ));
    }
    if plan.secrets == ObjectSecrets::Withheld {
        return Err(Failure::error(
            "Cannot apply plan of untrusted configuration",
            "The plan was created with -untrusted: it contains no sensitive values, and is for review only. \
             Review the configuration, and create a new plan without -untrusted.",
        ));
    }
    if !plan.is_applyable() && plan.has_changes() {
        return Err(Failure::error(
            "Cannot apply non-applyable plan",
            "The saved plan shows only changes that a refresh-only plan cannot apply, such as removing an \
             output that is no longer declared. Create a plan without -refresh-only to apply them.",
        ));
    }
    let module = &run.configuration.root().module;
    let (environment, shell) = (&context.app.environment, &context.shell);
    let given = variables::for_saved_plan(module, &scope.variables, &plan.variables, environment, shell)?;
    plan.give_ephemeral_variables(&run.configuration, given)?;
    report::saved_plan(&context.shell, &plan);
    let variables = RootVariables::default();
    let mut operation = Operation { run, manager, state, variables, plugins: digests, stop };
    if arguments.review && plan.has_changes() {
        context.shell.diagnostics(&std::mem::take(&mut warnings));
        let decision = review_view::review_plan(context, &plan, &operation, ViewApproval::Apply).await?;
        if decision == Decision::NotApproved {
            context.shell.say("Apply cancelled.");
            return Ok(Status::Failed);
        }
    }
    let plan =
        operation.lock_rows(plan, Replan::Never, ApprovedPlan::Shown, &arguments.lock, context).await?;
    finish(context, &mut operation, &plan, warnings, parallelism, Summary::Apply).await
}
