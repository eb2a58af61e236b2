//! The work of a provider's author in each language: `plugin new`, the installation of dependencies,
//! `plugin dev` without and with the unit tests and the tests of the example, an applied example, the time
//! from an edit to a plan, and `plugin build` and its check.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use super::toolchains::{Toolchains, path_with};
use super::{Language, Place, columns, megabytes, seconds};
use crate::author::{Author, timed};
use crate::process;
use crate::progress::Step;

/// The durations of an author's commands.
struct Work {
    new: Duration,
    /// The installation of the dependencies, if a command installs them.
    install: Duration,
    /// The first build and plan.
    plan: Duration,
    /// The first build, plan and run of the tests, after the previous command.
    test: Duration,
    edit: Duration,
    release: Duration,
    bytes: u64,
}

/// Creates, builds and tests a project in each language, and returns a table of the durations.
pub(super) fn table(place: &Place<'_>, toolchains: &Toolchains, languages: &[Language]) -> Result<String> {
    let header = ["", "new", "dependencies", "first plan", "first tests", "edit to plan", "build", "size"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    for &language in languages {
        // The reason for a missing toolchain has been printed.
        let Ok(programs) = toolchains.programs(language) else { continue };
        let step = Step::start(&format!("Creating a provider in {}", language.name()));
        let work = measure(place, language, programs)
            .with_context(|| format!("the new provider in {} does not work", language.name()))?;
        step.done("created, built, tested and applied");
        rows.push(vec![
            language.name().to_owned(),
            seconds(work.new),
            seconds(work.install),
            seconds(work.plan),
            seconds(work.test),
            seconds(work.edit),
            seconds(work.release),
            megabytes(work.bytes),
        ]);
    }
    Ok(columns(&rows))
}

fn measure(place: &Place<'_>, language: Language, programs: Option<&Path>) -> Result<Work> {
    let directory = place.target.join("projects").join(language.option());
    if directory.exists() {
        fs::remove_dir_all(&directory)?;
    }
    fs::create_dir_all(&directory)?;
    let project = directory.join("terraform-provider-bench");
    let source = match language {
        Language::Rust => "src/note.rs",
        Language::Go => "internal/provider/note.go",
        Language::JavaScript => "src/note.js",
        Language::Python => "bench_provider/note.py",
    };
    let mut variables: Vec<(&str, OsString)> = vec![
        ("CARGO_TARGET_DIR", directory.join("target").into()),
        ("GOCACHE", directory.join("go-cache").into()),
        ("GOTOOLCHAIN", "local".into()),
    ];
    if let Some(programs) = programs {
        // Projects in JavaScript and Python install their own programs.
        variables.push(("PATH", path_with(programs)?));
    }
    let results = match language {
        Language::Rust => directory.join("target"),
        Language::Go | Language::JavaScript | Language::Python => project.join("build"),
    };
    let author =
        Author { wardian: place.wardian, directory: &directory, project, results, source, variables };
    let shown = author.project.display().to_string();
    let options = [
        format!("-language={}", language.option()),
        format!("-sdk-path={}", place.sdk(language.sdk()).display()),
    ];
    let new = author.time(&["plugin", "new", "acme/bench", &options[0], &options[1]])?;
    if language == Language::Rust {
        // The versions in the workspace's lock file have been downloaded.
        fs::copy(place.workspace.root.join("Cargo.lock"), author.project.join("Cargo.lock"))?;
    }
    let install = install_dependencies(language, &author.project)?;
    let plan = author.time(&["plugin", "dev", &shown, "-once", "-no-tests"])?;
    let test = author.time(&["plugin", "dev", &shown, "-once"])?;
    author.apply()?;
    let edit = author.edits()?;
    let file = directory.join("terraform-provider-bench.wasm");
    let out = format!("-out={}", file.display());
    let release = author.time(&["plugin", "build", &shown, &out])?;
    process::output(&mut author.command(&["plugin", "check", &file.display().to_string()]))?;
    process::output(&mut author.command(&["plugin", "docs", &shown]))?;
    process::output(&mut author.command(&["plugin", "docs", &shown, "-check"]))?;
    failures_are_reported(&author, &shown)?;
    Ok(Work { new, install, plan, test, edit, release, bytes: fs::metadata(&file)?.len() })
}

/// Runs the commands that the README of a project names.
fn install_dependencies(language: Language, project: &Path) -> Result<Duration> {
    let mut commands = match language {
        Language::Rust | Language::Go => return Ok(Duration::ZERO),
        Language::JavaScript => {
            let mut npm = Command::new("npm");
            npm.args(["install", "--no-audit", "--no-fund"]);
            vec![npm]
        }
        Language::Python => {
            let mut environment = Command::new("python3");
            environment.args(["-m", "venv", ".venv"]);
            let mut pip = Command::new(project.join(".venv/bin/pip"));
            pip.args(["install", "--quiet", "--disable-pip-version-check", "--editable", ".[dev]"]);
            vec![environment, pip]
        }
    };
    commands.iter_mut().map(|command| timed(command.current_dir(project))).sum()
}

/// A mistake in the source code, and a test that fails, are reported with the output of the build tool.
fn failures_are_reported(author: &Author<'_>, project: &str) -> Result<()> {
    let source = author.project.join(author.source);
    let original = fs::read_to_string(&source)?;
    for (mistake, arguments, part) in [
        ("\n)(\n", &["plugin", "dev", project, "-once", "-no-tests"][..], "Build failed"),
        ("", &["plugin", "dev", project, "-once"], "Tests failed"),
    ] {
        // Without a mistake, the changed prefix of the IDs makes a test fail.
        let changed = if mistake.is_empty() {
            original.replacen("note-", "wrong-", 1)
        } else {
            format!("{original}{mistake}")
        };
        fs::write(&source, changed)?;
        let output = author.command(arguments).output()?;
        fs::write(&source, &original)?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(
            output.status.code() == Some(1) && errors.contains(part),
            "{part} is not reported:\n{errors}"
        );
    }
    Ok(())
}
