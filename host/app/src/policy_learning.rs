//! Runs that learn a policy: the accesses that plugins may make without a rule, and the accesses that
//! the learnt policy must allow.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use wardian_access::{AccessRequest, AddressKind, is_within};
use wardian_address::ProviderAddress;
use wardian_policy::{Learning, ObservedAccesses, PolicyTemplate, TemplateValues};

use crate::context::AppContext;
use crate::environment::ProcessEnvironment;
use crate::error::AppError;

/// Maximum time until the connections of terminated plugins are recorded.
const PATIENCE: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(5);

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
        Some((plugin, files.into_iter().filter_map(|path| path.canonicalize().ok()).collect()))
    });
    let template_files: BTreeMap<ProviderAddress, Vec<PathBuf>> = templates.collect();
    Learning { addresses: addresses.clone(), root_module: directory.to_owned(), home, template_files }
}

/// The accesses of a run that learns.
pub struct LearntAccesses {
    /// The accesses that the learnt policy must allow.
    pub observed: ObservedAccesses,
    /// The files that native plugins could not open in this run, although the learnt policy grants them:
    /// the kernel's rules are fixed when a plugin starts.
    pub unopened: BTreeSet<PathBuf>,
}

impl AppContext {
    /// Terminates the plugins, and returns the accesses of the run.
    ///
    /// # Errors
    /// Returns an error if the policies cannot be read.
    pub async fn learnt_accesses(&self, command: &str) -> Result<LearntAccesses, AppError> {
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
        let mut unopened = BTreeSet::new();
        for plugin in &observed.native {
            let confinement = policy.for_plugin(plugin).native_confinement().unwrap_or_default();
            let partly = confinement.partly_readable.into_iter().map(|(directory, _)| directory).collect();
            let granted: Vec<PathBuf> = [confinement.read, partly, confinement.write].concat();
            let granted: Vec<PathBuf> = granted.iter().filter_map(|path| path.canonicalize().ok()).collect();
            let files = observed.needed.iter().filter(|needed| needed.plugin == *plugin);
            unopened.extend(files.filter_map(|needed| match &needed.request {
                AccessRequest::File(file) if !granted.iter().any(|outer| is_within(file.path(), outer)) => {
                    Some(file.path().to_owned())
                }
                _ => None,
            }));
        }
        Ok(LearntAccesses { observed, unopened })
    }
}
