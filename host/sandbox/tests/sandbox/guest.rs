//! Locates the test components, and calls them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use wardian_access::{Denied, FinishedProgram, ProcessAuthority, ProgramLaunch};
use wardian_address::ProviderAddress;
use wardian_diagnostic::SourceFile;
use wardian_monitor::{AuditLog, Monitor, PluginIdentity};
use wardian_plugin::{
    CallContext, ClientCapabilities, ConfigureRequest, PlanRequest, PlanResponse, PluginDiagnostic,
    PrivateBytes, Provider, ReadDataSourceRequest, ReadDataSourceResponse,
};
use wardian_policy::{Level, Policy, PolicyFile};
use wardian_process::Launcher;
use wardian_sandbox::{CacheDirectories, Grants, LoadedPlugin, Sandbox, SandboxLimits, SandboxOptions};
use wardian_value::{Type, Value, View};

/// Reads a test component.
pub(crate) fn bytes(name: &str) -> Vec<u8> {
    let path = directory().join(format!("{name}.wasm"));
    std::fs::read(&path)
        .unwrap_or_else(|error| panic!("{}: {error}; run `cargo xtask guests`", path.display()))
}

/// Reads a component that is embedded in the program.
pub(crate) fn embedded(name: &str) -> Vec<u8> {
    bytes(&format!("../{name}"))
}

fn directory() -> PathBuf {
    match std::env::var_os("WARDIAN_TEST_GUESTS") {
        Some(path) => path.into(),
        None => PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/guests/test")),
    }
}

/// Returns a launcher whose own authority denies every program, for use with another authority.
pub(crate) fn launcher(search_path: &str) -> Arc<Launcher> {
    struct Nobody;

    impl ProcessAuthority for Nobody {
        fn may_start(&self, _start: &ProgramLaunch<'_>) -> Result<(), Denied> {
            Err(Denied::new("nobody asked"))
        }

        fn may_execute(&self, _start: &ProgramLaunch<'_>, _executable: &Path) -> Result<(), Denied> {
            Err(Denied::new("nobody asked"))
        }

        fn finished(&self, _ended: &FinishedProgram) {}
    }

    Arc::new(Launcher::new(Arc::new(Nobody), search_path.into()))
}

/// Limits that tests exceed quickly, but that are not exceeded accidentally on a busy machine.
pub(crate) fn short() -> SandboxLimits {
    SandboxLimits {
        computation: Duration::from_secs(5),
        local_call: Duration::from_secs(20),
        remote_call: Duration::from_secs(20),
        ..SandboxLimits::default()
    }
}

/// Returns the directories of the cache of compiled code, which all tests share.
pub(crate) fn sandbox_cache() -> CacheDirectories {
    let place = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    CacheDirectories { code: place.join("code"), key: place.join("key") }
}

pub(crate) fn sandbox(limits: SandboxLimits) -> Sandbox {
    let sandbox = Sandbox::new(SandboxOptions {
        cache: Some(sandbox_cache()),
        limits,
        parallelism: 4,
        ..SandboxOptions::default()
    })
    .unwrap();
    assert!(sandbox.cache_refusal().is_none(), "{:?}", sandbox.cache_refusal());
    sandbox
}

pub(crate) fn load(limits: SandboxLimits) -> LoadedPlugin {
    sandbox(limits).load("acme/hostile", &bytes("hostile"), None, None, &|_| {}).unwrap()
}

pub(crate) fn provider(limits: SandboxLimits) -> Arc<dyn Provider> {
    load(limits).provider(Grants::nothing())
}

/// Returns the grants of a root module's policy. `rules` are the content of its block.
pub(crate) fn granted(root: &Path, rules: &str) -> Grants {
    granted_and_recorded(root, rules, &Arc::new(AuditLog::disabled()))
}

pub(crate) fn granted_and_recorded(root: &Path, rules: &str, log: &Arc<AuditLog>) -> Grants {
    let text = format!("plugin \"acme/hostile\" {{\n{rules}\n}}\n");
    let file = SourceFile::new("wardian.policy.hcl", text);
    let file = PolicyFile::parse(Level::RootModule, &file, root).unwrap_or_else(|error| panic!("{error}"));
    let address = ProviderAddress::parse("acme/hostile").unwrap();
    let policy = Policy::new(root, [file], []).for_plugin(&address);
    let identity = PluginIdentity { address, version: None, sha256: None, confinement: None };
    let environment = [("GRANTED", "yes"), ("SECRET", "no")].map(|(name, value)| (name.into(), value.into()));
    Grants::by_policy(Monitor::new(policy, identity, Arc::clone(log)), root, environment)
}

