//! The configuration of one run: the configuration under test with the provider configurations of the
//! test file.

use std::collections::BTreeMap;
use std::sync::Arc;

use wardian_address::{ModulePath, ProviderConfigAddress};
use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_lang::Body;
use wardian_value::Str;

use super::{TestFile, TestProvider, TestRun};
use crate::blocks::{ProviderConfig, ProviderConfigOrigin, ProviderReference};
use crate::configuration::Configuration;
use crate::module::Module;

type Name = (Str, Option<Str>);

/// The configuration that one run executes.
#[derive(Clone, Debug)]
pub struct RunConfiguration {
    pub configuration: Arc<Configuration>,
    /// The provider configurations from the test file: for each, its name in
    /// [`TestFile::providers`].
    pub providers: BTreeMap<ProviderConfigAddress, Name>,
}

impl Configuration {
    /// Returns the configuration of a run. `self` is the configuration of the module that the run
    /// executes. All modules except for the root module are shared.
    ///
    /// If the run passes provider configurations, only these are added; otherwise, all configurations
    /// of the file are added that have the name of a configuration that the root module uses. Added
    /// configurations replace configurations of the same name.
    ///
    /// # Errors
    /// Returns an error if the run passes a provider configuration that the file does not declare, or
    /// if provider configurations are passed to modules incorrectly. [`Self::check_references`] of the
    /// result reports provider configurations that do not exist.
    pub fn for_run(
        self: &Arc<Self>,
        file: &TestFile,
        run: &TestRun,
    ) -> Result<RunConfiguration, Diagnostics> {
        let root = self.root();
        let mut problems = Diagnostics::new();
        let mut added: Vec<(Name, &Name, &TestProvider)> = Vec::new();
        if run.providers.is_empty() {
            let used = root.module.provider_names();
            for (name, provider) in &file.providers {
                let is_required = name.1.is_none() && root.module.required_providers.contains_key(&name.0);
                if is_required || used.contains_key(name) {
                    added.push((name.clone(), name, provider));
                }
            }
        } else {
            for (inside, here) in &run.providers {
                let name = name_of(here);
                match file.providers.get_key_value(&name) {
                    Some((name, provider)) => added.push((name_of(inside), name, provider)),
                    None => problems.push(missing(here).in_block(format!("run \"{}\"", run.name))),
                }
            }
        }
        if problems.has_errors() {
            return Err(problems);
        }
        if added.is_empty() && self.unresolved.is_empty() {
            return Ok(RunConfiguration { configuration: Arc::clone(self), providers: BTreeMap::new() });
        }
        let mut module = Module::clone(&root.module);
        let mut providers = BTreeMap::new();
        for (name, in_file, provider) in added {
            let address = ProviderConfigAddress {
                module: ModulePath::root(),
                provider: module.provider_address(&name.0),
                alias: name.1.clone(),
            };
            providers.insert(address, in_file.clone());
            module.provider_configs.insert(name.clone(), configured(name, provider));
        }
        let mut configuration = Self {
            modules: self.modules.clone(),
            warnings: Diagnostics::new(),
            unresolved: Diagnostics::new(),
        };
        if let Some(node) = configuration.modules.get_mut(&ModulePath::root()) {
            node.module = Arc::new(module);
        }
        let (mut found, mut unresolved) = (Diagnostics::new(), Diagnostics::new());
        configuration.resolve_providers(&mut found, &mut unresolved);
        configuration.check_calls(&mut found, &mut unresolved);
        if found.has_errors() {
            return Err(found);
        }
        // The warnings have been reported for the configuration without the test file.
        configuration.unresolved = unresolved;
        Ok(RunConfiguration { configuration: Arc::new(configuration), providers })
    }
}

fn name_of(reference: &ProviderReference) -> Name {
    (reference.local_name.clone(), reference.alias.clone())
}

/// Returns the block that a provider configuration of a test file is equivalent to.
fn configured((local_name, alias): Name, provider: &TestProvider) -> ProviderConfig {
    let (body, span, origin) = match provider {
        TestProvider::Real(config) => {
            (config.body.clone(), config.span.clone(), ProviderConfigOrigin::TestFile)
        }
        TestProvider::Mock(mock) => {
            (Body::empty(mock.span.clone()), mock.span.clone(), ProviderConfigOrigin::Mock)
        }
    };
    ProviderConfig { local_name, alias, version: None, body, span, origin }
}

fn missing(reference: &ProviderReference) -> Diagnostic {
    let name = match &reference.alias {
        None => reference.local_name.to_string(),
        Some(alias) => format!("{}.{alias}", reference.local_name),
    };
    let detail = format!("The test file has no provider or mock_provider block for {name}.");
    let problem = Diagnostic::error(format!("Missing provider definition for {name}"), detail);
    match &reference.span {
        Some(span) => problem.at(span.clone()),
        None => problem,
    }
}
