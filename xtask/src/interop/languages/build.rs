//! Builds the components, and writes the bindings of the SDKs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use super::toolchains::Toolchains;
use super::{Component, text};
use crate::process;
use crate::progress::say;
use crate::workspace::Workspace;

/// The world of the components.
const WORLD: &str = "sdk-provider-plugin";
/// The capabilities that each component declares, in the format of `docs/declarations.md`.
const DECLARATION: &str = r#"{"version":1,"capabilities":[{"network":{"hosts":["127.0.0.1","localhost"],"schemes":["http"],"ports":["*"],"reason":"reads documents"}}]}"#;

/// Tests the SDKs and builds their components.
pub(super) fn all(
    workspace: &Workspace,
    toolchains: &Toolchains,
    target: &Path,
    components: &Path,
) -> Result<Vec<Component>> {
    let mut built = Vec::new();
    for (language, tools, build) in [
        ("Go", &toolchains.python, go as Build),
        ("JavaScript", &toolchains.node, javascript as Build),
        ("Python", &toolchains.python, python as Build),
    ] {
        match tools {
            Ok(tools) => {
                let file = components.join(format!("{}.wasm", language.to_lowercase()));
                let time = build(&Place { workspace, tools, target }, &file)
                    .with_context(|| format!("the component in {language} could not be built"))?;
                declare(&file)?;
                built.push(Component { language, file, build: Some(time) });
            }
            Err(reason) => say(&format!("skipped {language}: {reason}")),
        }
    }
    Ok(built)
}

type Build = fn(&Place<'_>, &Path) -> Result<Duration>;

/// The directories of a build.
struct Place<'a> {
    workspace: &'a Workspace,
    tools: &'a Path,
    target: &'a Path,
}

impl Place<'_> {
    fn sdk(&self, name: &str) -> PathBuf {
        self.workspace.root.join("plugins").join(name)
    }

    fn wit(&self) -> PathBuf {
        self.workspace.root.join("wit")
    }

    fn command(&self, program: &str) -> Command {
        Command::new(self.tools.join(program))
    }

    /// Creates a command of Go, which downloads nothing.
    fn go(&self) -> Command {
        let mut go = self.command("go");
        go.current_dir(self.sdk("sdk-go")).env("GOTOOLCHAIN", "local").env("GOFLAGS", "-mod=mod");
        go.env("GOCACHE", self.target.join("go-cache"));
        go
    }
}

fn go(place: &Place<'_>, file: &Path) -> Result<Duration> {
    process::run(place.go().args(["test", "./..."]))?;
    let (core, embedded) = (place.target.join("go-core.wasm"), place.target.join("go-embedded.wasm"));
    let adapter = place.target.join("wasi_snapshot_preview1.reactor.wasm");
    fs::write(&adapter, wasi_preview1_component_adapter_provider::WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER)?;
    let started = Instant::now();
    let mut go = place.go();
    go.env("GOOS", "wasip1").env("GOARCH", "wasm");
    go.args(["build", "-buildmode=c-shared", "-trimpath", "-ldflags=-s -w -checklinkname=0", "-o"]);
    process::run(go.arg(&core).arg("./examples/inventory"))?;
    let mut embed = place.command("wasm-tools");
    embed.args(["component", "embed", "--world", WORLD]).arg(place.wit()).arg(&core).arg("-o").arg(&embedded);
    process::run(&mut embed)?;
    let mut adapt = place.command("wasm-tools");
    adapt.args(["component", "new"]).arg(&embedded).arg("--adapt");
    adapt.arg(format!("wasi_snapshot_preview1={}", text(&adapter)?)).arg("-o").arg(file);
    process::run(&mut adapt)?;
    process::run(place.command("wasm-tools").args(["strip", "--all"]).arg(file).arg("-o").arg(file))?;
    Ok(started.elapsed())
}

fn javascript(place: &Place<'_>, file: &Path) -> Result<Duration> {
    let sdk = place.sdk("sdk-js");
    process::run(Command::new("node").args(["--test", "test/"]).current_dir(&sdk))?;
    let started = Instant::now();
    let mut compile = place.command("componentize-qjs");
    compile.args(["--sync", "--opt-size", "--world", WORLD, "--wit"]).arg(place.wit());
    compile.arg("--js").arg(sdk.join("examples/inventory/component.js"));
    compile.arg("--module-root").arg(&sdk).arg("--output").arg(file);
    process::run(&mut compile)?;
    Ok(started.elapsed())
}

fn python(place: &Place<'_>, file: &Path) -> Result<Duration> {
    let sdk = place.sdk("sdk-python");
    let mut test = place.command("python3");
    test.args(["-B", "-m", "unittest"]).current_dir(&sdk);
    process::run(&mut test)?;
    let started = Instant::now();
    let mut compile = place.command("componentize-py");
    compile.arg("--wit-path").arg(place.wit()).args(["--world", WORLD, "componentize", "component"]);
    compile.arg("--python-path").arg(&sdk).arg("--python-path").arg(sdk.join("examples/inventory"));
    process::run(compile.arg("--output").arg(file))?;
    Ok(started.elapsed())
}

/// Appends a declaration to a component, as a custom section.
fn declare(file: &Path) -> Result<()> {
    let mut content = vec![u8::try_from("wardian:capabilities".len())?];
    content.extend_from_slice(b"wardian:capabilities");
    content.extend_from_slice(DECLARATION.as_bytes());
    content.push(b'\n');
    let mut component = fs::read(file)?;
    component.push(0);
    let mut length = content.len();
    while length >= 0x80 {
        component.push(u8::try_from(length & 0x7f)? | 0x80);
        length >>= 7;
    }
    component.push(u8::try_from(length)?);
    component.extend_from_slice(&content);
    fs::write(file, component).with_context(|| format!("could not write {}", file.display()))
}

/// Writes the bindings of the SDKs for the world in `wit/`.
pub(super) fn write_bindings(workspace: &Workspace, toolchains: &Toolchains, target: &Path) -> Result<()> {
    let tools = match &toolchains.python {
        Ok(tools) => tools,
        Err(reason) => {
            say(&format!("skipped: {reason}"));
            return Ok(());
        }
    };
    let place = Place { workspace, tools, target };
    let document = target.join("wit.json");
    let mut describe = place.command("wasm-tools");
    let json = process::output(describe.args(["component", "wit", "--json"]).arg(place.wit()))?;
    fs::write(&document, json)?;
    let mut go = place.go();
    go.args(["run", "./internal/generate", WORLD, "bindings"]).stdin(fs::File::open(&document)?);
    process::run(&mut go)?;
    let javascript = place.sdk("sdk-js").join("bindings");
    let mut generate = Command::new("node");
    generate
        .arg("generate.js")
        .arg(WORLD)
        .current_dir(&javascript)
        .stdin(Stdio::from(fs::File::open(&document)?));
    fs::write(javascript.join("world.d.ts"), process::output(&mut generate)?)?;
    let python = place.sdk("sdk-python").join("bindings");
    let generated = target.join("python-bindings");
    let mut generate = place.command("componentize-py");
    generate.arg("--wit-path").arg(place.wit()).args(["--world", WORLD, "bindings"]).arg(&generated);
    process::run(&mut generate)?;
    if python.exists() {
        fs::remove_dir_all(&python)?;
    }
    fs::create_dir_all(&python)?;
    fs::copy(generated.join("componentize_py_types.py"), python.join("componentize_py_types.py"))?;
    fs::rename(generated.join("wit_world"), python.join("wit_world"))?;
    Ok(())
}
