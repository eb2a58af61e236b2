//! Locks the rows of a plan before it is applied, if the storage of the state keeps rows separately.
//!
//! If another run has changed rows that the plan uses, the plan is created again. If the new plan makes
//! the same changes, the approval applies to it.

use std::fmt::Write as _;
use std::mem::ManuallyDrop;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use wardian_app::{AppError, unless_stopped};
use wardian_engine::{Plan, PlanOptions, has_same_changes, row_locks};
use wardian_state::{ConflictReason, RowConflict, RowLockError};

use super::Operation;
use crate::arguments::LockArguments;
use crate::command_context::CommandContext;
use crate::failure::{Failure, Outcome};
use crate::report;

/// The pause before rows that another run has locked are tried again.
const PAUSE: Duration = Duration::from_millis(500);

/// The maximum number of plans that are created because other runs change the same rows, without
/// `-lock-timeout`.
const MAX_PLANS: usize = 5;

/// The maximum number of conflicts that an error lists.
const MAX_SHOWN: usize = 10;

/// Whether a plan may be created again.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Replan<'a> {
    /// The plan is saved in a file.
    Never,
    With(&'a PlanOptions),
}

/// The plans that may be applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ApprovedPlan {
    /// The plan that was shown, and plans with the same changes.
    Shown,
    /// Any plan, because of `-auto-approve`.
    Any,
}

impl Operation {
    /// Locks the rows that a plan writes and reads. Returns the plan to be applied.
    ///
    /// # Errors
    /// Returns an error if other runs use the same rows, or if the changes of the new plan differ from
    /// the approved ones. Nothing was changed.
    pub(crate) async fn lock_rows(
        &mut self,
        mut plan: ManuallyDrop<Plan>,
        replan: Replan<'_>,
        approved: ApprovedPlan,
        lock: &LockArguments,
        context: &CommandContext,
    ) -> Outcome<ManuallyDrop<Plan>> {
        if !self.manager.has_rows() || !self.manager.is_locked() {
            return Ok(plan);
        }
        let deadline = Instant::now() + lock.options().lock_timeout;
        let mut plans = 1;
        loop {
            let locks = row_locks(&self.run.configuration, &plan)
                .map_err(|problem| Failure::error("Plan cannot be applied", format!("{problem}.")))?;
            let error = match self.manager.lock_rows(&locks, plan.previous_state.serial).await {
                Ok(()) => return Ok(plan),
                Err(error) => error,
            };
            let is_before_deadline = Instant::now() < deadline;
            match (&error, replan) {
                (error, Replan::With(options))
                    if error.is_stale() && (plans < MAX_PLANS || is_before_deadline) =>
                {
                    plans += 1;
                    plan = self.plan_again(&plan, options, approved, context).await?;
                }
                // Rows that have also changed are a reason for a new plan when no row is locked.
                (RowLockError::Conflicts { conflicts }, _) if is_before_deadline && can_wait(conflicts) => {
                    let paused = unless_stopped(&self.stop, sleep(PAUSE)).await;
                    paused.ok_or_else(AppError::interrupted)?;
                }
                _ => return Err(failure(error)),
            }
        }
    }

    async fn plan_again(
        &mut self,
        plan: &Plan,
        options: &PlanOptions,
        approved: ApprovedPlan,
        context: &CommandContext,
    ) -> Outcome<ManuallyDrop<Plan>> {
        context.shell.say("\nAnother run has changed objects that this plan uses. Planning again...");
        self.state = self.manager.read_again().await?;
        let (new, diagnostics) = self.plan(options, context).await;
        let Some(new) = new.filter(|_| !diagnostics.has_errors()) else {
            return Err(Failure::Diagnostics(diagnostics));
        };
        context.shell.diagnostics(&diagnostics);
        if has_same_changes(plan, &new) {
            context.shell.say("\nThe new plan makes the same changes.");
            return Ok(ManuallyDrop::new(new));
        }
        report::plan(&context.shell, &new);
        if approved == ApprovedPlan::Any {
            return Ok(ManuallyDrop::new(new));
        }
        Err(Failure::error(
            "Plan is stale",
            "Another run has changed objects that this plan uses, and the changes of the new plan, which is \
             shown above, differ from the approved ones. Nothing was changed. Run the command again.",
        ))
    }
}

/// Returns whether the end of other runs can resolve the conflicts.
fn can_wait(conflicts: &[RowConflict]) -> bool {
    let has = |reason| conflicts.iter().any(|conflict| conflict.reason == reason);
    has(ConflictReason::Locked) && !has(ConflictReason::Interrupted)
}

fn failure(error: RowLockError) -> Failure {
    match error {
        RowLockError::Storage(error) => AppError::from(error).into(),
        RowLockError::Conflicts { conflicts } => conflict_failure(&conflicts),
    }
}

/// Returns the error for rows that other runs use. It names each row, the other run and the remedy.
fn conflict_failure(conflicts: &[RowConflict]) -> Failure {
    let mut detail = String::from("Other runs use the same objects, so nothing was changed:\n");
    for RowConflict { key, reason, holder } in conflicts.iter().take(MAX_SHOWN) {
        let (who, created, id) = (&holder.who, &holder.created, &holder.id);
        // Writing to a string cannot fail.
        let _ = match reason {
            ConflictReason::Locked => {
                write!(detail, "\n  - {key} is locked by a run of {who} since {created} (lock ID {id})")
            }
            ConflictReason::Interrupted => write!(
                detail,
                "\n  - {key} may have been changed by an interrupted run of {who} since {created} (lock ID {id})"
            ),
            ConflictReason::Changed => {
                write!(detail, "\n  - {key} was changed by a run of {who} that started at {created}")
            }
        };
    }
    if conflicts.len() > MAX_SHOWN {
        let _ = write!(detail, "\n  - and {} more", conflicts.len() - MAX_SHOWN);
    }
    let has = |reason| conflicts.iter().any(|conflict| conflict.reason == reason);
    let (headline, remedy) = if has(ConflictReason::Interrupted) {
        (
            "Objects of an interrupted run",
            "Run any command that locks the state on the machine of the interrupted run, in its directory: it \
             stores the changes that the journal contains. If the journal is lost, check whether the objects \
             exist, and release the lock with `wardian force-unlock`.",
        )
    } else if has(ConflictReason::Locked) {
        ("Objects are locked", "Wait for the other runs, for example with -lock-timeout=5m.")
    } else {
        ("Plan is stale", "Create a new plan.")
    };
    Failure::error(headline, format!("{detail}\n\n{remedy}"))
}
