//! Every call, in both protocols, over every kind of connection.

use std::sync::Arc;

use wardian_legacy_grpc_bridge::{NativePlugin, Security};
use wardian_plugin::{
    ActionRequest, ApplyRequest, CallContext, ClientCapabilities, ConfigKind, Continue, ImportRequest,
    ImportTarget, ListRequest, MoveRequest, OpenEphemeralRequest, PlanRequest, PrivateBytes, Provider,
    RawState, ReadDataSourceRequest, ReadResourceRequest, UpgradeStateRequest, ValidateConfigRequest,
    ValidateListRequest,
};
use wardian_value::{Path, Type, Value};

use crate::{configured, fake, limited_plugin, only, plugin, thing, thing_type};

fn capabilities() -> ClientCapabilities {
    ClientCapabilities::default()
}

fn plan(prior: Value, proposed: Value) -> PlanRequest {
    PlanRequest {
        type_name: "fake_thing".into(),
        prior_state: prior,
        config: proposed.clone(),
        proposed_new_state: proposed,
        prior_private: PrivateBytes::default(),
        provider_meta: None,
        prior_identity: None,
        capabilities: capabilities(),
    }
}

/// Creates a thing and returns its new state.
async fn create(provider: &dyn Provider, name: &str) -> (Value, PrivateBytes) {
    let planned = provider
        .plan_resource_change(&CallContext::default(), plan(Value::null(thing_type()), thing(name, 3)))
        .await;
    assert_eq!(planned.diagnostics, []);
    assert_eq!(&*planned.planned_private, b"planned");
    let planned_state = planned.planned_state.unwrap();
    assert_eq!(Path::root().attribute("id").apply(&planned_state), Some(&Value::unknown(Type::String)));
    let request = ApplyRequest {
        type_name: "fake_thing".into(),
        prior_state: Value::null(thing_type()),
        planned_state,
        config: thing(name, 3),
        planned_private: planned.planned_private,
        provider_meta: None,
        planned_identity: planned.planned_identity,
    };
    let made = provider.apply_resource_change(&CallContext::default(), request).await;
    assert_eq!(made.diagnostics, []);
    let id = Value::string(format!("id-of-{name}"));
    assert_eq!(made.new_identity, Some(Value::object([("id", id)])));
    (made.new_state.unwrap(), made.private)
}

async fn life_of_a_thing(provider: &dyn Provider) {
    let wrong = ValidateConfigRequest {
        type_name: "fake_thing".into(),
        config: thing("wrong", 1),
        capabilities: capabilities(),
    };
    let message = provider.validate_config(&CallContext::default(), ConfigKind::Resource, wrong).await;
    assert_eq!(message[0].attribute, Some(Path::root().attribute("name")));
    assert_eq!(only(&message), "Wrong value: It is the one value that the fake does not take.");

    let (state, private) = create(provider, "one").await;
    let request = ReadResourceRequest {
        type_name: "fake_thing".into(),
        current_state: state.clone(),
        private: Arc::clone(&private),
        provider_meta: None,
        current_identity: None,
        capabilities: capabilities(),
    };
    let read = provider.read_resource(&CallContext::default(), request).await;
    assert_eq!((read.new_state.as_ref(), &read.private, read.deferred), (Some(&state), &private, None));
    assert_eq!(read.diagnostics, []);

    let replaced =
        provider.plan_resource_change(&CallContext::default(), plan(state.clone(), thing("two", 3))).await;
    assert_eq!(replaced.requires_replace, [Path::root().attribute("name")]);
    let gone =
        provider.plan_resource_change(&CallContext::default(), plan(state, Value::null(thing_type()))).await;
    assert_eq!(gone.planned_state, Some(Value::null(thing_type())));
}

