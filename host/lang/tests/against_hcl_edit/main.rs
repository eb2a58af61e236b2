//! Compares the parser with hcl-edit, an independent parser, on the configurations in this
//! repository. The fuzz target `against_hcl_edit` uses the same oracle.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends there")]

mod oracle;

use std::fs;
use std::path::{Path, PathBuf};

use hcl::edit as hcl_edit;
use oracle::assert_agrees_with_hcl_edit;

fn configurations(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            configurations(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "tf") {
            found.push(path);
        }
    }
}

#[test]
fn parser_agrees_with_hcl_edit_on_configurations() {
    let mut files = Vec::new();
    configurations(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data"), &mut files);
    configurations(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/demo"), &mut files);
    let compared =
        files.iter().filter(|file| assert_agrees_with_hcl_edit(&fs::read_to_string(file).unwrap()));
    assert!(compared.count() > 50);
}

#[test]
fn parser_agrees_with_hcl_edit_on_literals() {
    for text in [
        "a = 1\nb = [true, null, \"c\"]\n",
        "a = { b = 1, \"c d\" : [2], (\"e\") = {} }\n",
        "a \"b\" c {\n  d {}\n  e = (1)\n}\n",
        "a { b = \"\\u00e4 \\n $${c}\" }\n",
        "a = 1 # comment\n/* b */ b = 2 // c\n",
    ] {
        assert!(assert_agrees_with_hcl_edit(text), "not compared: {text}");
    }
}
