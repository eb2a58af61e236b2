//! All faults of a native plugin, and the resulting errors.
//!
//! The table is in `docs/native-plugins.md`. This test generates it and compares it with the
//! page; `WARDIAN_RECORD=1` writes it to the page.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use wardian_legacy_grpc_bridge::{Bridge, NativeLimits, Security};
use wardian_plugin::CallContext;

use crate::each_call::{CALLS, EachCall, When, call_error};
use crate::{configured, fake, package, plugin, processes_with, script, wait_for_no_zombies, wait_until};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/native-plugins.md");
const TABLE_START: &str = "<!-- faults: written by a test, see the end of this page -->\n";
const TABLE_END: &str = "<!-- end of faults -->\n";

/// Faults in a call: the word for `fake`, the description, and the summary of the error.
const CALL_FAULTS: &[(&str, &str, &str)] = &[
    ("die", "panics in a call", "Plugin crashed: "),
    ("kill", "is killed in a call", "Plugin crashed: "),
    ("hang", "never answers a call", "Plugin timed out: "),
    ("drop", "closes the connection in a call, and keeps running", "Plugin did not respond: "),
    ("half", "returns half a message and exits", "Plugin crashed: "),
    ("garbage", "returns bytes that are not a message", "Plugin returned an invalid response: "),
    ("type", "returns a value of the wrong type", "Plugin returned an invalid response: "),
    ("http", "returns an HTML page", "Plugin returned an invalid response: "),
    ("status", "returns a gRPC error", "Plugin failed: "),
];

/// Faults before the first call, each with the plugin that causes it.
const START_FAULTS: &[(&str, Start)] = &[
    ("was built for Terraform before 0.7", Start::Script("echo '2|unix|/tmp/plugin'; exec sleep 60")),
    ("was built for Terraform 0.7 to 0.11", Start::Script("echo '1|4|unix|/tmp/plugin'; exec sleep 60")),
    ("uses net/rpc", Start::Script("echo '1|5|unix|/tmp/plugin'; exec sleep 60")),
    ("uses a later protocol version", Start::Script("echo '1|7|unix|/tmp/plugin|grpc|'; exec sleep 60")),
    ("uses an unknown handshake version", Start::Script("echo '3|6|unix|/tmp/plugin|grpc|'; exec sleep 60")),
    (
        "listens on an unknown network",
        Start::Script("echo '1|6|carrier-pigeon|/tmp/plugin|grpc|'; exec sleep 60"),
    ),
    ("listens on another machine", Start::Script("echo '1|6|tcp|192.0.2.1:80|grpc|'; exec sleep 60")),
    ("prints other text before the handshake", Start::Script("echo 'Starting up ...'; exec sleep 60")),
    (
        "prints endless output before the handshake",
        Start::Script("head -c 1000000 /dev/zero | tr '\\0' x; exec sleep 60"),
    ),
    ("exits", Start::Script("echo 'no licence found' >&2; exit 3")),
    ("closes its standard output and keeps running", Start::Script("exec >&-; exec sleep 60")),
    ("prints no handshake in time", Start::Script("exec sleep 60")),
    ("is built for another processor", Start::File(Contents::OtherProcessor, 0o755)),
    ("is built for another operating system", Start::File(Contents::Bytes(b"MZ\x90\0"), 0o755)),
    ("is an empty file", Start::File(Contents::Bytes(b""), 0o755)),
    ("is not executable", Start::File(Contents::Bytes(b"#!/bin/sh\n"), 0o644)),
    ("is a script without its interpreter", Start::File(Contents::Bytes(b"#!/srv/none\n"), 0o755)),
    ("does not exist", Start::Missing),
    ("does not listen at its announced address", Start::Fake("deaf")),
    ("removes its socket", Start::Fake("unlinked")),
    ("has no certificate", Start::Fake("plain")),
    ("announces an invalid certificate", Start::Fake("no-certificate")),
    ("uses a different certificate than it announces", Start::Fake("other-certificate")),
];

