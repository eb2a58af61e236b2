//! `wardian refresh`

use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_engine::{Mode, PlanOptions};

use crate::arguments::RefreshArguments;
use crate::failure::{Failure, Outcome};
use crate::operation::{Operation, Order};
use crate::report;
use crate::session::Session;
use crate::state_access::LockedFor;

/// Brings the state to what the objects are, without asking.
pub(crate) async fn run(session: &Session, arguments: &RefreshArguments) -> Outcome {
    let parallelism = arguments.operation.parallelism;
    let options = PlanOptions {
        mode: Mode::RefreshOnly,
        targets: arguments.target.clone(),
        parallelism,
        ..PlanOptions::default()
    };
    let order = Order {
        options: options.clone(),
        variables: &arguments.variables,
        operation: arguments.operation,
        lock: &arguments.lock,
        state_out: &arguments.state_out,
        purpose: LockedFor::Refresh,
    };
    let mut operation = Operation::prepare(session, &order).await?;
    let (plan, mut diagnostics) = operation.plan(&options).await;
    let Some(plan) = plan else { return Err(Failure::Diagnostics(diagnostics)) };
    if operation.state.resources().len() == 0 {
        let detail = "The state has no objects yet, so there is nothing to read.";
        diagnostics.push(Diagnostic::warning("Empty or missing state", detail));
    }
    let plan = session.shell.warned(plan, &diagnostics)?;
    let done = operation.apply(&plan, Diagnostics::new(), parallelism, session).await?;
    report::outputs(&session.shell, &done.state.outputs);
    Ok(done.status)
}
