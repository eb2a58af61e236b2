//! Generates help texts from clap's definitions, with options as users type them.

use clap::{Arg, Command};
use std::fmt::Write as _;
use wardian_app::VARIABLES;

use crate::product::Product;

const MAIN_COMMANDS: [&str; 5] = ["init", "validate", "plan", "apply", "destroy"];

/// The maximum width of the text: longer lines are hard to read, even on a wide terminal.
const MAX_WIDTH: usize = 90;

/// The column of descriptions of options, if the text is wide enough for two columns.
const OPTION_COLUMN: usize = 26;

/// The minimum width of a text with two columns of options.
const MIN_TWO_COLUMNS: usize = 70;

/// The options in groups, in the order of the help. All others are in the group of the command.
const GROUPS: [(&str, &[&str]); 6] = [
    (
        "Scope of the plan",
        &[
            "destroy",
            "refresh-only",
            "refresh",
            "replace",
            "target",
            "target-file",
            "exclude",
            "exclude-file",
        ],
    ),
    ("Variables", &["var", "var-file", "input"]),
    ("Backend", &["backend", "backend-config", "reconfigure", "migrate-state", "force-copy"]),
    ("State", &["state", "state-out", "backup", "backup-out", "lock", "lock-timeout"]),
    ("Access of plugins", &["untrusted", "audit-log", "allow-native", "accept"]),
    (
        "Output",
        &[
            "json",
            "json-into",
            "raw",
            "html",
            "markdown",
            "limit",
            "audit",
            "summary",
            "concise",
            "compact-warnings",
            "no-color",
        ],
    ),
];

/// The options before the command.
pub(super) const GLOBAL_OPTIONS: [(&str, &str); 5] = [
    ("-chdir=DIR", "Change to this directory before running the command"),
    ("-help", "Show this help, or the help of the command that follows"),
    ("-version", "Show the version, like the command `version`"),
    ("-install-autocomplete", "Install completion in the configuration files of shells"),
    ("-uninstall-autocomplete", "Remove completion from the configuration files of shells"),
];

/// A requested help text.
#[derive(Debug)]
pub(crate) struct HelpPage {
    pub(super) root: Command,
    /// The command with its parents; empty for the program's own help.
    pub(super) command: Vec<String>,
    /// Whether the page about environment variables is requested.
    pub(super) is_about_environment: bool,
}

impl HelpPage {
    /// Returns the text for a terminal of `width` columns.
    pub(crate) fn text(&self, product: Product, width: usize) -> String {
        let width = width.min(MAX_WIDTH);
        let program = product.command();
        if self.is_about_environment {
            return environment(width);
        }
        if self.command.is_empty() {
            return program_help(&self.root, program, width);
        }
        let mut command = &self.root;
        for name in &self.command {
            match command.find_subcommand(name) {
                Some(found) => command = found,
                None => break,
            }
        }
        let usage = format!("{program} [global options] {} {}", self.command.join(" "), arguments(command));
        let about =
            command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default();
        let mut text = String::new();
        two_columns(&mut text, "Usage:", usage.trim_end(), 7, width);
        let _ = writeln!(text, "\n{}", paragraphs(&about, width));
        if command.has_subcommands() {
            text.push_str("\nSubcommands:\n");
            list_commands(&mut text, command, width, |_| true);
        }
        options(&mut text, command, width);
        text
    }
}

fn program_help(root: &Command, program: &str, width: usize) -> String {
    let mut text = format!("Usage: {program} [global options] <command> [args]\n\nMain commands:\n");
    list_commands(&mut text, root, width, |name| MAIN_COMMANDS.contains(&name));
    text.push_str("\nAll other commands:\n");
    list_commands(&mut text, root, width, |name| !MAIN_COMMANDS.contains(&name));
    text.push_str("\nGlobal options (before the command):\n");
    let column = command_column(root);
    for (name, help) in GLOBAL_OPTIONS {
        two_columns(&mut text, &format!("  {name}"), help, column, width);
    }
    text.push_str("\nFurther help:\n");
    for (name, help) in [
        ("help COMMAND", "Describe a command and its options"),
        ("help environment", "List the environment variables"),
    ] {
        two_columns(&mut text, &format!("  {program} {name}"), help, program.len() + 21, width);
    }
    text
}

/// Returns the page about environment variables.
fn environment(width: usize) -> String {
    let mut text = String::from("Environment variables:\n\n");
    let longest = VARIABLES.iter().map(|variable| variable.name.len()).max().unwrap_or_default();
    let column = if width < MIN_TWO_COLUMNS { 6 } else { longest + 4 };
    for variable in VARIABLES {
        two_columns(&mut text, &format!("  {}", variable.name), variable.purpose, column, width);
    }
    text
}

/// Returns the subcommands of a command that are listed.
pub(super) fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|one| !one.is_hide_set())
}

/// Returns the column of the descriptions of a command's subcommands.
fn command_column(command: &Command) -> usize {
    let longest = visible(command).map(|one| one.get_name().len()).max().unwrap_or_default();
    longest.max("-chdir=DIR".len()) + 4
}

fn list_commands(text: &mut String, command: &Command, width: usize, wanted: impl Fn(&str) -> bool) {
    let column = command_column(command);
    for one in visible(command).filter(|one| wanted(one.get_name())) {
        let about = one.get_about().map(ToString::to_string).unwrap_or_default();
        two_columns(text, &format!("  {}", one.get_name()), about.trim_end_matches('.'), column, width);
    }
}

