//! Reads the list of modules.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::Value;

/// A module in a public repository.
#[derive(Debug)]
pub(crate) struct TestModule {
    /// The repository's owner and name.
    pub(crate) repository: String,
    pub(crate) commit: String,
    /// The module's directory in the repository.
    pub(crate) directory: String,
    pub(crate) test_directory: String,
    /// The reason why runs that fail under Terraform pass under Wardian.
    pub(crate) differs: Option<String>,
}

impl TestModule {
    /// The repository and the directory.
    pub(crate) fn name(&self) -> String {
        let separator = if self.directory.is_empty() { "" } else { "//" };
        format!("{}{separator}{}", self.repository, self.directory)
    }
}

pub(crate) fn read(path: &Path) -> Result<Vec<TestModule>> {
    let text = fs::read(path).with_context(|| format!("could not read {}", path.display()))?;
    let list: Value =
        serde_json::from_slice(&text).with_context(|| format!("{} is not JSON", path.display()))?;
    let mut modules = Vec::new();
    for repository in list["repositories"].as_array().context("there is no list of repositories")? {
        let owner = |name: &str| required(repository, name);
        for module in repository["modules"].as_array().context("there is no list of modules")? {
            modules.push(TestModule {
                repository: owner("repository")?,
                commit: owner("commit")?,
                directory: required(module, "directory")?,
                test_directory: required(module, "test_directory")?,
                differs: module["differs"].as_str().map(str::to_owned),
            });
        }
    }
    Ok(modules)
}

fn required(value: &Value, name: &str) -> Result<String> {
    Ok(value[name].as_str().with_context(|| format!("{name} is missing"))?.to_owned())
}
