//! All that a native plugin can do wrong, in one table: what the person is told.
//!
//! The table stands in `docs/native-plugins.md`, which is what people read; here it is
//! made anew and held against the page. `WARDIAN_RECORD=1` writes it there.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use wardian_legacy_grpc_bridge::{Bridge, Limits, Security};

use crate::each_call::{CALLS, EachCall, When, said_of};
use crate::{configured, fake, no_zombie_stays, package, plugin, processes_with, script, until};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/native-plugins.md");
const BEGINNING: &str = "<!-- faults: written by a test, see the end of this page -->\n";
const END: &str = "<!-- end of faults -->\n";

/// What happens in a call, and the title of what is said about it.
const IN_CALLS: &[(&str, &str, &str)] = &[
    ("die", "panics in a call", "Plugin crashed: "),
    ("kill", "is killed in a call", "Plugin crashed: "),
    ("hang", "never answers a call", "Plugin timed out: "),
    ("drop", "closes the connection in a call, and stays", "Plugin did not respond: "),
    ("half", "answers half a message and is gone", "Plugin crashed: "),
    ("garbage", "answers bytes that are no message", "Plugin gave an invalid answer: "),
    ("type", "answers a value of another type", "Plugin gave an invalid answer: "),
    ("http", "answers a page for people", "Plugin gave an invalid answer: "),
    ("status", "answers an error of gRPC", "Plugin failed: "),
];

/// What happens before any call can be made. Each is a plugin that `fake` is, or a script.
const AT_THE_START: &[(&str, Start)] = &[
    ("is of before Terraform 0.7", Start::Script("echo '2|unix|/tmp/plugin'; exec sleep 60")),
    ("is of Terraform 0.7 to 0.11", Start::Script("echo '1|4|unix|/tmp/plugin'; exec sleep 60")),
    ("speaks net/rpc", Start::Script("echo '1|5|unix|/tmp/plugin'; exec sleep 60")),
    ("speaks a protocol of the future", Start::Script("echo '1|7|unix|/tmp/plugin|grpc|'; exec sleep 60")),
    ("has another handshake", Start::Script("echo '3|6|unix|/tmp/plugin|grpc|'; exec sleep 60")),
    (
        "listens in an unknown way",
        Start::Script("echo '1|6|carrier-pigeon|/tmp/plugin|grpc|'; exec sleep 60"),
    ),
    ("listens elsewhere", Start::Script("echo '1|6|tcp|192.0.2.1:80|grpc|'; exec sleep 60")),
    ("prints noise first", Start::Script("echo 'Starting up ...'; exec sleep 60")),
    ("prints without end", Start::Script("head -c 1000000 /dev/zero | tr '\\0' x; exec sleep 60")),
    ("exits", Start::Script("echo 'no licence found' >&2; exit 3")),
    ("answers nothing and goes on", Start::Script("exec >&-; exec sleep 60")),
    ("answers nothing in time", Start::Script("exec sleep 60")),
    ("is for another processor", Start::File(Contents::OtherProcessor, 0o755)),
    ("is for another system", Start::File(Contents::Bytes(b"MZ\x90\0"), 0o755)),
    ("is empty", Start::File(Contents::Bytes(b""), 0o755)),
    ("is not executable", Start::File(Contents::Bytes(b"#!/bin/sh\n"), 0o644)),
    ("is a script without its interpreter", Start::File(Contents::Bytes(b"#!/srv/none\n"), 0o755)),
    ("is not there", Start::Missing),
    ("does not listen where it says", Start::Fake("deaf")),
    ("removes its socket", Start::Fake("unlinked")),
    ("has no certificate", Start::Fake("plain")),
    ("shows something that is no certificate", Start::Fake("no-certificate")),
    ("has another certificate than it shows", Start::Fake("other-certificate")),
];