async fn stored_objects(provider: &dyn Provider) {
    let stored = RawState::Json(r#"{"name":"old","size":"7"}"#.into());
    let request = UpgradeStateRequest { type_name: "fake_thing".into(), version: 0, raw: stored.clone() };
    let upgraded = provider.upgrade_resource_state(&CallContext::default(), request).await;
    assert_eq!((upgraded.upgraded, upgraded.diagnostics), (Some(thing("old", 7)), Vec::new()));

    let raw = RawState::Json(r#"{"id":"x"}"#.into());
    let request = UpgradeStateRequest { type_name: "fake_thing".into(), version: 0, raw };
    let identity = provider.upgrade_resource_identity(&CallContext::default(), request).await;
    assert_eq!(identity.upgraded, Some(Value::object([("id", Value::string("x"))])));

    for target in [
        ImportTarget::Id("id-of-found".into()),
        ImportTarget::Identity(Value::object([("id", Value::string("id-of-found"))])),
    ] {
        let request = ImportRequest { type_name: "fake_thing".into(), target, capabilities: capabilities() };
        let found = provider.import_resource_state(&CallContext::default(), request).await;
        assert_eq!(found.diagnostics, []);
        let name = Path::root().attribute("name").apply(&found.imported[0].state).cloned();
        assert_eq!(name, Some(Value::string("found")));
        assert!(found.imported[0].identity.is_some());
    }

    let request = MoveRequest {
        source_provider_address: "registry.terraform.io/acme/other".into(),
        source_type_name: "other_thing".into(),
        source_schema_version: 0,
        source_state: stored,
        target_type_name: "fake_thing".into(),
        source_private: PrivateBytes::default(),
        source_identity: None,
    };
    assert_eq!(
        provider.move_resource_state(&CallContext::default(), request).await.target_state,
        Some(thing("old", 7))
    );
    let generated = provider
        .generate_resource_config(&CallContext::default(), "fake_thing".into(), thing("made", 1))
        .await;
    assert_eq!(generated.config, Some(thing("made", 1)));
}

async fn what_is_only_read(provider: &dyn Provider) {
    let request = ReadDataSourceRequest {
        type_name: "fake_echo".into(),
        config: Value::object([("input", Value::string("hm")), ("output", Value::null(Type::String))]),
        provider_meta: None,
        capabilities: capabilities(),
    };
    let read = provider.read_data_source(&CallContext::default(), request).await;
    let both = Value::object([("input", Value::string("hm")), ("output", Value::string("hm"))]);
    assert_eq!((read.state, read.diagnostics), (Some(both), Vec::new()));

    let request = OpenEphemeralRequest {
        type_name: "fake_token".into(),
        config: Value::object([("token", Value::null(Type::String))]),
        capabilities: capabilities(),
    };
    let opened = provider.open_ephemeral_resource(&CallContext::default(), request).await;
    assert_eq!(opened.result, Some(Value::object([("token", Value::string("t0ken"))])));
    assert_eq!((&*opened.private, opened.renew_at), (&b"opened"[..], None));
    let renewed =
        provider.renew_ephemeral_resource(&CallContext::default(), "fake_token".into(), opened.private).await;
    assert_eq!(&*renewed.private, b"opened");
    assert_eq!(
        provider
            .close_ephemeral_resource(&CallContext::default(), "fake_token".into(), renewed.private)
            .await,
        []
    );

    let loud =
        provider.call_function(&CallContext::default(), "shout".into(), vec![Value::string("hm")]).await;
    assert_eq!(loud, Ok(Value::string("HM")));
    let error = provider
        .call_function(&CallContext::default(), "shout".into(), vec![Value::string("")])
        .await
        .unwrap_err();
    assert_eq!((error.text.as_str(), error.argument), ("there is nothing to shout", Some(0)));
}

async fn lists_and_actions(provider: &dyn Provider) {
    let request = ValidateListRequest {
        type_name: "fake_thing".into(),
        config: Value::empty_object(),
        include_resource_object: Value::bool(false),
        limit: Value::unknown(Type::Number),
    };
    assert_eq!(provider.validate_list_resource_config(&CallContext::default(), request).await, []);
    let list = |limit| ListRequest {
        type_name: "fake_thing".into(),
        config: Value::empty_object(),
        include_resource_object: false,
        limit,
    };
    let mut names = Vec::new();
    let message = provider
        .list_resource(&CallContext::default(), list(Some(3)), &mut |event| {
            names.push(event.display_name);
            if names.len() == 2 { Continue::Stop } else { Continue::Yes }
        })
        .await;
    assert_eq!((message, names), (Vec::new(), vec!["thing a".to_owned(), "thing b".to_owned()]));

    let ring = || ActionRequest {
        action_type: "fake_bell".into(),
        config: Value::empty_object(),
        capabilities: capabilities(),
    };
    assert_eq!(provider.plan_action(&CallContext::default(), ring()).await.diagnostics, []);
    let mut heard = Vec::new();
    assert_eq!(
        provider.invoke_action(&CallContext::default(), ring(), &mut |text| heard.push(text)).await,
        []
    );
    assert_eq!(heard, ["ding"]);
}

async fn everything(words: &str, security: Security) {
    let executable = std::path::Path::new(env!("CARGO_BIN_EXE_wardian-native-plugin"));
    let (_bridge, plugin) = plugin(executable, words, security);
    everything_of(&plugin).await;
}

/// Makes every call on a plugin, and closes it.
pub(crate) async fn everything_of(plugin: &NativePlugin) {
    let provider = configured(plugin).await;
    let schema = provider.schema(&CallContext::default()).await.unwrap();
    assert!(schema.capabilities.move_resource_state && !schema.capabilities.plan_destroy);
    assert!(schema.identities.contains_key("fake_thing"));
    assert!(schema.resources.get("fake_thing").unwrap().block.attributes["name"].setting.is_required());
    life_of_a_thing(&*provider).await;
    stored_objects(&*provider).await;
    what_is_only_read(&*provider).await;
    lists_and_actions(&*provider).await;
    assert_eq!(provider.stop().await, Ok(()));
    provider.close().await;
    plugin.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn protocol_6_works_over_unix_socket_with_tls() {
    everything("", Security::MutualTls).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn protocol_5_works_over_unix_socket_with_tls() {
    everything("5", Security::MutualTls).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn protocol_6_works_over_tcp_with_tls() {
    everything("tcp", Security::MutualTls).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn protocol_5_works_over_tcp_without_tls() {
    everything("5,tcp", Security::Plain).await;
}

/// The bridge's server side serves a plugin that its client side has launched, and a host calls it
/// through the client side.
#[tokio::test(flavor = "multi_thread")]
async fn served_plugin_matches_its_backend() {
    let executable = std::path::Path::new(env!("CARGO_BIN_EXE_wardian-native-plugin"));
    let served =
        [("serves", Security::MutualTls), ("serves,5", Security::Plain), ("serves-5,5", Security::MutualTls)];
    for (words, security) in served {
        let (_bridge, plugin) = plugin(executable, words, security);
        let provider = configured(&plugin).await;
        let schema = provider.schema(&CallContext::default()).await.unwrap();
        assert!(schema.capabilities.move_resource_state && schema.capabilities.get_provider_schema_optional);
        assert!(schema.identities.contains_key("fake_thing"));
        life_of_a_thing(&*provider).await;
        stored_objects(&*provider).await;
        what_is_only_read(&*provider).await;
        lists_and_actions(&*provider).await;
        assert_eq!(provider.stop().await, Ok(()));
        let begun = std::time::Instant::now();
        provider.close().await;
        assert!(begun.elapsed() < std::time::Duration::from_secs(2), "{:?}", begun.elapsed());
        plugin.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn plugin_of_first_protocol_version_is_supported() {
    for words in ["5,old", "old"] {
        let (_bridge, plugin) = fake(words);
        let provider = configured(&plugin).await;
        assert!(provider.schema(&CallContext::default()).await.unwrap().identities.is_empty());
        let planned = provider
            .plan_resource_change(&CallContext::default(), plan(Value::null(thing_type()), thing("a", 1)))
            .await;
        assert_eq!(planned.diagnostics, []);
        let error = provider
            .call_function(&CallContext::default(), "shout".into(), vec![Value::string("hm")])
            .await
            .unwrap_err();
        assert!(
            error.text.starts_with(
                "Unsupported plugin call: acme/fake v1.2.3 in CallFunction of shout: the plugin does not \
                 implement this call: unknown method."
            ),
            "{}",
            error.text
        );
        provider.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_run_concurrently() {
    let (_bridge, plugin) = fake("");
    let provider = configured(&plugin).await;
    let calls = (0..200).map(|index| {
        let provider = Arc::clone(&provider);
        tokio::spawn(async move { create(&*provider, &format!("thing-{index}")).await })
    });
    for call in calls.collect::<Vec<_>>() {
        call.await.unwrap();
    }
    provider.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn large_values_are_passed_in_both_directions() {
    let executable = std::path::Path::new(env!("CARGO_BIN_EXE_wardian-native-plugin"));
    let limit = std::time::Duration::from_mins(1);
    let (_bridge, plugin) = limited_plugin(executable, "", Security::MutualTls, limit);
    let provider = configured(&plugin).await;
    let text = "x".repeat(20 << 20);
    let request = ReadDataSourceRequest {
        type_name: "fake_echo".into(),
        config: Value::object([
            ("input", Value::string(text.as_str())),
            ("output", Value::null(Type::String)),
        ]),
        provider_meta: None,
        capabilities: capabilities(),
    };
    let read = provider.read_data_source(&CallContext::default(), request).await;
    assert_eq!(read.diagnostics, []);
    let output = Path::root().attribute("output").apply(&read.state.unwrap()).cloned();
    assert!(output == Some(Value::string(text)));
    provider.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn process_receives_given_environment() {
    let (_bridge, plugin) = fake("");
    let provider = configured(&plugin).await;
    let (state, _) = create(&*provider, "it").await;
    let names = Path::root().attribute("environment").apply(&state).cloned();
    let expected = [
        "NATIVE_PLUGIN",
        "PATH",
        "PLUGIN_CLIENT_CERT",
        "PLUGIN_MAX_PORT",
        "PLUGIN_MIN_PORT",
        "PLUGIN_PROTOCOL_VERSIONS",
        "PLUGIN_UNIX_SOCKET_DIR",
        "TF_PLUGIN_MAGIC_COOKIE",
    ];
    assert_eq!(names, Some(Value::list(Type::String, expected.map(Value::string))));
    provider.close().await;
}
