//! Provides the standard library for `wasm32-wasip2`, which is required to compile plugins.
//!
//! The library is taken from the first of these sources that is available: the installed toolchain;
//! `rustup`, which adds it to the toolchain; or Debian's sources, from which it is compiled into
//! `target/wasip2-sysroot`. Only the build of guests uses that directory, and the compilation does
//! not change the installed toolchain.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};

use crate::process;
use crate::progress::{Step, note};
use crate::workspace::{Workspace, without_package_of_xtask};

pub(crate) const TARGET: &str = "wasm32-wasip2";

/// Time limit for rustup, which waits a long time for a server that does not respond.
const RUSTUP_LIMIT: Duration = Duration::from_mins(3);

const BUILD_FROM_DEBIAN: &str = include_str!("wasip2-std.sh");

#[derive(Clone, Copy)]
pub(crate) enum Source {
    Auto,
    Installed,
    Rustup,
    Debian,
}

impl Source {
    pub(crate) fn parse(name: &str) -> Result<Self> {
        Ok(match name {
            "auto" => Self::Auto,
            "installed" => Self::Installed,
            "rustup" => Self::Rustup,
            "debian" => Self::Debian,
            _ => bail!("--toolchain must be auto, installed, rustup or debian, not `{name}`"),
        })
    }
}

/// A rustc that can compile guests.
pub(crate) struct Toolchain {
    /// The directory of the target's library, unless it is rustc's own sysroot.
    pub(crate) sysroot: Option<PathBuf>,
}

pub(crate) fn prepare(workspace: &Workspace, source: Source) -> Result<Toolchain> {
    match source {
        Source::Installed => installed(),
        Source::Rustup => with_rustup(),
        Source::Debian => from_debian(workspace),
        Source::Auto => first_that_works(workspace),
    }
}

fn first_that_works(workspace: &Workspace) -> Result<Toolchain> {
    if let Ok(toolchain) = installed() {
        return Ok(toolchain);
    }
    // A library that was compiled earlier is always used; otherwise, rustup would wait for an
    // unreachable server in each run.
    if let Some(sysroot) = Sysroot::for_workspace(workspace)?.if_finished() {
        return Ok(sysroot);
    }
    let rustup = match with_rustup() {
        Ok(toolchain) => return Ok(toolchain),
        Err(error) => error,
    };
    note(&format!("{rustup:#}; compiling it instead"));
    from_debian(workspace).map_err(|debian| {
        anyhow!(
            "the standard library for {TARGET} is missing, and both methods of installing it failed.\n- \
             rustup: {rustup:#}\n- from Debian's sources: {debian:#}\nWith network access, `rustup target \
             add {TARGET}` is enough."
        )
    })
}

fn installed() -> Result<Toolchain> {
    let directory = process::output(rustc().args(["--print", "target-libdir", "--target", TARGET]))?;
    let directory = PathBuf::from(directory.trim_end());
    if !has_std(&directory) {
        bail!("rustc has no standard library for {TARGET}");
    }
    Ok(Toolchain { sysroot: None })
}

fn with_rustup() -> Result<Toolchain> {
    if process::on_path("rustup").is_none() {
        bail!("rustup is not on PATH");
    }
    let step = Step::start(&format!("Adding {TARGET} with rustup"));
    process::run_within(Command::new("rustup").args(["target", "add", TARGET]), RUSTUP_LIMIT)?;
    let toolchain = installed().context("rustup added it to a toolchain other than rustc's")?;
    step.done("added");
    Ok(toolchain)
}

fn from_debian(workspace: &Workspace) -> Result<Toolchain> {
    let sysroot = Sysroot::for_workspace(workspace)?;
    if let Some(toolchain) = sysroot.if_finished() {
        return Ok(toolchain);
    }
    for program in ["apt-get", "dpkg"] {
        if process::on_path(program).is_none() {
            bail!("{program} is not on PATH: this method requires Debian or a derivative");
        }
    }
    let step = Step::start(&format!("Compiling the standard library for {TARGET} from Debian's sources"));
    sysroot.discard()?;
    process::run(
        without_package_of_xtask(Command::new("sh"))
            .args(["-c", BUILD_FROM_DEBIAN, "wasip2-std.sh"])
            .arg(sysroot.library()),
    )?;
    let toolchain = sysroot.finish()?;
    step.done("compiled");
    Ok(toolchain)
}

/// A sysroot with only this target, for one version of rustc.
struct Sysroot {
    directory: PathBuf,
    /// The output of `rustc --version --verbose` for its compiler.
    compiler: String,
}

impl Sysroot {
    fn for_workspace(workspace: &Workspace) -> Result<Self> {
        Ok(Self {
            directory: workspace.own_target().join("wasip2-sysroot"),
            compiler: process::output(rustc().args(["--version", "--verbose"]))?,
        })
    }

    fn library(&self) -> PathBuf {
        self.directory.join("lib/rustlib").join(TARGET)
    }

    /// Returns the path of the file that is written last. A build without this file is incomplete
    /// and is never used.
    fn stamp(&self) -> PathBuf {
        self.directory.join("compiler")
    }

    fn if_finished(&self) -> Option<Toolchain> {
        let same = fs::read_to_string(self.stamp()).is_ok_and(|stamp| stamp == self.compiler);
        (same && has_std(&self.library().join("lib")))
            .then(|| Toolchain { sysroot: Some(self.directory.clone()) })
    }

    fn discard(&self) -> Result<()> {
        if self.directory.exists() {
            fs::remove_dir_all(&self.directory)
                .with_context(|| format!("could not remove {}", self.directory.display()))?;
        }
        Ok(())
    }

    fn finish(&self) -> Result<Toolchain> {
        fs::write(self.stamp(), &self.compiler)
            .with_context(|| format!("could not write {}", self.stamp().display()))?;
        self.if_finished()
            .with_context(|| format!("no standard library was created in {}", self.library().display()))
    }
}

fn has_std(directory: &Path) -> bool {
    fs::read_dir(directory).is_ok_and(|entries| {
        entries.flatten().any(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            name.starts_with("libstd-") && name.ends_with(".rlib")
        })
    })
}

fn rustc() -> Command {
    Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
}
