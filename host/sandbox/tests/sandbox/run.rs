//! Calls and their run: recorded states, the interruption, and the memory that instances share.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use wardian_plugin::{
    ApplyRequest, ApplyResponse, CallContext, ObjectRecorder, PrivateBytes, Provider, REDACTED, RecordError,
    RecordedState,
};
use wardian_sandbox::{Grants, Sandbox, SandboxOptions};
use wardian_value::{Type, Value};

use crate::guest::{bytes, probe, probe_failure, probe_for, sandbox, short};
use crate::pool::futures_of_calls::all;

/// A recorder that keeps the states, or fails.
#[derive(Default)]
struct Recorder {
    states: Mutex<Vec<RecordedState>>,
    failure: Option<RecordError>,
}

#[async_trait]
impl ObjectRecorder for Recorder {
    async fn record(&self, recorded: RecordedState) -> Result<(), RecordError> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        self.states.lock().unwrap().push(recorded);
        Ok(())
    }
}

fn named(input: &str, id: Value) -> Value {
    let null = Value::null(Type::String);
    Value::object([
        ("id", id.clone()),
        ("input", Value::from(input)),
        ("result", if id.is_null() { null.clone() } else { id }),
        ("secret", null),
    ])
}

/// Creates an object whose call runs a chain of steps.
async fn create(provider: &dyn Provider, context: &CallContext, steps: &[&[&str]]) -> ApplyResponse {
    let steps: Vec<String> = steps.iter().map(|step| step.join("\u{1f}")).collect();
    let input = format!("steps:{}", steps.join("\u{1e}"));
    let planned = named(&input, Value::unknown(Type::String));
    let request = ApplyRequest {
        type_name: "hostile_named".into(),
        prior_state: Value::null(planned.ty().clone()),
        config: named(&input, Value::null(Type::String)),
        planned_state: planned,
        planned_private: PrivateBytes::default(),
        provider_meta: None,
        planned_identity: None,
    };
    provider.apply_resource_change(context, request).await
}

