//! Code shared by `plan`, `apply`, `destroy` and `refresh`: loads a configuration and variables,
//! locks the state, runs an operation on them, and reports the result.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use wardian_address::ResourceMode;
use wardian_app::AppError;
use wardian_app::backend;
use wardian_app::compatibility::TERRAFORM_VERSION;
use wardian_app::state_access::{self, LockPurpose};
use wardian_app::state_diagnostic;
use wardian_app::state_recorder::Recorder;
use wardian_app::unless_stopped;
use wardian_config::{Configuration, RootVariables};
use wardian_diagnostic::{Diagnosed, Diagnostic, Diagnostics};
use wardian_engine::{
    Action, Applied, ChangeCounts, EngineContext, MissingConfiguration, Mode, Plan, PlanOptions,
    ResourceChange, StopSignal,
};
use wardian_printable::escape::escape_json;
use wardian_printable::{PrintableText, printable};
use wardian_state::{State, StateManager};

mod row_locks;

use crate::address_file;
use crate::arguments::{
    LockArguments, OperationArguments, PlanningArguments, ScopeArguments, StateOutArguments,
    VariableArguments,
};
use crate::command_context::CommandContext;
use crate::failure::{Failure, Outcome, Status};
use crate::interrupt;
use crate::progress::Phase;
use crate::render::json::Summary;
use crate::report;
use crate::shell::Paint;
use crate::variables::{self, Prompting};

pub(crate) use row_locks::{ApprovedPlan, Replan};

/// The user's options for an operation. They do not depend on the command.
pub(crate) struct OperationRequest<'a> {
    pub(crate) options: PlanOptions,
    pub(crate) variables: &'a VariableArguments,
    pub(crate) operation: OperationArguments,
    /// Options that select and lock the state.
    pub(crate) lock: &'a LockArguments,
    /// The file to which a changed state is written.
    pub(crate) state_out: &'a StateOutArguments,
    /// The purpose to be recorded in the lock information.
    pub(crate) purpose: LockPurpose,
    /// Whether only the summary of the plan is shown.
    pub(crate) is_summarized: bool,
}

/// The inputs of an operation. The state is locked until the operation has ended.
pub(crate) struct Operation {
    pub(crate) run: EngineContext,
    pub(crate) manager: StateManager,
    /// The state before the operation.
    pub(crate) state: Arc<State>,
    /// The root module's variable values, for a plan.
    pub(crate) variables: RootVariables,
    /// The hashes that identify the plugins.
    pub(crate) plugins: BTreeMap<String, String>,
    /// The signal with which the user stops the operation.
    pub(crate) stop: StopSignal,
}

/// Returns the plan options for a mode.
///
/// # Errors
/// Returns an error if a file with addresses cannot be read.
pub(crate) fn plan_options(
    mode: Mode,
    scope: &ScopeArguments,
    operation: OperationArguments,
) -> Outcome<PlanOptions> {
    let (mut targets, mut excludes) = (scope.target.clone(), scope.exclude.clone());
    targets.extend(address_file::read_all(&scope.target_file, "-target-file")?);
    excludes.extend(address_file::read_all(&scope.exclude_file, "-exclude-file")?);
    Ok(PlanOptions {
        mode,
        refresh: scope.refresh,
        targets,
        excludes,
        replace: scope.replace.clone(),
        invoke: Vec::new(),
        missing_configuration: MissingConfiguration::Refused,
        parallelism: operation.parallelism,
    })
}

/// Returns the plan mode selected by the options.
pub(crate) fn mode(planning: &PlanningArguments) -> Mode {
    match (planning.destroy, planning.refresh_only) {
        (true, _) => Mode::Destroy,
        (_, true) => Mode::RefreshOnly,
        _ => Mode::Normal,
    }
}

impl Operation {
    /// Loads and locks everything that the operation requires.
    ///
    /// # Errors
    /// Returns an error if the operation cannot start. In this case, nothing has been changed.
    pub(crate) async fn prepare(context: &CommandContext, request: &OperationRequest<'_>) -> Outcome<Self> {
        let stop = interrupt::listen(&context.shell)?;
        let configuration = match request.options.mode {
            Mode::Destroy => context.app.configuration()?,
            Mode::Normal | Mode::RefreshOnly => context.app.configuration_with_files()?,
        };
        // Do not prompt for variables if the run cannot start.
        backend::in_effect(&context.app, Some(&configuration)).await?;
        let asks = request.operation.input && !context.shell.is_for_programs();
        let asking = if asks { Prompting::Allowed } else { Prompting::Forbidden };
        let (module, shell) = (&configuration.root().module, &context.shell);
        let variables =
            variables::collect(module, request.variables, asking, &context.app.environment, shell, &stop)
                .await?;
        context.app.set_encryption_variables(&variables);
        let mut manager = state_access::open(
            &context.app,
            &configuration,
            &request.lock.options(),
            &request.state_out.options(),
            request.purpose,
            &stop,
        )
        .await?;
        let state = manager.read().await?;
        let lock = context.app.lock_file()?;
        let plugins =
            context.app.plugins(&configuration, Some(&state), &lock, request.operation.parallelism)?;
        let digests = plugins.digests();
        Ok(Self {
            run: context.engine_run(configuration, plugins),
            manager,
            state,
            variables,
            plugins: digests,
            stop,
        })
    }

