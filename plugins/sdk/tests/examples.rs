//! Every page of the SDK's documentation has an example.
//!
//! The rule: each public struct, enum, trait, type, constant, static, function and macro of `wardian-sdk` and
//! `wardian-acceptance` has a code block in its own documentation, or in that of one of its methods, which rustdoc
//! shows on the same page. So not every method has an example, and neither has every module. Items that only the
//! SDK's macros use are hidden (`#[doc(hidden)]`) and need none, and neither do re-exports of other crates.
//! `cargo test --doc` compiles the examples.
//!
//! The sources are read line by line: rustfmt puts each item, attribute and closing brace on its own line.

#![allow(clippy::unwrap_used, reason = "a test ends there")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const KINDS: [&str; 7] = ["struct", "enum", "trait", "fn", "type", "const", "static"];

/// Words between the first word of [`KINDS`] and the name, as in `const fn`.
const QUALIFIERS: [&str; 4] = ["fn", "mut", "unsafe", "extern"];

/// The sources of a crate.
struct Sources {
    root: PathBuf,
    files: Vec<(PathBuf, String)>,
    /// The names in all `pub use` declarations.
    exported: BTreeSet<String>,
}

/// The visibility of a module.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Visibility {
    Public,
    /// Its items are public if they are exported by name.
    Private,
    Hidden,
}

impl Sources {
    fn read(root: PathBuf) -> Self {
        let mut files = Vec::new();
        let mut pending = vec![root.clone()];
        while let Some(directory) = pending.pop() {
            for entry in fs::read_dir(&directory).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    pending.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    files.push((path.clone(), fs::read_to_string(path).unwrap()));
                }
            }
        }
        files.sort();
        let mut exported = BTreeSet::new();
        for (_, text) in &files {
            for after in text.split("pub use ").skip(1) {
                let list = after.split(';').next().unwrap_or_default();
                exported.extend(words(list).map(ToOwned::to_owned));
            }
        }
        Self { root, files, exported }
    }

    /// Returns the visibility of the module in a file.
    fn visibility(&self, file: &Path) -> Visibility {
        let relative = file.strip_prefix(&self.root).unwrap().with_extension("");
        let mut names: Vec<String> =
            relative.iter().map(|name| name.to_string_lossy().into_owned()).collect();
        names.pop_if(|name| name == "mod" || name == "lib");
        let mut visibility = Visibility::Public;
        for depth in 0..names.len() {
            let declaration = format!("mod {};", names[depth]);
            let parent = self.text_of(&names[..depth]);
            let Some(at) = parent.find(&format!("pub {declaration}")) else {
                return if visibility == Visibility::Hidden { visibility } else { Visibility::Private };
            };
            let before: Vec<&str> =
                parent[..at].lines().rev().take_while(|line| line.starts_with("#[")).collect();
            if before.iter().any(|line| line.contains("doc(hidden)")) {
                visibility = Visibility::Hidden;
            }
        }
        visibility
    }

    /// Returns the text of a module.
    fn text_of(&self, names: &[String]) -> &str {
        let place = names.iter().fold(self.root.clone(), |path, name| path.join(name));
        let candidates = match names {
            [] => vec![place.join("lib.rs")],
            _ => vec![place.with_extension("rs"), place.join("mod.rs")],
        };
        let is_wanted = |(path, _): &&(PathBuf, String)| candidates.contains(path);
        self.files.iter().find(is_wanted).map(|(_, text)| text.as_str()).unwrap_or_default()
    }

    /// Returns the public items without an example, and the number of all.
    fn without_example(&self) -> (Vec<String>, usize) {
        let mut missing = Vec::new();
        let mut count = 0;
        for (path, text) in &self.files {
            let visibility = self.visibility(path);
            if visibility == Visibility::Hidden {
                continue;
            }
            for item in items(text) {
                let is_public =
                    item.is_macro || visibility == Visibility::Public || self.exported.contains(item.name);
                if is_public {
                    count += 1;
                    if !item.has_example && !pages_with_examples(text).contains(item.name) {
                        missing.push(format!("{}:{}: {}", path.display(), item.line, item.name));
                    }
                }
            }
        }
        (missing, count)
    }
}

