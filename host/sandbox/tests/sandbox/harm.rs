//! Attacks on the host, or on the guest itself. Each attack causes the call to fail and the
//! instance to be destroyed, is reported with the plugin, call and resource, and does not affect
//! the next call.

use std::time::{Duration, Instant};

use wardian_sandbox::SandboxLimits;

use crate::guest::{assert_well, plan_error, provider, short};

/// Plans a resource of a type, expects a failure with this text, and asserts that the provider
/// works afterwards.
async fn check(limits: SandboxLimits, type_name: &str, summary: &str, parts: &[&str]) {
    let provider = provider(limits);
    for _ in 0..2 {
        let error = plan_error(&*provider, type_name).await;
        assert_eq!(error.summary, summary, "{}", error.detail);
        for part in parts {
            assert!(error.detail.contains(part), "{part:?} is missing in: {}", error.detail);
        }
        assert_well(&*provider).await;
    }
}

#[tokio::test]
async fn trap_is_reported_with_its_cause() {
    check(short(), "hostile_trap", "Plugin crashed", &["unreachable"]).await;
}

#[tokio::test]
async fn panic_is_reported_with_its_message() {
    let parts = &["it panicked", "the guest panics: because", "behaviour.rs"];
    check(short(), "hostile_panic", "Plugin crashed", parts).await;
}

#[tokio::test]
async fn guest_exit_is_a_failure() {
    check(short(), "hostile_exit", "Plugin crashed", &["exited with status"]).await;
}

#[tokio::test]
async fn waiting_is_not_charged_as_cpu_time() {
    let provider = provider(SandboxLimits { computation: Duration::from_millis(300), ..short() });
    let response = crate::guest::plan(&*provider, "hostile_naps").await;
    assert_eq!(response.diagnostics, [], "it slept for three times as long, and computed next to nothing");
}

#[tokio::test]
async fn loop_ends_at_cpu_limit() {
    let remote_call = Duration::from_mins(10);
    let limits = SandboxLimits { computation: Duration::from_millis(1_500), remote_call, ..short() };
    check(limits, "hostile_loop", "Plugin timed out", &["used more than 1.5 s of CPU time"]).await;
}

#[tokio::test]
async fn loop_ends_at_wall_clock_limit() {
    let limits = SandboxLimits {
        computation: Duration::from_hours(1),
        remote_call: Duration::from_millis(700),
        ..short()
    };
    check(limits, "hostile_loop", "Plugin timed out", &["it did not respond within 0.7 s"]).await;
}

#[tokio::test]
async fn waiting_in_host_ends_at_wall_clock_limit() {
    let limits = SandboxLimits { remote_call: Duration::from_millis(700), ..short() };
    check(limits, "hostile_sleep", "Plugin timed out", &["it did not respond within 0.7 s"]).await;
}

#[tokio::test]
async fn recursion_ends_at_stack_limit() {
    check(short(), "hostile_recursion", "Plugin crashed", &["call stack exhausted"]).await;
    check(short(), "hostile_frames", "Plugin crashed", &["out of bounds memory access"]).await;
}

#[tokio::test]
async fn memory_limit_is_enforced_and_reported() {
    let limits = SandboxLimits { memory: 32 << 20, computation: Duration::from_secs(10), ..short() };
    let parts = &["the limit is 33554432 bytes", "memory allocation of"];
    check(limits, "hostile_memory", "Plugin crashed", parts).await;
}

#[tokio::test]
async fn handle_limit_is_enforced() {
    let limits = SandboxLimits { computation: Duration::from_secs(10), ..short() };
    check(limits, "hostile_handles", "Plugin crashed", &["handle"]).await;
}

#[tokio::test]
async fn large_response_is_rejected() {
    let limits = SandboxLimits { computation: Duration::from_secs(10), ..short() };
    let parts = &["more than the limit of 67108864 bytes"];
    check(limits, "hostile_huge", "Plugin response is too large", parts).await;
}

#[tokio::test]
async fn bytes_that_do_not_match_schema_are_rejected() {
    for type_name in ["hostile_garbage", "hostile_wrong_type", "hostile_deep", "hostile_length"] {
        let parts = &["the planned state does not match its schema", "reported to its author"];
        check(short(), type_name, "Plugin returned an invalid response", parts).await;
    }
}

#[tokio::test]
async fn excess_output_is_dropped() {
    let limits = SandboxLimits { computation: Duration::from_mins(1), ..short() };
    let provider = provider(SandboxLimits { remote_call: Duration::from_mins(2), ..limits });
    let response = crate::guest::plan(&*provider, "hostile_flood").await;
    assert_eq!(response.diagnostics, []);
    assert_well(&*provider).await;
}

#[tokio::test]
async fn abandoned_call_destroys_its_instance() {
    let provider = provider(SandboxLimits { computation: Duration::from_hours(1), ..short() });
    assert_well(&*provider).await;
    for type_name in ["hostile_sleep", "hostile_loop"] {
        let started = Instant::now();
        let call = crate::guest::plan(&*provider, type_name);
        assert!(tokio::time::timeout(Duration::from_millis(100), call).await.is_err());
        assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
        assert_eq!(crate::guest::probe(&*provider, "calls").await, "1", "a new instance");
    }
}
