//! States that a provider records during a change are stored if the change has no other outcome.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use wardian_address::{ProviderConfigAddress, ResourceInstanceAddress};
use wardian_engine::{FlushReply, StateSink, StopSignal, stop_channel};
use wardian_state::{Attributes, Instance, Object, State};
use wardian_value::{Type, Value};

use crate::fixture::{Fixture, Recorded, addresses};
use crate::provider::RecordedObjects;

/// Records the planned object with this ID and label, and unknown values as they are.
fn recording(id: &'static str) -> RecordedObjects {
    Box::new(move |request| {
        let object =
            if request.planned_state.is_null() { &request.prior_state } else { &request.planned_state };
        vec![object.with_attribute("id", Value::string(id))]
    })
}

fn thing(rest: &str) -> String {
    format!("resource \"memory_thing\" \"a\" {{\n name = \"a\"\n {rest}\n}}\n")
}

fn stored(state: &State) -> Option<(Arc<Object>, serde_json::Value)> {
    let object = state.current(&"memory_thing.a".parse().unwrap())?;
    let Attributes::Json(text) = &object.attributes else { panic!("JSON") };
    Some((Arc::clone(object), serde_json::from_str(text).unwrap()))
}

#[test]
fn failed_creation_is_stored_as_tainted_with_the_recorded_value() {
    let mut fixture = Fixture::new();
    fixture.twist(|twist| twist.record = Some(recording("early")));
    fixture.apply_errors(&thing("mischief = \"fail\"\n secret = \"hunter22\""));
    let (object, attributes) = stored(&fixture.state).unwrap();
    assert!(object.is_tainted());
    assert_eq!((&attributes["id"], &attributes["label"]), (&"early".into(), &serde_json::Value::Null));
    assert_eq!(&*object.private, b"recorded");
    assert_eq!(object.sensitive_paths.len(), 1, "{:?}", object.sensitive_paths);
    fixture.world.forget_calls();
    fixture.twist(|twist| twist.record = None);
    fixture.apply(&thing(""));
    assert_eq!(fixture.world.calls(), ["read a", "destroy a", "create a"]);
}

#[test]
fn failed_update_keeps_the_recorded_value_and_is_not_tainted() {
    let mut fixture = Fixture::new();
    fixture.apply(&thing(""));
    fixture.twist(|twist| twist.record = Some(recording("later")));
    fixture.apply_errors(&thing("mischief = \"fail\"\n size = 7"));
    let (object, attributes) = stored(&fixture.state).unwrap();
    assert!(!object.is_tainted());
    assert_eq!((&attributes["id"], &attributes["size"]), (&"later".into(), &7.into()));
}

#[test]
fn returned_state_replaces_the_record() {
    let mut fixture = Fixture::new();
    fixture.twist(|twist| twist.record = Some(recording("early")));
    fixture.apply_errors(&thing("mischief = \"fail half way\""));
    assert_eq!(stored(&fixture.state).unwrap().1["id"], "thing-1");
    fixture.apply(&thing(""));
    assert_eq!(stored(&fixture.state).unwrap().1["id"], "thing-3");
    // A response without an object means that the object does not exist.
    let mut fixture = Fixture::new();
    fixture.twist(|twist| twist.record = Some(recording("early")));
    fixture.apply_errors(&thing("mischief = \"apply nothing\""));
    assert_eq!(addresses(&fixture.state), Vec::<String>::new());
}

#[test]
fn recorded_destruction_removes_the_object() {
    let mut fixture = Fixture::new();
    let configuration = thing("mischief = \"break while going\"");
    fixture.apply(&configuration);
    assert!(fixture.destroy(&configuration).diagnostics.has_errors());
    assert_eq!(addresses(&fixture.state), ["memory_thing.a"], "nothing is recorded");
    fixture.twist(|twist| {
        twist.record = Some(Box::new(|request| vec![Value::null(request.prior_state.ty().clone())]));
    });
    assert!(fixture.destroy(&configuration).diagnostics.has_errors());
    assert_eq!(addresses(&fixture.state), Vec::<String>::new());
}

#[test]
fn record_that_does_not_fit_is_rejected() {
    let mut fixture = Fixture::new();
    fixture.twist(|twist| {
        twist.record = Some(Box::new(|request| {
            let object = &request.planned_state;
            vec![
                Value::object([("name", Value::string("a"))]),
                object.with_attribute("password", Value::string("hunter22")),
                object.with_attribute("size", Value::string("large")),
                object.with_attribute("label", Value::unknown(Type::String)),
            ]
        }));
    });
    fixture.apply(&thing(""));
    let calls = fixture.world.calls();
    let lines: Vec<&String> = calls.iter().filter(|line| line.contains("recorded")).collect();
    assert!(lines[..3].iter().all(|line| line.starts_with("not recorded: ")), "{lines:?}");
    assert!(lines[1].contains("write-only attribute") && !lines[1].contains("hunter22"), "{lines:?}");
    assert_eq!(lines[3], "recorded");
}

#[test]
fn second_interrupt_keeps_the_recorded_state() {
    let mut fixture = Fixture::new();
    fixture.twist(|twist| twist.record = Some(recording("early")));
    let configuration = thing("mischief = \"never end\"");
    let plan = fixture.plan(&configuration);
    let run = fixture.run_with_modules(&configuration, &[]).unwrap();
    let mut recorded = Recorded::default();
    let (stopper, signal) = stop_channel();
    let world = Arc::clone(&fixture.world);
    let applied = fixture.block_on(async {
        let ask = async {
            while !world.calls().contains(&"create a".to_owned()) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            stopper.ask();
            stopper.ask();
        };
        futures::join!(run.apply(&plan, &mut recorded, 10, signal), ask).0
    });
    let (object, attributes) = stored(&applied.state).unwrap();
    assert!(object.is_tainted() && attributes["id"] == "early", "{attributes}");
    fixture.state = applied.state;
}

