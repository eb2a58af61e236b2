//! Tests with a real provider. They are skipped unless `WARDIAN_TEST_MIRROR` names a filesystem
//! mirror that contains it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use wardian_legacy_grpc_bridge::{Bridge, NativeLimits, NativePackage, Security};
use wardian_plugin::{
    Attribute, AttributeType, Block, BlockNesting, CallContext, ClientCapabilities, ConfigKind, PlanRequest,
    PrivateBytes, ValidateConfigRequest,
};
use wardian_value::{Path as ValuePath, Type, Value, View};

use crate::configure;

/// Returns the executable of the AWS provider, if it is installed.
fn aws() -> Option<PathBuf> {
    let Some(mirror) = std::env::var_os("WARDIAN_TEST_MIRROR") else {
        println!("skipped: WARDIAN_TEST_MIRROR does not name a mirror");
        return None;
    };
    let versions = Path::new(&mirror).join("registry.terraform.io/hashicorp/aws");
    let found = std::fs::read_dir(&versions).into_iter().flatten().flatten().find_map(|version| {
        let platform = version.path().join("linux_amd64");
        std::fs::read_dir(platform).ok()?.flatten().map(|entry| entry.path()).next()
    });
    if found.is_none() {
        println!("skipped: {} has no provider for this platform", versions.display());
    }
    found
}

/// Returns a block with some attributes set.
fn block(block: &Block, set: &[(&str, Value)]) -> Value {
    let attribute = |(name, attribute): (&wardian_value::Str, &Attribute)| {
        let value = set.iter().find(|(wanted, _)| *wanted == name.as_str()).map(|(_, value)| value.clone());
        let ty = match &attribute.ty {
            AttributeType::Value(ty) => ty.clone(),
            AttributeType::Nested(object) => object.implied_type(),
        };
        (name.clone(), value.unwrap_or_else(|| Value::null(ty)))
    };
    let blocks = block.block_types.iter().map(|(name, nested)| {
        let empty = match nested.nesting {
            BlockNesting::Single => Value::null(nested.implied_type()),
            _ => nested.empty_value(),
        };
        (name.clone(), empty)
    });
    Value::object(block.attributes.iter().map(attribute).chain(blocks))
}

#[tokio::test(flavor = "multi_thread")]
async fn aws_provider_validates_and_plans() {
    let Some(executable) = aws() else { return };
    let bridge = Bridge::new(NativeLimits::default());
    let home = tempfile::tempdir().unwrap();
    let plugin = bridge.plugin(NativePackage {
        name: Arc::from("hashicorp/aws"),
        executable,
        environment: vec![("HOME".into(), home.path().into())],
        working_directory: home.path().to_owned(),
        socket_directory: std::env::temp_dir(),
        security: Security::MutualTls,
        confinement: None,
        content: None,
    });
    let provider = plugin.provider();
    let begun = Instant::now();
    let schema = provider.schema(&CallContext::default()).await.unwrap();
    println!("schema of {} resource types in {:?}", schema.resources.len(), begun.elapsed());
    assert!(schema.resources.len() > 1000 && schema.data_sources.len() > 500);
    assert!(schema.capabilities.plan_destroy && schema.functions.contains_key("arn_parse"));

    let yes = Value::bool(true);
    let config = block(
        &schema.provider.block,
        &[
            ("region", Value::string("eu-west-1")),
            ("access_key", Value::string("test")),
            ("secret_key", Value::string("test")),
            ("skip_credentials_validation", yes.clone()),
            ("skip_metadata_api_check", Value::string("true")),
            ("skip_requesting_account_id", yes.clone()),
            ("skip_region_validation", yes),
        ],
    );
    assert_eq!(provider.validate_provider_config(&CallContext::default(), config.clone()).await, []);

    let queue = &schema.resources.get("aws_sqs_queue").unwrap();
    let validate = async |set: &[(&str, Value)]| {
        let request = ValidateConfigRequest {
            type_name: "aws_sqs_queue".into(),
            config: block(&queue.block, set),
            capabilities: ClientCapabilities::default(),
        };
        provider.validate_config(&CallContext::default(), ConfigKind::Resource, request).await
    };
    let long = |seconds: i64| [("delay_seconds", Value::number(seconds))];
    assert_eq!(validate(&long(5)).await, []);
    let message = validate(&long(1_000_000)).await;
    assert_eq!(message[0].attribute, Some(ValuePath::root().attribute("delay_seconds")), "{message:?}");

    let arn = Value::string("arn:aws:sqs:eu-west-1:123456789012:queue");
    let parsed =
        provider.call_function(&CallContext::default(), "arn_parse".into(), vec![arn]).await.unwrap();
    assert_eq!(ValuePath::root().attribute("service").apply(&parsed), Some(&Value::string("sqs")));

    assert_eq!(configure(&*provider, config).await, []);
    let config = block(&queue.block, &[("name", Value::string("a-queue"))]);
    let request = PlanRequest {
        type_name: "aws_sqs_queue".into(),
        prior_state: Value::null(queue.implied_type().clone()),
        proposed_new_state: computed_unknown(&queue.block, &config),
        config,
        prior_private: PrivateBytes::default(),
        provider_meta: None,
        prior_identity: None,
        capabilities: ClientCapabilities::default(),
    };
    let planned = provider.plan_resource_change(&CallContext::default(), request).await;
    assert_eq!(planned.diagnostics, []);
    assert!(planned.legacy_type_system);
    let planned = planned.planned_state.unwrap();
    let attribute = |name: &str| ValuePath::root().attribute(name).apply(&planned).cloned();
    assert_eq!(attribute("name"), Some(Value::string("a-queue")));
    assert_eq!(attribute("visibility_timeout_seconds"), Some(Value::number(30)));
    assert_eq!(attribute("arn"), Some(Value::unknown(Type::String)));

    let begun = Instant::now();
    provider.close().await;
    assert!(begun.elapsed() < Duration::from_secs(1), "it ends when it is asked to: {:?}", begun.elapsed());
    plugin.close().await;
}

/// Returns the proposed new state of a create.
fn computed_unknown(block: &Block, config: &Value) -> Value {
    let View::Object(attributes) = config.view() else { return config.clone() };
    Value::object(attributes.iter().map(|(name, value)| {
        let unknown = block.attributes.get(name).is_some_and(|a| a.setting.is_computed() && value.is_null());
        (name.clone(), if unknown { Value::unknown(value.ty().clone()) } else { value.clone() })
    }))
}
