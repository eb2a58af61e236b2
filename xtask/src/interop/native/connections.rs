//! Connections with particular demands on the relay: one that is open for a long time, gRPC with
//! keep-alive pings, and HTTP/2.

use std::fs;

use anyhow::{Context as _, Result, ensure};

use super::Row;
use super::accounts::Account;
use super::libraries::{connection, exchanged};
use super::project::{Plugin, Policy, Project, Suite};
use super::table::RowResult;
use crate::progress::elapsed;

/// Part of the name of the row that takes as long as the user requests.
pub(super) const LONG: &str = "open for";
/// Messages on the long connection. Between them, the connection is idle.
const LONG_MESSAGES: u32 = 5;
/// Messages on the gRPC stream, and the seconds between them, in which the client sends a ping each second.
const GRPC_MESSAGES: u32 = 3;
const GRPC_PAUSE: u64 = 10;
/// The size of an HTTP/2 PING frame.
const PING_BYTES: u64 = 17;

pub(super) fn rows<'a>(
    suite: &'a Suite<'a>,
    python: Plugin,
    curl: Result<Plugin, String>,
    seconds: u64,
) -> Vec<Row<'a>> {
    let for_grpc = python.clone();
    vec![
        (
            format!("Python: connection that is {LONG} {seconds} s"),
            Box::new(move |account| long(suite, account, &python, seconds)),
        ),
        (
            "Python: gRPC with keep-alive pings".to_owned(),
            Box::new(move |account| grpc(suite, account, &for_grpc)),
        ),
        (
            "curl: HTTP/2".to_owned(),
            Box::new(move |account| match &curl {
                Ok(curl) => http2(suite, account, curl),
                Err(reason) => Ok(RowResult::Skipped(reason.clone())),
            }),
        ),
    ]
}

/// The bytes of a connection, and how long it was open.
struct Figures {
    sent: u64,
    received: u64,
    open: std::time::Duration,
}

/// Exchanges messages over one connection, and returns the figures in its audit record.
fn exchange(
    suite: &Suite<'_>,
    account: &Account,
    plugin: &Plugin,
    (protocol, host): (&'static str, &str),
    messages: u32,
    pause: u64,
) -> Result<Figures> {
    let port = suite.servers.port(if protocol == "tcp" { "echo" } else { protocol });
    let policy = Policy { hosts: vec![("tcp", host.to_owned(), port)], ..Policy::default() };
    let project = Project::create(suite, account, plugin, protocol, "confine", &policy)?;
    project.configure(&connection(protocol, host, port, messages, pause))?;
    project.run(&["apply", "-no-color", "-input=false", "-auto-approve"])?;
    let found = exchanged(&project)?;
    ensure!(found == Some(messages.into()), "{found:?} messages were exchanged on one connection");
    let records = project.take_records()?;
    let connections = records.find("network", "allowed");
    let [record] = connections.as_slice() else {
        anyhow::bail!("the audit log contains {} connections instead of one", connections.len());
    };
    let figure = |name: &str| record[name].as_u64().with_context(|| format!("the record has no {name}"));
    let open = std::time::Duration::from_micros(figure("microseconds")?);
    Ok(Figures { sent: figure("bytes_sent")?, received: figure("bytes_received")?, open })
}

fn long(suite: &Suite<'_>, account: &Account, plugin: &Plugin, seconds: u64) -> Result<RowResult> {
    let pause = seconds.div_ceil(u64::from(LONG_MESSAGES) - 1);
    let Figures { sent, received, open } =
        exchange(suite, account, plugin, ("tcp", "localhost"), LONG_MESSAGES, pause)?;
    ensure!(open.as_secs() >= seconds, "the connection was recorded as open for {} only", elapsed(open));
    ensure!(sent == received, "{sent} bytes were sent, {received} received");
    Ok(RowResult::Works(format!("{} in one connection, idle for {pause} s at a time", elapsed(open))))
}

fn grpc(suite: &Suite<'_>, account: &Account, plugin: &Plugin) -> Result<RowResult> {
    let host = suite.servers.name();
    let Figures { sent, received, open } =
        exchange(suite, account, plugin, ("grpc", host), GRPC_MESSAGES, GRPC_PAUSE)?;
    // The client closes a connection whose pings are not answered, so the messages show that all of them
    // were. The bytes show that there were some.
    let least = (open.as_secs() / 2) * PING_BYTES;
    ensure!(sent > least && received > least, "too few bytes for pings: {sent} sent, {received} received");
    Ok(RowResult::Works(format!(
        "one connection to {host}, {}, {sent} bytes sent, {received} received",
        elapsed(open)
    )))
}

/// Runs curl in place of a provider. It reads its options from a file, prints the version of HTTP, and
/// exits; Wardian reports that its output is not a handshake.
fn http2(suite: &Suite<'_>, account: &Account, curl: &Plugin) -> Result<RowResult> {
    let (host, port) = (suite.servers.name(), suite.servers.port("http2"));
    let options = account.directory.join("home/.curlrc");
    let text = format!(
        "url = \"https://{host}:{port}/\"\ncacert = \"{}/ca.crt\"\nhttp2\nsilent\nshow-error\nmax-time = 60\noutput = \"/dev/null\"\n\
         write-out = \"version %{{http_version}}, status %{{response_code}}\\n\"\n",
        suite.servers.certificates.display()
    );
    fs::write(&options, text)?;
    let policy = Policy {
        files: vec![options, suite.servers.certificates.clone()],
        hosts: vec![("https", host.to_owned(), port)],
        ..Policy::default()
    };
    let project = Project::create(suite, account, curl, "http2", "confine", &policy)?;
    project.configure("resource \"peers_connection\" \"it\" {}\n")?;
    let output = project.fail_to_apply()?;
    let words: Vec<&str> = output.split_whitespace().filter(|word| *word != "│").collect();
    let expected = "version 2, status 200";
    ensure!(words.join(" ").contains(expected), "curl did not print `{expected}`:\n{output}");
    let records = project.take_records()?;
    let targets = records.targets("network", "allowed");
    let target = format!("https://{host}:{port}");
    ensure!(targets.contains(&target), "the audit log does not contain {target}, but {targets:?}");
    Ok(RowResult::Works(format!("{target}, {expected}")))
}
