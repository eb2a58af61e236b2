//! The Python environment with the packages from PyPI, below `target/interop/native`. An existing
//! environment is reused.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use crate::process;
use crate::progress::say;

const PACKAGES: &[&str] = &[
    "cryptography>=42",
    "grpcio>=1.60,<2",
    "grpcio-tools>=1.60,<2",
    "hypercorn>=0.16,<1",
    "kubernetes>=30",
    "msgpack>=1,<2",
];
/// Time limit of one command of the installation.
const LIMIT: Duration = Duration::from_mins(10);

pub(super) struct Python {
    pub(super) interpreter: PathBuf,
    /// The directories that a program in Python reads: the environment, its base, and the provider.
    pub(super) directories: Vec<PathBuf>,
    /// The directory of the provider, with the generated code of the protocol.
    pub(super) provider: PathBuf,
}

impl Python {
    /// Installs the packages and prepares the provider. Returns the reason if there is no Python.
    pub(super) fn install(target: &Path, sources: &Path, protocol: &Path) -> Result<Result<Self, String>> {
        // An unprivileged user cannot reach a Python in a home directory.
        let candidates = [Some(PathBuf::from("/usr/bin/python3")), process::on_path("python3")];
        let can_create = |python: &PathBuf| {
            python.is_file()
                && process::output(Command::new(python).args(["-c", "import ensurepip, venv"])).is_ok()
        };
        let Some(base) = candidates.into_iter().flatten().find(can_create) else {
            return Ok(Err("there is no `python3` with `venv` (Debian's python3-venv)".to_owned()));
        };
        let environment = target.join("python");
        let interpreter = environment.join("bin/python3");
        let marker = environment.join("installed");
        let expected =
            format!("{}{}\n", process::output(Command::new(&base).arg("--version"))?, PACKAGES.join("\n"));
        if fs::read_to_string(&marker).ok().as_deref() != Some(&expected) {
            say(&format!("installing {} below {}", PACKAGES.join(", "), environment.display()));
            if environment.exists() {
                fs::remove_dir_all(&environment)?;
            }
            fs::create_dir_all(target)?;
            let log = target.join("python.log");
            let mut create = Command::new(&base);
            create.args(["-m", "venv"]).arg(&environment);
            let mut install = Command::new(&interpreter);
            install.args(["-m", "pip", "install", "--disable-pip-version-check"]).args(PACKAGES);
            for command in [&mut create, &mut install] {
                let status = process::logged_within(command, &log, LIMIT)?;
                if !status.success() {
                    bail!(
                        "`{}` ended with {status}; its output is in {}",
                        process::line(command),
                        log.display()
                    );
                }
            }
            fs::write(&marker, expected)?;
        }
        let provider = target.join("run/provider");
        fs::create_dir_all(&provider)?;
        for file in ["provider.py", "plugin_server.py", "credential.py"] {
            fs::copy(sources.join(file), provider.join(file))
                .with_context(|| format!("could not copy {file}"))?;
        }
        let mut directories = vec![environment, provider.clone()];
        let find = ["-c", "import os, sys; print(os.path.realpath(sys.base_prefix))"];
        let prefix = process::output(Command::new(&interpreter).args(find))?.trim().to_owned();
        // The system's directories are granted to every program.
        if prefix != "/usr" {
            directories.push(prefix.into());
        }
        let python = Self { interpreter, directories, provider };
        let mut compiler = python.protocol_compiler(protocol);
        for option in ["--python_out", "--grpc_python_out"] {
            compiler.arg(format!("{option}={}", python.provider.display()));
        }
        process::output(compiler.args(["common.proto", "tfplugin6.proto", "plugin.proto"]))?;
        Ok(Ok(python))
    }

    /// Returns the command of the compiler for the protocol's definitions, without its outputs.
    pub(super) fn protocol_compiler(&self, protocol: &Path) -> Command {
        let mut command = Command::new(&self.interpreter);
        command.args(["-m", "grpc_tools.protoc", "-I"]).arg(protocol);
        command
    }
}
