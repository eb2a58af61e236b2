//! What the kernel keeps a confined plugin from.

use std::net::TcpListener;
use std::path::Path;

use wardian_legacy_grpc_bridge::{Bridge, Confinement, ConfinementError, Limits, NativePackage, TcpPorts};
use wardian_plugin::{ClientCapabilities, ReadDataSourceRequest};
use wardian_value::{Path as ValuePath, Type, Value, View};

use crate::each_call::said_of;
use crate::{configured, no_zombie_stays, package, package_of, script};

/// Whether the kernel can hold anybody to rules; says so where not.
fn kernel_can() -> bool {
    let nothing = Confinement { tcp: TcpPorts::Only(Vec::new()), ..Confinement::default() };
    match nothing.prepare() {
        Ok(_) => true,
        Err(problem) => {
            println!("skipped: {problem}");
            assert!(matches!(problem, ConfinementError::Unsupported(_)));
            false
        }
    }
}

/// What the plugin makes of something that it is told to do.
async fn attempt(confinement: Confinement, what: &str) -> String {
    let bridge = Bridge::new(Limits::default());
    let plugin = bridge.plugin(NativePackage { confinement: Some(confinement), ..package("") });
    let provider = configured(&plugin).await;
    let request = ReadDataSourceRequest {
        type_name: "fake_echo".into(),
        config: Value::object([("input", Value::string(what)), ("output", Value::null(Type::String))]),
        provider_meta: None,
        capabilities: ClientCapabilities::default(),
    };
    let read = provider.read_data_source(request).await;
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
async fn only_what_is_granted_is_read_and_written() {
    if !kernel_can() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name);
    for name in ["read", "write", "secret"] {
        std::fs::create_dir(path(name)).unwrap();
        std::fs::write(path(name).join("file"), name).unwrap();
    }
    let granted = || Confinement {
        read: vec![path("read"), path("write"), path("not there")],
        write: vec![path("write")],
        ..Confinement::default()
    };
    let reading = |name: &str| format!("read:{}/file", path(name).display());
    let writing = |name: &str| format!("write:{}/new", path(name).display());
    assert_eq!(attempt(granted(), &reading("read")).await, "read");
    assert_eq!(attempt(granted(), &writing("write")).await, "written");
    assert!(path("write").join("new").exists());
    for denied in [reading("secret"), writing("read"), writing("secret"), "read:/etc/shadow".to_owned()] {
        let said = attempt(granted(), &denied).await;
        assert!(said.contains("Permission denied"), "{denied}: {said}");
    }
    assert!(!path("read").join("new").exists() && !path("secret").join("new").exists());
    // A link does not lead out, and neither does what another process has open.
    std::os::unix::fs::symlink(path("secret"), path("write").join("link")).unwrap();
    let by_link = format!("read:{}/link/file", path("write").display());
    assert!(attempt(granted(), &by_link).await.contains("Permission denied"));
    let environment = format!("read:/proc/{}/environ", std::process::id());
    assert!(attempt(granted(), &environment).await.contains("Permission denied"));
    no_zombie_stays().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_ports_that_are_granted_are_connected_to() {
    if !kernel_can() {
        return;
    }
    let (one, other) = (TcpListener::bind("127.0.0.1:0").unwrap(), TcpListener::bind("127.0.0.1:0").unwrap());
    let port = |listener: &TcpListener| listener.local_addr().unwrap().port();
    let granted =
        || Confinement { tcp: TcpPorts::Only(vec![port(&one)..=port(&one)]), ..Confinement::default() };
    let connecting = |listener: &TcpListener| format!("connect:127.0.0.1:{}", port(listener));
    assert_eq!(attempt(granted(), &connecting(&one)).await, "connected");
    assert!(attempt(granted(), &connecting(&other)).await.contains("Permission denied"));
    let any = Confinement::default();
    assert_eq!(attempt(any, &connecting(&other)).await, "connected");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_it_starts_is_held_too_and_gains_nothing() {
    if !kernel_can() {
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
    let confined = |read: Vec<std::path::PathBuf>| NativePackage {
        confinement: Some(Confinement { read, ..Confinement::default() }),
        ..package_of(&path, "", wardian_legacy_grpc_bridge::Security::MutualTls)
    };
    let bridge = Bridge::new(Limits::default());
    let said = said_of(&*bridge.plugin(confined(Vec::new())).provider(), "GetProviderSchema").await;
    assert!(said.contains("secret: Permission denied"), "{said}");
    let own = vec![Path::new("/proc").to_owned(), root.path().to_owned()];
    let said = said_of(&*bridge.plugin(confined(own)).provider(), "GetProviderSchema").await;
    assert!(said.contains("secret\n") || said.contains("secretNoNewPrivs"), "{said}");
    assert!(said.contains("NoNewPrivs:\t1") || said.contains("NoNewPrivs: 1"), "{said}");
}
