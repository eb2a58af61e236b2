//! Runs that learn a policy: the accesses that plugins may make without a rule, and the accesses that
//! the learnt policy must allow.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use wardian_access::{AccessRequest, AddressKind, FileAccess, FileOperation};
use wardian_address::ProviderAddress;
use wardian_policy::{Learning, NeededAccess, ObservedAccesses, PluginPolicy, PolicyTemplate, TemplateValues};

use crate::context::AppContext;
use crate::environment::ProcessEnvironment;
use crate::error::AppError;

/// Maximum time until the connections of terminated plugins are recorded.
const PATIENCE: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// The reason of rules for files of native plugins, whose reads are not recorded.
const UNOBSERVED: &str = "the use of files is not recorded";

/// The reason of rules for files that a native plugin could not read.
const NAMED_BY_ERROR: &str = "files in an error message";

/// Returns the accesses that a run may learn.
pub(crate) fn learning(
    addresses: &BTreeSet<AddressKind>,
    directory: &Path,
    environment: &ProcessEnvironment,
) -> Learning {
    let home = environment.home();
    let values = TemplateValues {
        hosts: &[],
        ports: &[],
        directories: &[],
        instance_credentials: false,
        home: home.as_deref(),
        variable: &|name| environment.get(name),
        root_module: directory,
    };
    let templates = PolicyTemplate::plugins().into_iter().filter_map(|plugin| {
        let files = PolicyTemplate::for_plugin(&plugin)?.readable_files(&values);
        Some((plugin, files.into_iter().filter(|path| path.exists()).collect()))
    });
    let template_files: BTreeMap<ProviderAddress, Vec<PathBuf>> = templates.collect();
    Learning { addresses: addresses.clone(), root_module: directory.to_owned(), home, template_files }
}

impl AppContext {
    /// Terminates the plugins, and returns the accesses of the run, which a learnt policy must allow.
    /// `errors` are the texts of the command's errors.
    ///
    /// # Errors
    /// Returns an error if the policies cannot be read.
    pub async fn learnt_accesses(
        &self,
        command: &str,
        errors: &[String],
    ) -> Result<ObservedAccesses, AppError> {
        self.close().await;
        let deadline = Instant::now() + PATIENCE;
        while self.audit_log.has_unfinished_accesses() && Instant::now() < deadline {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        let summary = self.audit_log.summary();
        let mut observed = summary.observed(&self.directory);
        observed.command = Some(command.to_owned());
        observed.denied = summary.denied();
        observed.native = self.native_plugins();
        let policy = self.policy()?;
        for plugin in &observed.native {
            let policy = policy.for_plugin(plugin);
            let confinement = policy.native_confinement().unwrap_or_default();
            let read = confinement.read.into_iter().map(|path| (path, FileOperation::Read));
            let written = confinement.write.into_iter().map(|path| (path, FileOperation::Write));
            let files = read.chain(written).map(|(path, operation)| needed(plugin, path, operation, UNOBSERVED));
            observed.needed.extend(files);
        }
        // If there are several native plugins, it is unknown which of them reported the error.
        if let [plugin] = observed.native.iter().collect::<Vec<_>>().as_slice() {
            let files = unreadable_files(errors, &policy.for_plugin(plugin));
            let files = files.into_iter().map(|path| needed(plugin, path, FileOperation::Read, NAMED_BY_ERROR));
            observed.needed.extend(files);
        }
        Ok(observed)
    }
}

fn needed(plugin: &ProviderAddress, path: PathBuf, operation: FileOperation, reason: &str) -> NeededAccess {
    NeededAccess {
        plugin: plugin.clone(),
        request: AccessRequest::File(FileAccess::from_normalized(path, operation)),
        address: None,
        resources: BTreeSet::from([reason.to_owned()]),
    }
}

/// Returns the files that a native plugin could not read according to its error messages, and whose
/// reading may be learnt.
fn unreadable_files(errors: &[String], policy: &PluginPolicy) -> BTreeSet<PathBuf> {
    let errors = errors.iter().filter(|text| text.to_lowercase().contains("permission denied"));
    let is_separator = |character: char| character.is_whitespace() || "\"'`:,;()[]<>=".contains(character);
    let paths = errors.flat_map(|text| text.split(is_separator)).map(Path::new);
    let files = paths.filter(|path| path.is_absolute() && path.is_file());
    files
        .filter_map(|path| path.canonicalize().ok())
        .filter(|path| {
            let reading = FileAccess::from_normalized(path.clone(), FileOperation::Read);
            policy.decide(&AccessRequest::File(reading)).is_allowed()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use wardian_policy::Policy;

    use super::*;

    #[test]
    fn errors_name_unreadable_files() {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path().canonicalize().unwrap();
        let home = directory.join("home/me");
        std::fs::create_dir_all(home.join(".ssh")).unwrap();
        for name in ["config", "other", ".ssh/key"] {
            std::fs::write(home.join(name), "text").unwrap();
        }
        let environment: ProcessEnvironment =
            [("HOME".to_owned(), home.display().to_string())].into_iter().collect();
        let mut policy = Policy::new(&directory, [], []);
        policy.learn(learning(&BTreeSet::new(), &directory, &environment));
        let policy = policy.for_plugin(&ProviderAddress::parse("acme/dns").unwrap());
        let path = |name: &str| home.join(name).display().to_string();
        let errors = [
            format!("open {}: permission denied", path("config")),
            format!("open \"{}\": Permission denied (os error 13)", path(".ssh/key")),
            format!("open {}: no such zone", path("other")),
            format!("open {}: permission denied", path("missing")),
        ];
        assert_eq!(unreadable_files(&errors, &policy), BTreeSet::from([home.join("config")]));
    }
}
