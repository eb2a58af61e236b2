//! `wardian plan`

use std::path::PathBuf;

use wardian_engine::MissingConfiguration;

use crate::arguments::{PlanArguments, StateOutArguments};
use crate::failure::{Failure, Outcome, Status};
use crate::generated_configuration;
use crate::operation::{Operation, Order, mode, plan_options};
use crate::render::plan::PlanNote;
use crate::report;
use crate::saved_plan;
use crate::session::Session;
use crate::state_access::LockedFor;
use crate::untrusted;

/// Shows what an apply would do.
pub(crate) async fn run(session: &Session, arguments: &PlanArguments) -> Outcome {
    let scope = &arguments.planning.scope;
    let mut options = plan_options(mode(&arguments.planning), scope, arguments.operation);
    if session.confinement.is_some() {
        let written = arguments.out.iter().chain(&arguments.generate_config_out);
        written.into_iter().try_for_each(|path| untrusted::check_written(path))?;
    }
    if let Some(path) = &arguments.generate_config_out {
        generated_configuration::check_absent(path)?;
        options.missing_configuration = MissingConfiguration::Generated;
    }
    let state_out = StateOutArguments::default();
    let order = Order {
        options: options.clone(),
        variables: &scope.variables,
        operation: arguments.operation,
        lock: &arguments.lock,
        state_out: &state_out,
        purpose: LockedFor::Plan,
    };
    let operation = Operation::prepare(session, &order).await?;
    let (plan, diagnostics) = operation.plan(&options).await;
    let Some(plan) = plan else { return Err(Failure::Diagnostics(diagnostics)) };
    // Also what is not complete is written: it is for the person to complete.
    let generated = match &arguments.generate_config_out {
        Some(path) if generated_configuration::write(path, &plan)? => Some(path),
        _ => None,
    };
    if let Some(path) = &arguments.out {
        // Also what is not complete is saved, to be looked at: it cannot be applied.
        let passphrase = if arguments.encrypt {
            Some(saved_plan::new_passphrase(session, &operation.stop).await?)
        } else {
            None
        };
        saved_plan::write(path, &plan, &operation, passphrase.as_deref())?;
    }
    report::plan(&session.shell, &plan);
    let plan = session.shell.warned(plan, &diagnostics)?;
    if !session.environment.in_automation() {
        match &arguments.out {
            Some(path) => {
                let path = path.display().to_string();
                let apply_command = format!("wardian apply \"{path}\"");
                let saved = PlanNote::Saved { path: &path, apply_command: &apply_command };
                report::note(&session.shell, &plan, saved);
            }
            None => report::note(&session.shell, &plan, PlanNote::NotSaved),
        }
    }
    tell_generated(session, generated);
    Ok(if arguments.detailed_exitcode && plan.is_applyable() { Status::Changes } else { Status::Success })
}

fn tell_generated(session: &Session, path: Option<&PathBuf>) {
    if let Some(path) = path {
        session.shell.say(format_args!(
            "\nThe configuration of imported objects was written to {}.\nLook through it, change what is to be \
             changed, and plan again.",
            path.display()
        ));
    }
}