    /// Creates a plan. If errors occur, the plan contains everything that could be planned.
    pub(crate) async fn plan(
        &self,
        options: &PlanOptions,
        context: &CommandContext,
    ) -> (Option<Plan>, Diagnostics) {
        let footer = context.progress.begin(Phase::Plan, || self.objects_to_read(options));
        let (state, variables) = ((*self.state).clone(), self.variables.clone());
        let planned = self.run.plan(state, variables, options, self.stop.clone()).await;
        drop(footer);
        let Diagnosed { value: plan, mut diagnostics } = planned;
        if !options.targets.is_empty() || !options.excludes.is_empty() {
            diagnostics.push(Diagnostic::warning(
                "Resource targeting is in effect",
                "With -target or -exclude only a part of the configuration was planned, so there may be more \
                 changes than this plan shows. Use these options only to recover from mistakes or in \
                 emergencies; `wardian plan` without them shows all changes.",
            ));
        }
        (plan, diagnostics)
    }

    /// Applies a plan and saves the state, even after errors. Diagnostics of the plan that have not
    /// been shown yet are shown with the diagnostics of the apply.
    ///
    /// # Errors
    /// Returns an error if the apply could not start.
    pub(crate) async fn apply(
        &mut self,
        plan: &Plan,
        untold: Diagnostics,
        parallelism: usize,
        context: &CommandContext,
    ) -> Outcome<Done> {
        let is_moved = stores_moves_first(plan, &self.state);
        let mut base = &plan.previous_state;
        if is_moved {
            self.manager.write(&plan.prior_state).await?;
            base = &plan.prior_state;
        }
        let mut recorder = Recorder::begin(&context.app, &mut self.manager, base).await?;
        let footer = context.progress.begin(Phase::Apply, || operation_count(plan));
        let applied = self.run.apply(plan, &mut recorder, parallelism, self.stop.clone()).await;
        drop(footer);
        let Applied { mut state, counts, diagnostics: found, stopped } = applied;
        let mut diagnostics = untold;
        diagnostics.extend(found);
        if plan.is_partial() {
            diagnostics.push(Diagnostic::warning(
                "Applied changes may be incomplete",
                "The plan was created with -target or -exclude, so parts of the configuration may not be \
                 applied yet. `wardian plan` shows the remaining changes.",
            ));
        }
        let journal = recorder.into_journal(&mut self.manager).await;
        let lineage = journal.lineage().to_owned();
        let state = match self.manager.finish(journal, &plan.prior_state, &state).await {
            Ok(saved) => saved,
            Err(error) => {
                diagnostics.push(state_diagnostic(&error));
                // Merging the journal increments the serial of the state, so this state needs a
                // higher one.
                state.serial = self.manager.stored_serial().max(self.state.serial).saturating_add(2);
                state.lineage = lineage;
                TERRAFORM_VERSION.clone_into(&mut state.terraform_version);
                keep_elsewhere(&self.manager, &state, &mut diagnostics, context).await;
                Arc::new(state)
            }
        };
        if let Err(error) = self.manager.unlock().await {
            diagnostics.extend(AppError::for_unlock(error).into_diagnostics());
        }
        context.shell.diagnostics(&diagnostics);
        let status = if diagnostics.has_errors() || stopped { Status::Failed } else { Status::Success };
        Ok(Done { state, counts, status })
    }

    /// Returns the number of objects in the state that a plan reads.
    fn objects_to_read(&self, options: &PlanOptions) -> usize {
        if !options.refresh {
            return 0;
        }
        let managed = self.state.resources().filter(|(address, _)| address.mode == ResourceMode::Managed);
        managed.map(|(_, resource)| resource.instances.len()).sum()
    }

    pub(crate) fn configuration(&self) -> &Configuration {
        &self.run.configuration
    }
}

/// Returns whether the state with moved objects is stored before a plan is applied. Moves change the
/// state in one step, but the journal records one object at a time.
pub(crate) fn stores_moves_first(plan: &Plan, state: &State) -> bool {
    plan.changes.iter().any(|change| change.previous_address.is_some())
        || plan.mode == Mode::Destroy && !plan.previous_state.same_content(state)
}

/// Returns the number of operations that an apply of the plan reports.
fn operation_count(plan: &Plan) -> usize {
    let count = |change: &ResourceChange| match change.action {
        Action::NoOp | Action::Forget => 0,
        Action::Create | Action::Read | Action::Update | Action::Delete => 1,
        Action::DeleteThenCreate | Action::CreateThenDelete => 2,
    };
    plan.changes.iter().map(count).sum::<usize>() + plan.invocations.len()
}

