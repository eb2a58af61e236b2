//! The properties of a command that are required before it runs.
//!
//! Each argument struct implements [`CommandSpec`] next to its command in `commands/`; the defaults
//! fit most commands. A new command requires a variant and a match arm of
//! [`Command`](crate::arguments::Command), and a file.

use std::collections::BTreeSet;
use std::path::Path;

use async_trait::async_trait;
use wardian_access::AddressKind;
use wardian_app::protected_files::NamedFile;
use wardian_app::untrusted::ConfigurationTrust;
use wardian_config::QueryFiles;

use crate::command_context::CommandContext;
use crate::failure::Outcome;
use crate::shell::{OutputKind, ViewOptions};

/// A command with its arguments.
#[async_trait(?Send)]
pub(crate) trait CommandSpec {
    /// Returns the color and warning options.
    fn view(&self) -> ViewOptions;

    /// Returns the kind of data that the command writes to standard output.
    fn output_kind(&self) -> OutputKind {
        OutputKind::Data
    }

    /// Returns the file in `-json-into`, which receives JSON messages in addition to the text
    /// output.
    fn json_into(&self) -> Option<&Path> {
        None
    }

    /// Returns whether the command reads the selected workspace's state or prints its name.
    fn needs_workspace(&self) -> bool {
        true
    }

    /// Returns whether the command reads the query files of the directory.
    fn query_files(&self) -> QueryFiles {
        QueryFiles::Ignored
    }

    fn trust(&self) -> ConfigurationTrust {
        ConfigurationTrust::Trusted
    }

    /// Returns the file in `-audit-log`.
    fn audit_log(&self) -> Option<&Path> {
        None
    }

    /// Returns whether the command shows the accesses of plugins before it ends.
    fn shows_accesses(&self) -> bool {
        false
    }

    /// Returns the files that options specify and that plugins must not change.
    fn named_files(&self) -> Vec<NamedFile> {
        Vec::new()
    }

    /// Returns the kinds of addresses that the run may learn in addition to public ones, if it learns a
    /// policy.
    fn learnt_addresses(&self) -> Option<BTreeSet<AddressKind>> {
        None
    }

    /// Checks the combinations of options that clap cannot check.
    ///
    /// # Errors
    /// Returns an error if options cannot be combined.
    fn check(&self) -> Result<(), InvalidOptions> {
        Ok(())
    }

    /// Runs the command.
    ///
    /// # Errors
    /// Returns an error if the command fails.
    async fn run(&self, context: &CommandContext) -> Outcome;
}

/// Options that cannot be combined, or required options that are missing.
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
