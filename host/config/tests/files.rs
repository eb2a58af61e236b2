//! Tests which files of a directory are read.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test ends there")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use wardian_config::load_root;

/// A temporary directory, removed when dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("wardian-files-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.0.join(name), bytes).unwrap();
    }

    /// Returns summary, file name and line of each problem.
    fn problems(&self) -> Vec<String> {
        let Err(problems) = load_root(&self.0) else { return Vec::new() };
        problems
            .iter()
            .map(|problem| {
                let place = problem.subject.as_ref().map_or_else(String::new, |span| {
                    let name = Path::new(span.file.name()).file_name().unwrap().to_str().unwrap();
                    format!(" {name}:{}", span.start_position().line)
                });
                format!("{}{place}", problem.summary)
            })
            .collect()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn ignores_files_without_configuration() {
    let scratch = Scratch::new("ignored");
    let ignored = [
        ".x.tf",
        "x.tf~",
        "#x.tf#",
        ".#x.tf",
        ".tf",
        ".tf.json",
        "x.tf.bak",
        "x.hcl",
        "x.tofu",
        "x.json",
        "tf",
        "x.tfquery.hcl",
        "x.tfvars",
    ];
    for name in ignored {
        scratch.write(name, "nonsense");
    }
    fs::create_dir(scratch.0.join("directory.tf")).unwrap();
    assert_eq!(scratch.problems(), [""; 0]);
    assert!(load_root(&scratch.0).unwrap().root().module.files.is_empty());
}

#[test]
fn reads_encodings_and_line_endings() {
    let scratch = Scratch::new("encodings");
    scratch.write("a.tf", b"locals {\n  a = \"\xff\"\n}\n");
    scratch.write("b.tf.json", b"{\"locals\":\n {\"b\": \"\xff\"}}\n");
    scratch.write("c.tf", b"\xef\xbb\xbflocals {\r\n  c = 1\r\n  c2 = x(\r\n}\r\n");
    scratch.write("d.tf.json", b"\xef\xbb\xbf{}");
    scratch.write("e.tf.json", b"{\"locals\": {\r\n\"e\": 1,\r\n}}");
    scratch.write("f.tf", b"# caf\xe9\nlocals {\n  f = 1 /* \xff */\n}\n");
    let problems = scratch.problems();
    for expected in [
        "Invalid character encoding a.tf:2",
        "Invalid character encoding b.tf.json:2",
        "Invalid start of value d.tf.json:1",
        "Trailing comma in object e.tf.json:2",
    ] {
        assert!(problems.iter().any(|problem| problem == expected), "{expected} in {problems:?}");
    }
    assert!(!problems.iter().any(|problem| problem.contains("f.tf")), "comments are not read: {problems:?}");
    assert!(problems.iter().any(|problem| problem.contains("c.tf:4") || problem.contains("c.tf:3")));
}

#[test]
fn follows_links_to_files() {
    let scratch = Scratch::new("links");
    scratch.write("text", "locals {\n  a = 1\n}\n");
    symlink("text", scratch.0.join("a.tf")).unwrap();
    let configuration = load_root(&scratch.0).unwrap();
    assert_eq!(configuration.root().module.locals.len(), 1);
    symlink("nowhere", scratch.0.join("b.tf")).unwrap();
    symlink(".", scratch.0.join("c.tf")).unwrap();
    symlink("d.tf", scratch.0.join("d.tf")).unwrap();
    assert_eq!(scratch.problems(), ["Failed to read file"; 3]);
}
