//! Errors for files that are not plugins, and for outdated plugins.

use std::path::Path;
use std::time::{Duration, Instant};

use wardian_legacy_grpc_bridge::{NativePlugin, Security};
use wardian_plugin::CallContext;

use crate::{fake, only, plugin, script, wait_for_no_zombies};

async fn refusal(plugin: &NativePlugin) -> String {
    let begun = Instant::now();
    let message = plugin.provider().schema(&CallContext::default()).await.err().unwrap_or_default();
    assert!(begun.elapsed() < Duration::from_secs(28), "{:?}", begun.elapsed());
    plugin.close().await;
    wait_for_no_zombies().await;
    only(&message)
}

/// Returns the error for a script. Its path is replaced with `FILE`.
async fn about(text: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    let path = script(&directory, text);
    let (_bridge, plugin) = plugin(&path, "", Security::MutualTls);
    refusal(&plugin).await.replace(&path.display().to_string(), "FILE")
}

const TABLE_START: &str = "Plugin could not be started: acme/fake v1.2.3 in GetProviderSchema: ";

#[tokio::test(flavor = "multi_thread")]
async fn reports_plugin_before_terraform_0_7() {
    let message = about("#!/bin/sh\necho '2|unix|/tmp/plugin'\nsleep 60\n").await;
    let expected = "FILE printed \"2|unix|/tmp/plugin\", which is the handshake of plugins for Terraform \
                    before 0.7. The plugin must be rebuilt with a current plugin SDK; look for a newer \
                    version of the plugin";
    assert_eq!(message, format!("{TABLE_START}{expected}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_plugin_for_terraform_0_11() {
    let message = about("#!/bin/sh\necho '1|4|unix|/tmp/plugin'\nsleep 60\n").await;
    assert!(
        message.contains("FILE uses version 4 of the plugin protocol, which Terraform 0.11 and earlier used"),
        "{message}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_unsupported_protocols() {
    let message = about("#!/bin/sh\necho '1|5|unix|/tmp/plugin'\nsleep 60\n").await;
    assert!(message.contains("uses \"netrpc\", but only gRPC"), "{message}");
    let message = about("#!/bin/sh\necho '1|7|unix|/tmp/plugin|grpc|'\nsleep 60\n").await;
    assert!(message.contains("uses version \"7\" of the plugin protocol"), "{message}");
    let message = about("#!/bin/sh\necho '3|6|unix|/tmp/plugin|grpc|'\nsleep 60\n").await;
    assert!(message.contains("version \"3\" of the handshake"), "{message}");
    let message = about("#!/bin/sh\necho '1|6|carrier-pigeon|/tmp/plugin|grpc|'\nsleep 60\n").await;
    assert!(message.contains("listens on \"carrier-pigeon\""), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn shows_output_before_handshake() {
    let message = about("#!/bin/sh\necho 'Starting up ...'\necho '1|6|unix|/tmp/p|grpc|'\nsleep 60\n").await;
    assert!(message.contains("printed text other than its handshake"), "{message}");
    assert!(message.contains("\"Starting up ...\""), "{message}");
    let message = about("#!/bin/sh\nhead -c 1000000 /dev/zero | tr '\\0' x\nsleep 60\n").await;
    assert!(message.contains("printed text other") && message.len() < 2_000, "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn shows_stderr_of_exited_plugin() {
    let message = about("#!/bin/sh\necho 'no licence found' >&2\nexit 3\n").await;
    assert!(message.starts_with(TABLE_START), "{message}");
    assert!(message.contains("FILE terminated (exit status: 3) before its handshake"), "{message}");
    assert!(message.ends_with("Its output:\nno licence found"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn plugin_without_handshake_is_terminated() {
    let message = about("#!/bin/sh\nexec sleep 600\n").await;
    assert!(message.contains("FILE printed no handshake within 20 s"), "{message}");
    let message = about("#!/bin/sh\nexec >&-\nexec sleep 600\n").await;
    assert!(message.contains("FILE closed its standard output without a handshake"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn explains_files_that_cannot_run() {
    let other = match std::env::consts::ARCH {
        "aarch64" => (0x3e, "x86_64"),
        _ => (0xb7, "aarch64"),
    };
    let mut elf = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0".to_vec();
    elf.extend_from_slice(&[other.0, 0]);
    elf.resize(64, 0);
    let directory = tempfile::tempdir().unwrap();
    let path = script(&directory, "");
    let message = async |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        let (_bridge, plugin) = plugin(&path, "", Security::MutualTls);
        refusal(&plugin).await
    };
    let about_elf = message(&elf).await;
    assert!(about_elf.contains(&format!("it is for Linux on {}", other.1)), "{about_elf}");
    assert!(message(b"MZ\x90\0").await.contains("it is for Windows"));
    assert!(message(b"").await.contains("the file is empty"));
    assert!(message(b"#!/srv/no/such/interpreter\n").await.contains("its interpreter may be missing"));

    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    assert!(message(b"#!/bin/sh\n").await.contains("it is not executable (its mode is 0644)"));
    let (_bridge, missing) = plugin(Path::new("/srv/no/such/plugin"), "", Security::MutualTls);
    assert!(refusal(&missing).await.contains("could not run /srv/no/such/plugin"));
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_plugin_that_does_not_listen() {
    let (_bridge, plugin) = fake("deaf");
    let message = refusal(&plugin).await;
    assert!(message.contains("does not respond at ") && message.contains("/plugin1: "), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn requires_announced_certificate() {
    let (_bridge, other) = fake("other-certificate");
    let message = refusal(&other).await;
    assert!(message.contains("the listener at that address has a different certificate"), "{message}");
    let (_bridge, plain) = fake("plain");
    let message = refusal(&plain).await;
    assert!(
        message.contains("has no certificate") && message.contains("TF_DISABLE_PLUGIN_TLS=1"),
        "{message}"
    );
}
