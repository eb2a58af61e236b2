//! `wardian providers` and `wardian providers schema`: list the required providers, and print their
//! schemas.

use std::collections::BTreeMap;
use std::path::Path;

use async_trait::async_trait;
use wardian_address::{Constraints, ModulePath, ProviderAddress};
use wardian_app::require_files;
use wardian_app::state_access;
use wardian_app::test_suite::ConfigurationTests;
use wardian_config::Configuration;
use wardian_printable::{PrintableText, append_line, printable};
use wardian_state::State;

use crate::arguments::{ProvidersArguments, ProvidersSchemaArguments};
use crate::command_context::CommandContext;
use crate::command_spec::{CommandSpec, InvalidOptions};
use crate::failure::{Outcome, Status};
use crate::render::json::schemas_json;
use crate::shell::ViewOptions;

/// The version constraints in each module.
type ByModule = BTreeMap<ModulePath, BTreeMap<ProviderAddress, Constraints>>;

#[async_trait(?Send)]
impl CommandSpec for ProvidersArguments {
    fn view(&self) -> ViewOptions {
        self.view.into()
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        tree(context, self.test_directory.as_deref()).await
    }
}

#[async_trait(?Send)]
impl CommandSpec for ProvidersSchemaArguments {
    fn view(&self) -> ViewOptions {
        self.view.into()
    }

    fn check(&self) -> Result<(), InvalidOptions> {
        if self.json {
            return Ok(());
        }
        Err(InvalidOptions::new(
            "Option required",
            "Schemas are available only as JSON. Add the option -json.",
        ))
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        schemas(context).await
    }
}

/// Prints the schemas of all providers in the configuration and the state.
async fn schemas(context: &CommandContext) -> Outcome {
    let configuration = context.app.configuration()?;
    let look = state_access::read_unlocked(&context.app, Some(&configuration), None).await?;
    let lock = context.app.lock_file()?;
    let plugins = context.app.plugins(&configuration, Some(&look.state), &lock, 1)?;
    let schemas = context.engine_run(configuration, plugins).schemas(Some(&look.state)).await?;
    let text = schemas_json(schemas.iter().map(|(address, schema)| (address.clone(), &**schema)));
    schemas.close().await;
    context.shell.print_json(&text);
    Ok(Status::Success)
}

/// Prints the providers that each module and each module of a test requires, and the providers that
/// the state requires.
async fn tree(context: &CommandContext, test_directory: Option<&Path>) -> Outcome {
    let (configuration, tests) = context.app.configuration_with_tests(test_directory)?;
    let configuration = require_files(configuration)?;
    let look = state_access::read_unlocked(&context.app, Some(&configuration), None).await?;
    let mut text = PrintableText::from("\nProviders required by configuration:\n.\n");
    let mut branches = module_branches(&by_module(&configuration), &configuration, &ModulePath::root());
    branches.extend(test_branches(&tests));
    append_branches(&branches, &"".into(), &mut text);
    let of_state = of_state(&look.state);
    if !of_state.is_empty() {
        text.push("\nProviders required by state:\n\n");
        for address in of_state {
            append_line!(text, "    provider[{address}]");
        }
    }
    text.push("\n");
    context.shell.print(text);
    Ok(Status::Success)
}

fn by_module(configuration: &Configuration) -> ByModule {
    let mut modules = ByModule::new();
    for (address, requirement) in configuration.provider_requirements() {
        for (module, constraints, _) in requirement.origins {
            let known = modules.entry(module).or_default().entry(address.clone()).or_default();
            *known = known.and(&constraints);
        }
    }
    modules
}

/// A line of the tree with the lines below it.
struct Branch {
    line: PrintableText,
    below: Vec<Branch>,
}

fn module_branches(modules: &ByModule, configuration: &Configuration, path: &ModulePath) -> Vec<Branch> {
    let none = BTreeMap::new();
    let providers = modules.get(path).unwrap_or(&none).iter().map(|(address, constraints)| {
        let constraints =
            if constraints.is_empty() { PrintableText::new() } else { printable!(" {constraints}") };
        Branch { line: printable!("provider[{address}]{constraints}"), below: Vec::new() }
    });
    let calls = configuration.module(path).into_iter().flat_map(|node| node.module.module_calls.keys());
    let called = calls.map(|name| Branch {
        line: printable!("module.{name}"),
        below: module_branches(modules, configuration, &path.child(name.clone())),
    });
    providers.chain(called).collect()
}

/// Returns a branch for each test file whose runs execute modules.
fn test_branches(tests: &ConfigurationTests) -> Vec<Branch> {
    let mut branches: Vec<(String, Vec<Branch>)> = Vec::new();
    for (key, run, _, configuration) in tests.modules.iter(&tests.files) {
        let file = key.strip_suffix(&format!(".{}", run.name)).unwrap_or(&key).to_owned();
        let branch = Branch {
            line: printable!("run.{}", run.name),
            below: module_branches(&by_module(configuration), configuration, &ModulePath::root()),
        };
        match branches.last_mut() {
            Some((last, runs)) if *last == file => runs.push(branch),
            _ => branches.push((file, vec![branch])),
        }
    }
    let branches = branches.into_iter();
    branches.map(|(file, below)| Branch { line: printable!("{file}"), below }).collect()
}

fn append_branches(branches: &[Branch], indent: &PrintableText, text: &mut PrintableText) {
    for (position, branch) in branches.iter().enumerate() {
        let is_last = position + 1 == branches.len();
        let (twig, below) = if is_last { ("└── ", "    ") } else { ("├── ", "│   ") };
        append_line!(text, "{indent}{twig}{}", branch.line);
        append_branches(&branch.below, &printable!("{indent}{below}"), text);
    }
}

fn of_state(state: &State) -> Vec<ProviderAddress> {
    let mut addresses: Vec<ProviderAddress> =
        state.resources().map(|(_, resource)| resource.provider.provider.clone()).collect();
    addresses.sort();
    addresses.dedup();
    addresses
}
