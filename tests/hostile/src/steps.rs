//! Chains of operations in one call: records separated by U+001E, whose fields are separated by
//! U+001F. The result has one line per operation, `#INDEX OUTCOME`, which lets a test check whether
//! the chain was executed completely.

use std::fs::{self, File};
use std::hint::black_box;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::libc;

/// A file that stays open after its call.
static HELD: Mutex<Option<File>> = Mutex::new(None);

/// A text from an earlier call.
static KEPT: Mutex<String> = Mutex::new(String::new());

/// Runs a chain. `other` runs the verbs that this module does not define.
pub(crate) fn run(chain: &str, mut other: impl FnMut(&str, &[&str]) -> String) -> String {
    let mut lines = Vec::new();
    for (index, step) in chain.split('\u{1e}').enumerate() {
        let mut fields = step.split('\u{1f}');
        let verb = fields.next().unwrap_or_default();
        let fields: Vec<&str> = fields.collect();
        let outcome = match operate(verb, &fields) {
            Some(result) => result.unwrap_or_else(|error| format!("refused: {error}")),
            None => other(verb, &fields),
        };
        lines.push(format!("#{index} {outcome}"));
    }
    lines.join("\n")
}

fn operate(verb: &str, fields: &[&str]) -> Option<io::Result<String>> {
    let first = fields.first().copied().unwrap_or_default();
    let second = fields.get(1).copied().unwrap_or_default();
    let done = |result: io::Result<()>| result.map(|()| "done".to_owned());
    Some(match verb {
        "honest" => Ok("honest".into()),
        "read" => fs::read(first).map(|bytes| format!("read {}", String::from_utf8_lossy(&bytes))),
        "read-hex" => fs::read(first).map(|bytes| format!("read {}", hexadecimal(&bytes))),
        "read-at" => read_at(first, second.parse().unwrap_or(0)),
        "write" => done(fs::write(first, second)),
        "append" => done(append(first, second)),
        "overwrite" => done(overwrite(first, second)),
        "truncate" => done(File::create(first).map(drop)),
        "resize" => done(resize(first, second.parse().unwrap_or(0))),
        "touch" => done(File::open(first).and_then(|file| file.set_modified(std::time::UNIX_EPOCH))),
        "remove" => done(fs::remove_file(first)),
        "remove-directory" => done(fs::remove_dir(first)),
        "remove-all" => done(fs::remove_dir_all(first)),
        "make" => done(fs::create_dir(first)),
        "make-all" => done(fs::create_dir_all(first)),
        "rename" => done(fs::rename(first, second)),
        "link" => done(fs::hard_link(first, second)),
        "symlink" => done(libc::symlink(first, second)),
        "copy" => fs::copy(first, second).map(|bytes| format!("copied {bytes} bytes")),
        "read-link" => fs::read_link(first).map(|path| format!("read {}", path.display())),
        "look" => fs::metadata(first).map(|about| format!("{} bytes", about.len())),
        "look-at-link" => fs::symlink_metadata(first).map(|about| format!("{:?}", about.file_type())),
        "list" => list(first).map(|names| format!("read {}", names.join(" "))),
        "read-below" => read_below(first, second),
        "hold" => File::options().read(true).write(second == "write").open(first).map(|file| {
            *HELD.lock().unwrap() = Some(file);
            "done".to_owned()
        }),
        "read-held" => with_held(|file| {
            let mut text = String::new();
            file.rewind()?;
            file.read_to_string(&mut text)?;
            Ok(format!("read {text}"))
        }),
        "write-held" => with_held(|file| {
            file.rewind()?;
            file.write_all(first.as_bytes())?;
            Ok("done".into())
        }),
        "hold-listings" => hold_listings(first.parse().unwrap_or(0), second),
        "spin-look" => Ok(spin(second, || drop(fs::metadata(first)))),
        "spin-read" => Ok(spin(second, || drop(black_box(fs::read(first))))),
        "spin-list" => Ok(spin(second, || drop(black_box(list(first))))),
        "spin-rename" => Ok(spin(second, || {
            let other = format!("{first}.moved");
            drop(fs::rename(first, &other).and_then(|()| fs::rename(&other, first)));
        })),
        "fill-directory" => fill_directory(first, second.parse().unwrap_or(0)),
        "nest" => nest(first, second.parse().unwrap_or(0)),
        "search-processes" => search_processes(first, second),
        "keep" => {
            *KEPT.lock().unwrap() = first.to_owned();
            Ok("done".into())
        }
        // The host shows panic messages.
        "panic-with-kept" => panic!("it kept {}", KEPT.lock().unwrap()),
        "find-in-memory" => find_in_memory(first, second),
        "sleep" => {
            std::thread::sleep(Duration::from_millis(first.parse().unwrap_or(0)));
            Ok("done".into())
        }
        _ => return None,
    })
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn read_at(path: &str, offset: u64) -> io::Result<String> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(format!("read {}", String::from_utf8_lossy(&bytes)))
}

