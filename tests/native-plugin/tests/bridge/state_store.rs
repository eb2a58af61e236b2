//! State stores of native plugins.

use std::sync::Arc;

use bytes::Bytes;
use tempfile::TempDir;
use wardian_legacy_grpc_bridge::{Bridge, NativePlugin};
use wardian_plugin::{
    CallContext, LockOutcome, PluginDiagnostics, StateLockInfo, StateStore, StateStoreConfig, UnlockOutcome,
};
use wardian_value::{Type, Value};

use crate::{fake, only};

fn config(directory: &TempDir, fault: &str) -> StateStoreConfig {
    let directory = Value::string(directory.path().to_str().unwrap());
    let fault = if fault.is_empty() { Value::null(Type::String) } else { Value::string(fault) };
    StateStoreConfig {
        terraform_version: "1.11.4".into(),
        provider: Value::object([("greeting", Value::null(Type::String))]),
        type_name: "fake_files".into(),
        store: Value::object([("directory", directory), ("fault", fault)]),
    }
}

struct World {
    directory: TempDir,
    _bridge: Bridge,
    plugin: NativePlugin,
}

fn world(words: &str) -> World {
    let (bridge, plugin) = fake(words);
    World { directory: tempfile::tempdir().unwrap(), _bridge: bridge, plugin }
}

impl World {
    async fn open(&self, fault: &str) -> Result<Arc<dyn StateStore>, PluginDiagnostics> {
        let stores = self.plugin.state_stores();
        let configured = stores.configure(&context(), config(&self.directory, fault)).await?;
        Ok(configured.value)
    }

    /// Stores a state of several chunks, and reads it with a fault.
    async fn read_with(&self, fault: &str) -> String {
        let store = self.open("").await.unwrap();
        store.write(&context(), "default", &parts()).await.unwrap();
        let faulty = self.open(fault).await.unwrap();
        only(&faulty.read(&context(), "default").await.unwrap_err())
    }
}

fn context() -> CallContext {
    CallContext::default()
}

/// Returns 250 bytes, which are three chunks of the plugin.
fn parts() -> Vec<Bytes> {
    vec!["a".repeat(120).into(), "b".repeat(130).into()]
}

