//! What goes wrong in a call becomes an error that names plugin, call and resource.

use std::time::{Duration, Instant};

use wardian_plugin::{PlanResponse, Provider, on_behalf_of};
use wardian_value::Value;

use crate::{configured, each_call, fake, no_zombie_stays, only};

async fn plan(provider: &dyn Provider) -> PlanResponse {
    on_behalf_of("fake_thing.a", provider.plan_resource_change(each_call::plan())).await
}

/// What is said about a plan in which something happens.
async fn fault(fault: &str) -> String {
    let (_bridge, plugin) = fake(&format!("{fault}@PlanResourceChange"));
    let provider = configured(&plugin).await;
    let begun = Instant::now();
    let planned = plan(&*provider).await;
    assert!(planned.planned_state.is_none());
    assert!(begun.elapsed() < Duration::from_secs(6), "{:?}", begun.elapsed());
    let said = only(&planned.diagnostics);
    assert!(said.contains("acme/fake v1.2.3 in PlanResourceChange of fake_thing.a (fake_thing): "), "{said}");
    provider.close().await;
    plugin.close().await;
    no_zombie_stays().await;
    said
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_is_shown() {
    let said = fault("die").await;
    assert!(said.starts_with("Plugin crashed: "), "{said}");
    assert!(said.contains("exit status: 2"), "{said}");
    assert!(said.contains("panic: the fake was told to\ngoroutine 1 [running]:"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_process_is_a_crash() {
    let said = fault("kill").await;
    assert!(said.starts_with("Plugin crashed: ") && said.contains("signal: 6"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_hangs_is_ended() {
    let said = fault("hang").await;
    assert!(said.starts_with("Plugin timed out: ") && said.contains("within 2 s"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_message_is_an_invalid_answer() {
    let said = fault("garbage").await;
    assert!(said.starts_with("Plugin gave an invalid answer: "), "{said}");
    assert!(said.contains("is not the message that the protocol says"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn half_a_message_is_a_crash() {
    let said = fault("half").await;
    assert!(said.starts_with("Plugin crashed: ") && said.contains("exit status: 0"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_for_people_is_no_answer() {
    let said = fault("http").await;
    assert!(said.starts_with("Plugin gave an invalid answer: "), "{said}");
    assert!(said.contains("text/html with the status 404, and nothing of gRPC"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_of_another_type_is_an_invalid_answer() {
    let said = fault("type").await;
    assert!(said.starts_with("Plugin gave an invalid answer: "), "{said}");
    assert!(said.contains("the planned state is not what its schema says"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_of_grpc_is_shown_in_its_words() {
    let said = fault("status").await;
    assert!(said.starts_with("Plugin failed: "), "{said}");
    assert!(said.contains("it gave the error Internal: the fake\nwas told to."), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn later_calls_say_that_the_process_is_gone() {
    let (_bridge, plugin) = fake("die@ApplyResourceChange,hang@ReadDataSource");
    let provider = configured(&plugin).await;
    let applied = provider.apply_resource_change(each_call::apply()).await;
    assert!(only(&applied.diagnostics).starts_with("Plugin crashed: "));
    assert!(applied.new_state.is_none(), "what was before stays");
    let said = only(&plan(&*provider).await.diagnostics);
    assert!(said.starts_with("Plugin crashed: acme/fake v1.2.3 in PlanResourceChange"), "{said}");
    provider.close().await;
    let said = only(&plan(&*provider).await.diagnostics);
    assert!(said.starts_with("Plugin was closed: "), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_others_wait_for_in_an_ended_process_ends_too() {
    let (_bridge, plugin) = fake("hang@PlanResourceChange,hang@ReadResource");
    let provider = configured(&plugin).await;
    let (first, second) = tokio::join!(plan(&*provider), async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        plan(&*provider).await
    });
    assert!(only(&first.diagnostics).starts_with("Plugin timed out: "));
    let said = only(&second.diagnostics);
    assert!(
        said.starts_with("Plugin was ended: ")
            && said.contains("since PlanResourceChange was not answered within 2 s"),
        "{said}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_fails_before_it_is_configured_is_started_anew() {
    let (_bridge, plugin) = fake("die@ValidateProviderConfig");
    let provider = plugin.provider();
    let config = || Value::object([("greeting", Value::string("hm"))]);
    assert!(only(&provider.validate_provider_config(config()).await).starts_with("Plugin crashed: "));
    assert!(provider.schema().await.is_ok());
    assert_eq!(crate::configure(&*provider, config()).await, []);
    provider.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gigabyte_on_standard_error_is_read_and_forgotten() {
    let (_bridge, plugin) = fake("noisy");
    let provider = configured(&plugin).await;
    assert_eq!(plan(&*provider).await.diagnostics, []);
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kilobytes: u64 = peak.trim().trim_end_matches("kB").trim().parse().unwrap();
    assert!(kilobytes < 600_000, "{peak}");
    provider.close().await;
}
