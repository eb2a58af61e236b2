//! Attempts to access files, the environment and clocks without a grant. Each attempt returns its
//! outcome.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::bindings::wardian::plugin::file_mode::{self, ModeError};
use crate::bindings::wardian::plugin::log;
use crate::libc;
use crate::plugin::CONFIGURED;
use crate::{run, steps};

/// The data source that runs the probes.
pub(crate) const NAME: &str = "hostile_probe";

/// The number of calls to this instance.
static CALLS: AtomicU32 = AtomicU32::new(0);

/// A file that stays open after its call.
static HELD_FILE: Mutex<Option<File>> = Mutex::new(None);

/// Runs a probe. `input` is a verb, a colon and its object.
pub(crate) fn probe(input: &str) -> String {
    let calls = CALLS.fetch_add(1, Ordering::Relaxed) + 1;
    let (verb, object) = input.split_once(':').unwrap_or((input, ""));
    match verb {
        "steps" => steps::run(object, |verb, fields| probe(&format!("{verb}:{}", fields.join("|")))),
        "calls" => calls.to_string(),
        "configured" => match CONFIGURED.lock().unwrap().as_deref() {
            Some(with) => format!("with {with}"),
            None => "not at all".into(),
        },
        "environment" => format!("{:?} {:?}", std::env::vars().collect::<Vec<_>>(), std::env::args()),
        "enter" => outcome(
            std::env::set_current_dir(wasip2::cli::environment::initial_cwd().unwrap_or_default())
                .and_then(|()| std::env::current_dir())
                .map(|path| path.display().to_string()),
        ),
        "read" => outcome(fs::read_to_string(object)),
        "list" => outcome(fs::read_dir(object).map(|entries| {
            let mut names: Vec<String> = entries
                .map(|entry| {
                    entry.map_or_else(|e| e.to_string(), |e| e.file_name().to_string_lossy().into_owned())
                })
                .collect();
            names.sort();
            names.join(" ")
        })),
        "write" => outcome(fs::write(object, "written by the guest").map(|()| "written".into())),
        "truncate" => outcome(File::create(object).map(|_| "truncated".into())),
        "remove" => outcome(fs::remove_file(object).map(|()| "removed".into())),
        "rename" => two(object, |from, to| outcome(fs::rename(from, to).map(|()| "renamed".into()))),
        "hardlink" => two(object, |from, to| outcome(fs::hard_link(from, to).map(|()| "linked".into()))),
        "append" => outcome(append(object, b"more").map(|()| "appended".into())),
        "touch" => outcome(touch(object).map(|()| "touched".into())),
        "resize" => two(object, |path, size| outcome(resize(path, size).map(|()| "resized".into()))),
        "fill" => two(object, |path, size| outcome(fill(path, size).map(|()| "filled".into()))),
        "make-directory" => outcome(fs::create_dir(object).map(|()| "made".into())),
        "remove-directory" => outcome(fs::remove_dir(object).map(|()| "removed".into())),
        "symlink" => {
            two(object, |target, path| outcome(libc::symlink(target, path).map(|()| "linked".into())))
        }
        "read-link" => outcome(fs::read_link(object).map(|path| path.display().to_string())),
        "look" => outcome(fs::metadata(object).map(|about| format!("{} bytes", about.len()))),
        "hold" => outcome(File::open(object).map(|file| {
            *HELD_FILE.lock().unwrap() = Some(file);
            "held".into()
        })),
        "held" => outcome(read_held_file()),
        "random-number" => {
            std::hash::BuildHasher::hash_one(&std::collections::hash_map::RandomState::new(), 0_u8)
                .to_string()
        }
        "clocks" => clocks(),
        "tell" => two(object, write_to),
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
            outcome(now.map(|now| now.as_secs().to_string()).map_err(std::io::Error::other))
        }
        _ => run::probe(verb, object).unwrap_or_else(|| crate::reach_out(verb, object)),
    }
}

fn append(path: &str, bytes: &[u8]) -> io::Result<()> {
    File::options().append(true).open(path)?.write_all(bytes)
}

/// Sets the modification time through a handle that is open for reading.
fn touch(path: &str) -> io::Result<()> {
    File::open(path)?.set_modified(std::time::UNIX_EPOCH)
}

fn resize(path: &str, size: &str) -> io::Result<()> {
    let size = size.parse().map_err(io::Error::other)?;
    File::options().write(true).open(path)?.set_len(size)
}

/// Writes a number of bytes, and continues if some of the writes are rejected.
fn fill(path: &str, size: &str) -> io::Result<()> {
    let mut left: usize = size.parse().map_err(io::Error::other)?;
    let mut file = File::create(path)?;
    let piece = [b'x'; 4096];
    while left > 0 {
        let length = left.min(piece.len());
        file.write_all(&piece[..length])?;
        left -= length;
    }
    Ok(())
}

fn read_held_file() -> io::Result<String> {
    let mut held = HELD_FILE.lock().unwrap();
    let file = held.as_mut().ok_or_else(|| io::Error::other("nothing is held"))?;
    let mut text = String::new();
    file.rewind()?;
    file.read_to_string(&mut text)?;
    Ok(text)
}

fn clocks() -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let start = std::time::Instant::now();
    std::thread::sleep(std::time::Duration::from_millis(20));
    format!("{:?} {}", now.unwrap_or_default(), start.elapsed().as_millis() >= 20)
}

/// Writes text to an output that other plugins or users could read.
fn write_to(place: &str, what: &str) -> String {
    match place {
        "log" => log::write(log::Level::Warn, "tells", what, &[]),
        "log-field" => log::write(log::Level::Warn, "tells", "see", &[("what".into(), what.into())]),
        "stdout" => println!("{what}"),
        "stderr" => eprintln!("{what}"),
        // Each letter is written separately, and the host assembles the line.
        "pieces" => what.chars().for_each(|letter| print!("{letter}")),
        "panic" => panic!("{what}"),
        "file" => drop(fs::read(what)),
        _ => {}
    }
    "told".into()
}

fn outcome(result: std::io::Result<String>) -> String {
    result.unwrap_or_else(|error| format!("refused: {error}"))
}

fn two(object: &str, act: impl Fn(&str, &str) -> String) -> String {
    match object.split_once('|') {
        Some((from, to)) => act(from, to),
        None => "it takes two".into(),
    }
}

/// Parses `object` as a mode in octal and a path.
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
