//! The development of a provider in Rust: `plugin new`, `plugin dev`, `plugin build`, and the workflow for
//! continuous integration.
//!
//! The projects share a directory of build results, so the tests run one after the other. The first run compiles
//! the libraries.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends there")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use wardian_end_to_end::{Project, Running, Seen, assert_seen_text, binary, component_toolchain};

use crate::plugin_authoring::files;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The test that uses the build results.
static TEST: Mutex<()> = Mutex::new(());

/// A new project in Rust.
struct NewProject {
    _test: MutexGuard<'static, ()>,
    project: Project,
    /// The name of the project's directory.
    name: String,
    /// The environment in which cargo builds it with this repository's dependencies.
    variables: Vec<(&'static str, PathBuf)>,
}

impl NewProject {
    /// Creates the project; [`None`] if the compiler cannot build components.
    fn create(provider: &str) -> Option<Self> {
        let toolchain = component_toolchain()?;
        let test = TEST.lock().unwrap_or_else(PoisonError::into_inner);
        let project = Project::new(&[]);
        let sdk = root().join("plugins/sdk");
        project.run(&format!("plugin new acme/{provider} '-sdk-path={}'", sdk.display())).success();
        let new = Self {
            _test: test,
            project,
            name: format!("terraform-provider-{provider}"),
            variables: toolchain.into_iter().chain([("CARGO_NET_OFFLINE", "true".into())]).collect(),
        };
        // The versions in this repository's lock file have been downloaded.
        std::fs::copy(root().join("Cargo.lock"), new.path("Cargo.lock")).unwrap();
        let results = root().join("target/end-to-end/authoring");
        std::fs::create_dir_all(&results).unwrap();
        std::os::unix::fs::symlink(results, new.path("target")).unwrap();
        Some(new)
    }

    fn path(&self, file: &str) -> PathBuf {
        self.project.path(&format!("{}/{file}", self.name))
    }

    fn read(&self, file: &str) -> String {
        self.project.read(&format!("{}/{file}", self.name))
    }

    fn write(&self, file: &str, text: &str) {
        self.project.write(&format!("{}/{file}", self.name), text);
    }

    /// Replaces a text that a file contains.
    fn edit(&self, file: &str, old: &str, new: &str) {
        let text = self.read(file);
        assert!(text.contains(old), "{file} does not contain {old:?}:\n{text}");
        self.write(file, &text.replace(old, new));
    }

    fn run(&self, line: &str) -> Seen {
        let variables: Vec<(&str, &str)> =
            self.variables.iter().map(|(name, value)| (*name, value.to_str().unwrap())).collect();
        self.project.run_with(line, "", &variables)
    }

    fn start(&self, line: &str) -> Running {
        let mut command = self.project.command(line);
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        Running::new(child.unwrap())
    }

    /// Adds a test that does not end, waits until it runs, and returns the number of its process.
    fn begin_endless_test(&self, dev: &mut Running) -> String {
        let marker = self.path("target/endless");
        let _ = std::fs::remove_file(&marker);
        self.write("tests/endless.rs", ENDLESS_TEST);
        dev.wait_for("Testing...");
        wait_until("the test begins", || marker.exists());
        let process = std::fs::read_to_string(&marker).unwrap();
        assert!(is_running(&process));
        process
    }

