//! What harms the host, or only itself: each costs the call and its instance, is
//! told with plugin, call and resource, and the next call is as if nothing was.

use std::time::{Duration, Instant};

use wardian_sandbox::SandboxLimits;

use crate::guest::{assert_well, plan_error, provider, short};

/// Plans a resource of a type, expects a failure told in these words, and that
/// the provider is well afterwards.
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
async fn a_trap_is_told_with_its_cause() {
    check(short(), "hostile_trap", "Plugin crashed", &["unreachable"]).await;
}

#[tokio::test]
async fn a_panic_is_told_in_its_own_words() {
    let parts = &["it panicked", "the guest panics: because", "behaviour.rs"];
    check(short(), "hostile_panic", "Plugin crashed", parts).await;
}

#[tokio::test]
async fn a_guest_that_ends_itself_has_not_answered() {
    check(short(), "hostile_exit", "Plugin crashed", &["exit status"]).await;
}

#[tokio::test]
async fn what_a_call_waits_for_is_not_taken_for_computing() {
    let provider = provider(SandboxLimits { computation: Duration::from_millis(300), ..short() });
    let response = crate::guest::plan(&*provider, "hostile_naps").await;
    assert_eq!(response.diagnostics, [], "it slept for three times as long, and computed next to nothing");
}

#[tokio::test]
async fn a_loop_ends_when_its_computation_is_used_up() {
    let remote_call = Duration::from_mins(10);
    let limits = SandboxLimits { computation: Duration::from_millis(1_500), remote_call, ..short() };
    check(limits, "hostile_loop", "Plugin timed out", &["computed for longer than 1.5 s"]).await;
}

#[tokio::test]
async fn a_loop_ends_by_the_wall_clock_too() {
    let limits = SandboxLimits {
        computation: Duration::from_hours(1),
        remote_call: Duration::from_millis(700),
        ..short()
    };
    check(limits, "hostile_loop", "Plugin timed out", &["no answer came within 0.7 s"]).await;
}

#[tokio::test]
async fn waiting_in_the_host_ends_by_the_wall_clock() {
    let limits = SandboxLimits { remote_call: Duration::from_millis(700), ..short() };
    check(limits, "hostile_sleep", "Plugin timed out", &["no answer came within 0.7 s"]).await;
}

#[tokio::test]
async fn recursion_ends_with_its_stack() {
    check(short(), "hostile_recursion", "Plugin crashed", &["call stack exhausted"]).await;
    check(short(), "hostile_frames", "Plugin crashed", &["out of bounds memory access"]).await;
}

#[tokio::test]
async fn memory_ends_at_its_limit_which_is_told() {
    let limits = SandboxLimits { memory: 32 << 20, computation: Duration::from_secs(10), ..short() };
    let parts = &["its limit is 33554432 bytes", "memory allocation of"];
    check(limits, "hostile_memory", "Plugin crashed", parts).await;
}

#[tokio::test]
async fn handles_end_at_their_limit() {
    let limits = SandboxLimits { computation: Duration::from_secs(10), ..short() };
    check(limits, "hostile_handles", "Plugin crashed", &["handle"]).await;
}

#[tokio::test]
async fn a_large_answer_is_not_taken() {
    let limits = SandboxLimits { computation: Duration::from_secs(10), ..short() };
    let parts = &["more than 67108864 bytes"];
    check(limits, "hostile_huge", "Plugin answered too much", parts).await;
}

#[tokio::test]
async fn bytes_that_are_no_value_of_the_schema_are_not_taken() {
    for type_name in ["hostile_garbage", "hostile_wrong_type", "hostile_deep", "hostile_length"] {
        let parts = &["the planned state is not what its schema says", "reported to its author"];
        check(short(), type_name, "Plugin gave an invalid answer", parts).await;
    }
}

#[tokio::test]
async fn a_flood_of_output_is_dropped() {
    let limits = SandboxLimits { computation: Duration::from_mins(1), ..short() };
    let provider = provider(SandboxLimits { remote_call: Duration::from_mins(2), ..limits });
    let response = crate::guest::plan(&*provider, "hostile_flood").await;
    assert_eq!(response.diagnostics, []);
    assert_well(&*provider).await;
}

#[tokio::test]
async fn an_abandoned_call_takes_its_instance_with_it() {
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
