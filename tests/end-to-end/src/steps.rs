//! Steps of recorded cases, and the code that performs them with Terraform or Wardian.

use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use crate::{Project, Terraform, binary, platform};

/// One section of a case, in sequence:
///
/// ```text
/// -- main.tf --
/// resource "terraform_data" "a" {}
/// -- main.tf as utf-16 --
/// -- $ apply --
/// env TF_VAR_size=2
/// input yes
/// -- remove main.tf --
/// -- copy terraform.tfstate earlier.json --
/// -- provider example/acme 1.2.3 --
/// { "resource_schemas": {} }
/// ```
///
/// A provider is a mock provider (see `tests/mock-provider`) in the user's plugin directory; the
/// content is its schemas in the format of `terraform providers schema -json`.
#[derive(Debug)]
pub enum Step {
    Write { path: String, text: String, encoding: Encoding },
    Provider { source: String, version: String, schemas: String },
    Remove { path: String },
    Copy { from: String, to: String },
    Command(CommandLine),
}

/// The encoding of a file's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    Utf8,
    /// With a byte order mark.
    Utf8Bom,
    /// With a byte order mark.
    Utf16,
    /// UTF-8 whose lines end with a carriage return and a line feed.
    Crlf,
    /// UTF-8 without a trailing line break.
    CutOff,
}

/// A command line, its environment variables and its input.
#[derive(Debug, Default)]
pub struct CommandLine {
    /// The arguments, separated by spaces.
    pub line: String,
    pub variables: Vec<(String, String)>,
    pub input: String,
    /// Options that only one suite supports.
    pub options: Vec<String>,
}

/// Terraform or Wardian.
#[derive(Debug)]
pub enum Program {
    Wardian,
    Terraform(Terraform),
}

/// The unprocessed output of a command.
#[derive(Debug)]
pub struct Output {
    pub code: Option<i32>,
    pub out: String,
    pub errors: String,
}

impl Step {
    /// Returns the step of a section, or [`None`] if its title does not name a step.
    pub fn from_section(title: &str, content: &str) -> Option<Self> {
        let words: Vec<&str> = title.split(' ').collect();
        let owned = |word: &str| word.to_owned();
        let write = |path: &str, encoding| Self::Write { path: owned(path), text: owned(content), encoding };
        match *words {
            ["$", ..] => Some(Self::Command(CommandLine::new(title[1..].trim(), content))),
            ["remove", path] => Some(Self::Remove { path: owned(path) }),
            ["copy", from, to] => Some(Self::Copy { from: owned(from), to: owned(to) }),
            ["provider", source, version] => Some(Self::Provider {
                source: owned(source),
                version: owned(version),
                schemas: owned(content),
            }),
            [path, "as", "utf-8-bom"] => Some(write(path, Encoding::Utf8Bom)),
            [path, "as", "utf-16"] => Some(write(path, Encoding::Utf16)),
            [path, "as", "crlf"] => Some(write(path, Encoding::Crlf)),
            [path, "as", "cut-off"] => Some(write(path, Encoding::CutOff)),
            [path] => Some(write(path, Encoding::Utf8)),
            _ => None,
        }
    }

    /// Changes the files of a project. Does nothing if the step is a command.
    ///
    /// # Panics
    /// Panics if a file cannot be written or removed.
    pub fn change_files(&self, project: &Project) {
        match self {
            Self::Write { path, text, encoding } => write(project, path, text, *encoding),
            Self::Provider { source, version, schemas } => install(project, source, version, schemas),
            Self::Remove { path } => {
                let removed = fs::remove_file(project.path(path));
                assert!(removed.is_ok(), "{path}: {removed:?}");
            }
            Self::Copy { from, to } => {
                // If a failed command did not create the file, the results of later commands show
                // the failure.
                let _ = fs::copy(project.path(from), project.path(to));
            }
            Self::Command(_) => {}
        }
    }
}

