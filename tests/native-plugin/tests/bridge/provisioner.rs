//! Native provisioners: every call, and faults.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use wardian_legacy_grpc_bridge::{Bridge, NativeLimits, NativeProvisioner, Security};
use wardian_plugin::{CallContext, PluginDiagnostics, ProvisionRequest, Provisioner, SharedByObject};
use wardian_value::{Type, Value};

use crate::{only, package_of, wait_until};

fn fake(words: &str) -> (Bridge, NativeProvisioner) {
    let limits = NativeLimits {
        start: Duration::from_secs(20),
        local_call: Duration::from_secs(2),
        remote_call: Duration::from_secs(5),
    };
    let bridge = Bridge::new(limits);
    let executable = Path::new(env!("CARGO_BIN_EXE_wardian-native-plugin"));
    let plugin = bridge.provisioner(package_of(executable, words, Security::MutualTls));
    (bridge, plugin)
}

fn config(message: &str) -> Value {
    Value::object([("message", Value::string(message))])
}

async fn work(provisioner: &dyn Provisioner, message: &str) -> (String, PluginDiagnostics) {
    let connection = Value::null(Type::object([("host", Type::String)]));
    let request = ProvisionRequest { config: config(message), connection, shared: SharedByObject::default() };
    let mut shown = String::new();
    let found =
        provisioner.provision(&CallContext::default(), request, &mut |text| shown.extend([text, "|"])).await;
    (shown, found)
}

#[tokio::test]
async fn provisioner_responds_to_every_call_in_one_process() {
    let (_bridge, plugin) = fake("5");
    let provisioner = plugin.provisioner();
    let schema = provisioner.schema(&CallContext::default()).await.unwrap();
    assert_eq!(schema.implied_type(), &Type::object([("message", Type::String)]));
    assert_eq!(provisioner.validate_config(&CallContext::default(), config("right")).await, []);
    let refused = provisioner.validate_config(&CallContext::default(), config("wrong")).await;
    assert!(only(&refused).starts_with("Wrong value: "), "{refused:?}");
    assert!(refused[0].attribute.is_some());
    assert_eq!(work(&*provisioner, "hello").await, ("told: hello\nand a second line|".into(), vec![]));
    let (_, found) = work(&*provisioner, "warn").await;
    assert!(!found[0].is_error() && found.len() == 1, "{found:?}");
    let (shown, found) = work(&*provisioner, "fail").await;
    assert!(shown.contains("told: fail") && only(&found) == "The fake failed: It was configured to.");
    assert_eq!(provisioner.stop().await, Ok(()));
    plugin.close().await;
    let (_, found) = work(&*provisioner, "late").await;
    assert!(only(&found).contains("it is already closed"), "{found:?}");
}

#[tokio::test]
async fn provisioner_ends_at_stop_request() {
    let (_bridge, plugin) = fake("5");
    let provisioner = plugin.provisioner();
    let working = Arc::clone(&provisioner);
    let (begun, mut is_begun) = tokio::sync::watch::channel(false);
    let work = tokio::spawn(async move {
        let connection = Value::null(Type::object([("host", Type::String)]));
        let request =
            ProvisionRequest { config: config("wait"), connection, shared: SharedByObject::default() };
        working.provision(&CallContext::default(), request, &mut |_| _ = begun.send_replace(true)).await
    });
    is_begun.wait_for(|is_begun| *is_begun).await.unwrap();
    assert_eq!(provisioner.stop().await, Ok(()));
    assert_eq!(only(&work.await.unwrap()), "The fake was stopped: It was configured to.");
    plugin.close().await;
}

#[tokio::test]
async fn next_call_after_fault_starts_new_process() {
    for (words, told) in [
        ("5,die@ProvisionResource", "Plugin crashed: "),
        ("5,garbage@ProvisionResource", "Plugin returned an invalid response: "),
        ("5,status@ProvisionResource", "Plugin failed: "),
        ("5,hang@ValidateProvisionerConfig", "Plugin timed out: "),
        ("5,status@GetSchema", "Plugin failed: "),
    ] {
        let (_bridge, plugin) = fake(words);
        let provisioner = plugin.provisioner();
        let found = if words.contains("Provision") && !words.contains("Validate") {
            work(&*provisioner, "hello").await.1
        } else {
            provisioner.validate_config(&CallContext::default(), config("hello")).await
        };
        assert!(only(&found).starts_with(told), "{words}: {found:?}");
        assert!(only(&found).contains("acme/fake v1.2.3 in "), "{words}: {found:?}");
        if words.contains("ProvisionResource") {
            assert_eq!(
                provisioner.validate_config(&CallContext::default(), config("again")).await,
                [],
                "{words}"
            );
        }
        plugin.close().await;
    }
}

#[tokio::test]
async fn protocol_6_plugin_is_not_a_provisioner() {
    let (_bridge, plugin) = fake("");
    let found = plugin.provisioner().schema(&CallContext::default()).await.unwrap_err();
    assert!(only(&found).contains("protocol 6"), "{found:?}");
}

#[tokio::test]
async fn process_of_dropped_provisioner_is_killed() {
    let (bridge, plugin) = fake("5,marked-provisioner");
    assert_eq!(plugin.provisioner().validate_config(&CallContext::default(), config("right")).await, []);
    assert_eq!(crate::processes_with("marked-provisioner").len(), 1);
    drop((bridge, plugin));
    wait_until("the process is gone", || crate::processes_with("marked-provisioner").is_empty()).await;
}
