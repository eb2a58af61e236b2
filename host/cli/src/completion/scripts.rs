//! The scripts that register completion in shells.

use crate::arguments::CompletionShell;

/// Returns the script for a shell. `program` is the name of the command to complete.
pub(crate) fn script(shell: CompletionShell, program: &str) -> String {
    let template = match shell {
        CompletionShell::Bash => include_str!("scripts/bash.sh"),
        CompletionShell::Zsh => include_str!("scripts/zsh.zsh"),
        CompletionShell::Fish => include_str!("scripts/fish.fish"),
        CompletionShell::Powershell => include_str!("scripts/powershell.ps1"),
        CompletionShell::Elvish => include_str!("scripts/elvish.elv"),
    };
    template.replace("PROGRAM", program)
}
