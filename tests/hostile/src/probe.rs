//! Attempts to reach what was not granted. Each says how it went.

use std::fs::{self, File};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::bindings::wardian::plugin::file_mode::{self, ModeError};
use crate::plugin::CONFIGURED;

/// The data source that probes.
pub(crate) const NAME: &str = "hostile_probe";

/// The memory of this instance: how often it was called.
static CALLS: AtomicU32 = AtomicU32::new(0);

/// `input` is a verb, a colon and what it is about.
pub(crate) fn probe(input: &str) -> String {
    let calls = CALLS.fetch_add(1, Ordering::Relaxed) + 1;
    let (verb, object) = input.split_once(':').unwrap_or((input, ""));
    match verb {
        "calls" => calls.to_string(),
        "configured" => match CONFIGURED.lock().unwrap().as_deref() {
            Some(with) => format!("with {with}"),
            None => "not at all".into(),
        },
        "environment" => format!("{:?} {:?}", std::env::vars().collect::<Vec<_>>(), std::env::args()),
        "enter" => said(
            std::env::set_current_dir(std::env::var("PWD").unwrap_or_default())
                .and_then(|()| std::env::current_dir())
                .map(|path| path.display().to_string()),
        ),
        "read" => said(fs::read_to_string(object)),
        "list" => said(fs::read_dir(object).map(|entries| {
            let mut names: Vec<String> = entries
                .map(|entry| {
                    entry.map_or_else(|e| e.to_string(), |e| e.file_name().to_string_lossy().into_owned())
                })
                .collect();
            names.sort();
            names.join(" ")
        })),
        "write" => said(fs::write(object, "written by the guest").map(|()| "written".into())),
        "truncate" => said(File::create(object).map(|_| "truncated".into())),
        "remove" => said(fs::remove_file(object).map(|()| "removed".into())),
        "rename" => two(object, |from, to| said(fs::rename(from, to).map(|()| "renamed".into()))),
        "hardlink" => two(object, |from, to| said(fs::hard_link(from, to).map(|()| "linked".into()))),
        "create" => with_mode(object, |path, mode| {
            let file = file_mode::create_file(path, mode)?;
            file.write(b"written by ")?;
            file.write(b"the guest")
        }),
        "create-directory" => with_mode(object, file_mode::create_directory),
        "set-mode" => with_mode(object, file_mode::set_mode),
        "create-many" => create_many(object),
        "open-many" => open_many(object),
        "random" => {
            let state = std::collections::hash_map::RandomState::new();
            format!("{state:?}").len().to_string()
        }
        "clock" => {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            said(now.map(|now| now.as_secs().to_string()).map_err(std::io::Error::other))
        }
        _ => crate::reach_out(verb, object),
    }
}

fn said(result: std::io::Result<String>) -> String {
    result.unwrap_or_else(|error| format!("refused: {error}"))
}

fn two(object: &str, act: impl Fn(&str, &str) -> String) -> String {
    match object.split_once('|') {
        Some((from, to)) => act(from, to),
        None => "it takes two".into(),
    }
}

/// `object` is a mode in octal and a path.
fn with_mode(object: &str, act: impl Fn(&str, u32) -> Result<(), ModeError>) -> String {
    two(object, |mode, path| match act(path, u32::from_str_radix(mode, 8).unwrap()) {
        Ok(()) => "done".into(),
        Err(ModeError::Denied(reason)) => format!("denied: {reason}"),
        Err(ModeError::NotFound) => "not found".into(),
        Err(ModeError::Failed(reason)) => format!("failed: {reason}"),
    })
}

fn create_many(path: &str) -> String {
    let mut open = Vec::new();
    loop {
        match file_mode::create_file(path, 0o600) {
            Ok(file) => open.push(file),
            Err(error) => return format!("{} open, then {error}", open.len()),
        }
    }
}

fn open_many(path: &str) -> String {
    let mut open = Vec::new();
    loop {
        match File::open(path) {
            Ok(file) => open.push(file),
            Err(error) => return format!("{} open, then {error}", open.len()),
        }
    }
}
