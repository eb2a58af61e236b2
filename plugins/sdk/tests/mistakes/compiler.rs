//! Compiles a case with the compiler and the libraries of the test itself, so nothing is built for it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// An error of the compiler.
pub(crate) struct Message {
    /// The message as an author sees it.
    pub(crate) rendered: String,
    /// The source lines that the message marks, including those in which a macro is used.
    pub(crate) marked: Vec<String>,
}

pub(crate) struct Compiler {
    program: PathBuf,
    /// The directory of the compiled libraries.
    libraries: PathBuf,
    sdk: PathBuf,
    serde: PathBuf,
    prelude: String,
    cases: PathBuf,
    output: PathBuf,
}

impl Compiler {
    pub(crate) fn new(here: &Path) -> Self {
        // The compiler that has built the libraries is next to the cargo that runs the test.
        let cargo = std::env::var_os("CARGO").map(PathBuf::from);
        let next_to_cargo = cargo.map(|cargo| cargo.with_file_name("rustc")).filter(|rustc| rustc.exists());
        let libraries = std::env::current_exe().unwrap().parent().unwrap().to_owned();
        let mut compiler = Self {
            program: next_to_cargo.unwrap_or_else(|| PathBuf::from("rustc")),
            sdk: built(&libraries, "wardian_sdk").pop().unwrap(),
            serde: PathBuf::new(),
            libraries,
            prelude: fs::read_to_string(here.join("prelude.rs")).unwrap(),
            cases: here.join("cases"),
            output: PathBuf::from(env!("CARGO_TARGET_TMPDIR")),
        };
        // With another serde than the SDK's, no struct is a state.
        let serde = built(&compiler.libraries, "serde").into_iter().rev().find(|candidate| {
            compiler.serde.clone_from(candidate);
            compiler.compile("probe", PROBE).is_empty()
        });
        assert!(serde.is_some(), "the SDK's serde is not built");
        compiler
    }

    /// Compiles a case and returns the errors in their order.
    pub(crate) fn errors(&self, name: &str) -> Vec<Message> {
        let case = fs::read_to_string(self.cases.join(format!("{name}.rs"))).unwrap();
        self.compile(name, &case)
    }

    fn compile(&self, name: &str, case: &str) -> Vec<Message> {
        let source = self.output.join(format!("{name}.rs"));
        let code: String =
            case.lines().filter(|line| !line.starts_with("//!")).flat_map(|line| [line, "\n"]).collect();
        fs::write(&source, format!("{}{code}", self.prelude)).unwrap();
        let output = Command::new(&self.program)
            .args(["--edition=2024", "--crate-type=lib", "--emit=metadata", "--error-format=json"])
            .args(["--cap-lints=allow", "--out-dir"])
            .arg(&self.output)
            .arg("-L")
            .arg(&self.libraries)
            .arg("--extern")
            .arg(format!("wardian_sdk={}", self.sdk.display()))
            .arg("--extern")
            .arg(format!("serde={}", self.serde.display()))
            .arg(&source)
            .output()
            .unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        let messages: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        assert_eq!(output.status.success(), !messages.iter().any(is_error), "{name}: {text}");
        messages.iter().filter(|message| is_error(message)).map(message).collect()
    }
}

/// Compiles only with the serde of the SDK.
const PROBE: &str = "#[derive(Serialize, Deserialize)] struct Probe {}\nfn is_model<T: Model>() {}\nfn probe() { is_model::<Probe>() }\n";

/// Returns the files of a library, the newest last. There are several if it was built with different features of
/// its dependencies; the last one of the SDK is as new as the test.
fn built(libraries: &Path, name: &str) -> Vec<PathBuf> {
    let start = format!("lib{name}-");
    let is_library = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(&start) && name.ends_with(".rlib")
    };
    let files = fs::read_dir(libraries).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> = files.filter(is_library).collect();
    found.sort_by_key(|path| fs::metadata(path).unwrap().modified().unwrap());
    found
}

fn is_error(message: &Value) -> bool {
    // The last message only counts the others.
    message["level"] == "error" && !message["spans"].as_array().is_none_or(Vec::is_empty)
}

fn message(message: &Value) -> Message {
    let mut marked = Vec::new();
    for span in message["spans"].as_array().into_iter().flatten() {
        if span["is_primary"] == true {
            marked_lines(span, &mut marked);
        }
    }
    Message { rendered: message["rendered"].as_str().unwrap().to_owned(), marked }
}

fn marked_lines(span: &Value, marked: &mut Vec<String>) {
    for line in span["text"].as_array().into_iter().flatten() {
        marked.push(line["text"].as_str().unwrap_or_default().to_owned());
    }
    if !span["expansion"].is_null() {
        marked_lines(&span["expansion"]["span"], marked);
    }
}
