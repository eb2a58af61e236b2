//! Runs the steps of a scenario with Terraform or Wardian.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use wardian_end_to_end::{Project, Terraform, binary, platform};

use crate::answer;
use crate::folder::Folder;
use crate::names::Names;
use crate::scenario::{CommandLine, Scenario, Step};

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

/// Runs all steps and returns the results of the commands.
pub fn all_steps(program: &Program, scenario: &Scenario) -> String {
    let project = Project::new(&[]);
    let mut names = Names::new(&project);
    let mut answer = String::new();
    let mut is_prepared = false;
    for step in &scenario.steps {
        match step {
            Step::Write { path, text } => {
                write(&project, path, text);
                is_prepared = false;
            }
            Step::Remove { path } => {
                fs::remove_file(project.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
                is_prepared = false;
            }
            Step::Copy { from, to } => {
                // If a failed command did not create the file, the results of later commands show
                // the failure.
                let _ = fs::copy(project.path(from), project.path(to));
            }
            Step::Command(command) => {
                if !is_prepared && calls_modules(&project) {
                    program.run(&project, &CommandLine { line: "init".to_owned(), ..CommandLine::default() });
                }
                is_prepared = true;
                if let Some(path) = saved_plan(command) {
                    // If the file exists afterwards, the command saved it.
                    let _ = fs::remove_file(project.path(path));
                }
                let before = Folder::read(&project);
                let output = program.run(&project, command);
                let after = Folder::read(&project);
                let plan = saved_plan(command).filter(|path| project.has(path)).map(|path| {
                    let line = CommandLine { line: format!("show -json {path}"), ..CommandLine::default() };
                    (path.to_owned(), program.run(&project, &line))
                });
                answer.push_str(&answer::of_command(command, &output, plan, &before, &after, &mut names));
            }
        }
    }
    answer
}

/// Writes a file. Placeholders are replaced with values of this machine: the platform and the path
/// of the native plugin. Scripts are made executable.
fn write(project: &Project, path: &str, text: &str) {
    let path = path.replace("[PLATFORM]", &platform());
    let plugin = binary().with_file_name("wardian-native-plugin");
    project.write(&path, text.replace("[NATIVE_PLUGIN]", &plugin.display().to_string()));
    if text.starts_with("#!") {
        fs::set_permissions(project.path(&path), fs::Permissions::from_mode(0o755)).unwrap();
    }
}

fn saved_plan(command: &CommandLine) -> Option<&str> {
    command.line.split(' ').find_map(|word| word.strip_prefix("-out="))
}

/// Returns whether a configuration calls modules, so that `init` is required.
fn calls_modules(project: &Project) -> bool {
    fs::read_dir(project.path("")).unwrap().flatten().any(|entry| {
        let path = entry.path();
        path.extension().is_some_and(|extension| extension == "tf")
            && fs::read_to_string(&path).is_ok_and(|text| text.contains("module \""))
    })
}

impl Program {
    fn command(&self, project: &Project, line: &str) -> Command {
        match self {
            Self::Wardian => project.command(line),
            Self::Terraform(terraform) => terraform.command(project, line),
        }
    }

    fn run(&self, project: &Project, command: &CommandLine) -> Output {
        let mut process = self.command(project, &command.line);
        process
            .env("NO_COLOR", "1")
            .envs(command.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = process.spawn().unwrap();
        if let Some(mut stdin) = child.stdin.take() {
            // A command that does not read its input may already have exited.
            let _ = stdin.write_all(command.input.as_bytes());
        }
        let output = child.wait_with_output().unwrap();
        Output {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            errors: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}