impl CommandLine {
    fn new(line: &str, content: &str) -> Self {
        let mut command = Self { line: line.to_owned(), ..Self::default() };
        for option in content.lines().filter(|line| !line.is_empty()) {
            match option.split_once(' ') {
                Some(("env", variable)) => {
                    let (name, value) = variable.split_once('=').unwrap_or((variable, ""));
                    command.variables.push((name.to_owned(), value.to_owned()));
                }
                Some(("input", text)) => {
                    command.input.push_str(text);
                    command.input.push('\n');
                }
                _ => command.options.push(option.to_owned()),
            }
        }
        command
    }
}

/// Writes a file. Placeholders are replaced: the platform, the path of the native plugin, and a byte
/// that is not UTF-8. Scripts are made executable.
fn write(project: &Project, path: &str, text: &str, encoding: Encoding) {
    let plugin = binary().with_file_name("wardian-native-plugin");
    let text = text.replace("[NATIVE_PLUGIN]", &plugin.display().to_string());
    let bytes = match encoding {
        Encoding::Utf8 => text.clone().into_bytes(),
        Encoding::Utf8Bom => [b"\xef\xbb\xbf", text.as_bytes()].concat(),
        Encoding::Utf16 => {
            let units = std::iter::once(0xfeff).chain(text.encode_utf16());
            units.flat_map(u16::to_le_bytes).collect()
        }
        Encoding::CutOff => text.trim_end().as_bytes().to_vec(),
        Encoding::Crlf => text.replace('\n', "\r\n").into_bytes(),
    };
    let path = path.replace("[PLATFORM]", &platform());
    if let Some((before, after)) = path.split_once("[E9]") {
        let name = OsString::from_vec([before.as_bytes(), b"\xe9", after.as_bytes()].concat());
        let written = fs::write(project.path("").join(name), bytes);
        assert!(written.is_ok(), "{path}: {written:?}");
        return;
    }
    project.write(&path, bytes);
    if text.starts_with("#!") {
        let changed = fs::set_permissions(project.path(&path), fs::Permissions::from_mode(0o755));
        assert!(changed.is_ok(), "{path}: {changed:?}");
    }
}

/// Installs a mock provider.
fn install(project: &Project, source: &str, version: &str, schemas: &str) {
    let name = source.rsplit('/').next().unwrap_or_default();
    let schemas_path = format!("home/schemas/{name}-{version}.json");
    project.write(&schemas_path, schemas);
    let program = binary().with_file_name("wardian-mock-provider");
    let script = format!(
        "#!/bin/sh\nexec '{}' serve '{}'\n",
        program.display(),
        project.path(&schemas_path).display()
    );
    let package =
        format!("home/.terraform.d/plugins/registry.terraform.io/{source}/{version}/{}", platform());
    write(project, &format!("{package}/terraform-provider-{name}_v{version}"), &script, Encoding::Utf8);
}

impl Program {
    /// Builds the command with the given arguments.
    pub fn command(&self, project: &Project, line: &str) -> Command {
        match self {
            Self::Wardian => project.command(line),
            Self::Terraform(terraform) => terraform.command(project, line),
        }
    }

    /// Runs a command without colors.
    ///
    /// # Panics
    /// Panics if the program cannot be run.
    pub fn run(&self, project: &Project, command: &CommandLine) -> Output {
        let mut process = self.command(project, &command.line);
        process.env("NO_COLOR", "1").envs(command.variables.iter().map(|(name, value)| (name, value)));
        Output::from_command(process, &command.input)
    }
}

impl Output {
    /// Runs a command with input.
    ///
    /// # Panics
    /// Panics if the command cannot be run.
    pub fn from_command(mut process: Command, input: &str) -> Self {
        let child = process.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        #[expect(clippy::expect_used, reason = "the command is needed for the test")]
        let mut child = child.expect("the program starts");
        if let Some(mut stdin) = child.stdin.take() {
            // A command that does not read its input may already have exited.
            let _ = stdin.write_all(input.as_bytes());
        }
        #[expect(clippy::expect_used, reason = "the command is needed for the test")]
        let output = child.wait_with_output().expect("the program ends");
        Self {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            errors: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}
