//! Finds Terraform on PATH: the reference with which Wardian is compared.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::process;

/// Returns the path of Terraform, or the reason why it is missing.
pub(crate) fn terraform() -> Result<PathBuf> {
    process::on_path("terraform").context("`terraform` is not on PATH")
}

/// Runs a Terraform command in this directory that only reads files.
pub(crate) fn ask(terraform: &Path, directory: &Path, arguments: &[&str]) -> Result<String> {
    let mut command = Command::new(terraform);
    command.args(arguments).current_dir(directory);
    process::output(process::without_settings(&mut command))
}

/// Compares a state file with Terraform's interpretation of it. Terraform reads a copy in `aside`,
/// a directory without a configuration, since it would otherwise require its native providers to be
/// installed.
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
    if let Some(difference) = first_difference("", &theirs, &ours) {
        bail!("`terraform state pull` differs from {} {difference}", file.display());
    }
    Ok(())
}

/// Compares the versions in the lock file with those that Terraform reads from it.
pub(crate) fn agrees_on_lock(terraform: &Path, directory: &Path) -> Result<()> {
    let file = directory.join(".terraform.lock.hcl");
    let text = fs::read_to_string(&file).with_context(|| format!("could not read {}", file.display()))?;
    let ours = locked_versions(&text);
    let answer: Value = serde_json::from_str(&ask(terraform, directory, &["version", "-json"])?)?;
    let theirs: BTreeMap<String, String> = serde_json::from_value(answer["provider_selections"].clone())
        .context("`terraform version -json` names no providers")?;
    if ours != theirs {
        bail!("Terraform reads {theirs:?} in {}, but Wardian wrote {ours:?}", file.display());
    }
    Ok(())
}

/// Removes the parts that differ between Terraform and Wardian: Terraform writes its own version to
/// states that it pulls, and the results of checks in random order.
fn comparable(state: &str) -> Result<Value> {
    let mut state: Value = serde_json::from_str(state).context("a state is not JSON")?;
    if let Some(object) = state.as_object_mut() {
        object.remove("terraform_version");
        if let Some(Value::Array(checks)) = object.get_mut("check_results") {
            checks.sort_by_key(|check| check["config_addr"].to_string());
        }
    }
    Ok(state)
}

/// Returns the first difference between two documents, with both values.
pub(crate) fn first_difference(path: &str, theirs: &Value, ours: &Value) -> Option<String> {
    match (theirs, ours) {
        (Value::Object(left), Value::Object(right)) => left.keys().chain(right.keys()).find_map(|key| {
            let path = format!("{path}.{key}");
            match (left.get(key), right.get(key)) {
                (Some(left), Some(right)) => first_difference(&path, left, right),
                _ => Some(format!("at {path}, which only one of the two documents contains")),
            }
        }),
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => left
            .iter()
            .zip(right)
            .enumerate()
            .find_map(|(index, (left, right))| first_difference(&format!("{path}[{index}]"), left, right)),
        _ => (theirs != ours)
            .then(|| format!("at {path}: Terraform returned {theirs}, but Wardian's value is {ours}")),
    }
}

/// Parses the addresses and versions of a lock file in the usual format: one `provider "ADDRESS" {`
/// with one `version = "VERSION"` each.
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
    fn first_difference_names_its_path() {
        let difference = |theirs: &str, ours: &str| {
            first_difference("", &comparable(theirs).unwrap(), &comparable(ours).unwrap())
        };
        assert_eq!(
            difference(
                r#"{ "terraform_version": "1.11.4", "check_results": [{ "config_addr": "b" }, { "config_addr": "a" }] }"#,
                r#"{ "check_results": [{ "config_addr": "a" }, { "config_addr": "b" }] }"#,
            ),
            None
        );
        assert_eq!(
            difference(r#"{ "a": [{ "b": 1 }] }"#, r#"{ "a": [{ "b": 2 }] }"#).unwrap(),
            "at .a[0].b: Terraform returned 1, but Wardian's value is 2"
        );
        assert_eq!(
            difference(r#"{ "a": null }"#, "{}").unwrap(),
            "at .a, which only one of the two documents contains"
        );
    }

    #[test]
    fn locked_versions_are_parsed() {
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
