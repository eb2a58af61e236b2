//! `wardian policy learn`: runs a command, and writes the policy that it needs.

use std::collections::BTreeSet;
use std::path::Path;

use async_trait::async_trait;
use wardian_access::AddressKind;
use wardian_app::policy_file::{read_policy, write_policy};
use wardian_app::policy_learning::LearntAccesses;
use wardian_app::protected_files::NamedFile;
use wardian_app::untrusted::ConfigurationTrust;
use wardian_policy::{LeastPrivilegePolicy, POLICY_FILE_NAME, extend_policy, least_privilege_policy};
use wardian_printable::{PrintableText, append, printable};

use super::audit::note_left_out;
use crate::arguments::{Command, PolicyLearnArguments};
use crate::command_context::CommandContext;
use crate::command_spec::{CommandSpec, InvalidOptions};
use crate::failure::{Failure, Outcome, Status};
use crate::shell::{OutputKind, ViewOptions};

impl PolicyLearnArguments {
    /// Returns the command that is run.
    fn learnt_command(&self) -> Option<&dyn CommandSpec> {
        self.learnt.as_ref().map(|line| line.command.spec())
    }

    fn path(&self) -> &Path {
        self.out.as_deref().unwrap_or(Path::new(POLICY_FILE_NAME))
    }
}

#[async_trait(?Send)]
impl CommandSpec for PolicyLearnArguments {
    fn view(&self) -> ViewOptions {
        let view = self.learnt_command().map_or_else(ViewOptions::default, CommandSpec::view);
        ViewOptions { no_color: view.no_color || self.view.no_color, ..view }
    }

    fn output_kind(&self) -> OutputKind {
        self.learnt_command().map_or(OutputKind::Report, CommandSpec::output_kind)
    }

    fn json_into(&self) -> Option<&Path> {
        self.learnt_command()?.json_into()
    }

    fn needs_workspace(&self) -> bool {
        self.learnt_command().is_some_and(CommandSpec::needs_workspace)
    }

    fn trust(&self) -> ConfigurationTrust {
        self.learnt_command().map_or(ConfigurationTrust::Trusted, CommandSpec::trust)
    }

    fn audit_log(&self) -> Option<&Path> {
        self.learnt_command()?.audit_log()
    }

    fn named_files(&self) -> Vec<NamedFile> {
        self.learnt_command().map(CommandSpec::named_files).unwrap_or_default()
    }

    fn learnt_addresses(&self) -> Option<BTreeSet<AddressKind>> {
        Some(self.addresses.iter().copied().collect())
    }

    fn check(&self) -> Result<(), InvalidOptions> {
        let Some(line) = &self.learnt else { return Ok(()) };
        if line.chdir.is_some() {
            return Err(InvalidOptions::new(
                "Invalid position of -chdir",
                "The option -chdir must precede the command, as in `wardian -chdir=DIR policy learn -- plan`.",
            ));
        }
        match &line.command {
            Command::Plan(_) | Command::Refresh(_) | Command::Validate(_) => {}
            Command::Apply(_) | Command::Destroy(_) | Command::Import(_) if self.allow_changes => {}
            Command::Apply(_) | Command::Destroy(_) | Command::Import(_) => {
                return Err(InvalidOptions::new(
                    "Command changes objects",
                    "While a policy is learnt, plugins may use access that no rule grants. Run `wardian \
                     policy learn -- plan` first. To learn a policy from a command that changes objects, add \
                     the option -allow-changes before `--`.",
                ));
            }
            _ => {
                return Err(InvalidOptions::new(
                    "No policy can be learnt from this command",
                    "A policy is learnt from plan, refresh or validate, and with -allow-changes from apply, \
                     destroy or import.",
                ));
            }
        }
        if self.trust() == ConfigurationTrust::Untrusted {
            return Err(InvalidOptions::new(
                "Incompatible options",
                "A policy cannot be learnt from an untrusted configuration: its author would choose the rules.",
            ));
        }
        Ok(())
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        run(context, self).await
    }
}

async fn run(context: &CommandContext, arguments: &PolicyLearnArguments) -> Outcome {
    let (Some(line), Some(command)) = (&arguments.learnt, arguments.learnt_command()) else {
        return Ok(Status::Failed);
    };
    let path = arguments.path();
    let old = read_policy(path)?;
    if old.is_some() && !arguments.append {
        let detail = format!(
            "The file {} exists. To add the missing rules to it, use the option -append; to write another \
             file, use -out=FILE.",
            path.display()
        );
        return Err(Failure::error("Policy file exists", detail));
    }
    let outcome = command.run(context).await;
    let learnt = learn(context, &line.command_name, path, old.as_deref(), &outcome).await;
    match (outcome, learnt) {
        (Err(failure), Err(other)) => {
            context.shell.failure(&failure);
            Err(other)
        }
        (outcome, learnt) => learnt.and(outcome),
    }
}

/// Writes the policy that a command needed.
async fn learn(
    context: &CommandContext,
    command: &str,
    path: &Path,
    old: Option<&str>,
    outcome: &Outcome,
) -> Outcome<()> {
    let LearntAccesses { observed, unopened } = context.app.learnt_accesses(command).await?;
    let LeastPrivilegePolicy { text, mut left_out } = match old {
        Some(old) => extend_policy(old, &observed)?,
        None => least_privilege_policy(&observed),
    };
    left_out.extend(context.app.audit_log.summary().redacted());
    note_left_out(context, &left_out);
    let file = path.display();
    if old == Some(text.as_str()) {
        context
            .shell
            .note(printable!("The policy {file} already allows these accesses, and was not changed."));
    } else {
        write_policy(path, &text)?;
        context.shell.note(printable!(
            "The policy was written to {file}. Review each rule: the accesses of a malicious plugin are also \
             learnt."
        ));
    }
    if !unopened.is_empty() {
        let mut text = PrintableText::from(
            "Native plugins could not read these files in this run, because no rule granted them before it. \
             The policy now grants them: run the same `wardian policy learn` command again with -append. The \
             files:",
        );
        for path in &unopened {
            append!(text, "\n - {}", path.display());
        }
        context.shell.note(text);
    }
    if !matches!(outcome, Ok(Status::Success | Status::Changes)) {
        context.shell.note(printable!(
            "The command failed, so the policy may be incomplete. Run the same `wardian policy learn` \
             command again with -append."
        ));
    }
    Ok(())
}
