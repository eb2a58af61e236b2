//! What `plan`, `apply`, `destroy` and `refresh` have in common: a configuration,
//! variables, a locked state and a run over them; and how a run ends.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use wardian_app::AppError;
use wardian_app::backend;
use wardian_app::compatibility::TERRAFORM_VERSION;
use wardian_app::state_access::{self, LockPurpose, Recorder};
use wardian_app::state_diagnostic;
use wardian_app::unless_stopped;
use wardian_config::{Configuration, RootVariables};
use wardian_diagnostic::{Diagnosed, Diagnostic, Diagnostics};
use wardian_engine::{
    Applied, ChangeCounts, EngineContext, MissingConfiguration, Mode, Plan, PlanOptions, StopSignal,
};
use wardian_state::{State, StateFile, encode_state};

use crate::arguments::{
    LockArguments, OperationArguments, PlanningArguments, ScopeArguments, StateOutArguments,
    VariableArguments,
};
use crate::command_context::CommandContext;
use crate::failure::{Failure, Outcome, Status};
use crate::interrupt;
use crate::render::json::Summary;
use crate::report;
use crate::shell::Paint;
use crate::variables::{self, Prompting};

/// What a person asks of an operation, from whichever command.
pub(crate) struct OperationRequest<'a> {
    /// What kind of plan.
    pub(crate) options: PlanOptions,
    /// Values of variables.
    pub(crate) variables: &'a VariableArguments,
    /// How it is carried out.
    pub(crate) operation: OperationArguments,
    /// Which state, and its lock.
    pub(crate) lock: &'a LockArguments,
    /// Where a changed state goes.
    pub(crate) state_out: &'a StateOutArguments,
    /// What the lock is held for.
    pub(crate) purpose: LockPurpose,
}

/// All that an operation works on. The state is locked while this lives.
pub(crate) struct Operation {
    /// The run.
    pub(crate) run: EngineContext,
    /// The state's file.
    pub(crate) file: StateFile,
    /// The state as it was found.
    pub(crate) state: Arc<State>,
    /// Values of the root module's variables, for a plan.
    pub(crate) variables: RootVariables,
    /// What the plugins are recognised by.
    pub(crate) plugins: BTreeMap<String, String>,
    /// Somebody wants it to end.
    pub(crate) stop: StopSignal,
}

/// The options of a plan in a mode.
pub(crate) fn plan_options(mode: Mode, scope: &ScopeArguments, operation: OperationArguments) -> PlanOptions {
    PlanOptions {
        mode,
        refresh: scope.refresh,
        targets: scope.target.clone(),
        excludes: scope.exclude.clone(),
        replace: scope.replace.clone(),
        missing_configuration: MissingConfiguration::Refused,
        parallelism: operation.parallelism,
    }
}

/// The mode that options ask for.
pub(crate) fn mode(planning: &PlanningArguments) -> Mode {
    match (planning.destroy, planning.refresh_only) {
        (true, _) => Mode::Destroy,
        (_, true) => Mode::RefreshOnly,
        _ => Mode::Normal,
    }
}

impl Operation {
    /// Loads and locks everything.
    ///
    /// # Errors
    /// Whatever stands in the way; nothing was changed then.
    pub(crate) async fn prepare(context: &CommandContext, request: &OperationRequest<'_>) -> Outcome<Self> {
        let stop = interrupt::listen(&context.shell)?;
        let configuration = match request.options.mode {
            Mode::Destroy => context.app.configuration()?,
            Mode::Normal | Mode::RefreshOnly => context.app.configuration_with_files()?,
        };
        // Nobody is asked for values of a run that cannot begin.
        backend::in_effect(&context.app.data_directory(), Some(&configuration))?;
        let asks = request.operation.input && !context.shell.is_for_programs();
        let asking = if asks { Prompting::Allowed } else { Prompting::Forbidden };
        let (module, shell) = (&configuration.root().module, &context.shell);
        let variables =
            variables::collect(module, request.variables, asking, &context.app.environment, shell, &stop)
                .await?;
        let mut file = state_access::open(
            &context.app,
            &configuration,
            &request.lock.options(),
            &request.state_out.options(),
            request.purpose,
            &stop,
        )
        .await?;
        let state = file.read()?;
        let lock = context.app.lock_file()?;
        let plugins =
            context.app.plugins(&configuration, Some(&state), &lock, request.operation.parallelism)?;
        let digests = plugins.digests();
        Ok(Self {
            run: context.engine_run(configuration, plugins),
            file,
            state,
            variables,
            plugins: digests,
            stop,
        })
    }

    /// Plans. The plan is there after errors too, for what could be planned.
    pub(crate) async fn plan(&self, options: &PlanOptions) -> (Option<Plan>, Diagnostics) {
        let (state, variables) = ((*self.state).clone(), self.variables.clone());
        let planned = self.run.plan(state, variables, options, self.stop.clone()).await;
        let Diagnosed { value: plan, mut diagnostics } = planned;
        if !options.targets.is_empty() || !options.excludes.is_empty() {
            diagnostics.push(Diagnostic::warning(
                "Resource targeting is in effect",
                "With -target or -exclude only a part of the configuration was looked at, so that there may be more to do than \
                 this plan shows. That is for mistakes and emergencies; `wardian plan` without it shows all.",
            ));
        }
        (plan, diagnostics)
    }