#[derive(Clone, Copy, Debug)]
enum Start {
    /// Lines of a shell script.
    Script(&'static str),
    /// A file with this content and mode.
    File(Contents, u32),
    Missing,
    /// The plugin `fake` with this word.
    Fake(&'static str),
}

#[derive(Clone, Copy, Debug)]
enum Contents {
    Bytes(&'static [u8]),
    OtherProcessor,
}

fn write(directory: &tempfile::TempDir, contents: Contents, mode: u32) -> PathBuf {
    let path = script(directory, "");
    let bytes = match contents {
        Contents::Bytes(bytes) => bytes.to_vec(),
        Contents::OtherProcessor => {
            let other = if std::env::consts::ARCH == "aarch64" { 0x3e } else { 0xb7 };
            [&b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0"[..], &[other, 0]].concat()
        }
    };
    std::fs::write(&path, bytes).unwrap();
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    path
}

/// Returns the error of a plugin that fails at its start.
async fn start_fault(start: Start) -> String {
    let directory = tempfile::tempdir().unwrap();
    let itself = Path::new(env!("CARGO_BIN_EXE_wardian-native-plugin")).to_owned();
    let (executable, words) = match start {
        Start::Script(lines) => (script(&directory, &format!("#!/bin/sh\n{lines}\n")), ""),
        Start::File(contents, mode) => (write(&directory, contents, mode), ""),
        Start::Missing => (PathBuf::from("/srv/no/such/plugin"), ""),
        Start::Fake(words) => (itself, words),
    };
    let mark = executable.display().to_string();
    let (_bridge, plugin) = plugin(&executable, words, Security::MutualTls);
    let message = call_error(&*plugin.provider(), "GetProviderSchema").await;
    plugin.close().await;
    assert!(
        message.starts_with(
            "Plugin could not be started: acme/fake v1.2.3 in GetProviderSchema of fake_thing.a: "
        ),
        "{start:?}: {message}"
    );
    assert!(message.contains(&mark), "the file is named: {message}");
    normalized(&message.replace(&mark, "FILE"))
}

/// Returns the error of a fault in a call.
async fn call_fault(fault: &'static str, call: EachCall, protocol: &str) -> String {
    let name = if protocol == "5" { call.name_in_five } else { call.name };
    let mark = format!("{fault}-{name}-{protocol}-{}", std::process::id());
    let (_bridge, plugin) = fake(&format!("{protocol},{fault}@{name},{mark}"));
    let provider = match call.when {
        When::Configured => configured(&plugin).await,
        When::Unconfigured => plugin.provider(),
    };
    if call.when == When::Unconfigured && !call.name.starts_with("Get") {
        provider.schema(&CallContext::default()).await.unwrap();
    }
    let begun = Instant::now();
    let message = call_error(&*provider, call.name).await;
    assert!(begun.elapsed() < Duration::from_secs(15), "{mark}: {:?}", begun.elapsed());
    provider.close().await;
    plugin.close().await;
    wait_until("the process is gone", || processes_with(&mark).is_empty()).await;
    message
}

/// Removes differences between runs and machines from a message.
fn normalized(message: &str) -> String {
    let mut text = message.to_owned();
    while let Some(start) = text.find("/wardian-") {
        let from = text[..start].rfind(char::is_whitespace).map_or(0, |at| at + 1);
        let end = text[start..].find("/plugin1").map_or(text.len(), |at| start + at + "/plugin1".len());
        text.replace_range(from..end, "SOCKET");
    }
    for (processor, system) in [("aarch64", "x86_64"), ("x86_64", "aarch64")] {
        if std::env::consts::ARCH == system {
            text = text.replace(&format!("Linux on {processor}"), "Linux on ANOTHER PROCESSOR");
        }
    }
    text.replace(&format!("{} on {}", std::env::consts::OS, std::env::consts::ARCH), "THIS SYSTEM")
}

/// Adds a row. Line breaks in the message are preserved in the cell.
fn row(table: &mut String, fault: &str, message: &str) {
    let cell: Vec<&str> = message.lines().filter(|line| !line.trim().is_empty()).collect();
    let cell = cell.join("<br>").replace('|', "\\|").replace(&"x".repeat(100), "xxxxxxxxxx");
    writeln!(table, "| {fault} | {cell} |").unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn documentation_lists_the_error_for_every_fault() {
    let mut starting = JoinSet::new();
    for (index, (_, start)) in START_FAULTS.iter().enumerate() {
        starting.spawn(async move { (index, start_fault(*start).await) });
    }
    let mut start_errors = starting.join_all().await;
    start_errors.sort();
    let mut table = String::from("| fault of the plugin | error message |\n|---|---|\n");
    for ((fault, _), (_, message)) in START_FAULTS.iter().zip(&start_errors) {
        row(&mut table, fault, message);
    }
    let planning = *CALLS.iter().find(|call| call.name == "PlanResourceChange").unwrap();
    for (fault, told, _) in CALL_FAULTS {
        row(&mut table, told, &normalized(&call_fault(fault, planning, "").await));
    }
    let flooded = Bridge::new(NativeLimits::default()).plugin(package("flood@PlanResourceChange"));
    let provider = configured(&flooded).await;
    assert_eq!(call_error(&*provider, planning.name).await, "", "what it logs is no reason to fail");
    provider.close().await;
    row(&mut table, "writes a gigabyte to its standard error in a call", "none: the call succeeds");
    wait_for_no_zombies().await;

    let page = std::fs::read_to_string(PAGE).unwrap();
    let (before, rest) = page.split_once(TABLE_START).expect("the page has a place for the table");
    let (recorded, after) = rest.split_once(TABLE_END).expect("the page says where the table ends");
    if std::env::var_os("WARDIAN_RECORD").is_some() {
        std::fs::write(PAGE, [before, TABLE_START, &table, TABLE_END, after].concat()).unwrap();
        return;
    }
    assert_eq!(recorded, table, "WARDIAN_RECORD=1 writes the table into docs/native-plugins.md");
}

/// Verifies that each error names the plugin, the call and the resource, and that no process
/// remains.
#[tokio::test(flavor = "multi_thread")]
async fn every_fault_names_plugin_call_and_resource() {
    let mut all = Vec::new();
    for protocol in ["6", "5"] {
        for (fault, _, title) in CALL_FAULTS {
            let calls = CALLS.iter().filter(|call| *fault != "type" || call.answers_value);
            all.extend(calls.map(|call| (protocol, *fault, *title, *call)));
        }
    }
    let count = all.len();
    let mut running = JoinSet::new();
    let mut wrong = Vec::new();
    let mut waiting = all.into_iter();
    loop {
        while running.len() < 12
            && let Some((protocol, fault, title, call)) = waiting.next()
        {
            running.spawn(async move {
                let message = call_fault(fault, call, protocol).await;
                // A stop request affects all operations of the plugin, so it has no resource.
                let resource = if call.name == "StopProvider" { "" } else { " of fake_thing.a" };
                let named = format!("acme/fake v1.2.3 in {}{resource}", call.name);
                let passed = message.starts_with(title) && message.contains(&named);
                (!passed).then(|| format!("{fault} in {} of protocol {protocol}: {message}", call.name))
            });
        }
        match running.join_next().await {
            Some(ended) => wrong.extend(ended.unwrap()),
            None => break,
        }
    }
    wait_for_no_zombies().await;
    println!("{count} faults in calls, {} with an unexpected message", wrong.len());
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
}