#[derive(Clone, Copy, Debug)]
enum Start {
    /// Lines of a shell.
    Script(&'static str),
    /// A file with a mode.
    File(Contents, u32),
    Missing,
    /// The fake, told a word.
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

/// What is said of a plugin that does not come to be.
async fn at_the_start(start: Start) -> String {
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
    let said = said_of(&*plugin.provider(), "GetProviderSchema").await;
    plugin.close().await;
    assert!(
        said.starts_with(
            "Plugin could not be started: acme/fake v1.2.3 in GetProviderSchema of fake_thing.a: "
        ),
        "{start:?}: {said}"
    );
    assert!(said.contains(&mark), "the file is named: {said}");
    tidied(&said.replace(&mark, "FILE"))
}

/// What is said where something happens in a call.
async fn in_a_call(fault: &'static str, call: EachCall, protocol: &str) -> String {
    let name = if protocol == "5" { call.name_in_five } else { call.name };
    let mark = format!("{fault}-{name}-{protocol}-{}", std::process::id());
    let (_bridge, plugin) = fake(&format!("{protocol},{fault}@{name},{mark}"));
    let provider = match call.when {
        When::Configured => configured(&plugin).await,
        When::Unconfigured => plugin.provider(),
    };
    if call.when == When::Unconfigured && !call.name.starts_with("Get") {
        provider.schema().await.unwrap();
    }
    let begun = Instant::now();
    let said = said_of(&*provider, call.name).await;
    assert!(begun.elapsed() < Duration::from_secs(15), "{mark}: {:?}", begun.elapsed());
    provider.close().await;
    plugin.close().await;
    until("the process is gone", || processes_with(&mark).is_empty()).await;
    said
}

/// Without what differs from run to run and from machine to machine.
fn tidied(said: &str) -> String {
    let mut text = said.to_owned();
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

/// One row: lines of a message become lines of a cell.
fn row(table: &mut String, fault: &str, said: &str) {
    let cell: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    let cell = cell.join("<br>").replace('|', "\\|").replace(&"x".repeat(100), "xxxxxxxxxx");
    writeln!(table, "| {fault} | {cell} |").unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn every_fault_is_told_and_the_page_says_how() {
    let mut starting = JoinSet::new();
    for (index, (_, start)) in AT_THE_START.iter().enumerate() {
        starting.spawn(async move { (index, at_the_start(*start).await) });
    }
    let mut at_the_start = starting.join_all().await;
    at_the_start.sort();
    let mut table = String::from("| the plugin | what is said |\n|---|---|\n");
    for ((fault, _), (_, said)) in AT_THE_START.iter().zip(&at_the_start) {
        row(&mut table, fault, said);
    }
    let planning = *CALLS.iter().find(|call| call.name == "PlanResourceChange").unwrap();
    for (fault, told, _) in IN_CALLS {
        row(&mut table, told, &tidied(&in_a_call(fault, planning, "").await));
    }
    let flooded = Bridge::new(Limits::default()).plugin(package("flood@PlanResourceChange"));
    let provider = configured(&flooded).await;
    assert_eq!(said_of(&*provider, planning.name).await, "", "what it logs is no reason to fail");
    provider.close().await;
    row(&mut table, "writes a gigabyte to its standard error in a call", "nothing: the call is answered");
    no_zombie_stays().await;

    let page = std::fs::read_to_string(PAGE).unwrap();
    let (before, rest) = page.split_once(BEGINNING).expect("the page has a place for the table");
    let (recorded, after) = rest.split_once(END).expect("the page says where the table ends");
    if std::env::var_os("WARDIAN_RECORD").is_some() {
        std::fs::write(PAGE, [before, BEGINNING, &table, END, after].concat()).unwrap();
        return;
    }
    assert_eq!(recorded, table, "WARDIAN_RECORD=1 writes the table into docs/native-plugins.md");
}

/// Each fault in each call: the plugin, the call and the resource are named, and nothing
/// of it is left.
#[tokio::test(flavor = "multi_thread")]
async fn every_fault_in_every_call_names_plugin_call_and_resource() {
    let mut all = Vec::new();
    for protocol in ["6", "5"] {
        for (fault, _, title) in IN_CALLS {
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
                let said = in_a_call(fault, call, protocol).await;
                let named = format!("acme/fake v1.2.3 in {} of fake_thing.a", call.name);
                let passed = said.starts_with(title) && said.contains(&named);
                (!passed).then(|| format!("{fault} in {} of protocol {protocol}: {said}", call.name))
            });
        }
        match running.join_next().await {
            Some(ended) => wrong.extend(ended.unwrap()),
            None => break,
        }
    }
    no_zombie_stays().await;
    println!("{count} faults in calls, {} told otherwise than they should be", wrong.len());
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
}