fn append(path: &str, text: &str) -> io::Result<()> {
    File::options().append(true).open(path)?.write_all(text.as_bytes())
}

/// Writes at the start of an existing file, without truncating it.
fn overwrite(path: &str, text: &str) -> io::Result<()> {
    File::options().write(true).open(path)?.write_all(text.as_bytes())
}

fn resize(path: &str, size: u64) -> io::Result<()> {
    File::options().write(true).open(path)?.set_len(size)
}

fn list(path: &str) -> io::Result<Vec<String>> {
    let mut names: Vec<String> = fs::read_dir(path)?
        .map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()))
        .collect::<io::Result<_>>()?;
    names.sort();
    Ok(names)
}

/// Reads every file below a directory whose name starts with `prefix`.
fn read_below(directory: &str, prefix: &str) -> io::Result<String> {
    let mut found = String::from("read");
    for name in list(directory)? {
        if name.starts_with(prefix) {
            match fs::read(format!("{directory}/{name}")) {
                Ok(bytes) => found.push_str(&format!(" {name}={}", String::from_utf8_lossy(&bytes))),
                Err(error) => found.push_str(&format!(" {name}: {error}")),
            }
        }
    }
    Ok(found)
}

fn with_held(act: impl FnOnce(&mut File) -> io::Result<String>) -> io::Result<String> {
    let mut held = HELD.lock().unwrap();
    act(held.as_mut().ok_or_else(|| io::Error::other("nothing is held"))?)
}

/// Opens a directory many times and reads one entry of each listing.
fn hold_listings(count: usize, path: &str) -> io::Result<String> {
    let mut open = Vec::new();
    for _ in 0..count {
        let mut entries = match fs::read_dir(path) {
            Ok(entries) => entries,
            Err(error) => return Ok(format!("{} open, then {error}", open.len())),
        };
        black_box(entries.next());
        open.push(entries);
    }
    // The host's memory is measured while the listings are open.
    std::thread::sleep(Duration::from_millis(500));
    Ok(format!("{} open", open.len()))
}

/// Repeats an operation for a number of milliseconds.
fn spin(milliseconds: &str, operate: impl Fn()) -> String {
    let limit = Duration::from_millis(milliseconds.parse().unwrap_or(0));
    let (start, mut count) = (Instant::now(), 0_u64);
    while start.elapsed() < limit {
        operate();
        count += 1;
    }
    format!("{count} times")
}

fn fill_directory(path: &str, count: usize) -> io::Result<String> {
    for index in 0..count {
        File::create(format!("{path}/{index:0>200}"))?;
    }
    Ok("done".into())
}

/// Creates nested directories, one name at a time.
fn nest(path: &str, depth: usize) -> io::Result<String> {
    let mut inner = path.to_owned();
    for _ in 0..depth {
        inner.push_str("/d");
        fs::create_dir(&inner)?;
    }
    Ok("done".into())
}

/// Searches the writable memory of a process of the host: `/proc/self`, for example.
fn find_in_memory(process: &str, pattern: &str) -> io::Result<String> {
    let maps = fs::read_to_string(format!("{process}/maps"))?;
    let mut memory = File::open(format!("{process}/mem"))?;
    // This component's memory contains the pattern itself, but not the byte that follows it.
    let pattern = pattern.as_bytes();
    for line in maps.lines().filter(|line| line.contains(" rw")) {
        let Some((range, _)) = line.split_once(' ') else { continue };
        let Some((start, end)) = range.split_once('-') else { continue };
        let number = |text| u64::from_str_radix(text, 16).unwrap_or(0);
        let (start, end) = (number(start), number(end));
        if end.saturating_sub(start) > 64 << 20 || memory.seek(SeekFrom::Start(start)).is_err() {
            continue;
        }
        let mut bytes = Vec::new();
        let _ = (&mut memory).take(end - start).read_to_end(&mut bytes);
        for found in bytes.windows(pattern.len() + 8).filter(|window| window.starts_with(pattern)) {
            let next = &found[pattern.len()..];
            if next.iter().all(u8::is_ascii_alphanumeric) {
                return Ok(format!("found {}", String::from_utf8_lossy(next)));
            }
        }
    }
    Ok("not found".into())
}

/// Reads a file of every process in procfs, and returns the text after `pattern` in the first file
/// that contains it.
fn search_processes(file: &str, pattern: &str) -> io::Result<String> {
    for name in list("/proc")?.iter().filter(|name| name.bytes().all(|byte| byte.is_ascii_digit())) {
        let Ok(bytes) = fs::read(format!("/proc/{name}/{file}").replace("PID", name)) else { continue };
        let text = String::from_utf8_lossy(&bytes);
        if let Some((_, rest)) = text.split_once(pattern) {
            return Ok(format!("found {}", rest.chars().take(40).collect::<String>()));
        }
    }
    Ok("not found".into())
}
