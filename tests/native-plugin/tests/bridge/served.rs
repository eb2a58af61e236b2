//! Plugins that are served in the other protocol version, and several plugins that are served by
//! one process.

use wardian_plugin::{ApplyRequest, CallContext, Provider};
use wardian_value::{Path, Value};

use crate::each_call::{apply, call_error, plan};
use crate::{configured, fake, processes_with, wait_for_no_zombies};

/// Creates an object of a type.
async fn create(provider: &dyn Provider, type_name: &str) -> Option<Value> {
    let mut planning = plan();
    planning.type_name = type_name.into();
    let planned = provider.plan_resource_change(&CallContext::default(), planning).await;
    assert_eq!(planned.diagnostics, [], "{type_name}");
    let request = ApplyRequest {
        type_name: type_name.into(),
        planned_state: planned.planned_state.unwrap(),
        planned_private: planned.planned_private,
        ..apply()
    };
    let made = provider.apply_resource_change(&CallContext::default(), request).await;
    assert_eq!(made.diagnostics, [], "{type_name}");
    Path::root().attribute("id").apply(&made.new_state.unwrap()).cloned()
}

#[tokio::test(flavor = "multi_thread")]
async fn two_plugins_are_served_as_one_provider() {
    for words in ["serves-both", "serves-both,serves-5"] {
        let mark = format!("{words},both-{}", std::process::id());
        let (_bridge, plugin) = fake(&mark);
        let provider = configured(&plugin).await;
        let schema = provider.schema(&CallContext::default()).await.unwrap();
        let names: Vec<&str> = schema.resources.keys().map(|name| &**name).collect();
        assert_eq!(names, ["fake_thing", "other_thing"]);
        assert!(schema.capabilities.move_resource_state && !schema.capabilities.plan_destroy);
        assert_eq!(schema.identities.len(), 2);
        for name in names {
            assert_eq!(create(&*provider, name).await, Some(Value::string("id-of-a")));
        }
        for function in ["shout", "other_shout"] {
            let loud = provider
                .call_function(&CallContext::default(), function.into(), vec![Value::string("hm")])
                .await;
            assert_eq!(loud, Ok(Value::string("HM")), "{function}");
        }
        assert_eq!(call_error(&*provider, "ReadDataSource").await, "");
        assert_eq!(call_error(&*provider, "ImportResourceState").await, "");
        assert_eq!(provider.stop().await, Ok(()));
        provider.close().await;
        plugin.close().await;
        crate::wait_until("all are gone", || processes_with(&mark).is_empty()).await;
    }
    wait_for_no_zombies().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn duplicate_types_are_rejected_at_start() {
    let (_bridge, plugin) = fake("serves-twice");
    let message = call_error(&*plugin.provider(), "GetProviderSchema").await;
    assert!(message.contains("terminated (exit status: 1) before its handshake"), "{message}");
    assert!(message.contains("acme/fake and acme/other both have the resource fake_thing"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nested_attributes_are_rejected_in_protocol_5() {
    let (_bridge, plugin) = fake("serves-5,nested");
    let message = call_error(&*plugin.provider(), "GetProviderSchema").await;
    assert!(message.contains("terminated (exit status: 1) before its handshake"), "{message}");
    let expected =
        "is a nested attribute, which protocol 5 does not support; serve this plugin with protocol 6";
    assert!(message.contains("fake_nest") && message.contains(expected), "{message}");
    let (_bridge, plugin) = fake("serves,nested");
    assert_eq!(call_error(&*plugin.provider(), "GetProviderSchema").await, "");
    plugin.close().await;
}
