//! Instances: the calls that share an instance, and the initial state of an instance.

use std::sync::Arc;

use futures_of_calls::all;
use wardian_plugin::CallContext;
use wardian_sandbox::{Grants, SandboxLimits};

use crate::guest::{assert_well, configure, load, plan_error, probe, provider, short};

#[tokio::test]
async fn instance_serves_successive_calls() {
    let provider = provider(short());
    for expected in ["1", "2", "3"] {
        assert_eq!(probe(&*provider, "calls").await, expected);
    }
}

#[tokio::test]
async fn configurations_share_no_memory() {
    let plugin = load(short());
    let one = plugin.provider(Grants::nothing());
    let other = plugin.provider(Grants::nothing());
    assert_eq!(configure(&*one, "red").await, []);
    assert_eq!(configure(&*other, "blue").await, []);
    assert_eq!(probe(&*one, "configured").await, "with red");
    assert_eq!(probe(&*other, "configured").await, "with blue");
    assert!(Arc::ptr_eq(
        &one.schema(&CallContext::default()).await.unwrap(),
        &other.schema(&CallContext::default()).await.unwrap()
    ));
}

#[tokio::test]
async fn instances_are_configured_before_use() {
    let provider = provider(short());
    assert_well(&*provider).await;
    assert_eq!(probe(&*provider, "configured").await, "not at all");
    assert_eq!(configure(&*provider, "red").await, []);
    assert_eq!(probe(&*provider, "configured").await, "with red");
    plan_error(&*provider, "hostile_trap").await;
    assert_eq!(probe(&*provider, "configured").await, "with red");
    let answers = all((0..12).map(|_| probe(&*provider, "configured"))).await;
    assert!(answers.iter().all(|answer| answer == "with red"), "{answers:?}");
}

#[tokio::test]
async fn rejected_configuration_is_not_retained() {
    let provider = provider(short());
    assert_eq!(configure(&*provider, "red").await, []);
    let refusal = configure(&*provider, "refuse").await;
    assert_eq!(refusal[0].summary, "refused");
    assert_eq!(probe(&*provider, "configured").await, "with red");
    assert_eq!(configure(&*provider, "blue").await, []);
    assert_eq!(probe(&*provider, "configured").await, "with blue");
}

#[tokio::test]
async fn concurrent_calls_run_up_to_the_parallelism() {
    let limits = SandboxLimits { remote_call: std::time::Duration::from_millis(1_500), ..short() };
    let provider = provider(limits);
    let started = std::time::Instant::now();
    let errors = all((0..8).map(|_| plan_error(&*provider, "hostile_sleep"))).await;
    assert_eq!(errors.len(), 8);
    let elapsed = started.elapsed();
    // Eight calls of 1.5 s each run, four at a time.
    assert!(elapsed.as_millis() >= 3_000, "more than four at a time: {elapsed:?}");
    assert!(elapsed.as_millis() < 11_000, "one after the other: {elapsed:?}");
}

#[tokio::test]
async fn closed_provider_rejects_calls() {
    let provider = provider(short());
    assert_well(&*provider).await;
    provider.close().await;
    let error = plan_error(&*provider, "hostile_honest").await;
    assert_eq!(error.summary, "Plugin was closed");
}

#[tokio::test]
async fn stop_reports_plugin_error() {
    let provider = provider(short());
    assert_eq!(provider.stop().await, Ok(()), "there is no instance to ask");
    assert_eq!(configure(&*provider, "red").await, []);
    assert!(provider.stop().await.unwrap_err().contains("it will not stop"));
    assert_well(&*provider).await;
}

pub(crate) mod futures_of_calls {
    use std::future::{Future, poll_fn};
    use std::pin::Pin;
    use std::task::Poll;

    /// Runs futures concurrently on one task and collects their results.
    pub(crate) async fn all<F: Future>(futures: impl Iterator<Item = F>) -> Vec<F::Output> {
        let mut running: Vec<Pin<Box<F>>> = futures.map(Box::pin).collect();
        let mut done = Vec::new();
        poll_fn(|context| {
            running.retain_mut(|future| match future.as_mut().poll(context) {
                Poll::Ready(output) => {
                    done.push(output);
                    false
                }
                Poll::Pending => true,
            });
            if running.is_empty() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        done
    }
}