struct Item<'t> {
    name: &'t str,
    line: usize,
    is_macro: bool,
    has_example: bool,
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// Returns the public items at the top level of a file.
fn items(text: &str) -> Vec<Item<'_>> {
    let mut found = Vec::new();
    let (mut has_example, mut is_hidden, mut is_exported_macro) = (false, false, false);
    for (index, line) in text.lines().enumerate() {
        if line.starts_with("///") || line.starts_with("#[") {
            has_example |= line.starts_with("/// ```");
            is_hidden |= line.contains("doc(hidden)");
            is_exported_macro |= line.contains("macro_export");
            continue;
        }
        // The lines of an attribute with several lines.
        if line.starts_with("    ") || line.starts_with(")]") {
            continue;
        }
        let mut words = words(line);
        let name = match words.next() {
            Some("pub") if !line.starts_with("pub(") => words
                .find(|word| KINDS.contains(word))
                .and_then(|_| words.find(|word| !QUALIFIERS.contains(word))),
            Some("macro_rules") if is_exported_macro => words.next(),
            _ => None,
        };
        let is_reexport = line.starts_with("pub use") || line.starts_with("pub mod");
        if let Some(name) = name.filter(|_| !is_hidden && !is_reexport) {
            found.push(Item {
                name,
                line: index + 1,
                is_macro: line.starts_with("macro_rules"),
                has_example,
            });
        }
        (has_example, is_hidden, is_exported_macro) = (false, false, false);
    }
    found
}

/// Returns the types and traits of a file with an example in an implementation, or inside of their definition.
fn pages_with_examples(text: &str) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    let mut current = None;
    for line in text.lines() {
        if !line.starts_with([' ', '}', ')']) && !line.is_empty() {
            let without_parameters = line.split('<').next().unwrap_or_default();
            current = match words(line).next() {
                Some("impl") if line.contains(" for ") => None,
                // `impl<T> Name<T> {`
                Some("impl") if without_parameters == "impl" => {
                    line.split_once("> ").and_then(|(_, rest)| words(rest).next())
                }
                Some("impl") => words(line).nth(1),
                Some("pub") => words(line).nth(2),
                _ => None,
            };
        }
        if line.starts_with("    /// ```") {
            found.extend(current);
        }
    }
    found
}

#[test]
fn every_public_item_has_an_example() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut missing = Vec::new();
    for root in ["src", "acceptance/src"] {
        let (without, count) = Sources::read(here.join(root)).without_example();
        assert!(count > 10, "{root}: only {count} items were found");
        missing.extend(without);
    }
    assert!(missing.is_empty(), "{} items have no example:\n{}", missing.len(), missing.join("\n"));
}

#[test]
fn items_and_their_examples_are_recognized() {
    let text = "/// One.\n///\n/// ```\n/// f();\n/// ```\n#[derive(Debug)]\npub struct One;\n\n/// Two.\npub const fn two() {}\n\npub const MANY: usize = 3;\n\n\
                #[doc(hidden)]\npub struct Hidden;\n\npub(crate) struct Private;\n\n#[macro_export]\nmacro_rules! three {\n    () => {};\n}\n\n\
                pub struct Four<T>(T);\n\nimpl<T: Clone> Four<T> {\n    /// ```\n    /// f();\n    /// ```\n    pub fn f() {}\n}\n";
    let found: Vec<(&str, bool)> = items(text).iter().map(|item| (item.name, item.has_example)).collect();
    assert_eq!(found, [("One", true), ("two", false), ("MANY", false), ("three", false), ("Four", false)]);
    assert_eq!(pages_with_examples(text), BTreeSet::from(["Four"]));
}
