//! The mistakes of provider authors that the compiler reports, and a table of all mistakes with their
//! tests.
//!
//! A case is a file `cases/NAME.rs` with a mistake. The comments at its start contain the expected message:
//!
//! ```text
//! //! The resource has no `create`.
//! //! at: impl Resource for Servers
//! //! says: missing: `create`
//! //! remedy: implement the missing item
//! //! hides: json.rs
//! ```
//!
//! `at` is the source text that the first error marks (`nothing` if the compiler marks only the SDK), `says` and
//! `remedy` are parts of the message, and `hides` is text that the message must not contain. If the SDK cannot add
//! a remedy to a message of the compiler, `documented` is the remedy in `docs/sdk-rust.md`. Each of them may occur
//! several times, except `at`.
//! `prelude.rs` precedes every case. `WARDIAN_CASE=NAME` selects a case and prints the message.
//!
//! `table.md` maps each mistake and trap that an author is known to have met to its test.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends there")]

mod compiler;
mod table;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use compiler::{Compiler, Message};

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mistakes")
}

/// A mistake and the expected message.
struct Case {
    name: String,
    at: String,
    says: Vec<String>,
    remedies: Vec<String>,
    documented: Vec<String>,
    hides: Vec<String>,
}

impl Case {
    fn read(path: &Path) -> Self {
        let mut case = Self {
            name: path.file_stem().unwrap().to_string_lossy().into_owned(),
            at: String::new(),
            says: Vec::new(),
            remedies: Vec::new(),
            documented: Vec::new(),
            hides: Vec::new(),
        };
        let text = fs::read_to_string(path).unwrap();
        for line in text.lines().map_while(|line| line.strip_prefix("//! ")) {
            match line.split_once(": ") {
                Some(("at", text)) => text.clone_into(&mut case.at),
                Some(("says", text)) => case.says.push(text.to_owned()),
                Some(("remedy", text)) => case.remedies.push(text.to_owned()),
                Some(("documented", text)) => case.documented.push(text.to_owned()),
                Some(("hides", text)) => case.hides.push(text.to_owned()),
                _ => {}
            }
        }
        let has_remedy = !case.remedies.is_empty() || !case.documented.is_empty();
        let is_complete = !case.at.is_empty() && !case.says.is_empty() && has_remedy;
        assert!(is_complete, "{}: `at`, `says`, and `remedy` or `documented` are needed", case.name);
        case
    }

    /// Returns the expectations that the compiler's messages do not meet.
    fn problems(&self, messages: &[Message]) -> Vec<String> {
        let Some(first) = messages.first() else { return vec!["it compiles".to_owned()] };
        let mut problems = Vec::new();
        if self.at != "nothing" && !first.marked.iter().any(|marked| marked.contains(&self.at)) {
            problems.push(format!("the first error marks {:?}, not {:?}", first.marked, self.at));
        }
        for part in self.says.iter().chain(&self.remedies) {
            if !messages.iter().any(|message| message.rendered.contains(part)) {
                problems.push(format!("no message contains {part:?}"));
            }
        }
        for part in &self.hides {
            if messages.iter().any(|message| message.rendered.contains(part)) {
                problems.push(format!("a message contains {part:?}"));
            }
        }
        problems
    }
}

#[test]
fn remedies_without_a_message_are_documented() {
    let page = fs::read_to_string(here().join("../../../../docs/sdk-rust.md")).unwrap();
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut count = 0;
    for entry in fs::read_dir(here().join("cases")).unwrap() {
        let case = Case::read(&entry.unwrap().path());
        for remedy in &case.documented {
            assert!(page.contains(remedy), "{}: docs/sdk-rust.md does not contain {remedy:?}", case.name);
            count += 1;
        }
    }
    assert!(count > 0);
}

#[test]
fn compiler_explains_mistakes() {
    let selected = std::env::var("WARDIAN_CASE").ok();
    let mut cases: Vec<Case> = fs::read_dir(here().join("cases"))
        .unwrap()
        .map(|entry| Case::read(&entry.unwrap().path()))
        .filter(|case| selected.as_ref().is_none_or(|selected| case.name == *selected))
        .collect();
    cases.sort_by(|one, other| one.name.cmp(&other.name));
    assert!(!cases.is_empty(), "there is no such case");
    let compiler = Compiler::new(&here());
    let next = AtomicUsize::new(0);
    let work = || {
        let mut failures = Vec::new();
        while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            let messages = compiler.errors(&case.name);
            let rendered: String = messages.iter().map(|message| message.rendered.as_str()).collect();
            if selected.is_some() {
                println!("{rendered}");
            }
            for problem in case.problems(&messages) {
                failures.push(format!("==== {}: {problem}\n{rendered}", case.name));
            }
        }
        failures
    };
    let failures: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..2).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(failures.is_empty(), "{} problems:\n{}", failures.len(), failures.join("\n"));
}
