//! Tests of the bridge with native plugins: `fake`, small scripts, and a real provider if a
//! mirror is configured.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test ends there")]

mod calls;
#[cfg(target_os = "linux")]
mod confined;
mod each_call;
mod ends;
mod fault_table;
mod faults;
mod launch;
mod provisioner;
mod real;
mod reattached;
mod served;
mod state_store;

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use wardian_legacy_grpc_bridge::{Bridge, NativeLimits, NativePackage, NativePlugin, Security};
use wardian_plugin::{CallContext, ClientCapabilities, ConfigureRequest, PluginDiagnostics, Provider};
use wardian_value::{Type, Value};

/// Returns the plugin `fake`, started with these words.
fn fake(words: &str) -> (Bridge, NativePlugin) {
    plugin(Path::new(env!("CARGO_BIN_EXE_wardian-native-plugin")), words, Security::MutualTls)
}

fn plugin(executable: &Path, words: &str, security: Security) -> (Bridge, NativePlugin) {
    limited_plugin(executable, words, security, Duration::from_secs(2))
}

/// Returns a plugin whose calls time out after `call`.
fn limited_plugin(
    executable: &Path,
    words: &str,
    security: Security,
    call: Duration,
) -> (Bridge, NativePlugin) {
    let bridge =
        Bridge::new(NativeLimits { start: Duration::from_secs(20), local_call: call, remote_call: call });
    let plugin = bridge.plugin(package_of(executable, words, security));
    (bridge, plugin)
}

/// Returns the package of the plugin `fake`.
fn package(words: &str) -> NativePackage {
    package_of(Path::new(env!("CARGO_BIN_EXE_wardian-native-plugin")), words, Security::MutualTls)
}

fn package_of(executable: &Path, words: &str, security: Security) -> NativePackage {
    NativePackage {
        name: Arc::from("acme/fake v1.2.3"),
        executable: executable.to_owned(),
        environment: vec![
            ("NATIVE_PLUGIN".into(), words.into()),
            ("PATH".into(), std::env::var_os("PATH").unwrap_or_default()),
        ],
        working_directory: std::env::temp_dir(),
        socket_directory: std::env::temp_dir(),
        security,
        confinement: None,
        content: None,
    }
}

/// Creates an executable script.
fn script(directory: &tempfile::TempDir, text: &str) -> PathBuf {
    let path = directory.path().join("terraform-provider-script");
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

async fn configured(plugin: &NativePlugin) -> Arc<dyn Provider> {
    let provider = plugin.provider();
    let config = Value::object([("greeting", Value::null(Type::String))]);
    assert_eq!(configure(&*provider, config).await, []);
    provider
}

async fn configure(provider: &dyn Provider, config: Value) -> PluginDiagnostics {
    let request = ConfigureRequest {
        terraform_version: "1.11.4".into(),
        config,
        capabilities: ClientCapabilities::default(),
    };
    provider.configure(&CallContext::default(), request).await
}

/// Returns the configuration of a `fake_thing`.
fn thing(name: &str, size: i64) -> Value {
    Value::object([
        ("environment", Value::null(Type::list(Type::String))),
        ("id", Value::null(Type::String)),
        ("name", Value::string(name)),
        ("size", Value::number(size)),
    ])
}

fn thing_type() -> Type {
    thing("", 0).ty().clone()
}

/// Returns the message of the only diagnostic.
fn only(message: &PluginDiagnostics) -> String {
    assert_eq!(message.len(), 1, "{message:?}");
    format!("{}: {}", message[0].summary, message[0].detail)
}

/// Waits until a condition is true.
async fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    for _ in 0..500 {
        if is_so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it never came about that {what}");
}

/// Returns the processes whose environment contains a word.
fn processes_with(word: &str) -> Vec<i32> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(id) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        if String::from_utf8_lossy(&environment).contains(word) {
            found.push(id);
        }
    }
    found
}

/// Waits until all ended child processes are reaped.
async fn wait_for_no_zombies() {
    wait_until("no zombie is left", || zombies().is_empty()).await;
}

/// Returns the child processes that have ended but are not reaped.
fn zombies() -> Vec<String> {
    let us = std::process::id().to_string();
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
        let Some((name, rest)) = stat.rsplit_once(") ") else { continue };
        let fields: Vec<&str> = rest.split(' ').collect();
        if fields.first() == Some(&"Z") && fields.get(1) == Some(&us.as_str()) {
            found.push(name.to_owned());
        }
    }
    found
}
