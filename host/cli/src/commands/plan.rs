//! `wardian plan`: shows the changes that an apply would make.

use std::mem::ManuallyDrop;
use std::path::Path;
use std::path::PathBuf;

use async_trait::async_trait;
use wardian_access::ProtectedClass;
use wardian_app::AppError;
use wardian_app::generated_configuration;
use wardian_app::protected_files::NamedFile;
use wardian_app::saved_plan::{self, PlanProtection};
use wardian_app::state_access::LockPurpose;
use wardian_app::untrusted::{self, ConfigurationTrust};
use wardian_engine::MissingConfiguration;
use wardian_review_terminal::ViewApproval;
use wardian_state::StateEncryption as _;

use crate::arguments::{PlanArguments, StateOutArguments};
use crate::command_context::CommandContext;
use crate::command_spec::{CommandSpec, InvalidOptions};
use crate::failure::{Failure, Outcome, Status};
use crate::operation::{Operation, OperationRequest, mode, plan_options};
use crate::plan_passphrase;
use crate::render::plan::PlanNote;
use crate::report;
use crate::review_source::report_plan;
use crate::review_view::{self, Decision};
use crate::shell::{OutputKind, ViewOptions};
use wardian_printable::printable;

#[async_trait(?Send)]
impl CommandSpec for PlanArguments {
    fn view(&self) -> ViewOptions {
        let view = self.output.view();
        ViewOptions { concise: view.concise || self.summary, ..view }
    }

    fn output_kind(&self) -> OutputKind {
        self.output.kind()
    }

    fn trust(&self) -> ConfigurationTrust {
        self.trust.level()
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
        self.planning.check()?;
        if self.generate_config_out.is_some() && (self.planning.destroy || self.planning.refresh_only) {
            return Err(InvalidOptions::new(
                "Incompatible options",
                "A plan with -destroy or -refresh-only imports nothing, so it cannot be combined with \
                 -generate-config-out.",
            ));
        }
        Ok(())
    }

    fn named_files(&self) -> Vec<NamedFile> {
        let plan = self.out.iter().map(|path| (ProtectedClass::Plans, path.clone()));
        let generated = self.generate_config_out.iter();
        let generated = generated.map(|path| (ProtectedClass::Configuration, path.clone()));
        let variables = self.planning.scope.variables.named_files();
        plan.chain(generated).chain(variables).chain(self.lock.named_files()).collect()
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        run(context, self).await
    }
}

async fn run(context: &CommandContext, arguments: &PlanArguments) -> Outcome {
    if arguments.review {
        review_view::check_terminal(context)?;
    }
    let scope = &arguments.planning.scope;
    let mut options = plan_options(mode(&arguments.planning), scope, arguments.operation)?;
    options.invoke.clone_from(&arguments.planning.invoke);
    if context.app.confinement.is_some() {
        let written = arguments.out.iter().chain(&arguments.generate_config_out);
        written.into_iter().try_for_each(|path| untrusted::check_written(path))?;
    }
    if let Some(path) = &arguments.generate_config_out {
        generated_configuration::check_absent(path)?;
        options.missing_configuration = MissingConfiguration::Generated;
    }
    let state_out = StateOutArguments::default();
    let request = OperationRequest {
        options: options.clone(),
        variables: &scope.variables,
        operation: arguments.operation,
        lock: &arguments.lock,
        state_out: &state_out,
        purpose: LockPurpose::Plan,
        is_summarized: arguments.summary,
    };
    let mut operation = Operation::prepare(context, &request).await?;
    let (plan, mut diagnostics) = operation.plan(&options, context).await;
    // The process ends after the command, and freeing a large plan takes time.
    let Some(plan) = plan.map(ManuallyDrop::new) else { return Err(Failure::Diagnostics(diagnostics)) };
    let is_reviewed =
        arguments.review && (plan.has_changes() || plan.is_applyable()) && !diagnostics.has_errors();
    if is_reviewed {
        // The user must see the warnings before approving.
        context.shell.diagnostics(&std::mem::take(&mut diagnostics));
        // Nothing reads the state again, and a review takes time.
        operation.manager.unlock().await.map_err(AppError::for_unlock)?;
        let approval = if arguments.out.is_some() { ViewApproval::Save } else { ViewApproval::None };
        let decision = review_view::review_plan(context, &plan, &operation, approval).await?;
        if arguments.out.is_some() && decision == Decision::NotApproved {
            context.shell.say("The plan was not approved, so it was not saved.");
            return Ok(Status::Failed);
        }
    }
    // An incomplete configuration is written too; the user can complete it.
    let generated = match &arguments.generate_config_out {
        Some(path) if generated_configuration::write(path, &plan)? => Some(path),
        _ => None,
    };
    if let Some(path) = &arguments.out {
        // An incomplete plan is saved too. It can be inspected, but not applied.
        let encryption = context.app.plan_encryption()?.filter(|encryption| encryption.encrypts());
        let passphrase = if arguments.encrypt && encryption.is_none() {
            Some(plan_passphrase::new_passphrase(context, &operation.stop).await?)
        } else {
            None
        };
        let protection = match (&encryption, &passphrase) {
            (Some(encryption), _) => PlanProtection::Encryption(encryption),
            (None, Some(passphrase)) => PlanProtection::Passphrase(passphrase),
            (None, None) => PlanProtection::None,
        };
        let run = &operation.run;
        saved_plan::write(
            path,
            &plan,
            operation.configuration(),
            &context.app.data_directory(),
            &run.workspace,
            &operation.plugins,
            protection,
        )
        .await?;
    }
    if is_reviewed {
        report::plan_messages(&context.shell, &plan);
    } else {
        report_plan(context, &plan, &operation, arguments.summary).await?;
    }
    let plan = context.shell.warned(plan, &diagnostics)?;
    if !context.app.environment.in_automation() {
        match &arguments.out {
            Some(path) => {
                let path = path.display().to_string();
                let apply_command = format!("{} apply \"{path}\"", context.shell.product().command());
                let saved = PlanNote::Saved { path: &path, apply_command: &apply_command };
                report::note(&context.shell, &plan, saved);
            }
            None => report::note(&context.shell, &plan, PlanNote::NotSaved),
        }
    }
    report_generated(context, generated);
    Ok(if arguments.detailed_exitcode && plan.is_applyable() { Status::Changes } else { Status::Success })
}

fn report_generated(context: &CommandContext, path: Option<&PathBuf>) {
    if let Some(path) = path {
        context.shell.say(printable!(
            "\nThe configuration of imported objects was written to {}.\nReview it, edit it as needed, and \
             plan again.",
            path.display()
        ));
    }
}
