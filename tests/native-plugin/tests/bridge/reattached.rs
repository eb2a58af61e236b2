//! Plugins that are already running, as in a debugger (`TF_REATTACH_PROVIDERS`).

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use wardian_legacy_grpc_bridge::{Bridge, NativeLimits, NativePlugin, parse_reattachments};
use wardian_plugin::CallContext;
use wardian_value::{Type, Value};

use crate::each_call::call_error;
use crate::{calls, configure, configured, wait_for_no_zombies};

/// A running `fake`, as started in a debugger.
struct RunningPlugin {
    process: Child,
    sockets: tempfile::TempDir,
}

impl RunningPlugin {
    fn start(words: &str) -> Self {
        let sockets = tempfile::tempdir().unwrap();
        let mut process = Command::new(Path::new(env!("CARGO_BIN_EXE_wardian-native-plugin")))
            .env("NATIVE_PLUGIN", words)
            .env("TF_PLUGIN_MAGIC_COOKIE", "a debugger's own")
            .env("PLUGIN_UNIX_SOCKET_DIR", sockets.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert!(line.starts_with("1|"), "{line}");
        Self { process, sockets }
    }

    fn plugin(&self, bridge: &Bridge, version: u8) -> NativePlugin {
        let text = format!(
            r#"{{"example.com/acme/fake": {{"Protocol": "grpc", "ProtocolVersion": {version}, "Pid": {},
                "Test": true, "Addr": {{"Network": "unix", "String": "{}/plugin1"}}}}}}"#,
            self.process.id(),
            self.sockets.path().display()
        );
        let found = parse_reattachments(&text).unwrap().into_values().next().unwrap();
        bridge.reattached("acme/fake".into(), found)
    }

    fn is_there(&mut self) -> bool {
        self.process.try_wait().unwrap().is_none()
    }
}

impl Drop for RunningPlugin {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn bridge() -> Bridge {
    Bridge::new(NativeLimits::default())
}

#[tokio::test(flavor = "multi_thread")]
async fn running_plugin_serves_every_call_and_keeps_running() {
    for (words, version) in [("", 6), ("5", 5)] {
        let mut debugged = RunningPlugin::start(words);
        for _ in 0..2 {
            let bridge = bridge();
            calls::everything_of(&debugged.plugin(&bridge, version)).await;
        }
        let bridge = bridge();
        let plugin = debugged.plugin(&bridge, version);
        let (one, other) = (plugin.provider(), plugin.provider());
        for (provider, greeting) in [(&one, "one"), (&other, "other")] {
            let config = Value::object([("greeting", Value::string(greeting))]);
            assert_eq!(configure(&**provider, config).await, []);
        }
        one.close().await;
        assert!(
            other
                .call_function(&CallContext::default(), "shout".into(), vec![Value::string("a")])
                .await
                .is_ok()
        );
        other.close().await;
        plugin.close().await;
        assert!(debugged.is_there());
    }
    wait_for_no_zombies().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_plugin_is_reported_with_address() {
    let mut debugged = RunningPlugin::start("");
    let bridge = bridge();
    let plugin = debugged.plugin(&bridge, 6);
    debugged.process.kill().unwrap();
    debugged.process.wait().unwrap();
    let message = call_error(&*plugin.provider(), "GetProviderSchema").await;
    let expected =
        "Plugin could not be started: acme/fake in GetProviderSchema of fake_thing.a: no plugin responds at ";
    assert!(message.starts_with(expected) && message.ends_with("Is it still running?"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn plugin_that_closes_connection_is_not_killed() {
    let mut debugged = RunningPlugin::start("drop@PlanResourceChange");
    let bridge = bridge();
    let plugin = debugged.plugin(&bridge, 6);
    let message = call_error(&*configured(&plugin).await, "PlanResourceChange").await;
    assert!(message.starts_with("Plugin did not respond: "), "{message}");
    assert!(
        message.ends_with("Its process was not started by Wardian; look for the reason in its own output."),
        "{message}"
    );
    let again = debugged.plugin(&bridge, 6);
    let config = Value::object([("greeting", Value::null(Type::String))]);
    assert_eq!(configure(&*again.provider(), config).await, []);
    assert!(debugged.is_there());
}
