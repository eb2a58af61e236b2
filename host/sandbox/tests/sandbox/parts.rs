//! A provider that exports only some parts, and hands on its configured form.

use wardian_plugin::{CallContext, ClientCapabilities, ConfigureRequest, ReadDataSourceRequest};
use wardian_sandbox::{Grants, Sandbox, SandboxOptions};
use wardian_value::Value;

use crate::guest::{allow, bytes, granted, object, short, text};
use crate::pool::futures_of_calls::all;

fn plugin(parallelism: usize) -> wardian_sandbox::LoadedPlugin {
    let options = SandboxOptions { limits: short(), parallelism, ..SandboxOptions::default() };
    let sandbox = Sandbox::new(options).unwrap();
    sandbox.load("acme/parts", &bytes("hostile-parts"), None, None, &|_| {}).unwrap()
}

async fn read(provider: &dyn wardian_plugin::Provider, input: &str) -> String {
    let request = ReadDataSourceRequest {
        type_name: "parts_probe".into(),
        config: object(input),
        provider_meta: None,
        capabilities: ClientCapabilities::default(),
    };
    let response = provider.read_data_source(&CallContext::default(), request).await;
    assert_eq!(response.diagnostics, []);
    text(&response.state.unwrap(), "result")
}

#[tokio::test]
async fn provider_without_optional_parts_runs() {
    let provider = plugin(1).provider(Grants::nothing());
    let context = CallContext::default();
    let schema = provider.schema(&context).await.unwrap();
    assert!(schema.actions.is_empty() && schema.data_sources.contains_key("parts_probe"));
    assert_eq!(read(&*provider, "how").await, "not at all");
    let echo = provider.call_function(&context, "echo".into(), vec![Value::from("x")]).await;
    assert_eq!(echo.unwrap(), Value::from("x"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn thirty_instances_are_configured_once() {
    let provider = plugin(30).provider(Grants::nothing());
    let request = ConfigureRequest {
        terraform_version: "1.11.4".into(),
        config: object("x"),
        capabilities: ClientCapabilities::default(),
    };
    assert_eq!(provider.configure(&CallContext::default(), request).await, []);
    let seen = all((0..30).map(|_| read(&*provider, "how"))).await;
    assert_eq!(seen.iter().filter(|one| *one == "configured").count(), 1, "{seen:?}");
    assert_eq!(seen.iter().filter(|one| *one == "restored").count(), 29, "{seen:?}");
    assert_eq!(read(&*provider, "times").await, "1");
}

#[tokio::test]
async fn schema_must_agree_with_exported_parts() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("variant"), "lists").unwrap();
    let provider = plugin(1).provider(granted(directory.path(), &allow("read", &["."])));
    let problems = provider.schema(&CallContext::default()).await.unwrap_err();
    assert!(problems[0].detail.contains("wardian:plugin/list-resources"), "{problems:?}");
}
