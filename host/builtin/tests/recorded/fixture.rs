//! Runs configurations in a directory.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use wardian_address::{ProviderAddress, ProviderConfigAddress, ResourceInstanceAddress};
use wardian_builtin::BuiltInProvider;
use wardian_config::load_root_from;
use wardian_config::{MemoryFiles, RootVariables};
use wardian_diagnostic::{Diagnosed, Diagnostics};
use wardian_engine::{
    Applied, Directories, EngineContext, FlushReply, Plan, PlanOptions, Silent, StateSink, StopSignal,
};
use wardian_plugin::{CallContext, NoProvisioners, PluginDiagnostics, Provider, ProviderSource};
use wardian_state::{Instance, State};
use wardian_value::Str;

struct BuiltIn(std::path::PathBuf);

#[async_trait]
impl ProviderSource for BuiltIn {
    async fn provider(&self, address: &ProviderAddress) -> Result<Arc<dyn Provider>, PluginDiagnostics> {
        assert_eq!(address.to_string(), "terraform.io/builtin/terraform");
        Ok(Arc::new(BuiltInProvider::new(&self.0)))
    }
}

struct Nowhere;

impl StateSink for Nowhere {
    fn record_intent(&mut self, _address: &ResourceInstanceAddress, _action: &str) {}

    fn record(
        &mut self,
        _address: &ResourceInstanceAddress,
        _provider: &ProviderConfigAddress,
        _instance: Option<&Instance>,
    ) {
    }

    fn commit(&mut self) -> Result<(), String> {
        Ok(())
    }

    fn flush(&mut self, done: FlushReply) {
        done(Ok(()));
    }
}

pub type Files<'a> = &'a [(&'a str, &'a str)];

fn run(files: Files<'_>, directory: &Path) -> Result<EngineContext, Diagnostics> {
    let files = MemoryFiles::new(files.iter().map(|(name, text)| (*name, text.as_bytes().to_vec())));
    Ok(EngineContext {
        configuration: Arc::new(load_root_from(&files, Path::new(""))?),
        providers: Arc::new(BuiltIn(directory.to_owned())),
        provisioners: Arc::new(NoProvisioners),
        events: Arc::new(Silent),
        workspace: Str::new("default"),
        directories: Directories {
            files: wardian_config::GatedFiles::default(),
            root_directory: directory.to_owned(),
            working_directory: directory.to_owned(),
            home_directory: None,
        },
        secrets: wardian_engine::ObjectSecrets::Available,
        budget: Arc::default(),
        test: None,
        accepted: None,
    })
}

/// Returns the object type of `terraform_remote_state`.
pub fn data_source_type() -> wardian_value::Type {
    let provider = BuiltInProvider::new("/srv/nowhere");
    let schema = runtime().block_on(provider.schema(&CallContext::default())).unwrap();
    schema.data_sources.get("terraform_remote_state").unwrap().implied_type().clone()
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

pub fn validate(files: Files<'_>, directory: &Path) -> Diagnostics {
    match run(files, directory) {
        Ok(run) => runtime().block_on(run.validate()),
        Err(diagnostics) => diagnostics,
    }
}

pub fn plan(files: Files<'_>, directory: &Path, state: State) -> Result<Plan, Diagnostics> {
    let run = run(files, directory)?;
    let Diagnosed { value: plan, diagnostics } = runtime().block_on(run.plan(
        state,
        RootVariables::default(),
        &PlanOptions::default(),
        StopSignal::never(),
    ));
    if diagnostics.has_errors() { Err(diagnostics) } else { Ok(plan.unwrap()) }
}

pub fn apply(files: Files<'_>, directory: &Path, plan: &Plan) -> Applied {
    let run = run(files, directory).unwrap();
    runtime().block_on(run.apply(plan, &mut Nowhere, 4, StopSignal::never()))
}
