//! Checks runs against the configurations that they execute.

use std::collections::BTreeMap;
use std::sync::Arc;

use wardian_address::{ModulePath, ProviderAddress};
use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_value::Str;

use super::runs::local_name_span;
use super::{LoadedTests, Override, RunModules, TestFile, TestProvider, TestRun};
use crate::blocks::Target;
use crate::configuration::Configuration;
use crate::module::Module;

impl LoadedTests {
    /// Checks every file and run. The runs' assertions and the values of variables are not checked; this
    /// requires an evaluation.
    pub fn check(&self, root: &Arc<Configuration>, modules: &RunModules) -> Diagnostics {
        let mut problems = Diagnostics::new();
        for file in self.files.values() {
            problems.extend(file.check(root, modules));
            for run in &file.runs {
                if let Some(configuration) = modules.configuration(root, file, run) {
                    problems.extend(run.check(configuration));
                }
            }
        }
        problems
    }

    /// Reports names of provider configurations that runs of a file pass as different providers.
    /// Modules and providers can be installed only if there are no such errors.
    pub fn check_providers(&self, root: &Configuration) -> Diagnostics {
        let mut problems = Diagnostics::new();
        for file in self.files.values() {
            file.check_providers(&root.root().module, &mut problems);
        }
        problems
    }
}

impl TestFile {
    /// Warns about overrides outside of runs whose targets do not exist in the configuration of any
    /// run.
    pub fn check(&self, root: &Arc<Configuration>, modules: &RunModules) -> Diagnostics {
        let mut problems = Diagnostics::new();
        let configurations: Vec<&Configuration> = std::iter::once(root)
            .chain(self.runs.iter().filter_map(|run| modules.configuration(root, self, run)))
            .map(|configuration| &**configuration)
            .collect();
        for target in &self.overrides {
            warn_if_missing(target, &configurations, target.kind.block_type(), &mut problems);
        }
        for provider in self.providers.values() {
            let TestProvider::Mock(mock) = provider else { continue };
            let context = format!("mock_provider \"{}\"", mock.local_name);
            for target in &mock.overrides {
                warn_if_missing(target, &configurations, &context, &mut problems);
            }
        }
        problems
    }

    fn check_providers(&self, root: &Module, problems: &mut Diagnostics) {
        let mut known: BTreeMap<&Str, ProviderAddress> = BTreeMap::new();
        for run in self.runs.iter().filter(|run| run.module.is_none()) {
            if run.providers.is_empty() {
                for (local_name, _) in self.providers.keys() {
                    if let Some(required) = root.required_providers.get(local_name) {
                        known.entry(local_name).or_insert_with(|| required.address.clone());
                    }
                }
            }
            for (inside, here) in &run.providers {
                let name = (here.local_name.clone(), here.alias.clone());
                let Some(((local_name, _), _)) = self.providers.get_key_value(&name) else { continue };
                // A name that is not declared refers to a provider in the default namespace, even if
                // resources imply another provider.
                let wanted = match root.required_providers.get(&inside.local_name) {
                    Some(required) => required.address.clone(),
                    None => match ProviderAddress::parse(&format!("hashicorp/{}", inside.local_name)) {
                        Ok(address) => address,
                        Err(_) => continue,
                    },
                };
                let first = known.entry(local_name).or_insert_with(|| wanted.clone());
                if *first != wanted {
                    let detail = format!(
                        "In {}, \"{local_name}\" refers to {first}, but it is passed here as \"{}\", which is \
                         {wanted} in the root module. Use a different name for each provider.",
                        self.path, inside.local_name
                    );
                    let problem = Diagnostic::error("Provider type mismatch", detail);
                    let problem = match &here.span {
                        Some(span) => problem.at(local_name_span(span)),
                        None => problem,
                    };
                    problems.push(problem.in_block(format!("run \"{}\"", run.name)));
                }
            }
        }
    }
}

impl TestRun {
    /// Checks the run's expected failures and overrides against the configuration that the run
    /// executes.
    pub fn check(&self, configuration: &Configuration) -> Diagnostics {
        let mut problems = Diagnostics::new();
        let context = format!("run \"{}\"", self.name);
        for target in &self.overrides {
            warn_if_missing(target, &[configuration], &context, &mut problems);
        }
        problems.extend(self.problems.clone());
        problems
    }
}

fn warn_if_missing(
    target: &Override,
    configurations: &[&Configuration],
    context: &str,
    problems: &mut Diagnostics,
) {
    if !configurations.iter().any(|configuration| contains(configuration, &target.target)) {
        let detail = format!(
            "The configuration under test has no {}, so the override has no effect. The address may be \
             misspelled.",
            target.target
        );
        problems.push(
            Diagnostic::warning("Invalid override target", detail)
                .at(target.target_span.clone())
                .in_block(context),
        );
    }
}

fn contains(configuration: &Configuration, target: &Target) -> bool {
    let names = target.modules.iter().map(|(name, _)| name.clone());
    let path = names.fold(ModulePath::root(), |path, name| path.child(name));
    let Some(node) = configuration.module(&path) else { return false };
    target.resource.as_ref().is_none_or(|resource| {
        let key = (resource.mode, resource.type_name.clone(), resource.name.clone());
        node.module.resources.contains_key(&key)
    })
}
