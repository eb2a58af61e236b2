use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use serde::Deserialize;

use super::testing::StateStoreHarness;
use super::{Lock, LockInfo, StateContext, StateStore};
use crate::{Attribute, Diagnostics, Provider, Result, Schema, validate};

type States = Rc<RefCell<BTreeMap<String, Vec<u8>>>>;

struct Memory;

#[derive(Deserialize)]
struct Config {
    prefix: String,
}

type Context<'a> = StateContext<'a, Config, States>;

fn key(context: &Context<'_>) -> String {
    format!("{}{}", context.config().prefix, context.state_id())
}

impl StateStore<States> for Memory {
    type Config = Config;

    fn schema(&self) -> Schema {
        Schema::new().attribute(Attribute::string("prefix").required().validate(validate::length(1..)))
    }

    fn read(&self, context: &mut Context<'_>) -> Result<Vec<u8>> {
        Ok(context.client().borrow().get(&key(context)).cloned().unwrap_or_default())
    }

    fn write(&self, state: Vec<u8>, context: &mut Context<'_>) -> Result<()> {
        if state.starts_with(b"no") {
            return Err(Diagnostics::error("Refused", "the state is not accepted"));
        }
        context.client().borrow_mut().insert(key(context), state);
        Ok(())
    }

    fn states(&self, context: &mut Context<'_>) -> Result<Vec<String>> {
        Ok(context.client().borrow().keys().cloned().collect())
    }

    fn delete(&self, context: &mut Context<'_>) -> Result<()> {
        context.client().borrow_mut().remove(&key(context));
        Ok(())
    }
}

#[derive(Deserialize)]
struct NoConfig {}

fn provider() -> Provider<States> {
    Provider::with_config("memory", Schema::new(), |_: NoConfig| Ok(States::default()))
        .state_store("memory_states", Memory)
}

fn harness() -> StateStoreHarness {
    StateStoreHarness::new(provider, "{}", "memory_states", r#"{ "prefix": "a-" }"#).unwrap()
}

#[test]
fn states_are_stored_in_chunks_listed_and_deleted() {
    let harness = harness();
    assert_eq!(harness.read("default").unwrap(), b"");
    let state: Vec<u8> = (0..100).collect();
    harness.write("default", &state).unwrap();
    assert_eq!(harness.read("default").unwrap(), state);
    assert_eq!(harness.states().unwrap(), ["a-default"]);
    harness.delete("default").unwrap();
    assert_eq!(harness.read("default").unwrap(), b"");
}

#[test]
fn error_of_a_write_is_returned() {
    let problem = harness().write("default", b"no, this is not stored").unwrap_err();
    assert_eq!(problem, ["Refused: the state is not accepted"]);
}

#[test]
fn configuration_is_validated() {
    let refused = StateStoreHarness::new(provider, "{}", "memory_states", r#"{ "prefix": "" }"#);
    assert!(refused.err().unwrap().concat().contains("prefix"));
}

#[test]
fn state_store_without_locks_reports_it() {
    let harness = harness();
    assert_eq!(harness.lock("default", &LockInfo::default()).unwrap(), Lock::Unsupported);
    assert!(harness.unlock("default", "1").is_err_and(|problem| problem.concat().contains("No locks")));
}
