//! What is no plugin, or an old one, is told apart.

use std::path::Path;
use std::time::{Duration, Instant};

use wardian_legacy_grpc_bridge::{NativePlugin, Security};

use crate::{fake, no_zombie_stays, only, plugin, script};

async fn refusal(plugin: &NativePlugin) -> String {
    let begun = Instant::now();
    let said = plugin.provider().schema().await.err().unwrap_or_default();
    assert!(begun.elapsed() < Duration::from_secs(28), "{:?}", begun.elapsed());
    plugin.close().await;
    no_zombie_stays().await;
    only(&said)
}

/// What is said about a script, with its path as `FILE`.
async fn about(text: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    let path = script(&directory, text);
    let (_bridge, plugin) = plugin(&path, "", Security::MutualTls);
    refusal(&plugin).await.replace(&path.display().to_string(), "FILE")
}

const BEGINNING: &str = "Plugin could not be started: acme/fake v1.2.3 in GetProviderSchema: ";

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_of_before_0_7_has_to_be_compiled_anew() {
    let said = about("#!/bin/sh\necho '2|unix|/tmp/plugin'\nsleep 60\n").await;
    let expected = "FILE answered \"2|unix|/tmp/plugin\", which is the handshake of plugins for Terraform before \
                    0.7. It has to be compiled anew with a current plugin SDK; look for a newer version of it";
    assert_eq!(said, format!("{BEGINNING}{expected}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_of_0_11_speaks_an_old_protocol() {
    let said = about("#!/bin/sh\necho '1|4|unix|/tmp/plugin'\nsleep 60\n").await;
    assert!(
        said.contains("FILE speaks version 4 of the plugin protocol, which is that of Terraform 0.11"),
        "{said}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn other_protocols_are_named() {
    let said = about("#!/bin/sh\necho '1|5|unix|/tmp/plugin'\nsleep 60\n").await;
    assert!(said.contains("speaks \"netrpc\" where only gRPC"), "{said}");
    let said = about("#!/bin/sh\necho '1|7|unix|/tmp/plugin|grpc|'\nsleep 60\n").await;
    assert!(said.contains("speaks version \"7\" of the plugin protocol"), "{said}");
    let said = about("#!/bin/sh\necho '3|6|unix|/tmp/plugin|grpc|'\nsleep 60\n").await;
    assert!(said.contains("version \"3\" of the handshake"), "{said}");
    let said = about("#!/bin/sh\necho '1|6|carrier-pigeon|/tmp/plugin|grpc|'\nsleep 60\n").await;
    assert!(said.contains("listens on \"carrier-pigeon\""), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn noise_before_the_handshake_is_shown() {
    let said = about("#!/bin/sh\necho 'Starting up ...'\necho '1|6|unix|/tmp/p|grpc|'\nsleep 60\n").await;
    assert!(said.contains("printed something else than its handshake"), "{said}");
    assert!(said.contains("\"Starting up ...\""), "{said}");
    let said = about("#!/bin/sh\nhead -c 1000000 /dev/zero | tr '\\0' x\nsleep 60\n").await;
    assert!(said.contains("printed something else") && said.len() < 2_000, "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_exits_is_quoted() {
    let said = about("#!/bin/sh\necho 'no licence found' >&2\nexit 3\n").await;
    assert!(said.starts_with(BEGINNING), "{said}");
    assert!(said.contains("FILE ended (exit status: 3) before it answered"), "{said}");
    assert!(said.ends_with("It said:\nno licence found"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_answers_nothing_is_ended() {
    let said = about("#!/bin/sh\nexec sleep 600\n").await;
    assert!(said.contains("FILE printed no handshake within 20 s"), "{said}");
    let said = about("#!/bin/sh\nexec >&-\nexec sleep 600\n").await;
    assert!(said.contains("FILE closed its standard output without a handshake"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_system_does_not_run_is_looked_at() {
    let other = match std::env::consts::ARCH {
        "aarch64" => (0x3e, "x86_64"),
        _ => (0xb7, "aarch64"),
    };
    let mut elf = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0".to_vec();
    elf.extend_from_slice(&[other.0, 0]);
    elf.resize(64, 0);
    let directory = tempfile::tempdir().unwrap();
    let path = script(&directory, "");
    let said = async |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        let (_bridge, plugin) = plugin(&path, "", Security::MutualTls);
        refusal(&plugin).await
    };
    let about_elf = said(&elf).await;
    assert!(about_elf.contains(&format!("it is for Linux on {}", other.1)), "{about_elf}");
    assert!(said(b"MZ\x90\0").await.contains("it is for Windows"));
    assert!(said(b"").await.contains("the file is empty"));
    assert!(said(b"#!/srv/no/such/interpreter\n").await.contains("the interpreter that it names is missing"));

    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    assert!(said(b"#!/bin/sh\n").await.contains("it is not executable (its mode is 0644)"));
    let (_bridge, missing) = plugin(Path::new("/srv/no/such/plugin"), "", Security::MutualTls);
    assert!(refusal(&missing).await.contains("could not run /srv/no/such/plugin"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_does_not_listen_is_named() {
    let (_bridge, plugin) = fake("deaf");
    let said = refusal(&plugin).await;
    assert!(said.contains("does not answer at ") && said.contains("/plugin1: "), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_must_be_there_and_be_the_one_that_was_shown() {
    let (_bridge, other) = fake("other-certificate");
    let said = refusal(&other).await;
    assert!(said.contains("who listens there has another certificate than the plugin showed"), "{said}");
    let (_bridge, plain) = fake("plain");
    let said = refusal(&plain).await;
    assert!(said.contains("has no certificate") && said.contains("TF_DISABLE_PLUGIN_TLS=1"), "{said}");
}
