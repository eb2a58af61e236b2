//! Faults in calls, whose errors name the plugin, the call and the resource.

use std::time::{Duration, Instant};

use wardian_plugin::{CallContext, PlanResponse, Provider};
use wardian_value::Value;

use crate::{configured, each_call, fake, only, wait_for_no_zombies};

async fn plan(provider: &dyn Provider) -> PlanResponse {
    provider.plan_resource_change(&CallContext::new("fake_thing.a"), each_call::plan()).await
}

/// Returns the error of a plan call with a fault.
async fn fault(fault: &str) -> String {
    let (_bridge, plugin) = fake(&format!("{fault}@PlanResourceChange"));
    let provider = configured(&plugin).await;
    let begun = Instant::now();
    let planned = plan(&*provider).await;
    assert!(planned.planned_state.is_none());
    assert!(begun.elapsed() < Duration::from_secs(6), "{:?}", begun.elapsed());
    let message = only(&planned.diagnostics);
    assert!(
        message.contains("acme/fake v1.2.3 in PlanResourceChange of fake_thing.a (fake_thing): "),
        "{message}"
    );
    provider.close().await;
    plugin.close().await;
    wait_for_no_zombies().await;
    message
}

#[tokio::test(flavor = "multi_thread")]
async fn panic_message_is_shown() {
    let message = fault("die").await;
    assert!(message.starts_with("Plugin crashed: "), "{message}");
    assert!(message.contains("exit status: 2"), "{message}");
    assert!(message.contains("panic: the fake was configured to\ngoroutine 1 [running]:"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_process_is_a_crash() {
    let message = fault("kill").await;
    assert!(message.starts_with("Plugin crashed: ") && message.contains("signal: 6"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn hanging_call_times_out() {
    let message = fault("hang").await;
    assert!(message.starts_with("Plugin timed out: ") && message.contains("within 2 s"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn undecodable_message_is_invalid() {
    let message = fault("garbage").await;
    assert!(message.starts_with("Plugin returned an invalid response: "), "{message}");
    assert!(message.contains("is not a valid protocol message"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn truncated_message_is_a_crash() {
    let message = fault("half").await;
    assert!(message.starts_with("Plugin crashed: ") && message.contains("exit status: 0"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn html_response_is_invalid() {
    let message = fault("http").await;
    assert!(message.starts_with("Plugin returned an invalid response: "), "{message}");
    assert!(message.contains("text/html with HTTP status 404, not gRPC"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn value_of_wrong_type_is_invalid() {
    let message = fault("type").await;
    assert!(message.starts_with("Plugin returned an invalid response: "), "{message}");
    assert!(message.contains("the planned state does not match its schema"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn grpc_error_shows_its_message() {
    let message = fault("status").await;
    assert!(message.starts_with("Plugin failed: "), "{message}");
    assert!(message.contains("it returned the error Internal: the fake\nwas configured to."), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn later_calls_report_ended_process() {
    let (_bridge, plugin) = fake("die@ApplyResourceChange,hang@ReadDataSource");
    let provider = configured(&plugin).await;
    let applied = provider.apply_resource_change(&CallContext::default(), each_call::apply()).await;
    assert!(only(&applied.diagnostics).starts_with("Plugin crashed: "));
    assert!(applied.new_state.is_none(), "what was before stays");
    let message = only(&plan(&*provider).await.diagnostics);
    assert!(message.starts_with("Plugin crashed: acme/fake v1.2.3 in PlanResourceChange"), "{message}");
    provider.close().await;
    let message = only(&plan(&*provider).await.diagnostics);
    assert!(message.starts_with("Plugin was closed: "), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_calls_fail_when_the_process_exits() {
    let (_bridge, plugin) = fake("hang@PlanResourceChange,hang@ReadResource");
    let provider = configured(&plugin).await;
    let (first, second) = tokio::join!(plan(&*provider), async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        plan(&*provider).await
    });
    assert!(only(&first.diagnostics).starts_with("Plugin timed out: "));
    let message = only(&second.diagnostics);
    assert!(
        message.starts_with("Plugin was ended: ")
            && message.contains("since PlanResourceChange returned no response within 2 s"),
        "{message}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_plugin_is_restarted_before_configure() {
    let (_bridge, plugin) = fake("die@ValidateProviderConfig");
    let provider = plugin.provider();
    let config = || Value::object([("greeting", Value::string("hm"))]);
    assert!(
        only(&provider.validate_provider_config(&CallContext::default(), config()).await)
            .starts_with("Plugin crashed: ")
    );
    assert!(provider.schema(&CallContext::default()).await.is_ok());
    assert_eq!(crate::configure(&*provider, config()).await, []);
    provider.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn large_standard_error_is_discarded() {
    let (_bridge, plugin) = fake("noisy");
    let provider = configured(&plugin).await;
    assert_eq!(plan(&*provider).await.diagnostics, []);
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kilobytes: u64 = peak.trim().trim_end_matches("kB").trim().parse().unwrap();
    assert!(kilobytes < 600_000, "{peak}");
    provider.close().await;
}
