//! The arguments of the commands for shells and manuals.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use super::options::ColorArguments;

/// A shell with completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum CompletionShell {
    Bash,
    Zsh,
    Fish,
    Powershell,
    Elvish,
}

impl CompletionShell {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::Zsh => "zsh",
            Self::Fish => "fish",
            Self::Powershell => "powershell",
            Self::Elvish => "elvish",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        let all = [Self::Bash, Self::Zsh, Self::Fish, Self::Powershell, Self::Elvish];
        all.into_iter().find(|shell| shell.name() == name)
    }
}

/// `completion`.
#[derive(Args, Debug)]
pub(crate) struct CompletionArguments {
    /// The shell.
    #[arg(value_name = "SHELL", required_unless_present_any = ["install", "uninstall"])]
    pub(crate) shell: Option<CompletionShell>,
    /// Install completion in the configuration files of your shells, like -install-autocomplete.
    #[arg(long, conflicts_with_all = ["uninstall", "shell"])]
    pub(crate) install: bool,
    /// Remove completion from the configuration files of your shells.
    #[arg(long, conflicts_with = "shell")]
    pub(crate) uninstall: bool,
    /// The words to complete. Shells pass them; they are handled before the arguments are parsed.
    #[arg(last = true, hide = true)]
    pub(crate) words: Vec<OsString>,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
}

/// `man`.
#[derive(Args, Debug)]
pub(crate) struct ManArguments {
    /// The directory to which one page for each command is written, such as
    /// /usr/local/share/man/man1; without it, the page of `wardian` is printed.
    #[arg(value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) view: ColorArguments,
}
