//! The start and the termination of plugin processes.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use wardian_legacy_grpc_bridge::{Bridge, NativeLimits, NativePackage, SchemaCache};
use wardian_plugin::{CallContext, ProviderSchema};
use wardian_value::{Type, Value};

use crate::{configure, configured, fake, package, processes_with, wait_for_no_zombies, wait_until};

/// Returns a word that identifies the processes of one test by their environment.
fn mark(test: &str) -> String {
    format!("{test}-{}", std::process::id())
}

#[tokio::test(flavor = "multi_thread")]
async fn process_starts_at_first_call() {
    let mark = mark("lazy");
    let (_bridge, plugin) = fake(&mark);
    let provider = plugin.provider();
    assert!(processes_with(&mark).is_empty());
    provider.schema(&CallContext::default()).await.unwrap();
    assert_eq!(processes_with(&mark).len(), 1);
    plugin.close().await;
    assert!(processes_with(&mark).is_empty());
    wait_for_no_zombies().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn configure_reuses_schema_call_process() {
    let mark = mark("takeover");
    let (_bridge, plugin) = fake(&mark);
    let (first, second) = (plugin.provider(), plugin.provider());
    first.schema(&CallContext::default()).await.unwrap();
    let config = || Value::object([("greeting", Value::null(Type::String))]);
    assert_eq!(first.validate_provider_config(&CallContext::default(), config()).await, []);
    assert_eq!(configure(&*first, config()).await, []);
    assert_eq!(processes_with(&mark).len(), 1);
    let other = Value::object([("greeting", Value::string("other"))]);
    assert_eq!(configure(&*second, other).await, []);
    assert_eq!(processes_with(&mark).len(), 2);
    first.close().await;
    assert_eq!(processes_with(&mark).len(), 1);
    assert!(
        second.call_function(&CallContext::default(), "shout".into(), vec![Value::string("a")]).await.is_ok()
    );
    second.close().await;
    assert!(processes_with(&mark).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn equal_configurations_share_a_process() {
    let mark = mark("shared");
    let (_bridge, plugin) = fake(&mark);
    let greeting = |text: &str| Value::object([("greeting", Value::string(text))]);
    let providers: Vec<_> = (0..10).map(|_| plugin.provider()).collect();
    for provider in &providers {
        assert_eq!(configure(&**provider, greeting("same")).await, []);
    }
    assert_eq!(processes_with(&mark).len(), 1);
    let other = plugin.provider();
    assert_eq!(configure(&*other, greeting("other")).await, []);
    assert_eq!(processes_with(&mark).len(), 2);
    let (last, rest) = providers.split_last().unwrap();
    for provider in rest {
        provider.close().await;
    }
    other.close().await;
    assert!(
        last.call_function(&CallContext::default(), "shout".into(), vec![Value::string("a")]).await.is_ok()
    );
    assert_eq!(processes_with(&mark).len(), 1);
    last.close().await;
    assert!(processes_with(&mark).is_empty());
    let again = plugin.provider();
    assert_eq!(configure(&*again, greeting("same")).await, []);
    assert_eq!(processes_with(&mark).len(), 1);
    again.close().await;
    wait_for_no_zombies().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cached_schema_needs_no_process() {
    let mark = mark("cached");
    let root = tempfile::tempdir().unwrap();
    let open = |content: &str| {
        let cache = SchemaCache::open(&root.path().join("schemas"), &root.path().join("key")).unwrap();
        let package = NativePackage { content: Some(content.into()), ..package(&mark) };
        Bridge::new(NativeLimits::default()).with_schema_cache(cache).plugin(package)
    };
    let first = open("h1:one=");
    let asked = first.provider().schema(&CallContext::default()).await.unwrap();
    assert_eq!(processes_with(&mark).len(), 1);
    first.close().await;

    let second = open("h1:one=");
    let provider = second.provider();
    let cached = provider.schema(&CallContext::default()).await.unwrap();
    assert!(processes_with(&mark).is_empty());
    let thing = |schema: &ProviderSchema| schema.resources.get("fake_thing").unwrap().implied_type().clone();
    assert_eq!(thing(&cached), thing(&asked));
    assert_eq!(format!("{cached:?}"), format!("{asked:?}"));
    assert_eq!(configure(&*provider, Value::object([("greeting", Value::string("a"))])).await, []);
    assert_eq!(processes_with(&mark).len(), 1);
    provider.close().await;

    for entry in std::fs::read_dir(root.path().join("schemas")).unwrap() {
        let path = entry.unwrap().path();
        let mut bytes = std::fs::read(&path).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        std::fs::write(path, bytes).unwrap();
    }
    for content in ["h1:one=", "h1:another="] {
        let plugin = open(content);
        plugin.provider().schema(&CallContext::default()).await.unwrap();
        assert_eq!(processes_with(&mark).len(), 1, "{content}");
        plugin.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn process_exits_gracefully_and_quickly() {
    let (_bridge, plugin) = fake("");
    let provider = configured(&plugin).await;
    let begun = Instant::now();
    provider.close().await;
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn process_that_ignores_exit_is_killed() {
    let mark = mark("stays,stays");
    let (_bridge, plugin) = fake(&mark);
    let provider = configured(&plugin).await;
    let begun = Instant::now();
    provider.close().await;
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert!(processes_with(&mark).is_empty());
    wait_for_no_zombies().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn process_of_dropped_plugin_is_killed() {
    let mark = mark("dropped");
    {
        let (_bridge, plugin) = fake(&mark);
        let _provider = configured(&plugin).await;
        assert_eq!(processes_with(&mark).len(), 1);
    }
    wait_until("the process is gone", || processes_with(&mark).is_empty()).await;
    wait_for_no_zombies().await;
}

/// Runs in a process that the next test kills.
#[tokio::test(flavor = "multi_thread")]
async fn helper_holds_a_plugin_until_killed() {
    let Ok(mark) = std::env::var("WARDIAN_HELD_UNTIL_KILLED") else { return };
    let (_bridge, plugin) = fake(&mark);
    let _provider = configured(&plugin).await;
    std::future::pending::<()>().await;
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn plugin_exits_when_its_host_is_killed() {
    let mark = mark("orphan");
    let mut host = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "ends::helper_holds_a_plugin_until_killed"])
        .env("WARDIAN_HELD_UNTIL_KILLED", format!("held,{mark}"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let plugins = || {
        let host = i32::try_from(host.id()).unwrap();
        processes_with(&mark).into_iter().filter(|id| *id != host).collect::<Vec<_>>()
    };
    // The list is empty for a moment while a process executes the plugin.
    let found = std::cell::Cell::new(None);
    wait_until("the plugin is there", || {
        let plugins = plugins();
        found.set(plugins.first().copied().filter(|_| plugins.len() == 1));
        found.get().is_some()
    })
    .await;
    let id = found.get().unwrap();
    // The socket exists before the host connects, so the test waits until the plugin has started
    // completely.
    tokio::time::sleep(Duration::from_millis(300)).await;
    host.kill().unwrap();
    host.wait().unwrap();
    wait_until("the plugin is gone", || {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        // Once the host has exited, there may be no parent to reap the process.
        stat.is_empty() || stat.contains(") Z ")
    })
    .await;
}