/// Returns a rule that grants directories.
pub(crate) fn allow(access: &str, directories: &[&str]) -> String {
    let access: Vec<&str> = access.split(' ').collect();
    format!("allow filesystem {{\n directories = {directories:?}\n access = {access:?}\n}}\n")
}

/// Returns a rule that denies directories.
pub(crate) fn deny(access: &str, directories: &[&str]) -> String {
    allow(access, directories).replacen("allow", "deny", 1)
}

pub(crate) fn object(input: &str) -> Value {
    Value::object([("input", Value::from(input)), ("result", Value::null(Type::String))])
}

/// Returns an object's attribute as a string.
pub(crate) fn text(object: &Value, name: &str) -> String {
    let View::Object(attributes) = object.view() else { panic!("{object:?} is no object") };
    match attributes.get(name).map(Value::view) {
        Some(View::String(text)) => text.as_str().to_owned(),
        _ => panic!("{name} is {:?}", attributes.get(name)),
    }
}

/// Plans a resource on behalf of `TYPE.here`.
pub(crate) async fn plan(provider: &dyn Provider, type_name: &str) -> PlanResponse {
    let request = PlanRequest {
        type_name: type_name.into(),
        prior_state: Value::null(object_type()),
        proposed_new_state: object("because"),
        config: object("because"),
        prior_private: PrivateBytes::default(),
        provider_meta: None,
        prior_identity: None,
        capabilities: ClientCapabilities::default(),
    };
    let context = CallContext::new(format!("{type_name}.here"));
    provider.plan_resource_change(&context, request).await
}

/// Returns the single error with which the plan of a type fails.
pub(crate) async fn plan_error(provider: &dyn Provider, type_name: &str) -> PluginDiagnostic {
    let mut response = plan(provider, type_name).await;
    assert!(response.planned_state.is_none(), "{response:?}");
    let error = response.diagnostics.pop().unwrap();
    assert!(error.is_error() && response.diagnostics.is_empty(), "{error:?}");
    for part in ["acme/hostile", "plan-resource-change", &format!("{type_name}.here")] {
        assert!(error.detail.contains(part), "{part:?} is not named: {}", error.detail);
    }
    error
}

/// Asserts that the provider still works.
pub(crate) async fn assert_well(provider: &dyn Provider) {
    let response = plan(provider, "hostile_honest").await;
    assert_eq!(response.diagnostics, []);
    assert_eq!(response.planned_state, Some(object("because")));
}

/// Reads a probe and returns the response.
pub(crate) async fn read_probe(
    context: &CallContext,
    provider: &dyn Provider,
    input: &str,
) -> ReadDataSourceResponse {
    let request = ReadDataSourceRequest {
        type_name: "hostile_probe".into(),
        config: object(input),
        provider_meta: None,
        capabilities: ClientCapabilities::default(),
    };
    provider.read_data_source(context, request).await
}

/// Reads a probe and returns its result.
pub(crate) async fn probe(provider: &dyn Provider, input: &str) -> String {
    probe_for(&CallContext::default(), provider, input).await
}

/// The same as [`probe`], in a call context.
pub(crate) async fn probe_for(context: &CallContext, provider: &dyn Provider, input: &str) -> String {
    let response = read_probe(context, provider, input).await;
    assert_eq!(response.diagnostics, []);
    text(&response.state.unwrap(), "result")
}

/// Returns a probe's result, or the failure if the call failed.
pub(crate) async fn probe_or_failure(provider: &dyn Provider, input: &str) -> String {
    let response = read_probe(&CallContext::default(), provider, input).await;
    match response.state {
        Some(state) => text(&state, "result"),
        None => format!("{} {}", response.diagnostics[0].summary, response.diagnostics[0].detail),
    }
}

/// Returns the failure of a probe whose call fails.
pub(crate) async fn probe_failure(provider: &dyn Provider, input: &str) -> String {
    let mut response = read_probe(&CallContext::default(), provider, input).await;
    assert!(response.state.is_none(), "{input}: {response:?}");
    let error = response.diagnostics.pop().unwrap();
    format!("{}: {}", error.summary, error.detail)
}

pub(crate) async fn configure(provider: &dyn Provider, input: &str) -> Vec<PluginDiagnostic> {
    let request = ConfigureRequest {
        terraform_version: "1.11.4".into(),
        config: object(input),
        capabilities: ClientCapabilities::default(),
    };
    provider.configure(&CallContext::default(), request).await
}

pub(crate) fn object_type() -> Type {
    Type::object([("input", Type::String), ("result", Type::String)])
}