    /// Returns a shell in the project's directory, in which `wardian` is on the path.
    fn shell(&self, line: &str) -> Command {
        let mut shell = Command::new("bash");
        for (name, value) in self.project.command("").get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        let path = std::env::var("PATH").unwrap_or_default();
        shell.env("PATH", format!("{}:{path}", binary().parent().unwrap().display()));
        shell.envs(self.variables.iter().map(|(name, value)| (name, value)));
        shell.env_remove("CARGO_TARGET_DIR");
        shell.args(["-c", line]).current_dir(self.path("")).stdin(Stdio::null());
        shell
    }
}

/// Replaces durations, sizes and the path of the component, and removes the progress of the build.
fn without_times(text: &str) -> String {
    let mut shown = String::new();
    for line in text.lines().filter(|line| !line.starts_with("  compiling ")) {
        let line = match line.split_once(" in ") {
            Some((start, rest)) if rest.starts_with(|first: char| first.is_ascii_digit()) => {
                format!("{start} in [TIME]")
            }
            // The path of the component, in a warning.
            _ if Path::new(line).extension().is_some_and(|end| end == "wasm")
                && line.starts_with("│    ") =>
            {
                format!("│    [PROJECT]/{}", line.rsplit('/').next().unwrap_or_default())
            }
            _ => line.to_owned(),
        };
        shown.push_str(&line);
        shown.push('\n');
    }
    shown
}

/// Functions that panic at depth.
const DEEP_PANIC: &str = r#"
fn find(name: &str) -> String {
    std::env::var(name).expect("no greeting")
}

#[inline(never)]
fn greetings(names: &str) -> String {
    let mut all: Vec<&str> = names.split(' ').collect();
    all.sort_by_key(|name| name.len());
    let found: Vec<String> = all.iter().flat_map(|name| [*name].into_iter().map(|name| find(name))).collect();
    found.join(", ")
}
"#;

#[test]
fn plugin_dev_builds_plans_and_tests_a_new_project() {
    let Some(project) = NewProject::create("dns") else { return };
    let run = |line: &str| project.run(line);
    let first = run("plugin dev terraform-provider-dns -once -no-color").success();
    assert_seen_text!("plugin_dev", without_times(&first.text()));
    std::fs::remove_dir_all(project.path("docs")).unwrap();
    run("plugin docs terraform-provider-dns").success();
    assert_eq!(files(&project.path("docs")), ["data-sources/greeting.md", "index.md", "resources/note.md"]);
    // A mistake in the provider.
    let note = project.read("src/note.rs");
    project.write("src/note.rs", &note.replace("plan.title)", "plan.titel)"));
    let failed = run("plugin dev terraform-provider-dns -once -no-color").ended_with(1);
    assert!(failed.errors.contains("Build failed"), "{}", failed.text());
    assert!(failed.errors.contains("titel"), "{}", failed.text());
    // A panic in the provider, below closures and adaptors of the standard library, is reported with the
    // functions of the author, their files and lines, and nothing else.
    project.write("src/note.rs", &note);
    let greeting = project.read("src/greeting.rs");
    let call = greeting.replace("format!(\"Hello, {}!\", config.name)", "greetings(&config.name)");
    assert_ne!(call, greeting);
    project.write("src/greeting.rs", &(call + DEEP_PANIC));
    let failed = run("plugin dev terraform-provider-dns -once -no-color -no-tests").ended_with(1);
    let text: String =
        failed.errors.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ");
    assert!(text.contains("no greeting"), "{}", failed.text());
    let frames = text.split_once("Guest functions, innermost first:").unwrap_or_default().1;
    for part in ["greeting::find at", "greeting::greetings", "DataSource>::read at", "src/greeting.rs:"] {
        assert!(frames.contains(part), "{part}: {}", failed.text());
    }
    for machinery in
        ["unwrap_failed", "panicking", "core::iter", "call_once", "alloc::", "wardian_sdk::service"]
    {
        assert!(!frames.contains(machinery), "{machinery}: {}", failed.text());
    }
    project.write("src/greeting.rs", &greeting);
    // A test that fails.
    let wrong = note.replace("assert_eq!(note.get::<String>(\"id\"), \"note-a\")", "assert_eq!(1, 2)");
    project.write("src/note.rs", &wrong);
    let failed = run("plugin dev terraform-provider-dns -once -no-color").ended_with(1);
    assert!(failed.errors.contains("text_is_changed_in_place"), "{}", failed.text());
}

/// The steps of the workflow that need a network or another machine.
const SKIPPED_STEPS: [&str; 2] = ["rustup toolchain install", "curl --fail --location"];

/// The step that only reads code, and compiles all libraries once more. `WARDIAN_TEST_CLIPPY` includes it.
const CLIPPY: &str = "cargo clippy --all-targets -- -D warnings";

/// The workflow of a new project passes before its author changes anything.
#[test]
fn workflow_of_a_new_project_passes() {
    let Some(project) = NewProject::create("zones") else { return };
    let workflow = project.read(".github/workflows/ci.yml");
    let steps: Vec<&str> =
        workflow.lines().filter_map(|line| line.trim_start().strip_prefix("- run: ")).collect();
    let mut executed = Vec::new();
    for step in steps {
        let is_skipped = SKIPPED_STEPS.iter().any(|skipped| step.starts_with(skipped));
        if is_skipped || (step == CLIPPY && std::env::var_os("WARDIAN_TEST_CLIPPY").is_none()) {
            continue;
        }
        let output = project.shell(step).output().unwrap();
        let printed =
            [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        assert!(output.status.success(), "`{step}` failed:\n{}\n{}", printed[0], printed[1]);
        executed.push(step);
    }
    assert_eq!(
        executed.iter().filter(|step| **step != CLIPPY).copied().collect::<Vec<_>>(),
        [
            "cargo fmt --check",
            "cargo test",
            "cargo component-release",
            "wardian plugin check target/wasm32-wasip2/release/terraform_provider_zones.wasm",
            "wardian plugin docs -check",
            "wardian plugin dev -once",
        ]
    );
    // `plugin build` is the same build as `cargo component-release`.
    let built = project.run("plugin build terraform-provider-zones -out=zones.wasm").success();
    assert_seen_text!("plugin_build", without_times(&built.text()));
    let released = std::fs::read(project.path("target/wasm32-wasip2/release/terraform_provider_zones.wasm"));
    assert_eq!(std::fs::read(project.project.path("zones.wasm")).unwrap(), released.unwrap());
}

/// A test that says which process runs it, and ends after ten minutes.
const ENDLESS_TEST: &str = r#"
#[test]
fn endless() {
    std::fs::write("target/endless.new", std::process::id().to_string()).unwrap();
    std::fs::rename("target/endless.new", "target/endless").unwrap();
    std::thread::sleep(std::time::Duration::from_secs(600));
}
"#;

/// Whether a process with this number is running.
fn is_running(number: &str) -> bool {
    let output = Command::new("ps").args(["-o", "stat=", "-p", number]).output().unwrap();
    let state = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    !state.is_empty() && !state.starts_with('Z')
}

/// Waits for a condition.
fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..6_000 {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("{what} did not happen");
}

/// Each edit leads to a round, grants are printed when they change, and an edit ends running tests.
#[test]
fn plugin_dev_repeats_its_steps_after_each_edit() {
    let Some(project) = NewProject::create("notes") else { return };
    // The libraries are compiled outside of the time limits below.
    project.run("plugin dev terraform-provider-notes -once -no-color").success();
    let mut dev = project.start("plugin dev terraform-provider-notes -no-color");
    dev.wait_for("The component declares no capabilities.");
    dev.wait_for("+ id    = (known after apply)");
    dev.wait_for("The tests of the example passed in");
    dev.wait_for("Waiting for changes.");

    project.edit(
        "src/lib.rs",
        "export_provider!(provider);",
        "export_provider!(provider, network { hosts: [\"api.example.com\"], reason: \"manages notes\" });",
    );
    dev.wait_for("Built in");
    dev.wait_for("Granted for development, as declared:");
    dev.wait_for("plugin \"acme/notes\" {");
    dev.wait_for("api.example.com");
    dev.wait_for("Planned in");
    dev.wait_for("Waiting for changes.");
    let policy =
        std::fs::read_to_string(project.path("target/wardian-dev-session/config/wardian/wardian.policy.hcl"));
    assert!(policy.unwrap().contains("api.example.com"));

    let process = project.begin_endless_test(&mut dev);
    std::fs::remove_file(project.path("tests/endless.rs")).unwrap();
    dev.wait_for("A file has changed, so the tests were stopped.");
    dev.wait_for("Built in");
    wait_until("the end of the test", || !is_running(&process));
    dev.wait_for("The tests of the example passed in");
    dev.wait_for("Waiting for changes.");

    // Ctrl-C ends the command and the tests.
    let process = project.begin_endless_test(&mut dev);
    dev.interrupt();
    let (_, output) = dev.finish(Duration::from_secs(30));
    wait_until("the end of the test", || !is_running(&process));
    assert_eq!(output.matches("Granted for development").count(), 1, "{output}");
}
