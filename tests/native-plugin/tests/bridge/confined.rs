//! Confinement of a native plugin by the kernel.

use std::net::TcpListener;
use std::path::Path;

use wardian_legacy_grpc_bridge::{
    Bridge, ConfinementLevel, LandlockRules, NativeLimits, NativePackage, ProcessConfinement,
    ProcessNamespaces, TcpPorts, supported_level,
};
use wardian_plugin::{CallContext, ClientCapabilities, ReadDataSourceRequest};
use wardian_value::{Path as ValuePath, Type, Value, View};

use crate::each_call::call_error;
use crate::{configured, package, package_of, script, wait_for_no_zombies};

/// Returns whether the kernel supports confinement; prints a note if it does not.
fn supports_confinement() -> bool {
    let supported = supported_level();
    let is_supported = supported.level >= ConfinementLevel::FilesAndPorts;
    if !is_supported {
        println!("skipped: {supported:?}");
    }
    is_supported
}

fn confined(rules: LandlockRules) -> ProcessConfinement {
    ProcessConfinement {
        rules,
        supervisor: None,
        namespaces: ProcessNamespaces::Shared,
        max_cpu_time: None,
        max_memory: None,
        max_file_size: None,
        max_connections: None,
    }
}

/// Returns the plugin's result of an operation.
async fn attempt(rules: LandlockRules, what: &str) -> String {
    let bridge = Bridge::new(NativeLimits::default());
    let plugin = bridge.plugin(NativePackage { confinement: Some(confined(rules)), ..package("") });
    let provider = configured(&plugin).await;
    let request = ReadDataSourceRequest {
        type_name: "fake_echo".into(),
        config: Value::object([("input", Value::string(what)), ("output", Value::null(Type::String))]),
        provider_meta: None,
        capabilities: ClientCapabilities::default(),
    };
    let read = provider.read_data_source(&CallContext::default(), request).await;
    assert_eq!(read.diagnostics, []);
    provider.close().await;
    plugin.close().await;
    let state = read.state.unwrap();
    match ValuePath::root().attribute("output").apply(&state).unwrap().view() {
        View::String(text) => text.to_string(),
        _ => panic!("it is no text"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_granted_files_are_accessible() {
    if !supports_confinement() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name);
    for name in ["read", "write", "secret"] {
        std::fs::create_dir(path(name)).unwrap();
        std::fs::write(path(name).join("file"), name).unwrap();
    }
    let granted = || LandlockRules {
        read: vec![path("read"), path("write"), path("not there")],
        write: vec![path("write")],
        ..LandlockRules::default()
    };
    let reading = |name: &str| format!("read:{}/file", path(name).display());
    let writing = |name: &str| format!("write:{}/new", path(name).display());
    assert_eq!(attempt(granted(), &reading("read")).await, "read");
    assert_eq!(attempt(granted(), &writing("write")).await, "written");
    assert!(path("write").join("new").exists());
    for denied in [reading("secret"), writing("read"), writing("secret"), "read:/etc/shadow".to_owned()] {
        let message = attempt(granted(), &denied).await;
        assert!(message.contains("Permission denied"), "{denied}: {message}");
    }
    assert!(!path("read").join("new").exists() && !path("secret").join("new").exists());
    // Neither symbolic links nor the open files of other processes give access to files outside the
    // grant.
    std::os::unix::fs::symlink(path("secret"), path("write").join("link")).unwrap();
    let by_link = format!("read:{}/link/file", path("write").display());
    assert!(attempt(granted(), &by_link).await.contains("Permission denied"));
    let environment = format!("read:/proc/{}/environ", std::process::id());
    assert!(attempt(granted(), &environment).await.contains("Permission denied"));
    wait_for_no_zombies().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_granted_ports_are_reachable() {
    if !supports_confinement() {
        return;
    }
    let (one, other) = (TcpListener::bind("127.0.0.1:0").unwrap(), TcpListener::bind("127.0.0.1:0").unwrap());
    let port = |listener: &TcpListener| listener.local_addr().unwrap().port();
    let granted =
        || LandlockRules { tcp: TcpPorts::Only(vec![port(&one)..=port(&one)]), ..LandlockRules::default() };
    let connecting = |listener: &TcpListener| format!("connect:127.0.0.1:{}", port(listener));
    assert_eq!(attempt(granted(), &connecting(&one)).await, "connected");
    assert!(attempt(granted(), &connecting(&other)).await.contains("Permission denied"));
    let any = LandlockRules::default();
    assert_eq!(attempt(any, &connecting(&other)).await, "connected");
}

#[tokio::test(flavor = "multi_thread")]
async fn child_processes_are_confined() {
    if !supports_confinement() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("secret"), "secret").unwrap();
    let directory = tempfile::tempdir().unwrap();
    let lines = format!(
        "#!/bin/sh\ncat '{}' >&2\ngrep NoNewPrivs /proc/self/status >&2\nexit 3\n",
        root.path().join("secret").display()
    );
    let path = script(&directory, &lines);
    let package = |read: Vec<std::path::PathBuf>| NativePackage {
        confinement: Some(confined(LandlockRules { read, ..LandlockRules::default() })),
        ..package_of(&path, "", wardian_legacy_grpc_bridge::Security::MutualTls)
    };
    let bridge = Bridge::new(NativeLimits::default());
    let message = call_error(&*bridge.plugin(package(Vec::new())).provider(), "GetProviderSchema").await;
    assert!(message.contains("secret: Permission denied"), "{message}");
    let own = vec![Path::new("/proc").to_owned(), root.path().to_owned()];
    let message = call_error(&*bridge.plugin(package(own)).provider(), "GetProviderSchema").await;
    assert!(message.contains("secret\n") || message.contains("secretNoNewPrivs"), "{message}");
    assert!(message.contains("NoNewPrivs:\t1") || message.contains("NoNewPrivs: 1"), "{message}");
}