/// The committed records of a run. They survive the run.
#[derive(Clone, Default)]
struct Journal(Arc<Mutex<Vec<(ResourceInstanceAddress, ProviderConfigAddress, Instance)>>>);

struct JournalSink {
    journal: Journal,
    collected: Vec<(ResourceInstanceAddress, ProviderConfigAddress, Instance)>,
}

impl StateSink for JournalSink {
    fn record_intent(&mut self, _: &ResourceInstanceAddress, _: &str) {}

    fn record(
        &mut self,
        address: &ResourceInstanceAddress,
        provider: &ProviderConfigAddress,
        instance: Option<&Instance>,
    ) {
        let instance = instance.cloned().unwrap_or_default();
        self.collected.push((address.clone(), provider.clone(), instance));
    }

    fn commit(&mut self) -> Result<(), String> {
        self.journal.0.lock().unwrap().append(&mut self.collected);
        Ok(())
    }

    fn flush(&mut self, done: FlushReply) {
        done(Ok(()));
    }
}

/// A pseudorandom number generator.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit.max(1)
    }
}

fn ids(state: &State) -> BTreeSet<String> {
    let mut ids = BTreeSet::new();
    for number in 0..6 {
        let address: ResourceInstanceAddress = format!("memory_thing.a[{number}]").parse().unwrap();
        let Some(instance) = state.instance(&address) else { continue };
        for object in instance.current.iter().chain(instance.deposed.values()) {
            let Attributes::Json(text) = &object.attributes else { panic!("JSON") };
            let attributes: serde_json::Value = serde_json::from_str(text).unwrap();
            ids.insert(attributes["id"].as_str().unwrap().to_owned());
        }
    }
    ids
}

/// Ends applies at random moments: the process ends with the journal as its only trace, or calls fail.
#[test]
fn random_ends_of_applies_lose_and_duplicate_nothing() {
    let seed = std::env::var("WARDIAN_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed: u64 = seed.unwrap_or_else(|| {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |now| u64::from(now.subsec_nanos()))
    });
    println!("WARDIAN_TEST_SEED={seed}");
    let mut chance = Chance(seed.wrapping_mul(0x9E37_79B9) | 1);
    let mut fixture = Fixture::new();
    fixture.twist(|twist| twist.records_ids = true);
    let (mut killed, mut failed) = (0, 0);
    for moment in 0..300_u64 {
        let mischiefs: Vec<String> = (0..6)
            .map(|_| {
                format!(
                    "\"{}\"",
                    ["", "fail", "take a while", "fail half way", ""]
                        [usize::try_from(chance.below(5)).unwrap()]
                )
            })
            .collect();
        let configuration = |mischiefs: &[String]| {
            format!(
                "locals {{\n m = [{}]\n}}\nresource \"memory_thing\" \"a\" {{\n count = 6\n name = \"a${{count.index}}\"\n \
                 fixed = \"{moment}\"\n mischief = local.m[count.index]\n lifecycle {{\n create_before_destroy = {}\n }}\n}}\n",
                mischiefs.join(", "),
                moment % 2 == 0,
            )
        };
        let broken = configuration(&mischiefs);
        let plan = fixture.plan(&broken);
        let run = fixture.run_with_modules(&broken, &[]).unwrap();
        let journal = Journal::default();
        let mut sink = JournalSink { journal: journal.clone(), collected: Vec::new() };
        // Some applies end by themselves.
        let most = 400_000_u64 >> chance.below(9);
        let end = Duration::from_micros(chance.below(most));
        let applied = fixture.block_on(async {
            let apply = run.apply(&plan, &mut sink, 3, StopSignal::never());
            tokio::time::timeout(end, apply).await
        });
        match applied {
            Ok(applied) => {
                failed += u32::from(applied.diagnostics.has_errors());
                fixture.state = applied.state;
            }
            Err(_) => {
                killed += 1;
                for (address, provider, instance) in journal.0.lock().unwrap().drain(..) {
                    fixture.state.set_instance(&address, &provider, instance);
                }
            }
        }
        let existing: BTreeSet<String> = fixture.world.existing.lock().unwrap().keys().cloned().collect();
        let known = ids(&fixture.state);
        let lost: Vec<&String> = existing.difference(&known).collect();
        assert!(lost.is_empty(), "moment {moment}: {lost:?} are not in the state");
        fixture.apply(&configuration(&vec!["\"\"".to_owned(); 6]));
        let existing = fixture.world.existing.lock().unwrap();
        assert_eq!(existing.keys().cloned().collect::<BTreeSet<_>>(), ids(&fixture.state), "moment {moment}");
        let names: BTreeSet<&String> = existing.values().collect();
        assert_eq!((existing.len(), names.len()), (6, 6), "moment {moment}: an object exists twice");
    }
    println!("{killed} applies were ended, and {failed} failed");
    assert!(killed > 30 && failed > 30, "{killed} {failed}");
}

#[test]
fn record_is_committed_before_the_call_continues() {
    let mut fixture = Fixture::new();
    fixture.twist(|twist| twist.record = Some(recording("early")));
    let (_, recorded) = fixture.apply_with(&thing(""), &[], &wardian_engine::PlanOptions::default());
    assert_eq!(recorded.len(), 2, "the record and the outcome: {recorded:?}");
}
