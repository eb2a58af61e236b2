//! Streaming calls, and responses in which only one element is invalid.

use wardian_plugin::{
    ActionRequest, ApplyRequest, CallContext, ClientCapabilities, ConfigKind, Continue, ImportRequest,
    ImportTarget, ListRequest, MoveRequest, OpenEphemeralRequest, PrivateBytes, Provider, RawState,
    UpgradeStateRequest, ValidateConfigRequest,
};
use wardian_value::{Path, Value};

use crate::guest::{object, object_type, plan, provider, short, text};

#[tokio::test]
async fn apply_result_is_kept_if_identity_is_invalid() {
    let request = ApplyRequest {
        type_name: "hostile_identity".into(),
        prior_state: Value::null(object_type()),
        planned_state: object("x"),
        config: object("x"),
        planned_private: PrivateBytes::default(),
        provider_meta: None,
        planned_identity: None,
    };
    let response = provider(short()).apply_resource_change(&CallContext::default(), request).await;
    assert_eq!(text(&response.new_state.unwrap(), "result"), "applied");
    assert_eq!(response.new_identity, None);
    assert!(response.diagnostics[0].detail.contains("the new identity"), "{:?}", response.diagnostics);
}

#[tokio::test]
async fn path_is_truncated_before_impossible_attribute() {
    let response = plan(&*provider(short()), "hostile_path").await;
    assert_eq!(response.requires_replace, [Path::root().attribute("input")]);
}

#[tokio::test]
async fn stored_states_are_passed_unchanged() {
    let provider = provider(short());
    let json = RawState::Json(r#"{"a": 1e400}"#.into());
    let flatmap = RawState::Flatmap(std::sync::Arc::new([("a.#".into(), "1".into())].into()));
    for (raw, expected) in [(json, r#"{"a": 1e400}"#), (flatmap, r#"[("a.#", "1")]"#)] {
        let upgraded = provider
            .upgrade_resource_state(
                &CallContext::default(),
                UpgradeStateRequest { type_name: "hostile_honest".into(), version: 0, raw: raw.clone() },
            )
            .await;
        assert_eq!(upgraded.diagnostics, []);
        assert_eq!(text(&upgraded.upgraded.unwrap(), "result"), expected);
        let moved = provider
            .move_resource_state(
                &CallContext::default(),
                MoveRequest {
                    source_provider_address: "registry.terraform.io/hashicorp/null".into(),
                    source_type_name: "null_resource".into(),
                    source_schema_version: 0,
                    source_state: raw,
                    target_type_name: "hostile_honest".into(),
                    source_private: PrivateBytes::default(),
                    source_identity: None,
                },
            )
            .await;
        assert_eq!(text(&moved.target_state.unwrap(), "result"), expected);
    }
}

#[tokio::test]
async fn import_keeps_valid_objects() {
    let request = ImportRequest {
        type_name: "hostile_honest".into(),
        target: ImportTarget::Id("some".into()),
        capabilities: ClientCapabilities::default(),
    };
    let response = provider(short()).import_resource_state(&CallContext::default(), request).await;
    assert_eq!(response.imported.len(), 1);
    assert_eq!(text(&response.imported[0].state, "result"), "whole");
    let [unheard_of, garbage] = &response.diagnostics[..] else { panic!("{:?}", response.diagnostics) };
    assert!(unheard_of.detail.contains("hostile_unheard_of"), "{}", unheard_of.detail);
    assert!(garbage.detail.contains("the imported state"), "{}", garbage.detail);
}

#[tokio::test]
async fn names_missing_from_provider_are_not_requested() {
    let provider = provider(short());
    let response = plan(&*provider, "hostile_unheard_of").await;
    assert!(response.diagnostics[0].detail.contains("no resource type \"hostile_unheard_of\""));
    for kind in
        [ConfigKind::Resource, ConfigKind::DataSource, ConfigKind::EphemeralResource, ConfigKind::Action]
    {
        let request = ValidateConfigRequest {
            type_name: "unheard_of".into(),
            config: object("x"),
            capabilities: ClientCapabilities::default(),
        };
        assert_eq!(
            provider.validate_config(&CallContext::default(), kind, request).await.len(),
            1,
            "{kind:?}"
        );
    }
}

#[tokio::test]
async fn functions_return_results_or_errors() {
    let provider = provider(short());
    let context = CallContext::default();
    let call = |name: &'static str, arguments| provider.call_function(&context, name.into(), arguments);
    let list = Value::tuple([Value::from("a"), Value::from(1_i64)]);
    assert_eq!(call("first", vec![list.clone()]).await, Ok(list));
    for (name, arguments, part) in [
        ("garbage", vec![], "the result"),
        ("panic", vec![], "a function that panics"),
        ("refuse", vec![], "no"),
        ("unheard_of", vec![], "no function"),
        ("first", vec![Value::from(true), Value::from(true)], "no parameter 2"),
    ] {
        let error = call(name, arguments).await.unwrap_err();
        assert!(error.text.contains(part), "{name}: {error:?}");
    }
}

#[tokio::test]
async fn invalid_renewal_time_is_reported_and_omitted() {
    let request = OpenEphemeralRequest {
        type_name: "hostile_honest".into(),
        config: object("x"),
        capabilities: ClientCapabilities::default(),
    };
    let provider = provider(short());
    let response = provider.open_ephemeral_resource(&CallContext::default(), request).await;
    assert_eq!(response.renew_at, None);
    assert!(
        response.diagnostics[0].detail.contains("not a valid renewal time"),
        "{:?}",
        response.diagnostics
    );
    let renewed = provider
        .renew_ephemeral_resource(&CallContext::default(), "hostile_honest".into(), PrivateBytes::default())
        .await;
    assert!(renewed.renew_at.is_some());
}

async fn listed(provider: &dyn Provider, limit: Option<u64>, stop_after: usize) -> Vec<String> {
    let request = ListRequest {
        type_name: "hostile_honest".into(),
        config: object("x"),
        include_resource_object: true,
        limit,
    };
    let mut names = Vec::new();
    let reported = provider
        .list_resource(&CallContext::default(), request, &mut |event| {
            assert_eq!(event.diagnostics, []);
            assert!(event.resource_object.is_some());
            names.push(event.display_name);
            if names.len() == stop_after { Continue::Stop } else { Continue::Yes }
        })
        .await;
    assert_eq!(reported, []);
    names
}

#[tokio::test]
async fn listing_ends_after_last_object_or_when_caller_stops() {
    let provider = provider(short());
    assert_eq!(listed(&*provider, Some(70), usize::MAX).await.len(), 70);
    assert_eq!(listed(&*provider, None, 100).await.len(), 100, "the list would never end");
    assert_eq!(crate::guest::probe(&*provider, "calls").await, "1", "the instance was given back");
}

#[tokio::test]
async fn action_reports_progress_and_must_report_outcome() {
    let provider = provider(short());
    let request = |input| ActionRequest {
        action_type: "hostile_act".into(),
        config: object(input),
        capabilities: ClientCapabilities::default(),
    };
    let mut progress = Vec::new();
    let reported =
        provider.invoke_action(&CallContext::default(), request("x"), &mut |text| progress.push(text)).await;
    assert_eq!(reported, []);
    assert_eq!(progress[0], "3 to go \\u{1b}[2J x", "no control characters reach the terminal");
    let reported = provider.invoke_action(&CallContext::default(), request("vanish"), &mut |_| {}).await;
    assert!(reported[0].detail.contains("without reporting whether it succeeded"), "{reported:?}");
}
