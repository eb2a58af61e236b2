//! Builds and tests a provider in Go.
//!
//! Go's standard toolchain compiles a core module, which [`componentize`] converts to a component in this
//! process. A package name in the output of `go build` is progress, and all other lines are errors.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use super::program::Program;
use super::settings::Settings;
use super::{BuildProfile, PackageProgress, Project, ProjectError};
use crate::componentize::componentize;

const GO: Program = Program { name: "go", remedy: "install Go 1.24 or newer (https://go.dev/dl)" };

/// Builds the component.
pub(super) async fn build(
    project: &Project,
    settings: &Settings,
    profile: BuildProfile,
    file: &Path,
    progress: &mut PackageProgress<'_>,
) -> Result<(), ProjectError> {
    let core = file.with_extension("core.wasm");
    let flags = match profile {
        // The names of functions are in the backtraces of traps.
        BuildProfile::Development => "-ldflags=-checklinkname=0",
        BuildProfile::Release => "-ldflags=-s -w -checklinkname=0",
    };
    let arguments = ["build", "-v", "-buildmode=c-shared", "-trimpath", flags, "-o"];
    let mut command = Program::command(Path::new(GO.name), &project.directory, &arguments);
    command.arg(&core).arg(settings.component.as_deref().unwrap_or("."));
    command.env("GOOS", "wasip1").env("GOARCH", "wasm");
    let mut report = |line: &str| {
        if is_progress(line) {
            progress(line);
        }
    };
    let output = GO.run(&mut command, &mut report).await?;
    if !output.is_success {
        let errors: Vec<&str> = output.stderr.lines().filter(|line| !is_progress(line)).collect();
        return Err(ProjectError::Build { program: GO.name, output: errors.join("\n") });
    }
    let module = match std::fs::read(&core) {
        Ok(module) => module,
        Err(source) => return Err(ProjectError::Read { path: core, source }),
    };
    let component = componentize(&module, None).map_err(ProjectError::Componentize)?;
    let written = |source| ProjectError::Write { path: file.to_owned(), source };
    std::fs::write(file, component).map_err(written)?;
    std::fs::remove_file(&core).map_err(written)
}

/// Whether a line of `go build -v` is the import path of a package.
fn is_progress(line: &str) -> bool {
    let line = line.trim_end();
    !line.is_empty() && !line.starts_with('#') && !line.contains([' ', '\t', ':'])
}

/// Runs the tests natively, and returns the number of tests that passed.
pub(super) async fn test(project: &Project) -> Result<usize, ProjectError> {
    let mut command = Program::command(Path::new(GO.name), &project.directory, &["test", "-json", "./..."]);
    let output = GO.run(&mut command, &mut |_| ()).await?;
    let events = TestEvents::parse(&output.stdout);
    if output.is_success {
        return Ok(events.passed());
    }
    let text = [events.errors().trim_end(), output.stderr.trim_end()].join("\n").trim().to_owned();
    let program = GO.name;
    if events.has_failed_test() {
        Err(ProjectError::Tests { program, output: text })
    } else {
        Err(ProjectError::Build { program, output: text })
    }
}

/// The events of `go test -json`, one JSON document for each line.
struct TestEvents {
    events: Vec<Value>,
    /// Lines that are not JSON, such as errors of the build in older versions.
    other: String,
}

impl TestEvents {
    fn parse(stdout: &str) -> Self {
        let mut parsed = Self { events: Vec::new(), other: String::new() };
        for line in stdout.lines() {
            match serde_json::from_str(line) {
                Ok(event) => parsed.events.push(event),
                Err(_) => {
                    parsed.other.push_str(line);
                    parsed.other.push('\n');
                }
            }
        }
        parsed
    }

    fn with_action<'a>(&'a self, action: &'a str) -> impl Iterator<Item = &'a Value> {
        self.events.iter().filter(move |event| event["Action"] == action)
    }

    fn passed(&self) -> usize {
        self.with_action("pass").filter(|event| event["Test"].is_string()).count()
    }

    fn has_failed_test(&self) -> bool {
        self.with_action("fail").any(|event| event["Test"].is_string())
    }

    /// Returns the output of the build, and of the tests and packages that failed. Cost: O(n log n) for n
    /// events.
    fn errors(&self) -> String {
        let key = |event: &Value| {
            let text = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
            (text("Package"), text("Test"))
        };
        let failed: BTreeSet<(String, String)> = self.with_action("fail").map(key).collect();
        let mut text = self.other.clone();
        for event in &self.events {
            let Some(output) = event["Output"].as_str() else { continue };
            let is_shown = match event["Action"].as_str() {
                Some("build-output") => true,
                Some("output") => failed.contains(&key(event)) && !output.starts_with("=== "),
                _ => false,
            };
            if is_shown {
                text.push_str(output);
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn import_paths_are_progress() {
        for line in ["internal/byteorder", "wardian.dev/sdk-go/bindings", "terraform-provider-dns"] {
            assert!(is_progress(line), "{line}");
        }
        for line in
            ["", "# terraform-provider-dns", "./main.go:9:2: undefined: x", "\tmain.go", "too many errors"]
        {
            assert!(!is_progress(line), "{line}");
        }
    }

    #[test]
    fn results_of_tests_are_read() {
        let passed = r#"{"Action":"start","Package":"p"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestB"}
{"Action":"pass","Package":"p"}"#;
        assert_eq!(TestEvents::parse(passed).passed(), 2);
        let failed = r#"# not JSON
{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:9: wrong\n"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestB","Output":"fine\n"}
{"Action":"pass","Package":"p","Test":"TestB"}
{"Action":"output","Package":"p","Output":"FAIL\n"}
{"Action":"fail","Package":"p"}"#;
        let events = TestEvents::parse(failed);
        assert!(events.has_failed_test());
        assert_eq!(events.errors(), "# not JSON\n    a_test.go:9: wrong\nFAIL\n");
        let build = r##"{"ImportPath":"p","Action":"build-output","Output":"# p\n"}
{"ImportPath":"p","Action":"build-output","Output":"./a.go:3:1: undefined: b\n"}
{"ImportPath":"p","Action":"build-fail"}
{"Action":"output","Package":"p","Output":"FAIL\tp [build failed]\n"}
{"Action":"fail","Package":"p","FailedBuild":"p"}"##;
        let events = TestEvents::parse(build);
        assert!(!events.has_failed_test());
        assert_eq!(events.errors(), "# p\n./a.go:3:1: undefined: b\nFAIL\tp [build failed]\n");
    }
}
