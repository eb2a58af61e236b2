//! The canonical format, compared with the output of `terraform fmt`.
//!
//! In `tests/data/format`, `NAME.in.EXTENSION` is formatted to `NAME.out.EXTENSION`, and
//! `NAME.refused.EXTENSION` has a syntax error. To record the results again with the `terraform`
//! on PATH:
//!
//! ```text
//! WARDIAN_RECORD=1 cargo test -p wardian-lang --test format
//! ```

#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use wardian_diagnostic::SourceFile;
use wardian_lang::format_text;

fn files(marker: &str) -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/format");
    let mut files: Vec<PathBuf> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.file_name().unwrap().to_str().unwrap().contains(marker))
        .collect();
    files.sort();
    files
}

fn expected_path(input: &Path) -> PathBuf {
    input.with_file_name(input.file_name().unwrap().to_str().unwrap().replace(".in.", ".out."))
}

fn read(path: &Path) -> String {
    String::from_utf8(std::fs::read(path).unwrap()).unwrap()
}

fn formatted(text: &str) -> Result<String, String> {
    format_text(&SourceFile::new("main.tf", text)).map_err(|problems| problems.to_string())
}

/// Returns Terraform's result for a file, or `None` if it rejects the file. The file is formatted
/// in place, because on standard output, a line break would be added to an unterminated last line.
fn recorded(input: &Path) -> Option<Vec<u8>> {
    let name = input.file_name().unwrap().to_str().unwrap();
    let copy = std::env::temp_dir().join(format!("{}-{name}", std::process::id()));
    std::fs::copy(input, &copy).unwrap();
    let output = Command::new("terraform").args(["fmt", "-list=false"]).arg(&copy).output().unwrap();
    let text = std::fs::read(&copy).unwrap();
    std::fs::remove_file(&copy).unwrap();
    output.status.success().then_some(text)
}

fn records() -> bool {
    std::env::var_os("WARDIAN_RECORD").is_some()
}

