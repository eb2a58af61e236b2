//! Tests the SDKs, and builds the components of the provider `inventory`.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context as _, Result};

use super::bindings::WORLD;
use super::toolchains::Toolchains;
use super::{BuildTimes, Component, Language, Place, sources};
use crate::progress::{Step, say};
use crate::toolchain::{self, Source};
use crate::{guests, process};

/// The capabilities of the components in Go, JavaScript and Python. The provider in Rust declares its own.
const CAPABILITIES: &str = r#"[
  {
    "network": {
      "hosts": ["127.0.0.1", "localhost"],
      "schemes": ["http"],
      "ports": ["*"],
      "reason": "reads documents"
    }
  }
]
"#;

/// The provider's name in `plugins/sdk/examples` and in the metadata of its package.
const PROVIDER: &str = "inventory";

/// Tests the SDKs and builds their components.
pub(super) fn all(
    place: &Place<'_>,
    toolchains: &Toolchains,
    languages: &[Language],
    components: &Path,
) -> Result<Vec<Component>> {
    let capabilities = place.target.join("capabilities.json");
    fs::write(&capabilities, CAPABILITIES)?;
    let mut built = Vec::new();
    for &language in languages {
        let programs = match toolchains.programs(language) {
            Ok(programs) => programs.unwrap_or(Path::new("")),
            Err(reason) => {
                say(&format!("skipped {}: {reason}", language.name()));
                continue;
            }
        };
        let step = Step::start(&format!("Building the provider in {}", language.name()));
        let file = components.join(format!("{}.wasm", language.name().to_lowercase()));
        let builder = Builder { place, programs, file: &file, capabilities: &capabilities };
        let sources = sources::digest(&place.sdk(language.sdk()))?;
        let build = match language {
            Language::Rust => builder.rust(),
            Language::Go => builder.go(),
            Language::JavaScript => builder.javascript(),
            Language::Python => builder.python(),
        };
        let build =
            build.with_context(|| format!("the component in {} could not be built", language.name()))?;
        step.done("built");
        built.push(Component { language, file, sources, build });
    }
    Ok(built)
}

/// The paths of one build.
struct Builder<'a> {
    place: &'a Place<'a>,
    /// The directory of the toolchain's programs.
    programs: &'a Path,
    /// The component.
    file: &'a Path,
    capabilities: &'a Path,
}

impl Builder<'_> {
    fn command(&self, program: &str) -> Command {
        Command::new(self.programs.join(program))
    }

    fn wardian(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.place.wardian);
        command.args(arguments);
        command
    }

    fn rust(&self) -> Result<BuildTimes> {
        let workspace = self.place.workspace;
        let toolchain = toolchain::prepare(workspace, Source::Auto)?;
        let guest = workspace.guests.iter().find(|guest| guest.name == PROVIDER);
        let guest = guest.with_context(|| format!("no package is the guest `{PROVIDER}`"))?;
        let directory = self.place.target.join("rust");
        if directory.exists() {
            fs::remove_dir_all(&directory)?;
        }
        let compile = || timed(|| guests::compile(workspace, &[guest], &toolchain, &directory));
        let clean = compile()?;
        let source = self.place.sdk("sdk").join("examples").join(PROVIDER).join("src/lib.rs");
        fs::File::options().append(true).open(source)?.set_modified(SystemTime::now())?;
        let incremental = compile()?;
        fs::copy(guests::compiled_file(&directory, guest), self.file)?;
        Ok(BuildTimes { clean, incremental: Some(incremental) })
    }

    /// Returns a command of Go, which downloads nothing.
    fn go_command(&self) -> Command {
        let mut go = self.command("go");
        go.current_dir(self.place.sdk("sdk-go")).env("GOTOOLCHAIN", "local");
        go.env("GOCACHE", self.place.target.join("go-cache"));
        go
    }

    fn go(&self) -> Result<BuildTimes> {
        let cache = self.place.target.join("go-cache");
        if cache.exists() {
            fs::remove_dir_all(&cache)?;
        }
        // A build after a change: the overlay replaces a source file with a changed copy.
        let source = self.place.sdk("sdk-go").join("examples").join(PROVIDER).join("provider.go");
        let changed = self.place.target.join("changed.go");
        fs::write(&changed, format!("{}\nvar _ = capacity\n", fs::read_to_string(&source)?))?;
        let overlay = self.place.target.join("overlay.json");
        fs::write(&overlay, serde_json::json!({ "Replace": { text(&source)?: changed } }).to_string())?;
        let core = self.place.target.join("go-core.wasm");
        let build = |overlay: Option<&Path>, file: &Path| {
            let mut go = self.go_command();
            go.env("GOOS", "wasip1").env("GOARCH", "wasm");
            go.args(["build", "-buildmode=c-shared", "-trimpath", "-ldflags=-s -w -checklinkname=0"]);
            if let Some(overlay) = overlay {
                go.arg("-overlay").arg(overlay);
            }
            let mut componentize = self.wardian(&["plugin", "componentize"]);
            componentize.arg(&core).arg("-declare").arg(self.capabilities).arg("-out").arg(file);
            timed(|| {
                process::run(go.arg("-o").arg(&core).arg(format!("./examples/{PROVIDER}")))?;
                process::run(&mut componentize)
            })
        };
        let clean = build(None, self.file)?;
        let incremental = build(Some(&overlay), &self.place.target.join("changed.wasm"))?;
        process::run(self.go_command().args(["vet", "./..."]))?;
        process::run(self.go_command().args(["test", "./..."]))?;
        Ok(BuildTimes { clean, incremental: Some(incremental) })
    }

    fn javascript(&self) -> Result<BuildTimes> {
        let sdk = self.place.sdk("sdk-js");
        process::run(Command::new("node").args(["--test", "test/"]).current_dir(&sdk))?;
        let mut compile = self.command("componentize-qjs");
        compile.args(["--sync", "--opt-size", "--world", WORLD, "--wit"]).arg(sdk.join("wit"));
        compile.arg("--js").arg(sdk.join("examples").join(PROVIDER).join("component.js"));
        compile.arg("--module-root").arg(&sdk).arg("--output").arg(self.file);
        self.without_increments(&mut compile)
    }

    fn python(&self) -> Result<BuildTimes> {
        let sdk = self.place.sdk("sdk-python");
        let mut test = self.command("python3");
        test.args(["-B", "-m", "unittest"]).current_dir(&sdk);
        process::run(&mut test)?;
        let mut compile = self.command("componentize-py");
        compile.arg("--wit-path").arg(sdk.join("wardian_sdk/wit"));
        compile.args(["--world", WORLD, "componentize", "component"]);
        compile.arg("--python-path").arg(&sdk);
        compile.arg("--python-path").arg(sdk.join("examples").join(PROVIDER));
        compile.arg("--output").arg(self.file);
        self.without_increments(&mut compile)
    }

    /// Runs a compiler that keeps no results, and declares the capabilities.
    fn without_increments(&self, compile: &mut Command) -> Result<BuildTimes> {
        let clean = timed(|| {
            process::run(compile)?;
            let mut declare = self.wardian(&["plugin", "declare"]);
            process::run(declare.arg(self.file).arg("-from").arg(self.capabilities))
        })?;
        Ok(BuildTimes { clean, incremental: None })
    }
}

/// Returns a path as text, for a JSON document.
fn text(path: &Path) -> Result<&str> {
    path.to_str().with_context(|| format!("{} is not UTF-8", path.display()))
}

fn timed(work: impl FnOnce() -> Result<()>) -> Result<Duration> {
    let started = Instant::now();
    work()?;
    Ok(started.elapsed())
}
