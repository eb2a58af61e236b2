//! Deterministic clocks and randomness, and environment variables that a policy grants.

use std::fs;
use std::sync::Arc;

use wardian_monitor::{AuditLog, Capability, Record};
use wardian_plugin::{CallContext, Provider};

use crate::guest::{configure, granted, granted_and_recorded, load, probe, probe_for, short};

fn deterministic() -> Arc<dyn Provider> {
    let place = tempfile::tempdir().unwrap();
    load(short()).provider(granted(place.path(), "deterministic = true"))
}

async fn number(provider: &dyn Provider, subject: &str) -> String {
    probe_for(&CallContext::new(subject), provider, "random-number").await
}

#[tokio::test]
async fn randomness_is_the_same_in_each_run() {
    let (one, other) = (deterministic(), deterministic());
    let number_of_one = number(&*one, "x.a").await;
    assert_eq!(number(&*other, "x.b").await, number(&*one, "x.b").await);
    assert_eq!(number(&*other, "x.a").await, number_of_one, "in any order");
    let usual = || load(short()).provider(wardian_sandbox::Grants::nothing());
    assert_ne!(number(&*usual(), "x.a").await, number(&*usual(), "x.a").await);
}

#[tokio::test]
async fn clocks_are_fixed_and_waits_return() {
    let provider = deterministic();
    assert_eq!(probe(&*provider, "clocks").await, "946684800s true");
    assert_eq!(probe(&*provider, "clock").await, "946684800");
}

#[tokio::test]
async fn each_instance_is_configured() {
    let provider = deterministic();
    assert_eq!(configure(&*provider, "red").await, []);
    for _ in 0..2 {
        assert_eq!(probe(&*provider, "configured").await, "with red");
        assert_eq!(probe(&*provider, "calls").await, "1", "an instance of its own");
    }
}

#[tokio::test]
async fn only_variables_named_by_policy_are_visible() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("audit");
    let log = Arc::new(AuditLog::open(&path).unwrap());
    let rules = "allow environment {\n names = [\"GRANT*\", \"ABSENT\"]\n}";
    let provider = load(short()).provider(granted_and_recorded(place.path(), rules, &log));
    for _ in 0..2 {
        assert_eq!(probe(&*provider, "environment").await, "[(\"GRANTED\", \"yes\")] Args { inner: [] }");
    }
    let text = fs::read_to_string(&path).unwrap();
    let records = text.lines().map(|line| serde_json::from_str::<Record>(line).unwrap());
    // The provider also tries to open a file when it returns its schema.
    let records: Vec<Record> = records.filter(|record| record.capability != Capability::Filesystem).collect();
    assert_eq!(records.len(), 1, "once for a configuration: {text}");
    assert_eq!((records[0].capability, &*records[0].target), (Capability::Environment, "GRANTED"));
}
