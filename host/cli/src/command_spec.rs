//! What the program needs to know about a command before it runs it.
//!
//! Each argument struct implements [`CommandSpec`] next to its command in `commands/`; the
//! defaults are those of most commands. A new command needs a variant and an arm of
//! [`Command`](crate::arguments::Command), and a file.

use std::path::Path;

use async_trait::async_trait;
use wardian_app::untrusted::ConfigurationTrust;

use crate::command_context::CommandContext;
use crate::failure::Outcome;
use crate::shell::{OutputKind, ViewOptions};

/// A command with its arguments.
#[async_trait(?Send)]
pub(crate) trait CommandSpec {
    /// Returns the options about colors and warnings.
    fn view(&self) -> ViewOptions;

    /// Returns what the command writes to standard output.
    fn output_kind(&self) -> OutputKind {
        OutputKind::Data
    }

    /// Returns whether the command reads the state of the selected workspace, or names it.
    fn needs_workspace(&self) -> bool {
        true
    }

    /// Returns whether the configuration is trusted.
    fn trust(&self) -> ConfigurationTrust {
        ConfigurationTrust::Trusted
    }

    /// Returns the file that `-audit-log` names.
    fn audit_log(&self) -> Option<&Path> {
        None
    }

    /// Checks what clap cannot: which options can be combined.
    ///
    /// # Errors
    /// If some cannot.
    fn check(&self) -> Result<(), InvalidOptions> {
        Ok(())
    }

    /// Runs the command.
    ///
    /// # Errors
    /// If the command cannot do its work.
    async fn run(&self, context: &CommandContext) -> Outcome;
}

/// Options that cannot be combined, or that are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InvalidOptions {
    pub(crate) summary: &'static str,
    pub(crate) detail: &'static str,
}

impl InvalidOptions {
    pub(crate) fn new(summary: &'static str, detail: &'static str) -> Self {
        Self { summary, detail }
    }
}
