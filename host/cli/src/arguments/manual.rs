//! Generates manual pages in the format of `man` from clap's definitions, with the texts of the
//! help.

use std::fmt::Write as _;

use clap::{Arg, Command};
use wardian_app::VARIABLES;
use wardian_app::compatibility::VERSION;

use super::help::{GLOBAL_OPTIONS, arguments, grouped_options, option_help, option_usage, visible};
use super::root_command;
use crate::product::Product;

/// A manual page.
#[derive(Debug)]
pub(crate) struct ManualPage {
    /// `wardian-state-list.1`
    pub(crate) file_name: String,
    pub(crate) text: String,
}

/// Returns the pages of all commands, the page of the program first.
pub(crate) fn manual_pages(product: Product) -> Vec<ManualPage> {
    let root = root_command();
    let mut pages = vec![program_page(&root, product)];
    add_pages(&root, &mut Vec::new(), product, &mut pages);
    pages
}

fn add_pages<'a>(
    command: &'a Command,
    path: &mut Vec<&'a str>,
    product: Product,
    pages: &mut Vec<ManualPage>,
) {
    for one in visible(command) {
        path.push(one.get_name());
        pages.push(command_page(one, path, product));
        add_pages(one, path, product, pages);
        path.pop();
    }
}

fn program_page(root: &Command, product: Product) -> ManualPage {
    let program = product.command();
    let mut text = header(program, product);
    section(&mut text, "NAME");
    let _ = writeln!(text, "{} \\- {}", escaped(program), escaped(&about(root)));
    section(&mut text, "SYNOPSIS");
    let _ = writeln!(text, ".B {}\n[global options] <command> [args]", escaped(program));
    section(&mut text, "COMMANDS");
    commands(&mut text, root, &[], program);
    section(&mut text, "GLOBAL OPTIONS");
    for (name, help) in GLOBAL_OPTIONS {
        item(&mut text, name, help);
    }
    section(&mut text, "ENVIRONMENT");
    for variable in VARIABLES {
        item(&mut text, variable.name, variable.purpose);
    }
    section(&mut text, "EXIT STATUS");
    item(&mut text, "0", "Success.");
    item(&mut text, "1", "An error.");
    item(&mut text, "2", "With -detailed-exitcode: the plan has changes. `fmt`: a file cannot be parsed.");
    item(&mut text, "3", "`fmt -check`: a file is not in the standard style.");
    item(&mut text, "4", "`init`: consent to the access of a plugin is missing.");
    item(&mut text, "11", "A bug; a file describes the crash.");
    item(&mut text, "127", "No command was given.");
    ManualPage { file_name: format!("{program}.1"), text }
}

fn command_page(command: &Command, path: &[&str], product: Product) -> ManualPage {
    let program = product.command();
    let name = format!("{program}-{}", path.join("-"));
    let mut text = header(&name, product);
    section(&mut text, "NAME");
    let _ = writeln!(text, "{} \\- {}", escaped(&name), escaped(about(command).trim_end_matches('.')));
    section(&mut text, "SYNOPSIS");
    let _ = writeln!(
        text,
        ".B {} {}\n{}",
        escaped(program),
        escaped(&path.join(" ")),
        escaped(&arguments(command))
    );
    section(&mut text, "DESCRIPTION");
    let long = command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default();
    for (index, paragraph) in long.split("\n\n").enumerate() {
        let break_before = if index == 0 { "" } else { ".PP\n" };
        let _ = writeln!(text, "{break_before}{}", escaped(&joined(paragraph)));
    }
    let operands: Vec<&Arg> = command.get_positionals().filter(|one| !one.is_hide_set()).collect();
    if !operands.is_empty() {
        section(&mut text, "ARGUMENTS");
        for operand in operands {
            let names = operand.get_value_names().unwrap_or_default();
            let help = operand.get_help().map(ToString::to_string).unwrap_or_default();
            item(&mut text, names.first().map_or("", |name| name.as_str()), &help);
        }
    }
    if command.has_subcommands() {
        section(&mut text, "SUBCOMMANDS");
        commands(&mut text, command, path, program);
    }
    for (heading, options) in grouped_options(command) {
        section(&mut text, &heading.to_uppercase());
        for option in options {
            item(&mut text, &option_usage(option), &option_help(option));
        }
    }
    section(&mut text, "SEE ALSO");
    let parents = (0..path.len()).map(|depth| {
        let parent: Vec<&str> = std::iter::once(program).chain(path.iter().take(depth).copied()).collect();
        format!(".BR {} (1)", escaped(&parent.join("-")))
    });
    let _ = writeln!(text, "{}", parents.collect::<Vec<_>>().join(",\n"));
    ManualPage { file_name: format!("{name}.1"), text }
}

