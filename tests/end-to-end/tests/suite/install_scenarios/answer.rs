//! Converts the result of a command to text for comparison.
//!
//! ```text
//! $ init
//! exit 0
//! error main.tf:3 Failed to query available provider packages
//! authentication self-signed, key ID 03B252CF1183C082
//! made .terraform.lock.hcl
//!   provider "example.test/acme/fake" {
//! made .terraform/providers/example.test/acme/fake/1.0.0/[PLATFORM]/terraform-provider-fake_v1.0.0
//! link .terraform/modules/net -> [FOLDER]/net
//! ```
//!
//! Human-readable text is reduced to the summaries of diagnostics, and the authentication of
//! packages.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends there")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;
use wardian_end_to_end::{Output, platform};

use crate::install_setup::Installation;

static COLOUR: LazyLock<Regex> = LazyLock::new(|| Regex::new("\u{1b}\\[[0-9;]*m").unwrap());
static START: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^[│╷ ]*(Error|Warning): (.*)$").unwrap());
static PLACE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^[│ ]*  on (\S+) line (\d+)").unwrap());
static AUTHENTICATION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\((?:(?:component|native program)(?: from [^()]*)?, )?(unauthenticated|verified checksum|(?:self-signed|signed by a HashiCorp partner), key ID [0-9A-F]+|signed by HashiCorp)(?:, the key has expired)?\)").unwrap()
});

/// Warnings about native plugins, which are not confined in Terraform either.
const WARDIANS_WARNING: &str = "Native plugins are not confined";

/// Files that only Wardian writes.
const WARDIANS_FILES: [&str; 2] = [".wardian.lock.hcl", ".wardian-omitted-files"];

/// The only file of the home directory that is compared.
const CREDENTIALS: &str = "home/.terraform.d/credentials.tfrc.json";

/// The files and links below a project's directory.
pub(super) struct Files(BTreeMap<String, Entry>);

#[derive(PartialEq, Eq)]
enum Entry {
    File(Vec<u8>),
    Link(String),
}

impl Files {
    /// Reads all files except the files of the home directory and of repositories.
    pub(super) fn read(installation: &Installation) -> Self {
        let mut found = BTreeMap::new();
        collect(installation, &installation.project.path(""), "", &mut found);
        Self(found)
    }
}

fn collect(installation: &Installation, directory: &Path, prefix: &str, found: &mut BTreeMap<String, Entry>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}{name}");
        let kind = entry.file_type().unwrap();
        let is_private = path.starts_with("home/") && !CREDENTIALS.starts_with(&path);
        // Lock files in the plugin cache are an OpenTofu convention. Terraform keeps a module's
        // repository; Wardian keeps only its files.
        let is_repository = [".git", ".hg"].contains(&&*name);
        let is_lock = name.strip_prefix(&platform()) == Some(".lock");
        if path == "git"
            || path == "hg"
            || is_private
            || is_lock
            || is_repository
            || WARDIANS_FILES.contains(&&*name)
        {
            continue;
        }
        if kind.is_symlink() {
            let target = fs::read_link(entry.path()).unwrap().display().to_string();
            found.insert(path, Entry::Link(installation.named(&target)));
        } else if kind.is_dir() {
            collect(installation, &entry.path(), &format!("{path}/"), found);
        } else {
            found.insert(path, Entry::File(fs::read(entry.path()).unwrap_or_default()));
        }
    }
}

/// Returns the result of one command.
pub(super) fn of_command(
    installation: &Installation,
    line: &str,
    output: &Output,
    before: &Files,
    after: &Files,
) -> String {
    let code = output.code.map_or("none".to_owned(), |code| code.to_string());
    let mut text = format!("$ {line}\nexit {code}\n");
    let printed = format!("{}\n{}", output.out, output.errors);
    let printed = COLOUR.replace_all(&printed, "");
    for headline in headlines(&printed) {
        let _ = writeln!(text, "{}", installation.named(&headline));
    }
    // Lines may be wrapped.
    let flat = printed.replace(['│', '\n'], " ");
    let flat = flat.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut found: Vec<&str> =
        AUTHENTICATION.captures_iter(&flat).filter_map(|one| Some(one.get(1)?.as_str())).collect();
    found.sort_unstable();
    for authentication in found {
        let _ = writeln!(text, "authentication {authentication}");
    }
    if line.starts_with("version") || line.starts_with("providers") && !line.contains(' ') {
        for line in printed.lines().filter(|line| line.starts_with("+ ")) {
            let _ = writeln!(text, "says {}", installation.named(line));
        }
    }
    // After a failed command, only changes to the user's own files are compared: Terraform leaves
    // partially installed files.
    let is_compared = |path: &str| output.code == Some(0) || !path.starts_with(".terraform/");
    text.push_str(&changes(installation, before, after, is_compared));
    text
}

fn headlines(text: &str) -> Vec<String> {
    let mut found: Vec<(String, String, String)> = Vec::new();
    for line in text.lines() {
        if let Some(start) = START.captures(line) {
            found.push((start[1].to_lowercase(), String::new(), start[2].trim_end().to_owned()));
        } else if let (Some(place), Some(last)) = (PLACE.captures(line), found.last_mut())
            && last.1.is_empty()
        {
            last.1 = format!("{}:{} ", &place[1], &place[2]);
        }
    }
    let mut lines: Vec<String> = found
        .into_iter()
        .filter(|(_, _, summary)| summary != WARDIANS_WARNING)
        .map(|(severity, place, summary)| format!("{severity} {place}{summary}"))
        .collect();
    lines.sort();
    // Terraform reports some problems twice.
    lines.dedup();
    lines
}

fn changes(
    installation: &Installation,
    before: &Files,
    after: &Files,
    is_compared: impl Fn(&str) -> bool,
) -> String {
    let mut text = String::new();
    let paths: BTreeSet<&String> = before.0.keys().chain(after.0.keys()).collect();
    for path in paths {
        let (earlier, later) = (before.0.get(path), after.0.get(path));
        if earlier == later || !is_compared(path) {
            continue;
        }
        let name = installation.named(path);
        match (earlier, later) {
            (_, Some(Entry::Link(target))) => {
                let _ = writeln!(text, "link {name} -> {target}");
            }
            (_, None) => {
                let _ = writeln!(text, "removed {name}");
            }
            (earlier, Some(Entry::File(content))) => {
                let word = if earlier.is_some() { "changed" } else { "made" };
                let _ = writeln!(text, "{word} {name}");
                let is_shown = ["hcl", "json", "tfrc"]
                    .iter()
                    .any(|extension| Path::new(path).extension().is_some_and(|found| found == *extension));
                if is_shown {
                    let shown = installation.named(&String::from_utf8_lossy(content));
                    for line in shown.lines() {
                        let _ = writeln!(text, "  {line}");
                    }
                }
            }
        }
    }
    text
}
