//! `wardian apply` and `wardian destroy`

use std::path::Path;

use wardian_config::RootVariables;
use wardian_diagnostic::{DiagnosticOrigin, Diagnostics};
use wardian_engine::{Mode, Plan};

use crate::arguments::{ApplyArguments, DestroyArguments};
use crate::failure::{Failure, Outcome, Status};
use crate::interrupt;
use crate::operation::{Approval, Operation, Order, ask_for_approval, mode, plan_options};
use crate::render::json::Summary;
use crate::report;
use crate::saved_plan::SavedPlan;
use crate::session::Session;
use crate::state_access::{self, LockedFor};
use crate::variables;

/// Plans, asks and does it; or does what a saved plan says.
pub(crate) async fn run(session: &Session, arguments: &ApplyArguments) -> Outcome {
    if let Some(path) = &arguments.plan {
        return saved(session, path, arguments).await;
    }
    let scope = &arguments.planning.scope;
    let order = Order {
        options: plan_options(mode(&arguments.planning), scope, arguments.operation),
        variables: &scope.variables,
        operation: arguments.operation,
        lock: &arguments.lock,
        state_out: &arguments.state_out,
        purpose: LockedFor::Apply,
    };
    plan_and_apply(session, &order, arguments.auto_approve, Summary::Apply).await
}

/// Destroys everything.
pub(crate) async fn destroy(session: &Session, arguments: &DestroyArguments) -> Outcome {
    let order = Order {
        options: plan_options(Mode::Destroy, &arguments.scope, arguments.operation),
        variables: &arguments.scope.variables,
        operation: arguments.operation,
        lock: &arguments.lock,
        state_out: &arguments.state_out,
        purpose: LockedFor::Apply,
    };
    plan_and_apply(session, &order, arguments.auto_approve, Summary::Destroy).await
}

async fn plan_and_apply(
    session: &Session,
    order: &Order<'_>,
    auto_approve: bool,
    summary: Summary,
) -> Outcome {
    if session.shell.is_for_programs() && !auto_approve {
        return Err(Failure::error(
            "Plan file or auto-approve required",
            "With -json nobody can be asked to approve the plan. Name a saved plan, or give -auto-approve as well.",
        ));
    }
    let mode = order.options.mode;
    let mut operation = Operation::prepare(session, order).await?;
    let (plan, diagnostics) = operation.plan(&order.options).await;
    let Some(plan) = plan else { return Err(Failure::Diagnostics(diagnostics)) };
    report::plan(&session.shell, &plan);
    if diagnostics.has_errors() {
        return Err(Failure::Diagnostics(diagnostics));
    }
    let mut untold = diagnostics;
    if plan.is_applyable() && !auto_approve {
        // Who approves must know.
        session.shell.diagnostics(&std::mem::take(&mut untold));
        match ask_for_approval(mode, &operation.stop, session).await? {
            Approval::Given => {}
            Approval::Refused => {
                let what = if mode == Mode::Destroy { "Destroy" } else { "Apply" };
                session.shell.say(format_args!("{what} cancelled."));
                return Ok(Status::Failed);
            }
        }
    }
    // The apply looks at every check again: what the plan found is out of date then.
    untold = untold.into_iter().filter(|warning| warning.origin != DiagnosticOrigin::Check).collect();
    finish(session, &mut operation, &plan, untold, order.operation.parallelism, summary).await
}

async fn finish(
    session: &Session,
    operation: &mut Operation,
    plan: &Plan,
    untold: Diagnostics,
    parallelism: usize,
    summary: Summary,
) -> Outcome {
    let done = operation.apply(plan, untold, parallelism, session).await?;
    if done.status == Status::Success {
        done.tell(summary, session);
    }
    Ok(done.status)
}

async fn saved(session: &Session, path: &Path, arguments: &ApplyArguments) -> Outcome {
    let planning = &arguments.planning;
    let scope = &planning.scope;
    let shapes_plan = planning.destroy || planning.refresh_only || !scope.refresh;
    let is_partial = !scope.target.is_empty() || !scope.exclude.is_empty();
    if shapes_plan || is_partial || !scope.replace.is_empty() {
        return Err(Failure::error(
            "Options are in the plan",
            "What a saved plan does was settled when it was made. Give -destroy, -refresh-only, -refresh=false, \
             -target, -exclude and -replace to `wardian plan` instead.",
        ));
    }
    let parallelism = arguments.operation.parallelism;
    let stop = interrupt::listen(&session.shell)?;
    let saved = SavedPlan::read(path, session, Some(&stop)).await?;
    saved.check_workspace(&session.workspace.name)?;
    let configuration = saved.configuration.clone();
    let mut file = state_access::open(
        session,
        &configuration,
        &arguments.lock,
        &arguments.state_out,
        LockedFor::SavedPlan,
        &stop,
    )
    .await?;
    let state = file.read()?;
    saved.check_fresh(&state)?;
    let plugins = session.plugins(&configuration, Some(&state), &saved.lock, parallelism)?;
    let digests = plugins.digests();
    saved.check_plugins(session, &digests)?;
    let run = session.run(configuration, plugins);
    let schemas = run.schemas(Some(&state)).await?;
    let mut plan = saved.into_plan(path, &schemas)?;
    schemas.close().await;
    if plan.errored {
        return Err(Failure::error(
            "Cannot apply incomplete plan",
            "An error ended the planning early, and the plan was saved as far as it came, to be looked at. Mend what was \
             wrong and make a new one.",
        ));
    }
    if !plan.is_applyable() && plan.has_changes() {
        return Err(Failure::error(
            "Cannot apply non-applyable plan",
            "All that the saved plan shows is what a refresh does not do, such as to drop an output that is declared no \
             more. Make a plan without -refresh-only for that.",
        ));
    }
    let module = &run.configuration.root().module;
    let (environment, shell) = (&session.environment, &session.shell);
    let given = variables::for_saved_plan(module, &scope.variables, &plan.variables, environment, shell)?;
    plan.give_ephemeral_variables(&run.configuration, given)?;
    report::saved_plan(&session.shell, &plan);
    let variables = RootVariables::default();
    let mut operation = Operation { run, file, state, variables, plugins: digests, stop };
    finish(session, &mut operation, &plan, Diagnostics::new(), parallelism, Summary::Apply).await
}
