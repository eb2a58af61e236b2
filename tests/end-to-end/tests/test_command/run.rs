//! Runs the steps of a case with Wardian.

use std::path::Path;

use wardian_end_to_end::{CommandLine, Output, Program, Project, Step};

use crate::answer::{Answer, Format};
use crate::case::{Case, NO_INIT, ONE_FORMAT};

/// Runs all steps and returns the results of the commands.
pub fn all_steps(case: &Case, mirror: Option<&Path>) -> Vec<Answer> {
    let project = Project::new(&[]);
    let settings = mirror.filter(|_| case.needs_aws()).map(|mirror| {
        let path = project.path("home/settings.tfrc");
        let mirror = format!("  filesystem_mirror {{\n    path = {:?}\n  }}\n", mirror.display().to_string());
        project.write("home/settings.tfrc", format!("provider_installation {{\n{mirror}}}\n"));
        ("TF_CLI_CONFIG_FILE".to_owned(), path.display().to_string())
    });
    let mut answers = Vec::new();
    let mut is_changed = true;
    for step in &case.steps {
        let Step::Command(command) = step else {
            step.change_files(&project);
            is_changed = true;
            continue;
        };
        let run = |project: &Project, line: &str| {
            let mut variables = command.variables.clone();
            variables.extend(settings.clone());
            let line = line.to_owned();
            let command = CommandLine { line, variables, input: command.input.clone(), options: Vec::new() };
            format(project, Program::Wardian.run(project, &command))
        };
        let has = |option: &str| command.options.iter().any(|known| known == option);
        let needs_init = is_changed && !has(NO_INIT) && command.line.split(' ').next() != Some("init");
        is_changed = false;
        let init = needs_init.then(|| run(&project, "init -input=false").code.unwrap_or(-1));
        let mut answer =
            Answer { line: command.line.clone(), init: init.filter(|code| *code != 0), ..Answer::default() };
        match command.line.strip_prefix("test") {
            Some(arguments) if !has(ONE_FORMAT) => {
                // Each format begins with the same files.
                let (human, json) = (project.copied(), project.copied());
                answer.human = run(&human, &format!("test -junit-xml=junit.xml{arguments}"));
                answer.junit = human.read("junit.xml");
                answer.json = Some(run(&json, &format!("test -json{arguments}")));
            }
            _ => answer.human = run(&project, &command.line),
        }
        answers.push(answer);
    }
    answers
}

fn format(project: &Project, output: Output) -> Format {
    let place = project.path("").display().to_string();
    let neutral = |text: &str| text.replace(&place, "[DIRECTORY]");
    Format { code: output.code, out: neutral(&output.out), errors: neutral(&output.errors) }
}
