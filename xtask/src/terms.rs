//! `cargo xtask words` and `cargo xtask names`: enforce the glossary.
//!
//! Both commands read `docs/glossary.md`. CI therefore checks the same lists that contributors
//! read.

mod glossary;
mod names;
mod source_text;
mod words;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result};

use crate::process;
use crate::progress::say;
use crate::workspace::Workspace;
use glossary::Glossary;

/// Fails if a rejected synonym occurs in a file of the project.
pub(crate) fn check_words(workspace: &Workspace) -> Result<ExitCode> {
    let glossary = Glossary::read(&workspace.root)?;
    let mut matches = Vec::new();
    for path in tracked_files(&workspace.root)? {
        if words::is_checked(&path) {
            let text = read(&workspace.root, &path)?;
            matches.extend(words::find(&path, &text, &glossary.rejected));
        }
    }
    for found in &matches {
        say(&found.to_string());
    }
    Ok(verdict(matches.len(), "rejected synonym", "see the last table of docs/glossary.md"))
}

/// Prints each public type name that is defined more than once. Fails if the glossary does not list
/// such a name, or lists a name that is defined only once.
pub(crate) fn check_names(workspace: &Workspace) -> Result<ExitCode> {
    let glossary = Glossary::read(&workspace.root)?;
    let mut definitions = names::Definitions::default();
    for path in tracked_files(&workspace.root)? {
        if names::is_checked(&path) {
            definitions.add(&path, &read(&workspace.root, &path)?);
        }
    }
    let report = definitions.report(&glossary.repeated_names);
    for line in &report.lines {
        say(line);
    }
    Ok(verdict(report.problems, "problem", "see \"Types with the same name\" in docs/glossary.md"))
}

pub(crate) fn verdict(count: usize, noun: &str, advice: &str) -> ExitCode {
    match count {
        0 => {
            say(&format!("no {noun} found"));
            ExitCode::SUCCESS
        }
        1 => {
            say(&format!("1 {noun}: {advice}"));
            ExitCode::FAILURE
        }
        many => {
            say(&format!("{many} {noun}s: {advice}"));
            ExitCode::FAILURE
        }
    }
}

pub(crate) fn tracked_files(root: &Path) -> Result<Vec<PathBuf>> {
    let listed = process::output(Command::new("git").current_dir(root).args(["ls-files", "-z"]))?;
    // A file that was deleted without a commit is still listed.
    Ok(listed.split('\0').map(PathBuf::from).filter(|path| root.join(path).is_file()).collect())
}

pub(crate) fn read(root: &Path, path: &Path) -> Result<String> {
    let bytes =
        std::fs::read(root.join(path)).with_context(|| format!("could not read {}", path.display()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
