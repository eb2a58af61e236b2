//! Implements the library's user interface on the terminal: progress messages and prompts.

use std::io;

use async_trait::async_trait;
use wardian_address::{ProviderAddress, Version};
use wardian_app::{AppEvent, Confirmation, Frontend, NativeReplacement, PublisherChange, StateCopy};
use wardian_diagnostic::Diagnostics;
use wardian_policy::{CONSENT_LOCK_FILE_NAME, POLICY_FILE_NAME, PublisherIdentity};
use wardian_printable::{PrintableText, append, append_line, printable};

use crate::render::consent_view::consent_text;
use crate::render::json::Message;
use crate::shell::{Paint, Shell};

#[async_trait]
impl Frontend for Shell {
    fn warn(&self, warnings: &Diagnostics) {
        self.diagnostics(warnings);
    }

    fn report(&self, event: AppEvent<'_>) {
        match event {
            AppEvent::Compiling { plugin } => {
                self.note(printable!("Compiling {plugin}; later runs reuse the compiled code."));
            }
            AppEvent::CliConfigWarning(warning) => self.note(printable!("Warning: {warning}")),
            AppEvent::WaitingForStateLock(refused) => {
                self.say(printable!("Waiting for the state lock: {refused}."));
            }
            AppEvent::BackendConfigured { kind, type_name } => {
                self.say(printable!(
                    "The {kind} \"{type_name}\" is configured and is used until its block changes."
                ));
            }
            AppEvent::BackendUnset => {
                self.say("The backend is no longer configured; states are stored in this directory.");
            }
            AppEvent::StateCopied { from, to } => {
                self.say(printable!("Copied {from} to {to}."));
            }
            AppEvent::PublisherChanged { address, version, change } => {
                self.publisher_change(address, version, change);
            }
            AppEvent::PublishersRecorded => self.say(printable!(
                "\nThe publishers are recorded in {CONSENT_LOCK_FILE_NAME}.\nKeep it under version control, \
                 like the lock file."
            )),
            AppEvent::CapabilitiesRequested { plugin, approved_version, requests } => {
                match approved_version {
                    Some(version) => {
                        self.say(printable!("- {plugin} requests different capabilities than v{version}:"));
                    }
                    None => self.say(printable!("- {plugin} requests:")),
                }
                self.print(consent_text(requests, self.render_options()));
            }
            AppEvent::RulesAdded { address, count } => {
                let rules = if count == 1 { "One rule was" } else { "Rules were" };
                self.say(printable!("\n{rules} added to {POLICY_FILE_NAME} for {}.", address.for_display()));
            }
            AppEvent::ConsentRecorded => self.say(printable!(
                "\nYour consent to these requests is recorded in {CONSENT_LOCK_FILE_NAME}.\nKeep it under \
                 version control, like the lock file."
            )),
        }
    }

    fn can_ask(&self) -> bool {
        Self::can_ask(self)
    }

    async fn confirm(&self, question: Confirmation<'_>) -> io::Result<Option<bool>> {
        let text = match question {
            Confirmation::CopyStates(copies) => copy_states_question(self, copies),
            Confirmation::NativePrograms(replacements) => native_programs_question(self, replacements),
            Confirmation::Publisher { address, grants } => {
                let question = if grants {
                    printable!("Accept this publisher, and grant the requests of {}?", address.for_display())
                } else {
                    printable!("Accept this publisher for {}?", address.for_display())
                };
                printable!(
                    "\n{}\n  Releases from other publishers will be rejected. Only 'yes' will be accepted \
                     to approve.\n\n  {} ",
                    self.paint(Paint::Bold, question),
                    self.paint(Paint::Bold, "Enter a value:")
                )
            }
            Confirmation::Grant(address) => printable!(
                "\n{}\n  The rules are added to {POLICY_FILE_NAME}. Only 'yes' will be accepted to \
                 approve.\n\n  {} ",
                self.paint(Paint::Bold, printable!("Grant this to {}?", address.for_display())),
                self.paint(Paint::Bold, "Enter a value:")
            ),
        };
        Ok(self.ask(text).await?.map(|answer| answer.trim() == "yes"))
    }
}

impl Shell {
    /// Shows a publisher that is new, has changed, or is no longer known.
    fn publisher_change(&self, address: &ProviderAddress, version: &Version, change: &PublisherChange) {
        if self.is_for_programs() {
            self.message(&Message::Publisher { address, version, change });
            return;
        }
        let name = address.for_display();
        match change.publisher() {
            Some(publisher) => {
                self.say(printable!("- {name} v{version} is signed by:"));
                self.say(PrintableText::from_lines(&publisher_lines(publisher)));
            }
            None => self.say(printable!("- {name} v{version} is not signed by a publisher")),
        }
        if let Some(before) = change.before() {
            self.say("  Earlier releases were signed by:");
            self.say(PrintableText::from_lines(&publisher_lines(before)));
        }
    }
}

fn publisher_lines(publisher: &PublisherIdentity) -> String {
    let lines: Vec<String> =
        publisher.parts().map(|(part, text)| format!("    {:<13} {text}", part.as_str())).collect();
    lines.join("\n")
}

fn native_programs_question(shell: &Shell, replacements: &[NativeReplacement<'_>]) -> PrintableText {
    let mut question = printable!(
        "\n{}\n",
        shell.paint(Paint::Bold, "Do you want to run these native programs instead of components?")
    );
    for NativeReplacement { address, version, file, component } in replacements {
        append_line!(
            question,
            "  {} v{version} in {}, instead of the component v{component}",
            address.for_display(),
            file.display()
        );
    }
    append!(
        question,
        "  They run outside of the sandbox with all of your permissions. Only 'yes' will be accepted to \
         confirm.\n\n  {} ",
        shell.paint(Paint::Bold, "Enter a value:")
    );
    question
}

fn copy_states_question(shell: &Shell, copies: &[StateCopy]) -> PrintableText {
    let mut question = printable!(
        "\n{}\n",
        shell.paint(Paint::Bold, "Do you want to copy the states to their new location?")
    );
    for StateCopy { workspace, from, to, replaces } in copies {
        let over = match replaces {
            Some(state) => printable!(
                ", replacing a state at serial {} with {} resources",
                state.serial,
                state.resources().len()
            ),
            None => PrintableText::new(),
        };
        append_line!(question, "  {from} to {to}{over} (workspace \"{workspace}\")");
    }
    append!(
        question,
        "  Only 'yes' copies them. With any other answer they stay where they are, and the new location is \
         used as it is.\n\n  {} ",
        shell.paint(Paint::Bold, "Enter a value:")
    );
    question
}
