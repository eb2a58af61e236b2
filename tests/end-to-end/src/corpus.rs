//! Corpora of recorded cases: their files, and the list of cases that do not match yet.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::each;

/// The cases of a corpus with known differences, and the reasons.
///
/// A line of the file is `GROUP/NAME # REASON`.
#[derive(Debug)]
pub struct OpenCases(BTreeMap<String, String>);

impl OpenCases {
    /// Reads the list.
    ///
    /// # Panics
    /// Panics if the file cannot be read, or if a line has no reason.
    pub fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path);
        assert!(text.is_ok(), "{}: {text:?}", path.display());
        let open = text.unwrap_or_default();
        let lines = open.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
        Self(
            lines
                .map(|line| {
                    let (name, reason) = line.split_once(" # ").unwrap_or((line, ""));
                    assert!(!reason.is_empty(), "{}: a reason is needed: {line}", path.display());
                    (name.to_owned(), reason.to_owned())
                })
                .collect(),
        )
    }

    /// Checks that every listed case exists.
    ///
    /// # Panics
    /// Panics if a listed case does not exist.
    pub fn assert_exist<'a>(&self, names: impl Iterator<Item = &'a str> + Clone) {
        for name in self.0.keys() {
            assert!(names.clone().any(|known| known == name), "open.txt: there is no {name}");
        }
    }

    /// Runs the cases, and fails if a case differs that is not listed, or if a listed case does not
    /// differ. `shows_known` also reports the differences of listed cases.
    ///
    /// # Panics
    /// Panics if there is such a case. The message contains the differences.
    pub fn assert_differences<C: Sync>(
        &self,
        cases: &[C],
        shows_known: bool,
        name: impl Fn(&C) -> &str + Sync,
        difference: impl Fn(&C) -> Option<String> + Sync,
    ) {
        let problems = each(cases, |case| {
            let name = name(case);
            match (difference(case), self.0.get(name)) {
                (Some(difference), None) => Some(format!("==== {name}\n{difference}")),
                (Some(difference), Some(reason)) if shows_known => {
                    Some(format!("==== {name} (known: {reason})\n{difference}"))
                }
                (None, Some(_)) => Some(format!("{name} is the same now: strike it out of open.txt")),
                (Some(_), Some(_)) | (None, None) => None,
            }
        });
        let failures: Vec<String> = problems.into_iter().flatten().collect();
        assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), cases.len(), failures.join("\n"));
    }
}

/// Returns the files `GROUP/NAME.txt` in a directory, sorted by path, with the names `GROUP/NAME`.
///
/// # Panics
/// Panics if a directory cannot be read.
pub fn case_files(directory: &Path) -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    for group in entries(directory) {
        for path in entries(&group) {
            let (Some(group), Some(stem)) = (group.file_name(), path.file_stem()) else { continue };
            if path.extension().is_some_and(|extension| extension == "txt") {
                found.push((format!("{}/{}", group.display(), stem.display()), path));
            }
        }
    }
    found.sort();
    found
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory);
    assert!(entries.is_ok(), "{}: {entries:?}", directory.display());
    entries.into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}