/// The result of an apply.
pub(crate) struct Done {
    /// The saved state.
    pub(crate) state: Arc<State>,
    pub(crate) counts: ChangeCounts,
    pub(crate) status: Status,
}

impl Done {
    /// Reports the number of changes and the outputs.
    pub(crate) fn report(&self, summary: Summary, context: &CommandContext) {
        report::done(&context.shell, summary, self.counts, &self.state);
    }
}

/// Saves a state that cannot be stored in its usual location to another file. If that fails, too,
/// prints the state, encrypted if it must be.
async fn keep_elsewhere(
    manager: &StateManager,
    state: &State,
    diagnostics: &mut Diagnostics,
    context: &CommandContext,
) {
    let error = match manager.write_errored(Path::new(""), state).await {
        Ok(path) => {
            diagnostics.error(
                "State saved elsewhere",
                format!(
                    "The new state could not be written to its usual location and is in {0} instead. As soon as \
                     the usual location can be written again, run \
                     `wardian state push {0}` before any other command.",
                    path.display()
                ),
            );
            return;
        }
        Err(error) => error,
    };
    diagnostics.push(state_diagnostic(&error));
    let Ok(text) = manager.stored_text(state).await else {
        diagnostics.error(
            "State not saved",
            "The new state could not be written to any file, and it could not be encrypted, so it is not \
             printed. The journal contains every change that could be recorded, and the next command that \
             locks the state recovers them.",
        );
        return;
    };
    context.shell.print(PrintableText::from_lines(&escape_json(&text)));
    diagnostics.error(
        "State not saved",
        "The new state could not be written to any file, so it is printed above. Copy that text to a file \
         as soon as there is space for one, and run `wardian state push FILE` before any other command. The \
         journal next to the state contains every change that could be recorded, and the next command that \
         locks the state recovers them.",
    );
}

/// The result of asking for approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Approval {
    Given,
    Refused,
}

/// Asks whether to apply a plan.
///
/// # Errors
/// Returns an error if the input ends without an answer.
pub(crate) async fn ask_for_approval(
    mode: Mode,
    stop: &StopSignal,
    context: &CommandContext,
) -> Outcome<Approval> {
    let shell = &context.shell;
    let product = shell.product();
    let name = product.name();
    let (question, explanation) = match (mode, product.is_own()) {
        (Mode::Normal, _) => (
            PrintableText::from("Do you want to perform these actions?"),
            printable!(
                "{name} will perform the actions described above.\n  Only 'yes' will be accepted to approve."
            ),
        ),
        (Mode::Destroy, true) => (
            "Do you really want to destroy all resources?".into(),
            printable!(
                "{name} will destroy everything shown above. This cannot be undone.\n  Only 'yes' will be \
                 accepted to confirm."
            ),
        ),
        (Mode::Destroy, false) => (
            "Do you really want to destroy all resources?".into(),
            printable!(
                "{name} will destroy all your managed infrastructure, as shown above.\n  There is no undo. Only \
                 'yes' will be accepted to confirm."
            ),
        ),
        (Mode::RefreshOnly, true) => (
            "Would you like to update the state to reflect these detected changes?".into(),
            printable!(
                "{name} will write these changes to the state without changing any remote objects.\n  Only \
                 'yes' will be accepted to confirm."
            ),
        ),
        (Mode::RefreshOnly, false) => (
            printable!("Would you like to update the {name} state to reflect these detected changes?"),
            printable!(
                "{name} will write these changes to the state without modifying any real infrastructure.\n  \
                 There is no undo. Only 'yes' will be accepted to confirm."
            ),
        ),
    };
    let question = printable!(
        "\n{}\n  {explanation}\n\n  {} ",
        shell.paint(Paint::Bold, question),
        shell.paint(Paint::Bold, "Enter a value:")
    );
    let answer = unless_stopped(stop, shell.ask(question)).await.ok_or_else(AppError::interrupted)?;
    match answer {
        Ok(Some(answer)) if answer.trim() == "yes" => Ok(Approval::Given),
        Ok(Some(answer)) => {
            if is_consent(&answer) {
                shell.say(printable!("\n\"{}\" is not \"yes\", so nothing was approved.", answer.trim()));
            }
            Ok(Approval::Refused)
        }
        Ok(None) => Err(Failure::error(
            "No answer",
            "The plan needs approval, and the input ended without an answer. Nothing was changed. If there \
             is no terminal, use -auto-approve, or `wardian plan -out=FILE` and `wardian apply \
             FILE`.",
        )),
        Err(error) => Err(Failure::error("No answer", format!("The answer cannot be read: {error}."))),
    }
}

/// Returns whether an answer probably means yes, although it is not accepted as such.
fn is_consent(answer: &str) -> bool {
    matches!(answer.trim().to_lowercase().as_str(), "y" | "yes" | "ok" | "true" | "j" | "ja" | "si" | "oui")
}
