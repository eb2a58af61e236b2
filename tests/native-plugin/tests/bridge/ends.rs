//! How processes begin and end.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use wardian_value::{Type, Value};

use crate::{configure, configured, fake, no_zombie_stays, processes_with, until};

/// A word that only the processes of one test have in their environment.
fn mark(test: &str) -> String {
    format!("{test}-{}", std::process::id())
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_started_before_a_call_needs_it() {
    let mark = mark("lazy");
    let (_bridge, plugin) = fake(&mark);
    let provider = plugin.provider();
    assert!(processes_with(&mark).is_empty());
    provider.schema().await.unwrap();
    assert_eq!(processes_with(&mark).len(), 1);
    plugin.close().await;
    assert!(processes_with(&mark).is_empty());
    no_zombie_stays().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configuration_takes_over_the_process_that_gave_the_schema() {
    let mark = mark("takeover");
    let (_bridge, plugin) = fake(&mark);
    let (first, second) = (plugin.provider(), plugin.provider());
    first.schema().await.unwrap();
    let config = || Value::object([("greeting", Value::null(Type::String))]);
    assert_eq!(first.validate_provider_config(config()).await, []);
    assert_eq!(configure(&*first, config()).await, []);
    assert_eq!(processes_with(&mark).len(), 1);
    assert_eq!(configure(&*second, config()).await, []);
    assert_eq!(processes_with(&mark).len(), 2);
    first.close().await;
    assert_eq!(processes_with(&mark).len(), 1);
    assert!(second.call_function("shout".into(), vec![Value::string("a")]).await.is_ok());
    second.close().await;
    assert!(processes_with(&mark).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_ends_in_order_and_at_once() {
    let (_bridge, plugin) = fake("");
    let provider = configured(&plugin).await;
    let begun = Instant::now();
    provider.close().await;
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_stays_is_killed() {
    let mark = mark("stays,stays");
    let (_bridge, plugin) = fake(&mark);
    let provider = configured(&plugin).await;
    let begun = Instant::now();
    provider.close().await;
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert!(processes_with(&mark).is_empty());
    no_zombie_stays().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_dropped_ends() {
    let mark = mark("dropped");
    {
        let (_bridge, plugin) = fake(&mark);
        let _provider = configured(&plugin).await;
        assert_eq!(processes_with(&mark).len(), 1);
    }
    until("the process is gone", || processes_with(&mark).is_empty()).await;
    no_zombie_stays().await;
}

/// Not a test by itself: it is run by the next one, in a process that is killed.
#[tokio::test(flavor = "multi_thread")]
async fn held_until_killed() {
    let Ok(mark) = std::env::var("WARDIAN_HELD_UNTIL_KILLED") else { return };
    let (_bridge, plugin) = fake(&mark);
    let _provider = configured(&plugin).await;
    std::future::pending::<()>().await;
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn no_plugin_outlives_a_host_that_is_killed() {
    let mark = mark("orphan");
    let mut host = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "ends::held_until_killed"])
        .env("WARDIAN_HELD_UNTIL_KILLED", format!("held,{mark}"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let plugins = || {
        let host = i32::try_from(host.id()).unwrap();
        processes_with(&mark).into_iter().filter(|id| *id != host).collect::<Vec<_>>()
    };
    until("the plugin is there", || plugins().len() == 1).await;
    let id = plugins()[0];
    // Its socket is there for a host that may connect; it is past its start.
    tokio::time::sleep(Duration::from_millis(300)).await;
    host.kill().unwrap();
    host.wait().unwrap();
    until("the plugin is gone", || {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        // Nobody may be there to wait for it once its host is gone.
        stat.is_empty() || stat.contains(") Z ")
    })
    .await;
}