fn result(response: &ApplyResponse) -> String {
    let state = response.new_state.as_ref().unwrap_or_else(|| panic!("{:?}", response.diagnostics));
    state.get("result").and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn provider_with(parallelism: usize) -> Arc<dyn Provider> {
    let sandbox =
        Sandbox::new(SandboxOptions { limits: short(), parallelism, ..SandboxOptions::default() }).unwrap();
    sandbox.load("acme/hostile", &bytes("hostile"), None, None, &|_| {}).unwrap().provider(Grants::nothing())
}

fn provider() -> Arc<dyn Provider> {
    sandbox(short())
        .load("acme/hostile", &bytes("hostile"), None, None, &|_| {})
        .unwrap()
        .provider(Grants::nothing())
}

#[tokio::test]
async fn recorded_states_fit_the_schema() {
    let provider = provider();
    let recorder = Arc::new(Recorder::default());
    let context = CallContext::new("hostile_named.a").with_recorder(Arc::clone(&recorder) as Arc<_>);
    let steps: [&[&str]; 4] =
        [&["record", "one"], &["record-bytes"], &["record-other-type"], &["record", "two"]];
    let seen = result(&create(&*provider, &context, &steps).await);
    let lines: Vec<&str> = seen.lines().collect();
    assert_eq!((lines[0], lines[3]), ("#0 recorded", "#3 recorded"), "{seen}");
    assert!(lines[1].starts_with("#1 invalid: ") && lines[2].starts_with("#2 invalid: "), "{seen}");
    let states = recorder.states.lock().unwrap();
    let ids: Vec<_> = states.iter().map(|one| one.state.get("id").and_then(Value::as_str).unwrap()).collect();
    assert_eq!(ids, ["one", "two"]);
}

#[tokio::test]
async fn state_is_not_recorded_without_a_change_or_after_a_failure() {
    let provider = provider();
    assert_eq!(probe(&*provider, "record:x").await, "unavailable");
    let steps: [&[&str]; 1] = [&["record", "x"]];
    let without = create(&*provider, &CallContext::default(), &steps).await;
    assert_eq!(result(&without), "#0 unavailable");
    let failure = Some(RecordError::Failed("the disk is full".into()));
    let context = CallContext::default().with_recorder(Arc::new(Recorder { failure, ..Recorder::default() }));
    assert_eq!(result(&create(&*provider, &context, &steps).await), "#0 failed: the disk is full");
}

#[tokio::test]
async fn stop_interrupts_running_calls_and_their_waits() {
    let provider = provider();
    assert_eq!(probe(&*provider, "interrupted").await, "false");
    assert_eq!(probe(&*provider, "wait:1").await, "waited");
    let held = probe(&*provider, "hold-lock:zone|3600000").await;
    assert_eq!(held, "held");
    let waits = ["wait:3600000", "wait-for-interruption", "take-lock:zone|1"];
    let begun = Instant::now();
    let waiting = tokio::spawn({
        let provider = Arc::clone(&provider);
        async move { all(waits.into_iter().map(|wait| probe(&*provider, wait))).await }
    });
    tokio::time::sleep(Duration::from_millis(300)).await;
    // The hostile provider refuses to stop, which does not prevent the interruption.
    let _ = provider.stop().await;
    assert_eq!(waiting.await.unwrap(), ["interrupted"; 3]);
    assert!(begun.elapsed() < short().remote_call, "the calls did not end by their limit");
    assert_eq!(probe(&*provider, "interrupted").await, "true");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn thirty_instances_log_in_once() {
    let provider = provider_with(30);
    let seen = all((0..30).map(|_| probe(&*provider, "log-in:session"))).await;
    assert_eq!(seen.iter().filter(|one| *one == "logged in").count(), 1, "{seen:?}");
    assert_eq!(seen.iter().filter(|one| *one == "used").count(), 29, "{seen:?}");
    // Another configuration of the provider has a memory of its own.
    assert_eq!(probe(&*provider_with(1), "shared:session").await, "nothing");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn rate_limit_holds_across_instances() {
    let provider = provider_with(30);
    // The instances exist before the time is measured.
    all((0..30).map(|_| probe(&*provider, "wait:50"))).await;
    let begun = Instant::now();
    let seen = all((0..30).map(|_| probe(&*provider, "take:api|10"))).await;
    assert!(seen.iter().all(|one| one == "done"), "{seen:?}");
    assert!(begun.elapsed() >= Duration::from_millis(2_900), "{:?}", begun.elapsed());
    assert!(probe(&*provider, "take:never|0").await.starts_with("limit: "));
}

#[tokio::test]
async fn lock_of_a_dead_instance_is_released() {
    let provider = provider();
    probe_failure(&*provider, "hold-lock-and-trap:zone|3600000").await;
    assert_eq!(probe(&*provider, "take-lock:zone|1000").await, "taken");
}

#[tokio::test]
async fn oversized_shared_values_are_rejected() {
    let provider = provider();
    assert_eq!(probe(&*provider, "share-bytes:big|65536").await, "done");
    let seen = probe(&*provider, "share-bytes:bigger|65537").await;
    assert_eq!(seen, "limit: a value of 65537 bytes exceeds 65536 bytes");
    let steps: Vec<String> = (0..32).map(|at| format!("share-bytes\u{1f}{at}\u{1f}65536")).collect();
    let seen = probe(&*provider, &format!("steps:{}", steps.join("\u{1e}"))).await;
    assert!(seen.contains("limit: all values together would exceed 1048576 bytes"), "{seen}");
}

#[tokio::test]
async fn shared_values_are_redacted() {
    let provider = provider();
    let context = CallContext::new("hostile_probe.writes");
    assert_eq!(
        probe_for(&context, &*provider, "share:token|{\"token\":\"hunter22-of-the-session\"}").await,
        "done"
    );
    assert_eq!(context.sensitive_values().redact("hunter22-of-the-session"), REDACTED);
    let context = CallContext::new("hostile_probe.reads");
    probe_for(&context, &*provider, "shared:token").await;
    assert_eq!(context.sensitive_values().redact("hunter22-of-the-session"), REDACTED);
}
