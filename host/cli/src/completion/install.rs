//! `-install-autocomplete`: edits the configuration files of shells.
//!
//! The edit is a block between two marker lines, so it can be found, replaced and removed. fish has
//! a file for each command instead.

use std::fs;
use std::io;
use std::path::PathBuf;

use wardian_app::{ProcessEnvironment, atomic_write};

use super::script;
use crate::arguments::CompletionShell;

/// A change of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ShellEdit {
    pub(crate) path: PathBuf,
    pub(crate) is_changed: bool,
}

/// An error in one file.
#[derive(Debug)]
pub(crate) struct ShellEditError {
    pub(crate) path: PathBuf,
    pub(crate) error: io::Error,
}

/// The configuration file of a shell.
struct ShellFile {
    shell: CompletionShell,
    path: PathBuf,
    /// Whether the file contains only the completion of this program.
    is_whole: bool,
}

/// Installs completion in the configuration of every shell that the user has configured.
///
/// # Errors
/// Returns an error if a file cannot be read or written.
pub(crate) fn install(
    environment: &ProcessEnvironment,
    program: &str,
) -> Result<Vec<ShellEdit>, ShellEditError> {
    edit(environment, program, |file, before| {
        if file.is_whole {
            return Some(script(file.shell, program));
        }
        let block = block(file.shell, program);
        match find_block(before, program) {
            Some(range) => Some(format!("{}{block}{}", &before[..range.start], &before[range.end..])),
            None => {
                let separator = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
                Some(format!("{before}{separator}{block}"))
            }
        }
    })
}

/// Removes completion from the configuration of every shell.
///
/// # Errors
/// Returns an error if a file cannot be read or written.
pub(crate) fn uninstall(
    environment: &ProcessEnvironment,
    program: &str,
) -> Result<Vec<ShellEdit>, ShellEditError> {
    edit(environment, program, |file, before| {
        if file.is_whole {
            return None;
        }
        let range = find_block(before, program).unwrap_or_default();
        Some(format!("{}{}", &before[..range.start], &before[range.end..]))
    })
}

/// Replaces the content of each configuration file. `change` returns the new content, or `None` to
/// remove the file.
fn edit(
    environment: &ProcessEnvironment,
    program: &str,
    change: impl Fn(&ShellFile, &str) -> Option<String>,
) -> Result<Vec<ShellEdit>, ShellEditError> {
    let mut edits = Vec::new();
    for file in shell_files(environment, program) {
        let path = file.path.clone();
        let is_changed =
            edit_file(&file, &change).map_err(|error| ShellEditError { path: path.clone(), error })?;
        edits.push(ShellEdit { path, is_changed });
    }
    Ok(edits)
}

fn edit_file(file: &ShellFile, change: impl Fn(&ShellFile, &str) -> Option<String>) -> io::Result<bool> {
    let before = match fs::read_to_string(&file.path) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let after = change(file, before.as_deref().unwrap_or_default());
    if after == before || after.as_deref() == Some("") && before.is_none() {
        return Ok(false);
    }
    match after {
        Some(after) => {
            if let Some(directory) = file.path.parent() {
                fs::create_dir_all(directory)?;
            }
            atomic_write::write(&file.path, after.as_bytes())?;
        }
        None => fs::remove_file(&file.path)?,
    }
    Ok(true)
}

