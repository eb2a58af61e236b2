//! `wardian refresh`: updates the state to match the remote objects, without asking for approval.

use std::path::Path;

use async_trait::async_trait;
use wardian_app::protected_files::NamedFile;
use wardian_app::state_access::LockPurpose;
use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_engine::{Mode, PlanOptions};

use crate::arguments::RefreshArguments;
use crate::command_context::CommandContext;
use crate::command_spec::CommandSpec;
use crate::failure::{Failure, Outcome};
use crate::operation::{Operation, OperationRequest};
use crate::report;
use crate::shell::{OutputKind, ViewOptions};

#[async_trait(?Send)]
impl CommandSpec for RefreshArguments {
    fn view(&self) -> ViewOptions {
        self.output.view()
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

    fn named_files(&self) -> Vec<NamedFile> {
        let variables = self.variables.named_files();
        variables.chain(self.lock.named_files()).chain(self.state_out.named_files()).collect()
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        run(context, self).await
    }
}

async fn run(context: &CommandContext, arguments: &RefreshArguments) -> Outcome {
    let parallelism = arguments.operation.parallelism;
    let options = PlanOptions {
        mode: Mode::RefreshOnly,
        targets: arguments.target.clone(),
        parallelism,
        ..PlanOptions::default()
    };
    let request = OperationRequest {
        options: options.clone(),
        variables: &arguments.variables,
        operation: arguments.operation,
        lock: &arguments.lock,
        state_out: &arguments.state_out,
        purpose: LockPurpose::Refresh,
        is_summarized: false,
    };
    let mut operation = Operation::prepare(context, &request).await?;
    let (plan, mut diagnostics) = operation.plan(&options, context).await;
    let Some(plan) = plan else { return Err(Failure::Diagnostics(diagnostics)) };
    if operation.state.resources().len() == 0 {
        let detail = "The state has no objects yet, so there is nothing to read.";
        diagnostics.push(Diagnostic::warning("Empty or non-existent state", detail));
    }
    let plan = context.shell.warned(plan, &diagnostics)?;
    let done = operation.apply(&plan, Diagnostics::new(), parallelism, context).await?;
    report::outputs(&context.shell, &done.state.outputs);
    Ok(done.status)
}
