//! Fetches repositories with git.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use regex::Regex;

use super::list::TestModule;
use crate::process;

/// Where the repositories are.
const HOST: &str = "https://github.com";

/// The directory with the checkouts of repositories, which later runs use again.
pub(crate) struct Checkouts {
    git: PathBuf,
    place: PathBuf,
}

impl Checkouts {
    pub(crate) fn new(git: PathBuf, place: PathBuf) -> Self {
        Self { git, place }
    }

    /// Returns the module's directory in a checkout without files of earlier runs.
    pub(crate) fn directory(&self, module: &TestModule) -> Result<PathBuf> {
        let name = format!("{}-{}", module.repository.replace('/', "+"), module.commit);
        let checkout = self.place.join(name);
        if !checkout.is_dir() {
            let unfinished = checkout.with_extension("unfinished");
            if unfinished.exists() {
                fs::remove_dir_all(&unfinished)?;
            }
            self.fetch(module, &unfinished)?;
            accept_every_version(&unfinished)?;
            fs::rename(&unfinished, &checkout)?;
        }
        process::output(self.command(&checkout).args(["clean", "-fdxq"]))?;
        Ok(checkout.join(&module.directory))
    }

    fn fetch(&self, module: &TestModule, directory: &Path) -> Result<()> {
        fs::create_dir_all(directory)?;
        let url = format!("{HOST}/{}.git", module.repository);
        let commands: [&[&str]; 3] = [
            &["init", "--quiet"],
            &["fetch", "--quiet", "--depth=1", &url, &module.commit],
            &["checkout", "--quiet", &module.commit],
        ];
        for arguments in commands {
            process::output(self.command(directory).args(arguments))?;
        }
        Ok(())
    }

    fn command(&self, directory: &Path) -> Command {
        let mut command = Command::new(&self.git);
        command.current_dir(directory).env("GIT_TERMINAL_PROMPT", "0");
        command
    }
}

/// Replaces `required_version`, so that the Terraform on PATH can be used.
fn accept_every_version(directory: &Path) -> Result<()> {
    let pattern = Regex::new(r#"(?m)^(\s*required_version\s*=\s*)"[^"]*""#)?;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let (kind, path) = (entry.file_type()?, entry.path());
        if kind.is_dir() && entry.file_name() != ".git" {
            accept_every_version(&path)?;
        } else if kind.is_file() && path.extension().is_some_and(|extension| extension == "tf") {
            let text = String::from_utf8(fs::read(&path)?)
                .with_context(|| format!("{} is not UTF-8", path.display()))?;
            let changed = pattern.replace_all(&text, "${1}\">= 1.0\"");
            if changed != text {
                fs::write(&path, &*changed)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn required_versions_are_replaced_in_all_directories() {
        let place = std::env::temp_dir().join(format!("xtask-versions-{}", std::process::id()));
        fs::create_dir_all(place.join("modules/a")).unwrap();
        let text = "terraform {\n  required_version = \"~> 1.13\"\n}\n";
        fs::write(place.join("modules/a/main.tf"), text).unwrap();
        let accepted = accept_every_version(&place);
        let changed = fs::read_to_string(place.join("modules/a/main.tf")).unwrap();
        fs::remove_dir_all(&place).unwrap();
        accepted.unwrap();
        assert_eq!(changed, text.replace("~> 1.13", ">= 1.0"));
    }
}
