//! Writes the bindings of the SDKs for the world in `wit/`, and the copies of the interface definitions in
//! their packages.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::toolchains;
use crate::process;
use crate::progress::say;
use crate::workspace::Workspace;

/// The world of the components.
pub(super) const WORLD: &str = "sdk-provider-plugin";

/// The directories in packages of SDKs that contain the interface definitions.
const DEFINITIONS: [&str; 2] = ["plugins/sdk-js/wit", "plugins/sdk-python/wardian_sdk/wit"];

pub(super) fn write(workspace: &Workspace, target: &Path) -> Result<()> {
    let wit = workspace.root.join("wit");
    for copy in DEFINITIONS {
        let copy = workspace.root.join(copy);
        if copy.exists() {
            fs::remove_dir_all(&copy)?;
        }
        copy_tree(&wit, &copy)?;
    }
    let programs =
        toolchains::bindings_programs(target).and_then(|tools| Ok((tools, toolchains::go(target)?)));
    let (tools, go_programs) = match programs {
        Ok(programs) => programs,
        Err(reason) => {
            say(&format!("skipped the bindings: {reason:#}"));
            return Ok(());
        }
    };
    let plugins = workspace.root.join("plugins");
    let document = target.join("wit.json");
    let mut describe = Command::new(tools.join("wasm-tools"));
    let json = process::output(describe.args(["component", "wit", "--json"]).arg(&wit))?;
    fs::write(&document, json)?;
    let mut go = Command::new(go_programs.join("go"));
    go.current_dir(plugins.join("sdk-go")).env("GOTOOLCHAIN", "local");
    go.env("GOCACHE", target.join("go-cache"));
    go.args(["run", "./internal/generate", WORLD, "bindings"]).stdin(fs::File::open(&document)?);
    process::run(&mut go)?;
    let javascript = plugins.join("sdk-js/bindings");
    let mut generate = Command::new("node");
    generate.args(["generate.js", WORLD]).arg(&document).current_dir(&javascript);
    fs::write(javascript.join("world.d.ts"), process::output(&mut generate)?)?;
    let python = plugins.join("sdk-python/bindings");
    let generated = target.join("python-bindings");
    let mut generate = Command::new(tools.join("componentize-py"));
    generate.arg("--wit-path").arg(&wit).args(["--world", WORLD, "bindings"]).arg(&generated);
    process::run(&mut generate)?;
    if python.exists() {
        fs::remove_dir_all(&python)?;
    }
    fs::create_dir_all(&python)?;
    fs::copy(generated.join("componentize_py_types.py"), python.join("componentize_py_types.py"))?;
    fs::rename(generated.join("wit_world"), python.join("wit_world"))?;
    Ok(())
}

fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_tree(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