/// Returns the files of the shells that the user has configured: those whose configuration exists.
fn shell_files(environment: &ProcessEnvironment, program: &str) -> Vec<ShellFile> {
    let Some(home) = environment.home() else { return Vec::new() };
    let config = environment.configuration_home().unwrap_or_else(|| home.join(".config"));
    let first = |names: &[&str]| names.iter().map(|name| home.join(name)).find(|path| path.exists());
    let within = |shell, directory: PathBuf, name: &str, is_whole| {
        directory.is_dir().then(|| ShellFile { shell, path: directory.join(name), is_whole })
    };
    let bash = first(&[".bashrc", ".bash_profile"]);
    let zsh = first(&[".zshrc"]);
    [
        bash.map(|path| ShellFile { shell: CompletionShell::Bash, path, is_whole: false }),
        zsh.map(|path| ShellFile { shell: CompletionShell::Zsh, path, is_whole: false }),
        within(CompletionShell::Fish, config.join("fish"), &format!("completions/{program}.fish"), true),
        within(
            CompletionShell::Powershell,
            config.join("powershell"),
            "Microsoft.PowerShell_profile.ps1",
            false,
        ),
        within(CompletionShell::Elvish, config.join("elvish"), "rc.elv", false),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn marker(program: &str, edge: &str) -> String {
    format!("# {edge} completion of {program}\n")
}

/// Returns the lines that a shell executes when it starts.
fn block(shell: CompletionShell, program: &str) -> String {
    let line = match shell {
        CompletionShell::Bash | CompletionShell::Zsh => format!(
            "command -v {program} >/dev/null 2>&1 && eval \"$({program} completion {})\"",
            shell.name()
        ),
        CompletionShell::Fish => format!("{program} completion fish | source"),
        CompletionShell::Powershell => format!(
            "if (Get-Command {program} -ErrorAction SilentlyContinue) {{ {program} completion powershell | \
             Out-String | Invoke-Expression }}"
        ),
        CompletionShell::Elvish => {
            format!("if (has-external {program}) {{ eval ({program} completion elvish | slurp) }}")
        }
    };
    format!("{}{line}\n{}", marker(program, "Begin"), marker(program, "End"))
}

/// Returns the position of the block in a file.
fn find_block(text: &str, program: &str) -> Option<std::ops::Range<usize>> {
    let (begin, end) = (marker(program, "Begin"), marker(program, "End"));
    let start = text.find(&begin)?;
    let length = text.get(start..)?.find(&end)?;
    Some(start..start + length + end.len())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn environment(home: &Path) -> ProcessEnvironment {
        [("HOME".to_owned(), home.display().to_string())].into_iter().collect()
    }

    #[test]
    fn installation_can_be_repeated_and_removed() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path();
        let (bash, elvish) = (home.join(".bashrc"), home.join(".config/elvish/rc.elv"));
        fs::write(&bash, "alias a=b").unwrap();
        fs::create_dir_all(home.join(".config/fish")).unwrap();
        fs::create_dir_all(home.join(".config/elvish")).unwrap();
        let environment = environment(home);
        let edits = install(&environment, "wardian").unwrap();
        assert!(edits.len() == 3 && edits.iter().all(|edit| edit.is_changed), "{edits:?}");
        let installed = fs::read_to_string(&bash).unwrap();
        assert!(installed.starts_with("alias a=b\n# Begin completion of wardian\n"), "{installed}");
        assert!(install(&environment, "wardian").unwrap().iter().all(|edit| !edit.is_changed));
        // Another program's block is separate.
        install(&environment, "terraform").unwrap();
        fs::write(&bash, format!("{}alias c=d\n", fs::read_to_string(&bash).unwrap())).unwrap();
        uninstall(&environment, "terraform").unwrap();
        assert!(uninstall(&environment, "wardian").unwrap().iter().all(|edit| edit.is_changed));
        assert!(uninstall(&environment, "wardian").unwrap().iter().all(|edit| !edit.is_changed));
        assert_eq!(fs::read_to_string(&bash).unwrap(), "alias a=b\nalias c=d\n");
        assert_eq!(fs::read_to_string(&elvish).unwrap(), "");
        assert!(!home.join(".config/fish/completions/wardian.fish").exists());
    }

    #[test]
    fn unconfigured_shells_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(install(&environment(folder.path()), "wardian").unwrap(), []);
        assert!(fs::read_dir(folder.path()).unwrap().next().is_none());
    }
}
