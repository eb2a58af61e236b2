//! `wardian query`: finds existing objects that can be imported.

use std::path::Path;

use async_trait::async_trait;
use wardian_access::ProtectedClass;
use wardian_app::generated_configuration;
use wardian_app::protected_files::NamedFile;
use wardian_app::untrusted::ConfigurationTrust;
use wardian_config::QueryFiles;
use wardian_diagnostic::Diagnosed;
use wardian_engine::{QueriedList, QueryOptions};
use wardian_printable::printable;

use crate::arguments::QueryArguments;
use crate::command_context::CommandContext;
use crate::command_spec::CommandSpec;
use crate::failure::{Failure, Outcome, Status};
use crate::interrupt;
use crate::shell::{OutputKind, ViewOptions};
use crate::variables::{self, Prompting};

#[async_trait(?Send)]
impl CommandSpec for QueryArguments {
    fn view(&self) -> ViewOptions {
        self.output.view()
    }

    fn output_kind(&self) -> OutputKind {
        self.output.kind()
    }

    fn json_into(&self) -> Option<&Path> {
        self.output.json_into()
    }

    fn needs_workspace(&self) -> bool {
        false
    }

    fn query_files(&self) -> QueryFiles {
        QueryFiles::Included
    }

    fn trust(&self) -> ConfigurationTrust {
        self.trust.level()
    }

    fn audit_log(&self) -> Option<&Path> {
        self.audit.audit_log.as_deref()
    }

    fn named_files(&self) -> Vec<NamedFile> {
        let generated = self.generate_config_out.iter();
        let generated = generated.map(|path| (ProtectedClass::Configuration, path.clone()));
        generated.chain(self.variables.named_files()).collect()
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        run(context, self).await
    }
}

async fn run(context: &CommandContext, arguments: &QueryArguments) -> Outcome {
    if context.app.confinement.is_some() {
        return Err(Failure::error(
            "Queries not allowed for untrusted configuration",
            "Under -untrusted, no list is run. Review the query files, and run the query without -untrusted.",
        ));
    }
    let shell = &context.shell;
    // With -json, the configuration is part of the messages.
    let out = arguments.generate_config_out.as_deref().filter(|_| !shell.is_for_programs());
    if let Some(path) = out {
        generated_configuration::check_absent(path)?;
    }
    let stop = interrupt::listen(shell)?;
    let configuration = context.app.configuration()?;
    let module = &configuration.root().module;
    if module.lists.is_empty() {
        return Err(Failure::error(
            "No lists in query files",
            "This directory has no list blocks in files whose names end with .tfquery.hcl or .tfquery.json. \
             Create such a file with list blocks, or specify another directory with -chdir=DIR.",
        ));
    }
    let asks = arguments.operation.input && !shell.is_for_programs();
    let asking = if asks { Prompting::Allowed } else { Prompting::Forbidden };
    let environment = &context.app.environment;
    let variables =
        variables::collect(module, &arguments.variables, asking, environment, shell, &stop).await?;
    let lock = context.app.lock_file()?;
    let parallelism = arguments.operation.parallelism;
    let plugins = context.app.plugins(&configuration, None, &lock, parallelism)?;
    let options = QueryOptions { generate: arguments.generate_config_out.is_some(), parallelism };
    let engine = context.engine_run(configuration, plugins);
    let Diagnosed { value: results, diagnostics } = engine.query(variables, options, stop).await;
    // The results that were found before an error are written too.
    if let Some((path, results)) = out.zip(results.as_deref())
        && generated_configuration::write_imports(path, generated(results))?
    {
        shell.say(printable!(
            "\nThe configuration of the objects was written to {}.\nReview it, and plan to import them.",
            path.display()
        ));
    }
    shell.diagnostics(&diagnostics);
    Ok(if diagnostics.has_errors() { Status::Failed } else { Status::Success })
}

/// Returns the generated blocks of all objects.
fn generated(results: &[QueriedList]) -> impl Iterator<Item = (&str, &str)> {
    let found = results.iter().flat_map(|results| &results.found);
    found
        .filter_map(|found| found.generated.as_ref())
        .map(|generated| (generated.resource.as_str(), generated.import.as_str()))
}
