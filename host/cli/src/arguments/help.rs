//! Generates help texts from clap's definitions, with options as users type them.

use clap::Command;
use std::fmt::Write as _;
use wardian_app::VARIABLES;

const MAIN_COMMANDS: [&str; 5] = ["init", "validate", "plan", "apply", "destroy"];

/// Returns the help of the command with the given path.
pub(super) fn text(root: &Command, path: &[String]) -> String {
    if path.is_empty() {
        return program(root);
    }
    let mut command = root;
    for name in path {
        match command.find_subcommand(name) {
            Some(found) => command = found,
            None => break,
        }
    }
    let usage = format!("Usage: wardian [global options] {} {}", path.join(" "), arguments(command));
    let about = command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default();
    let mut text = format!("{}\n\n{}\n", usage.trim_end(), indent(&about));
    if command.has_subcommands() {
        text.push_str("\nSubcommands:\n");
        for (name, about) in subcommands(command, |_| true) {
            let _ = writeln!(text, "  {name:<12} {about}");
        }
    }
    let options = options(command);
    if !options.is_empty() {
        text.push_str("\nOptions:\n\n");
        text.push_str(&options);
    }
    text
}

fn program(root: &Command) -> String {
    let mut text = String::from("Usage: wardian [global options] <command> [args]\n\nMain commands:\n");
    for (name, about) in subcommands(root, |name| MAIN_COMMANDS.contains(&name)) {
        let _ = writeln!(text, "  {name:<12} {about}");
    }
    text.push_str("\nAll other commands:\n");
    for (name, about) in subcommands(root, |name| !MAIN_COMMANDS.contains(&name)) {
        let _ = writeln!(text, "  {name:<12} {about}");
    }
    text.push_str(
        "\nGlobal options (before the command):\n  -chdir=DIR   Change to this directory before running the \
         command.\n  -help        Show this help, or the help of the command that follows.\n  \
         -version     Show the version, like the command `version`.\n",
    );
    text.push_str("\nEnvironment variables:\n");
    for variable in VARIABLES {
        let mut name = variable.name;
        for line in wrap(variable.purpose, 78 - 23) {
            let _ = writeln!(text, "  {name:<20} {line}");
            name = "";
        }
    }
    text
}

fn subcommands<'a>(
    command: &'a Command,
    wanted: impl Fn(&str) -> bool + 'a,
) -> impl Iterator<Item = (&'a str, String)> {
    command.get_subcommands().filter(move |one| wanted(one.get_name())).map(|one| {
        let about = one.get_about().map(ToString::to_string).unwrap_or_default();
        (one.get_name(), about.trim_end_matches('.').to_owned())
    })
}

fn arguments(command: &Command) -> String {
    let mut text = String::new();
    if command.has_subcommands() {
        text.push_str("<subcommand> ");
    }
    text.push_str("[options]");
    for positional in command.get_positionals() {
        let name = positional.get_id().as_str().to_uppercase();
        let name =
            positional.get_value_names().and_then(|names| names.first()).map_or(name, |n| n.to_string());
        let (before, after) = if positional.is_required_set() { ("", "") } else { ("[", "]") };
        let _ = write!(text, " {before}{name}{after}");
    }
    text
}

fn options(command: &Command) -> String {
    const COLUMN: usize = 26;
    let mut text = String::new();
    for option in command.get_arguments().filter(|option| !option.is_hide_set()) {
        let Some(name) = option.get_long() else { continue };
        let value = option
            .get_action()
            .takes_values()
            .then(|| option.get_value_names().and_then(|names| names.first()))
            .flatten();
        let shown = match value {
            Some(value) => format!("  -{name}={value}"),
            None => format!("  -{name}"),
        };
        let help = option.get_help().map(ToString::to_string).unwrap_or_default();
        let lines = wrap(&help, 78 - COLUMN);
        for (index, line) in lines.iter().enumerate() {
            let left = if index == 0 { shown.as_str() } else { "" };
            if index == 0 && left.len() >= COLUMN {
                let _ = writeln!(text, "{left}\n{:COLUMN$}{line}", "");
            } else {
                let _ = writeln!(text, "{left:COLUMN$}{line}");
            }
        }
    }
    text
}

fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().filter(|line| line.is_empty() || line.len() + word.len() < width);
        match line {
            Some(line) => {
                if !line.is_empty() {
                    line.push(' ');
                }
                line.push_str(word);
            }
            None => lines.push(word.to_owned()),
        }
    }
    lines
}

fn indent(text: &str) -> String {
    let mut lines = Vec::new();
    for paragraph in text.split("\n\n") {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.extend(wrap(paragraph, 76).iter().map(|line| format!("  {line}")));
    }
    lines.join("\n")
}
