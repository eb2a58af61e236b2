//! `wardian fmt`: formats configuration files.

mod difference;
mod targets;

use std::io::{self, Read as _};
use std::path::Path;

use async_trait::async_trait;
use wardian_app::atomic_write::replace;
use wardian_diagnostic::{Diagnostic, Diagnostics, system_reason};
use wardian_files::open_regular;
use wardian_lang::{SourceBytes, format_text};

use crate::arguments::FmtArguments;
use crate::command_context::CommandContext;
use crate::command_spec::CommandSpec;
use crate::failure::{Outcome, Status};
use crate::shell::{Shell, ViewOptions};
use targets::Target;
use wardian_printable::{PrintableText, append_line};

/// The name of standard input in messages.
const STANDARD_INPUT: &str = "<stdin>";

/// The maximum size of a configuration file.
const MAX_BYTES: u64 = 256 << 20;

#[async_trait(?Send)]
impl CommandSpec for FmtArguments {
    fn view(&self) -> ViewOptions {
        self.view.into()
    }

    fn needs_workspace(&self) -> bool {
        false
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        Ok(run(context, self))
    }
}

/// Reformats files, or reports which files are not in canonical format.
fn run(context: &CommandContext, arguments: &FmtArguments) -> Status {
    let mut formatter = Formatter::new(arguments);
    let mut problems = Diagnostics::new();
    if arguments.targets.first().is_some_and(|first| first.as_os_str() == "-") {
        formatter.list = false;
        formatter.write = false;
        match read(io::stdin().lock(), STANDARD_INPUT) {
            Ok(source) => formatter.format(&context.shell, STANDARD_INPUT, None, &source, &mut problems),
            Err(problem) => problems.push(problem),
        }
    } else {
        targets::find(&arguments.targets, arguments.recursive, &context.app.directory, &mut |target| {
            formatter.file(&context.shell, target, &mut problems);
        });
    }
    let failed = problems.has_errors();
    // If there were errors, the list of files is incomplete.
    let is_unformatted = formatter.check && !formatter.found.is_empty();
    if formatter.check && !failed && arguments.list && formatter.list {
        context.shell.print(formatter.found);
    }
    context.shell.diagnostics(&problems);
    match (failed, is_unformatted) {
        (true, _) => Status::NotFormatted,
        (false, true) => Status::Unformatted,
        (false, false) => Status::Success,
    }
}

struct Formatter {
    list: bool,
    write: bool,
    diff: bool,
    check: bool,
    /// With `-check`, the text that the command would print without `-check`.
    found: PrintableText,
}

impl Formatter {
    fn new(arguments: &FmtArguments) -> Self {
        Self {
            list: arguments.list,
            write: arguments.write && !arguments.check,
            diff: arguments.diff,
            check: arguments.check,
            found: PrintableText::new(),
        }
    }

    fn file(&mut self, shell: &Shell, target: Result<Target, Diagnostic>, problems: &mut Diagnostics) {
        let target = match target {
            Ok(target) => target,
            Err(problem) => return problems.push(problem),
        };
        let source = open_regular(&target.path)
            .map_err(|error| unreadable(&target.name, &error))
            .and_then(|file| read(file, &target.name));
        match source {
            Ok(source) => self.format(shell, &target.name, Some(&target.path), &source, problems),
            Err(problem) => problems.push(problem),
        }
    }

    fn format(
        &mut self,
        shell: &Shell,
        name: &str,
        path: Option<&Path>,
        source: &SourceBytes,
        problems: &mut Diagnostics,
    ) {
        let file = source.file();
        let formatted = match format_text(file) {
            Ok(formatted) => formatted,
            Err(found) => return problems.extend(found),
        };
        let mut shown = PrintableText::new();
        if formatted != file.text() {
            if self.list || self.check {
                append_line!(shown, "{name}");
            }
            if let (true, Some(path)) = (self.write, path)
                && let Err(error) = replace(path, &source.bytes_of(&formatted))
            {
                problems.error(
                    "File cannot be written",
                    format!("{name} cannot be written: {}.", system_reason(&error)),
                );
            }
            if self.diff {
                let name = PrintableText::from_line(name);
                append_difference(&mut shown, &difference::unified(name.as_str(), file.text(), &formatted));
            }
        }
        if self.check {
            self.found.append(&shown);
            return;
        }
        shell.print(shown);
        if !self.list && !self.write && !self.diff {
            // Text is printed as whole lines, even if its last line has no line break.
            let text = format!("{}\n", formatted.strip_suffix('\n').unwrap_or(&formatted));
            shell.print_data(&source.bytes_of(&text));
        }
    }
}

fn unreadable(name: &str, error: &io::Error) -> Diagnostic {
    Diagnostic::error(
        format!("Failed to read file {name}"),
        format!("{name} cannot be read: {}.", system_reason(error)),
    )
}

fn read(source: impl io::Read, name: &str) -> Result<SourceBytes, Diagnostic> {
    let mut bytes = Vec::new();
    source.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|error| unreadable(name, &error))?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > MAX_BYTES) {
        let error = io::Error::other(format!("it is larger than {} MB", MAX_BYTES >> 20));
        return Err(unreadable(name, &error));
    }
    SourceBytes::new(name, bytes)
}

/// Appends the lines of a diff. A byte order mark at the start of a file, and the carriage returns
/// of Windows line endings, are printed unescaped, because they do not move the cursor.
fn append_difference(shown: &mut PrintableText, difference: &str) {
    for line in difference.split_inclusive('\n') {
        let (line, end) = match (line.strip_suffix("\r\n"), line.strip_suffix('\n')) {
            (Some(line), _) => (line, "\r\n"),
            (None, Some(line)) => (line, "\n"),
            (None, None) => (line, ""),
        };
        let line = match line.split_once('\u{feff}') {
            Some((mark @ ("-" | "+" | " "), rest)) => {
                shown.append_lines(mark);
                shown.push("\u{feff}");
                rest
            }
            _ => line,
        };
        shown.append_lines(line);
        shown.push(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_utf8_is_reported_with_its_position() {
        let problem = read(&b"a = 1\nb = \"\xff\"\n"[..], "x.tf").unwrap_err();
        let span = problem.subject.unwrap();
        assert_eq!((span.start_position().line, span.start_position().column), (2, 6));
    }
}
