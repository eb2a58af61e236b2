//! Terraform itself, where it is on PATH: what it says is what we compare with.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::process;

/// The program, or why there is none.
pub(crate) fn terraform() -> Result<PathBuf> {
    process::on_path("terraform").context("`terraform` is not on PATH")
}

/// A command of Terraform in this folder that only reads. It ignores the
/// person's own settings, and asks no server for news.
pub(crate) fn ask(terraform: &Path, directory: &Path, arguments: &[&str]) -> Result<String> {
    process::output(
        Command::new(terraform).args(arguments).current_dir(directory).env("CHECKPOINT_DISABLE", "1"),
    )
}

/// Compares a state file with what Terraform reads in it. Terraform looks at a copy
/// in `aside`, a folder without a configuration: beside one it would first want that
/// one's native providers installed.
pub(crate) fn agrees_on_state(terraform: &Path, file: &Path, aside: &Path, our_list: &str) -> Result<()> {
    fs::create_dir_all(aside).with_context(|| format!("could not create {}", aside.display()))?;
    fs::copy(file, aside.join("terraform.tfstate"))
        .with_context(|| format!("could not copy {}", file.display()))?;
    let their_list = ask(terraform, aside, &["state", "list"])?;
    if their_list != our_list {
        bail!(
            "`terraform state list` differs from `wardian state list`\n\
             terraform:\n{their_list}\nwardian:\n{our_list}"
        );
    }
    let ours = fs::read_to_string(file).with_context(|| format!("could not read {}", file.display()))?;
    let theirs = ask(terraform, aside, &["state", "pull"])?;
    let (ours, theirs) = (comparable(&ours)?, comparable(&theirs)?);
    if ours != theirs {
        bail!(
            "`terraform state pull` differs from {}\nterraform: {theirs:#}\nfile: {ours:#}",
            file.display()
        );
    }
    Ok(())
}

/// Compares the versions in the lock file with those that Terraform reads there.
pub(crate) fn agrees_on_lock(terraform: &Path, directory: &Path) -> Result<()> {
    let file = directory.join(".terraform.lock.hcl");
    let text = fs::read_to_string(&file).with_context(|| format!("could not read {}", file.display()))?;
    let ours = locked_versions(&text);
    let answer: Value = serde_json::from_str(&ask(terraform, directory, &["version", "-json"])?)?;
    let theirs: BTreeMap<String, String> = serde_json::from_value(answer["provider_selections"].clone())
        .context("`terraform version -json` names no providers")?;
    if ours != theirs {
        bail!("Terraform reads {theirs:?} in {}, we wrote {ours:?}", file.display());
    }
    Ok(())
}

/// Terraform stamps its own version on what it pulls.
fn comparable(state: &str) -> Result<Value> {
    let mut state: Value = serde_json::from_str(state).context("a state is not JSON")?;
    if let Some(object) = state.as_object_mut() {
        object.remove("terraform_version");
    }
    Ok(state)
}

/// Addresses and versions of a lock file as every tool writes it: one
/// `provider "ADDRESS" {` with one `version = "VERSION"` each.
pub(crate) fn locked_versions(text: &str) -> BTreeMap<String, String> {
    let mut versions = BTreeMap::new();
    let mut address = None;
    for line in text.lines() {
        let quoted = line.split('"').nth(1);
        match line.split_whitespace().next() {
            Some("provider") => address = quoted,
            Some("version") => {
                if let (Some(address), Some(version)) = (address, quoted) {
                    versions.insert(address.to_owned(), version.to_owned());
                }
            }
            _ => {}
        }
    }
    versions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_file_is_read() {
        let text = r#"
# This file is maintained automatically.
provider "registry.terraform.io/hashicorp/null" {
  version     = "3.2.4"
  constraints = "~> 3.2"
  hashes = [
    "h1:abc=",
  ]
}
"#;
        assert_eq!(
            locked_versions(text),
            BTreeMap::from([("registry.terraform.io/hashicorp/null".to_owned(), "3.2.4".to_owned())])
        );
    }
}
