//! Performs the steps of a mistake with Terraform or Wardian.

use std::fs;
use std::process::{Command, Stdio};

use wardian_end_to_end::{CommandLine, Output, Program, Project, Step, Terminal};

use crate::case::Case;

/// Performs all steps, and returns the output of the last command.
///
/// Options of a command, in addition to `env` and `input`:
///
/// ```text
/// terraform env NAME=VALUE     a variable for Terraform only
/// unset NAME                   an environment variable that is removed
/// blocks 40                    a limit on the size of files, in blocks of 512 bytes
/// to /dev/full                 the file that receives the standard output
/// terminal 80x24               runs on a terminal
/// after TEXT type KEYS         types a line after the terminal shows a text
/// after TEXT type-secret KEYS  the same, after the command has turned off the echo
/// after TEXT interrupt         interrupts the command after the terminal shows a text
/// after TEXT leave             leaves the command running until the last command ends
/// ```
pub fn last_output(program: &Program, case: &Case) -> String {
    let project = Project::new(&[]);
    let mut left_running = Vec::new();
    let mut last = String::new();
    for step in &case.steps {
        let Step::Command(command) = step else {
            step.change_files(&project);
            continue;
        };
        let process = process(program, &project, command);
        let terminal = command.options.iter().find_map(|option| option.strip_prefix("terminal "));
        let Some(size) = terminal else {
            last = run(process, command);
            continue;
        };
        let (columns, rows) = size.split_once('x').unwrap();
        let mut terminal = Terminal::start(process, Some((columns.parse().unwrap(), rows.parse().unwrap())));
        last = String::new();
        let mut is_left = false;
        for option in command.options.iter().filter_map(|option| option.strip_prefix("after ")) {
            if let Some((text, keys)) = option.split_once(" type ") {
                last.push_str(&terminal.until(text));
                terminal.type_keys(&format!("{keys}\r"));
            } else if let Some((text, keys)) = option.split_once(" type-secret ") {
                last.push_str(&terminal.until(text));
                terminal.type_secret(&format!("{keys}\r"));
            } else if let Some(text) = option.strip_suffix(" interrupt") {
                last.push_str(&terminal.until(text));
                terminal.interrupt();
            } else if let Some(text) = option.strip_suffix(" leave") {
                last.push_str(&terminal.until(text));
                is_left = true;
            } else {
                panic!("{}: what is {option:?}?", case.name);
            }
        }
        if is_left {
            left_running.push(terminal);
        } else {
            last.push_str(&terminal.finish().1);
        }
    }
    drop(left_running);
    project.filtered(&last)
}

fn process(program: &Program, project: &Project, command: &CommandLine) -> Command {
    let mut process = program.command(project, &command.line);
    let blocks = command.options.iter().find_map(|option| option.strip_prefix("blocks "));
    if let Some(blocks) = blocks {
        process = limited(&process, blocks);
    }
    process.envs(command.variables.iter().map(|(name, value)| (name, value)));
    for option in &command.options {
        if let Some(name) = option.strip_prefix("unset ") {
            process.env_remove(name);
        }
        if let Some(variable) = option.strip_prefix("terraform env ")
            && matches!(program, Program::Terraform(_))
        {
            let (name, value) = variable.split_once('=').unwrap();
            process.env(name, value);
        }
    }
    process
}

/// Returns a command with a limit on the size of files, which simulates a full disk.
fn limited(process: &Command, blocks: &str) -> Command {
    let mut limited = Command::new("sh");
    limited.arg("-c").arg(format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\""));
    limited.arg(process.get_program()).args(process.get_args());
    if let Some(directory) = process.get_current_dir() {
        limited.current_dir(directory);
    }
    for (name, value) in process.get_envs() {
        match value {
            Some(value) => limited.env(name, value),
            None => limited.env_remove(name),
        };
    }
    limited
}

fn run(mut process: Command, command: &CommandLine) -> String {
    if let Some(path) = command.options.iter().find_map(|option| option.strip_prefix("to ")) {
        let file = fs::OpenOptions::new().write(true).open(path).unwrap();
        let output = process.stdin(Stdio::null()).stdout(file).output().unwrap();
        return format!(
            "{}exit code: {}\n",
            String::from_utf8_lossy(&output.stderr),
            output.status.code().unwrap()
        );
    }
    let output = Output::from_command(process, &command.input);
    output.out + &output.errors
}
