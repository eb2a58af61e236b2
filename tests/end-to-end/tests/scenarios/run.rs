//! Runs the steps of a scenario with Terraform or Wardian.

use std::fs;

use wardian_end_to_end::{CommandLine, Program, Project, Step};

use crate::answer;
use crate::folder::Folder;
use crate::names::Names;
use crate::scenario::Scenario;

/// Runs all steps and returns the results of the commands.
pub fn all_steps(program: &Program, scenario: &Scenario) -> String {
    let project = Project::new(&[]);
    let mut names = Names::new(&project);
    let mut answer = String::new();
    let mut is_prepared = false;
    let mut has_providers = false;
    for step in &scenario.steps {
        match step {
            Step::Command(command) => {
                if !is_prepared && (has_providers || calls_modules(&project)) {
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
            Step::Copy { .. } => step.change_files(&project),
            Step::Write { .. } | Step::Provider { .. } | Step::Remove { .. } => {
                step.change_files(&project);
                has_providers |= matches!(step, Step::Provider { .. });
                is_prepared = false;
            }
        }
    }
    answer
}

fn saved_plan(command: &CommandLine) -> Option<&str> {
    command.line.split(' ').find_map(|word| word.strip_prefix("-out="))
}

/// Returns whether a configuration calls modules, and therefore requires `init`.
fn calls_modules(project: &Project) -> bool {
    fs::read_dir(project.path("")).unwrap().flatten().any(|entry| {
        let path = entry.path();
        path.extension().is_some_and(|extension| extension == "tf")
            && fs::read_to_string(&path).is_ok_and(|text| text.contains("module \""))
    })
}