fn header(name: &str, product: Product) -> String {
    format!(
        ".TH \"{}\" 1 \"\" \"{} {}\"\n.nh\n.ad l\n",
        escaped(&name.to_uppercase()),
        escaped(product.name()),
        escaped(VERSION)
    )
}

fn section(text: &mut String, name: &str) {
    let _ = writeln!(text, ".SH \"{}\"", escaped(name));
}

fn item(text: &mut String, name: &str, description: &str) {
    let description = joined(description);
    let description = if description.is_empty() { "\\&".to_owned() } else { escaped(&description) };
    let _ = writeln!(text, ".TP\n\\fB{}\\fR\n{description}", escaped(name));
}

fn commands(text: &mut String, command: &Command, path: &[&str], program: &str) {
    for one in visible(command) {
        let page: Vec<&str> =
            std::iter::once(program).chain(path.iter().copied()).chain([one.get_name()]).collect();
        let about = about(one);
        let description = format!("{} See {}(1).", with_period(&about), page.join("-"));
        item(text, one.get_name(), &description);
    }
}

fn about(command: &Command) -> String {
    command.get_about().map(ToString::to_string).unwrap_or_default()
}

fn with_period(sentence: &str) -> String {
    format!("{}.", sentence.trim_end_matches('.'))
}

/// Returns a text in one line.
fn joined(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Escapes text for roff: backslashes, hyphens (which would otherwise be printed as typographic
/// hyphens), and characters that begin a request at the start of a line.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for (index, line) in text.split('\n').enumerate() {
        if index > 0 {
            escaped.push('\n');
        }
        if line.starts_with(['.', '\'']) {
            escaped.push_str("\\&");
        }
        for character in line.chars() {
            match character {
                '\\' => escaped.push_str("\\e"),
                '-' => escaped.push_str("\\-"),
                '"' => escaped.push_str("\\(dq"),
                '\'' => escaped.push_str("\\(aq"),
                '`' => escaped.push_str("\\(ga"),
                '^' => escaped.push_str("\\(ha"),
                '~' => escaped.push_str("\\(ti"),
                other => escaped.push(other),
            }
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use std::process::{Command as Process, Stdio};

    use super::*;

    #[test]
    fn text_contains_no_request() {
        assert_eq!(escaped(".x\n'y -a \\n"), "\\&.x\n\\&\\(aqy \\-a \\en");
    }

    #[test]
    fn every_command_has_a_page() {
        let pages = manual_pages(Product::Wardian);
        let names: Vec<&str> = pages.iter().map(|page| page.file_name.as_str()).collect();
        for name in ["wardian.1", "wardian-plan.1", "wardian-state-list.1", "wardian-plugin-cache-prune.1"] {
            assert!(names.contains(&name), "{name}");
        }
    }

    #[test]
    fn pages_have_no_warnings_in_groff() {
        use std::io::Write as _;
        if Process::new("groff").arg("--version").stdout(Stdio::null()).status().is_err() {
            println!("skipped: groff is not installed");
            return;
        }
        for page in manual_pages(Product::Terraform) {
            let mut groff = Process::new("groff")
                .args(["-man", "-ww", "-z", "-Tutf8"])
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            groff.stdin.take().unwrap().write_all(page.text.as_bytes()).unwrap();
            let output = groff.wait_with_output().unwrap();
            let warnings = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() && warnings.is_empty(), "{}: {warnings}", page.file_name);
        }
    }
}
