//! The table of all faults, with the output that users saw.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends there")]

use std::fmt::Write as _;
use std::sync::LazyLock;

use regex::Regex;
use wardian_end_to_end::Output;

use crate::install_setup::Installation;

const HEAD: &str = "# Faults of servers

What `wardian init` prints about each fault of a server and about each hostile archive. `[PLAIN]`,
`[TLS]` and `[OTHER]` are addresses of servers, and `[FOLDER]` is the project's directory. The test
`server_faults_are_explained` writes this table.

| case | fault | what the user saw |
|---|---|---|
";

/// Hashes of files that differ from build to build, and names of temporary files.
static VARIABLE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\b[0-9a-f]{64}\b|h1:[A-Za-z0-9+/]{43}=|/\.?tmp[A-Za-z0-9]{6}\b").unwrap());

/// The message about a closed connection depends on the program that detects it first.
static CONNECTION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        "connection error|connection closed before message completed|error reading a body from connection",
    )
    .unwrap()
});

/// The number of bytes that were received of an endless body.
static RECEIVED: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"has \d+ bytes, but").unwrap());

/// Returns the errors of a command on one line, without the frame around them, or the last line of
/// the output of a successful command.
pub(super) fn message(installation: &Installation, output: &Output) -> String {
    let text = installation.named(&output.errors);
    let cache = installation.cache.path().display().to_string();
    let text = text.replace(&cache, "[CACHE]");
    let mut words = Vec::new();
    for line in text.lines() {
        words.extend(line.trim_start_matches(['╷', '│', '╵']).split_whitespace().map(str::to_owned));
    }
    let text = words.join(" ");
    let text = VARIABLE.replace_all(&text, "[HASH]");
    let text = RECEIVED.replace_all(&text, "has [SIZE] bytes, but");
    let text = CONNECTION.replace_all(&text, "[CONNECTION ERROR]").into_owned();
    if output.code == Some(0) && text.is_empty() { "(installed)".to_owned() } else { text }
}

/// Returns the table of names, titles and messages.
pub(super) fn text<'a>(rows: impl Iterator<Item = (&'a str, &'a str, &'a str)>) -> String {
    let mut text = HEAD.to_owned();
    for (name, title, message) in rows {
        let message = message.replace('|', "\\|").replace('<', "\\<");
        let _ = writeln!(text, "| `{name}` | {title} | {message} |");
    }
    text
}