pub(super) fn arguments(command: &Command) -> String {
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

/// Writes the options in groups. The options that belong to the command alone come first.
fn options(text: &mut String, command: &Command, width: usize) {
    for (heading, members) in grouped_options(command) {
        let _ = writeln!(text, "\n{heading}:");
        for option in members {
            write_option(text, option, width);
        }
    }
}

/// Returns the options in groups with headings. The options that belong to the command alone come
/// first.
pub(super) fn grouped_options(command: &Command) -> Vec<(&'static str, Vec<&Arg>)> {
    let shown: Vec<&Arg> = command
        .get_arguments()
        .filter(|option| !option.is_hide_set() && option.get_long().is_some())
        .collect();
    let group_of = |option: &Arg| {
        let name = option.get_long().unwrap_or_default();
        GROUPS.iter().position(|(_, names)| names.contains(&name))
    };
    let headings = GROUPS.iter().enumerate().map(|(index, (heading, _))| (Some(index), *heading));
    std::iter::once((None, "Options"))
        .chain(headings)
        .map(|(group, heading)| {
            let members = shown.iter().copied().filter(|option| group_of(option) == group);
            (heading, members.collect::<Vec<_>>())
        })
        .filter(|(_, members)| !members.is_empty())
        .collect()
}

/// Returns an option as users type it: `-out=PATH`.
pub(super) fn option_usage(option: &Arg) -> String {
    let name = option.get_long().unwrap_or_default();
    let takes_value = option.get_action().takes_values();
    let value = takes_value.then(|| option.get_value_names().and_then(|names| names.first())).flatten();
    match value {
        Some(value) => format!("-{name}={value}"),
        None => format!("-{name}"),
    }
}

/// Returns the description of an option, with its default.
pub(super) fn option_help(option: &Arg) -> String {
    let mut help = option.get_help().map(ToString::to_string).unwrap_or_default();
    if option.get_action().takes_values()
        && let Some(default) = option.get_default_values().first()
    {
        let _ = write!(help, " (default: {})", default.display());
    }
    help
}

fn write_option(text: &mut String, option: &Arg, width: usize) {
    let column = if width < MIN_TWO_COLUMNS { 6 } else { OPTION_COLUMN };
    two_columns(text, &format!("  {}", option_usage(option)), &option_help(option), column, width);
}

/// Writes a name and its description. The description begins in a column, or in the next line if
/// the name is too long.
fn two_columns(text: &mut String, name: &str, description: &str, column: usize, width: usize) {
    let lines = wrap(description, width.saturating_sub(column).max(20));
    let mut lines = lines.iter();
    if name.len() < column {
        let first = lines.next().map_or("", String::as_str);
        let _ = writeln!(text, "{}", format!("{name:column$}{first}").trim_end());
    } else {
        let _ = writeln!(text, "{name}");
    }
    for line in lines {
        let _ = writeln!(text, "{:column$}{line}", "");
    }
}

/// Breaks a text into lines of at most `width` columns.
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

fn paragraphs(text: &str, width: usize) -> String {
    let mut lines = Vec::new();
    for paragraph in text.split("\n\n") {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.extend(wrap(paragraph, width.saturating_sub(2)).iter().map(|line| format!("  {line}")));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::arguments::CommandLine;

    fn page(path: &str) -> HelpPage {
        let mut root = CommandLine::command();
        root.build();
        let command = path.split_whitespace().map(str::to_owned).collect();
        HelpPage { root, command, is_about_environment: path == "environment" }
    }

    fn paths(command: &Command, path: &str, all: &mut Vec<String>) {
        for one in visible(command) {
            let path = format!("{path} {}", one.get_name()).trim_start().to_owned();
            paths(one, &path, all);
            all.push(path);
        }
    }

    #[test]
    fn help_lines_are_within_the_maximum_width() {
        let mut all = vec![String::new(), "environment".to_owned()];
        paths(&page("").root, "", &mut all);
        for width in [60, 80, 120] {
            for path in &all {
                for line in page(path).text(Product::Wardian, width).lines() {
                    assert!(line.len() <= width, "{path} at {width}: {line}");
                }
            }
        }
    }

    #[test]
    fn help_groups_contain_only_existing_options() {
        let mut known = std::collections::BTreeSet::new();
        let root = page("").root;
        let mut all = Vec::new();
        paths(&root, "", &mut all);
        for path in all {
            let command =
                path.split(' ').fold(&root, |command, name| command.find_subcommand(name).unwrap_or(command));
            known.extend(command.get_arguments().filter_map(Arg::get_long).map(str::to_owned));
        }
        for name in GROUPS.iter().flat_map(|(_, names)| *names) {
            assert!(known.contains(*name), "{name}");
        }
    }

    #[test]
    fn help_names_the_product_and_shows_defaults() {
        let text = page("plan").text(Product::Terraform, 80);
        assert!(text.starts_with("Usage: terraform [global options] plan [options]\n"), "{text}");
        assert!(text.contains("\nScope of the plan:\n") && text.contains("(default: 10)"), "{text}");
        let text = page("").text(Product::Wardian, 80);
        assert!(!text.contains("TF_LOG") && text.contains("wardian help environment"), "{text}");
        assert!(page("environment").text(Product::Wardian, 80).contains("TF_LOG"));
    }
}
