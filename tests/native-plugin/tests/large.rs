//! The largest supported messages: schemas of 64 MB, data of 256 MB. These tests have a separate
//! binary, because another test measures the memory of its process.

#![allow(clippy::unwrap_used, reason = "a test ends there")]

use std::path::Path;
use std::sync::Arc;

use wardian_legacy_grpc_bridge::{Bridge, NativeLimits, NativePackage, Security};
use wardian_plugin::{
    CallContext, ClientCapabilities, ConfigureRequest, Provider, ReadDataSourceRequest,
    ReadDataSourceResponse,
};
use wardian_value::{Path as ValuePath, Type, Value, View};

const LARGE: usize = 256_000_000;

fn provider(words: &str) -> (Bridge, Arc<dyn Provider>) {
    let bridge = Bridge::new(NativeLimits::default());
    let package = NativePackage {
        name: Arc::from("acme/fake v1.2.3"),
        executable: Path::new(env!("CARGO_BIN_EXE_wardian-native-plugin")).to_owned(),
        environment: vec![("NATIVE_PLUGIN".into(), words.into())],
        working_directory: std::env::temp_dir(),
        socket_directory: std::env::temp_dir(),
        security: Security::MutualTls,
        confinement: None,
        content: None,
    };
    let provider = bridge.plugin(package).provider();
    (bridge, provider)
}

async fn echo(provider: &dyn Provider, input: Value) -> ReadDataSourceResponse {
    let request = ReadDataSourceRequest {
        type_name: "fake_echo".into(),
        config: Value::object([("input", input), ("output", Value::null(Type::String))]),
        provider_meta: None,
        capabilities: ClientCapabilities::default(),
    };
    provider.read_data_source(&CallContext::default(), request).await
}

fn output_length(answer: &ReadDataSourceResponse) -> Option<usize> {
    let output = ValuePath::root().attribute("output").apply(answer.state.as_ref()?)?.clone();
    match output.view() {
        View::String(text) => Some(text.len()),
        _ => None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn schemas_of_64_megabytes_are_accepted() {
    for words in ["large-schema", "5,large-schema"] {
        let (_bridge, provider) = provider(words);
        let schema = provider.schema(&CallContext::default()).await.unwrap();
        assert_eq!(schema.resources.len(), 2_001);
        let large = schema.resources.get("fake_large_1999").unwrap();
        assert_eq!(large.block.attributes.len(), 108);
        provider.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn data_of_256_megabytes_is_transferred() {
    let (_bridge, provider) = provider("");
    let request = ConfigureRequest {
        terraform_version: "1.11.4".into(),
        config: Value::object([("greeting", Value::null(Type::String))]),
        capabilities: ClientCapabilities::default(),
    };
    assert_eq!(provider.configure(&CallContext::default(), request).await, []);
    let answer = echo(&*provider, Value::string(format!("bytes:{LARGE}"))).await;
    assert_eq!(answer.diagnostics, []);
    assert_eq!(output_length(&answer), Some(LARGE));
    drop(answer);
    // The request is also large; the plugin only counts its bytes.
    let answer = echo(&*provider, Value::string(format!("count:{}", "x".repeat(LARGE)))).await;
    assert_eq!(answer.diagnostics, []);
    let output = ValuePath::root().attribute("output").apply(answer.state.as_ref().unwrap()).cloned();
    assert_eq!(output, Some(Value::string(LARGE.to_string())));
    let answer = echo(&*provider, Value::string(format!("bytes:{}", 300_000_000))).await;
    let message = answer.diagnostics.first().map(|one| one.detail.clone()).unwrap_or_default();
    assert!(message.contains("its response is larger than the limit of 268435456 bytes"), "{message}");
    let answer = echo(&*provider, Value::string("small again")).await;
    assert_eq!(output_length(&answer), Some(11));
    provider.close().await;
}
