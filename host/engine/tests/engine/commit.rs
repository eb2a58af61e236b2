//! Records are durable before operations that depend on them start.

use std::sync::Arc;

use wardian_address::{ProviderConfigAddress, ResourceInstanceAddress};
use wardian_engine::{FlushReply, StateSink, StopSignal};
use wardian_state::Instance;

use crate::fixture::{Fixture, addresses};
use crate::provider::World;

/// Adds each commit to the provider's calls.
struct CommitLog {
    world: Arc<World>,
    collected: Vec<String>,
    /// The number of commits that succeed.
    commits_left: usize,
    /// The result of each flush.
    flushes: Result<(), String>,
}

impl StateSink for CommitLog {
    fn record_intent(&mut self, address: &ResourceInstanceAddress, action: &str) {
        self.collected.push(format!("{action} {}", address.name()));
    }

    fn record(
        &mut self,
        address: &ResourceInstanceAddress,
        _provider: &ProviderConfigAddress,
        _instance: Option<&Instance>,
    ) {
        self.collected.push(format!("{} done", address.name()));
    }

    fn commit(&mut self) -> Result<(), String> {
        let collected = std::mem::take(&mut self.collected);
        self.commits_left = self.commits_left.checked_sub(1).ok_or("the disk is full")?;
        self.world.calls.lock().unwrap().push(format!("commit: {}", collected.join(", ")));
        Ok(())
    }

    fn flush(&mut self, done: FlushReply) {
        let (world, result) = (Arc::clone(&self.world), self.flushes.clone());
        std::thread::spawn(move || {
            world.calls.lock().unwrap().push("flush".to_owned());
            done(result);
        });
    }
}

const CHAIN: &str = r#"
resource "memory_thing" "a" { name = "a" }
resource "memory_thing" "b" { name = "${memory_thing.a.name}b" }
resource "memory_thing" "c" { name = "c" }
"#;

fn apply(fixture: &mut Fixture, commits_left: usize) -> wardian_engine::Applied {
    apply_with_flushes(fixture, commits_left, Ok(()))
}

fn apply_with_flushes(
    fixture: &mut Fixture,
    commits_left: usize,
    flushes: Result<(), String>,
) -> wardian_engine::Applied {
    let plan = fixture.plan(CHAIN);
    fixture.world.forget_calls();
    let run = fixture.run_with_modules(CHAIN, &[]).unwrap();
    let world = Arc::clone(&fixture.world);
    let mut sink = CommitLog { world, collected: Vec::new(), commits_left, flushes };
    fixture.block_on(run.apply(&plan, &mut sink, 1, StopSignal::never()))
}

#[test]
fn records_are_committed_before_dependent_operations() {
    let mut fixture = Fixture::new();
    let applied = apply(&mut fixture, usize::MAX);
    assert!(!applied.diagnostics.has_errors(), "{}", applied.diagnostics);
    assert_eq!(
        fixture.world.calls(),
        [
            "commit: create a",
            "create a",
            "commit: a done, create c",
            "create c",
            "commit: c done, create b",
            "create ab",
            "commit: b done",
        ]
    );
}

#[test]
fn operation_without_committed_intent_does_not_start() {
    let mut fixture = Fixture::new();
    let applied = apply(&mut fixture, 1);
    assert_eq!(fixture.world.calls(), ["commit: create a", "create a"]);
    let errors = applied.diagnostics.to_string();
    assert!(
        errors.contains("The changes of memory_thing.a, memory_thing.c could not be recorded"),
        "{errors}"
    );
    assert!(errors.contains("the disk is full"), "{errors}");
    assert_eq!(addresses(&applied.state), ["memory_thing.a"]);
}

#[test]
fn recorded_state_is_on_the_disk_before_the_call_continues() {
    let mut fixture = Fixture::new();
    fixture.twist(|twist| twist.record = Some(Box::new(|request| vec![request.planned_state.clone()])));
    let applied = apply(&mut fixture, usize::MAX);
    assert!(!applied.diagnostics.has_errors(), "{}", applied.diagnostics);
    let calls = fixture.world.calls();
    let first = calls.iter().position(|call| call == "commit: a done").unwrap();
    assert_eq!(calls[first + 1..first + 4], ["flush", "recorded", "create a"], "{calls:?}");
    assert_eq!(calls.iter().filter(|call| *call == "flush").count(), 3, "{calls:?}");
}

#[test]
fn plugin_receives_the_reason_why_its_record_is_not_on_the_disk() {
    let mut fixture = Fixture::new();
    fixture.twist(|twist| twist.record = Some(Box::new(|request| vec![request.planned_state.clone()])));
    apply_with_flushes(&mut fixture, usize::MAX, Err("the disk is broken".to_owned()));
    let calls = fixture.world.calls();
    assert!(
        calls.iter().any(|call| call.contains("not recorded") && call.contains("the disk is broken")),
        "{calls:?}"
    );
}