#[tokio::test(flavor = "multi_thread")]
async fn states_are_transferred_in_chunks_listed_and_deleted() {
    let world = world("");
    let schemas = world.plugin.state_stores().schemas(&context()).await.unwrap();
    assert!(schemas.stores.contains_key("fake_files"));
    let store = world.open("").await.unwrap();
    assert_eq!(store.read(&context(), "default").await.unwrap().value, b"");
    store.write(&context(), "default", &parts()).await.unwrap();
    store.write(&context(), "b", &[Bytes::from_static(b"{}")]).await.unwrap();
    assert_eq!(store.read(&context(), "default").await.unwrap().value, parts().concat());
    assert_eq!(store.states(&context()).await.unwrap().value, ["b", "default"]);
    store.delete(&context(), "b").await.unwrap();
    assert_eq!(store.states(&context()).await.unwrap().value, ["default"]);
    store.close().await;
    let closed = only(&store.read(&context(), "default").await.unwrap_err());
    assert!(closed.contains("was closed"), "{closed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn holder_of_a_lock_is_recognized_and_its_id_releases_it() {
    let world = world("");
    let (first, second) = (world.open("").await.unwrap(), world.open("").await.unwrap());
    let request = StateLockInfo { operation: "apply".into(), ..StateLockInfo::default() };
    let locked = first.lock(&context(), "default", request.clone()).await.unwrap().value;
    let LockOutcome::Locked(id) = locked else { panic!("{locked:?}") };
    let held = second.lock(&context(), "default", request).await.unwrap().value;
    let LockOutcome::Held(Some(holder)) = held else { panic!("{held:?}") };
    assert_eq!((&holder.id, &*holder.operation, &*holder.who), (&id, "apply", "ann@build"));
    let other = only(&second.unlock(&context(), "default", "other").await.unwrap_err());
    assert!(other.contains("Lock ID Mismatch"), "{other}");
    let released = second.unlock(&context(), "default", &id).await.unwrap().value;
    assert_eq!(released, UnlockOutcome::Unlocked);
}

#[tokio::test(flavor = "multi_thread")]
async fn empty_lock_id_means_that_there_are_no_locks() {
    let store = world("").open("no-locks").await.unwrap();
    let outcome = store.lock(&context(), "default", StateLockInfo::default()).await.unwrap().value;
    assert_eq!(outcome, LockOutcome::Unsupported);
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_chunks_are_errors() {
    for (fault, expected) in [
        ("large-chunk", "a chunk has 101 bytes, but the state store chose chunks of at most 100 bytes"),
        ("too-large", "has at most 1073741824 bytes"),
        ("incomplete", "200 of 250 bytes"),
        ("gap", "starts at byte 100"),
    ] {
        let problem = world("").read_with(fault).await;
        assert!(problem.contains(expected) && problem.contains("ReadStateBytes"), "{fault}: {problem}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_chunk_size_and_configuration_are_errors() {
    let world = world("");
    let problem = only(&world.open("chunk-size").await.err().unwrap());
    assert!(problem.contains("chunks of 0 bytes"), "{problem}");
    let stores = world.plugin.state_stores();
    let refused = only(&stores.validate(&context(), &config(&world.directory, "wrong")).await);
    assert!(refused.contains("Wrong fault"), "{refused}");
    assert_eq!(stores.validate(&context(), &config(&world.directory, "")).await, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_write_does_not_change_the_state() {
    let world = world("");
    let store = world.open("").await.unwrap();
    store.write(&context(), "default", &parts()).await.unwrap();
    let full = world.open("full").await.unwrap();
    let problem = only(&full.write(&context(), "default", &[Bytes::from_static(b"{}")]).await.unwrap_err());
    assert!(problem.contains("No space: The store is full."), "{problem}");
    assert_eq!(store.read(&context(), "default").await.unwrap().value, parts().concat());
}

#[tokio::test(flavor = "multi_thread")]
async fn crashes_garbage_and_hanging_calls_are_errors() {
    for (words, expected) in [
        ("die@ReadStateBytes", "Plugin crashed"),
        ("garbage@ReadStateBytes", "not a valid protocol message"),
        ("status@ReadStateBytes", "the fake"),
        ("http@ReadStateBytes", "ReadStateBytes"),
        ("hang@ReadStateBytes", "did not respond within 2 s"),
    ] {
        let store = world(words).open("").await.unwrap();
        let problem = only(&store.read(&context(), "default").await.unwrap_err());
        assert!(problem.contains(expected), "{words}: {problem}");
    }
    for (words, expected) in [
        ("die@WriteStateBytes", "Plugin crashed"),
        ("garbage@WriteStateBytes", "not a valid protocol message"),
        ("hang@WriteStateBytes", "did not respond within 2 s"),
    ] {
        let store = world(words).open("").await.unwrap();
        let problem = only(&store.write(&context(), "default", &parts()).await.unwrap_err());
        assert!(problem.contains(expected), "{words}: {problem}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn plugin_that_crashed_is_started_and_configured_again() {
    let world = world("die@DeleteState");
    let store = world.open("").await.unwrap();
    store.write(&context(), "default", &parts()).await.unwrap();
    let problem = only(&store.delete(&context(), "default").await.unwrap_err());
    assert!(problem.contains("Plugin crashed"), "{problem}");
    assert_eq!(store.read(&context(), "default").await.unwrap().value, parts().concat());
}

#[tokio::test(flavor = "multi_thread")]
async fn plugin_without_state_stores_is_an_error() {
    let problem = only(&world("5").open("").await.err().unwrap());
    assert!(problem.contains("Provider without state stores"), "{problem}");
}