    /// Carries out a plan and saves the state, whatever came of it. What is still to be
    /// told of the plan is told with what comes of it.
    ///
    /// # Errors
    /// Where nothing was begun.
    pub(crate) async fn apply(
        &mut self,
        plan: &Plan,
        untold: Diagnostics,
        parallelism: usize,
        context: &CommandContext,
    ) -> Outcome<Done> {
        // Moves are one step for the state, and the journal has one object at a time.
        let is_moved = plan.changes.iter().any(|change| change.previous_address.is_some())
            || plan.mode == Mode::Destroy && !plan.previous_state.same_content(&self.state);
        if is_moved {
            self.file.write(&plan.prior_state)?;
        }
        let mut recorder = Recorder::begin(&mut self.file)?;
        let applied = self.run.apply(plan, &mut recorder, parallelism, self.stop.clone()).await;
        let Applied { mut state, counts, diagnostics: found, stopped } = applied;
        let mut diagnostics = untold;
        diagnostics.extend(found);
        if plan.is_partial() {
            diagnostics.push(Diagnostic::warning(
                "Applied changes may be incomplete",
                "The plan was made with -target or -exclude, so that some of what the configuration says may not be done yet. \
                 `wardian plan` shows whether there is more.",
            ));
        }
        let journal = recorder.into_journal();
        let lineage = journal.lineage().to_owned();
        let state = match self.file.finish(journal, &plan.prior_state, &state) {
            Ok(saved) => saved,
            Err(error) => {
                diagnostics.push(state_diagnostic(&error));
                // Newer than what the journal may be folded in as.
                state.serial = self.state.serial.saturating_add(2);
                state.lineage = lineage;
                TERRAFORM_VERSION.clone_into(&mut state.terraform_version);
                keep_elsewhere(&state, &mut diagnostics, context);
                Arc::new(state)
            }
        };
        self.file.unlock();
        context.shell.diagnostics(&diagnostics);
        let status = if diagnostics.has_errors() || stopped { Status::Failed } else { Status::Success };
        Ok(Done { state, counts, status })
    }

    /// The configuration.
    pub(crate) fn configuration(&self) -> &Configuration {
        &self.run.configuration
    }
}

/// What came of carrying out a plan.
pub(crate) struct Done {
    /// The state as it was saved.
    pub(crate) state: Arc<State>,
    /// What was done.
    pub(crate) counts: ChangeCounts,
    /// How the command ends.
    pub(crate) status: Status,
}

impl Done {
    /// Says what was done and what the outputs are.
    pub(crate) fn report(&self, summary: Summary, context: &CommandContext) {
        report::done(&context.shell, summary, self.counts, &self.state);
    }
}

/// A state that cannot be stored where it belongs must not be lost. Where no file can
/// be written at all, people get it to see.
fn keep_elsewhere(state: &State, diagnostics: &mut Diagnostics, context: &CommandContext) {
    let error = match StateFile::write_errored(Path::new(""), state) {
        Ok(path) => {
            diagnostics.error(
                "State saved elsewhere",
                format!(
                    "The new state could not be written to its place and is in {0} instead: nothing else knows what was \
                     changed. Once its place can be written again, run `wardian state push {0}` before anything else.",
                    path.display()
                ),
            );
            return;
        }
        Err(error) => error,
    };
    diagnostics.push(state_diagnostic(&error));
    if let Ok(text) = encode_state(state) {
        context.shell.print(&text);
    }
    diagnostics.error(
        "State not saved",
        "The new state could not be written to any file, so it is printed above. Keep that text: put it into a file \
         once there is room for one, and run `wardian state push FILE` before anything else. The journal beside the \
         state has every change that could be recorded, and the next command that locks the state takes it in.",
    );
}

/// What happens where an approval was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Approval {
    /// Go on.
    Given,
    /// Do nothing.
    Refused,
}

/// Asks whether a plan shall be carried out.
///
/// # Errors
/// Where nobody answers.
pub(crate) async fn ask_for_approval(
    mode: Mode,
    stop: &StopSignal,
    context: &CommandContext,
) -> Outcome<Approval> {
    let (question, explanation) = match mode {
        Mode::Normal => (
            "Do you want to perform these actions?",
            "Wardian will do what is described above.\n  Only 'yes' will be accepted to approve.",
        ),
        Mode::Destroy => (
            "Do you really want to destroy all resources?",
            "Wardian will destroy everything shown above. There is no undo.\n  Only 'yes' will be accepted to confirm.",
        ),
        Mode::RefreshOnly => (
            "Would you like to update the state to reflect these detected changes?",
            "Wardian will write these changes to the state and change no real object.\n  Only 'yes' will be accepted \
             to confirm.",
        ),
    };
    let shell = &context.shell;
    let question = format!(
        "\n{}\n  {explanation}\n\n  {} ",
        shell.paint(Paint::Bold, question),
        shell.paint(Paint::Bold, "Enter a value:")
    );
    let answer = unless_stopped(stop, shell.ask(&question)).await.ok_or_else(AppError::interrupted)?;
    match answer {
        Ok(Some(answer)) if answer.trim() == "yes" => Ok(Approval::Given),
        Ok(Some(_)) => Ok(Approval::Refused),
        Ok(None) => Err(Failure::error(
            "No answer",
            "The plan has to be approved, and the input ended without an answer. Nothing was changed. Where nobody \
             can be asked, use -auto-approve, or `wardian plan -out=FILE` and `wardian apply FILE`.",
        )),
        Err(error) => Err(Failure::error("No answer", format!("The answer cannot be read: {error}."))),
    }
}