#[test]
fn formatting_matches_terraform() {
    let inputs = files(".in.");
    assert!(inputs.len() >= 80, "{} inputs", inputs.len());
    let mut wrong = Vec::new();
    for input in inputs {
        let text = read(&input);
        if records() {
            let output = recorded(&input).unwrap_or_else(|| panic!("{} is refused", input.display()));
            std::fs::write(expected_path(&input), output).unwrap();
        }
        let expected = read(&expected_path(&input));
        match formatted(&text) {
            Ok(found) if found == expected => {}
            found => wrong.push(format!("{}\n{found:#?}\nin place of\n{expected:#?}", input.display())),
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn formatting_rejects_syntax_errors() {
    let inputs = files(".refused.");
    assert!(inputs.len() >= 10, "{} inputs", inputs.len());
    for input in inputs {
        let text = read(&input);
        assert!(!records() || recorded(&input).is_none(), "Terraform takes {}", input.display());
        let found = formatted(&text);
        assert!(found.is_err(), "{}: {found:?}", input.display());
    }
}

/// Returns the text that formatting must preserve.
fn without_space(text: &str) -> String {
    text.chars().filter(|character| !character.is_whitespace() && *character != '\u{feff}').collect()
}

#[test]
fn formatting_rewrites_only_documented_constructs() {
    let rewrites = ["block-header", "unwrapped", "variable-types", "whole-file", "top-level", "test-file"];
    let rewrites_more = ["blocks-one-line", "windows-line-ends", "byte-order-mark"];
    for input in files(".in.") {
        let name = input.file_name().unwrap().to_str().unwrap();
        if rewrites.iter().chain(&rewrites_more).any(|start| name.starts_with(start)) {
            continue;
        }
        let text = read(&input);
        assert_eq!(without_space(&formatted(&text).unwrap()), without_space(&text), "{name}");
    }
}

/// `terraform fmt` damages these files or changes their meaning.
#[test]
fn formatting_keeps_files_valid() {
    for (text, expected) in [
        ("a \"b$c\" \"100%\" {\n}\n", "a \"b$c\" \"100%\" {\n}\n"),
        ("a \"$${b}\"   c {}\n", "a \"$${b}\" \"c\" {}\n"),
        ("a=b[true]\nc=b[ null ]\n", "a = b[true]\nc = b[null]\n"),
        ("a=\"${b # c\n+ d}\"\n", "a = (b # c\n+ d)\n"),
        ("a=\"${\n# b\nc}\"\n", "a = ( # b\nc)\n"),
        ("a=b . 0 . 1\nc=b.2 .e\n", "a = b.0. 1\nc = b.2.e\n"),
        ("a=b.0 .e1\nc=b.0 .E-1.d\n", "a = b.0. e1\nc = b.0. E-1.d\n"),
        ("a=\"${<<E\nb\nE\n}\" # c\n", "a = \"${<<E\nb\nE\n}\" # c\n"),
        ("a {b=\"${<<E\nc\nE\n}\"}\n", "a { b = \"${<<E\nc\nE\n}\" }\n"),
        ("a=\"${b+\n<<E\nc\nE\n}\"\n", "a = \"${b +\n  <<E\nc\nE\n}\"\n"),
        ("a=\"${(b)\n+(c)}\"\n", "a = ((b)\n+ (c))\n"),
    ] {
        let found = formatted(text).unwrap();
        assert_eq!(found, expected);
        assert!(formatted(&found).is_ok(), "{found}");
    }
}

fn numbered(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(line).collect::<Vec<_>>().concat()
}

#[test]
fn formatting_rejects_huge_alignment() {
    let long = format!("{}=1\n", "x".repeat(600_000));
    let short = numbered(2_000, |number| format!("a{number}=1\n"));
    let problem = formatted(&format!("{short}{long}")).unwrap_err();
    assert!(problem.contains("File cannot be formatted"), "{problem}");
    assert!(formatted(&format!("{short}\n{long}")).is_ok());
}

#[test]
fn formatting_is_linear() {
    let kinds: [(&str, String); 6] = [
        ("attributes", numbered(60_000, |number| format!("name_{number}=\"v\"# c\n\n"))),
        ("blocks", "a x {\nb=[\n1,\n]\n}\n".repeat(60_000)),
        ("one line", format!("a=[{}]\n", "1 , ".repeat(250_000))),
        ("one string", format!("a=\"{}\"\n", "${b}x".repeat(200_000))),
        ("one heredoc", format!("a=<<EOT\n{}EOT\n", "line ${ b }\n".repeat(80_000))),
        ("comments", "/* */\n".repeat(160_000)),
    ];
    for (name, text) in kinds {
        let start = Instant::now();
        let found = formatted(&text).unwrap_or_else(|problem| panic!("{name}: {problem}"));
        assert!(start.elapsed() < Duration::from_secs(20), "{name} took {:?}", start.elapsed());
        assert!(!found.is_empty());
    }
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(text in "\\PC*") {
        let _ = formatted(&text);
    }

    #[test]
    fn formatted_text_can_be_formatted_again(
        pieces in proptest::collection::vec(
            prop::sample::select(vec![
                "a", "variable", "type", "=", "\"", "${", "%{", "}", "{", "[", "]", "(", ")", "<<E\n", "E\n", "\n",
                "\r\n", "#", "/*", "*/", "1", ".", ",", ":", "?", "-", "!", "\\", "$", "é", "\u{feff}", " ", "\t",
                "\"list\"", "\"${x}\"", "a {\n", "}\n", "a = 1\n",
            ]),
            0..40,
        )
    ) {
        if let Ok(found) = formatted(&pieces.concat()) {
            prop_assert!(formatted(&found).is_ok(), "{}", found);
        }
    }

    #[test]
    fn layout_does_not_depend_on_spacing(gaps in proptest::collection::vec(0..4_usize, 13)) {
        let tokens = ["a", "\"b\"", "{\n", "c", "=", "[", "1", ",", "d", "-", "2", "]", "\n}\n"];
        let mut text = String::new();
        for (token, gap) in tokens.iter().zip(&gaps) {
            text.push_str(token);
            text.push_str(match *token {
                "{\n" | "\n}\n" => "",
                // `d-` would be a single name.
                "d" => &"  \t "[*gap..],
                _ => &"  \t "[..*gap],
            });
        }
        let found = formatted(&text).unwrap();
        prop_assert_eq!(found, "a \"b\" {\n  c = [1, d - 2]\n}\n");
    }
}
