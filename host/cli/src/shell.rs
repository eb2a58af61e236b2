//! Writes all output, and asks the user all questions.
//!
//! A command's result goes to standard output, and so do warnings unless the output is data for
//! programs; errors go to standard error. Text for people is a [`PrintableText`]; data for programs
//! is unchanged, except on a terminal. Color is used only on terminals, and never conveys
//! information that is missing from the text. A closed output does not end a command: an apply
//! whose output is no longer read must still save the state.

mod style;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{self, BufRead as _, IsTerminal as _, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use jiff::Timestamp;
use serde::Serialize;
use wardian_app::ProcessEnvironment;
use wardian_app::compatibility::TERRAFORM_VERSION;
use wardian_diagnostic::{Diagnostic, DiagnosticOrigin, Diagnostics, NoStyle, Severity, Style};
use wardian_printable::escape::escape_json;
use wardian_printable::{PrintableText, append, append_line, printable};

use crate::failure::{Failure, Outcome, Status, Usage};
use crate::render::RenderOptions;
use crate::render::json::{Message, write_compact};

pub(crate) use style::Paint;
use style::painted;

/// The width if the environment does not specify one.
const WIDTH: usize = 78;

/// The kind of data that a command writes to standard output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum OutputKind {
    /// Text for people, warnings included.
    #[default]
    Report,
    /// Only the data that the user requested. Warnings are written to standard error.
    Data,
    /// JSON messages for programs, one on each line, diagnostics included.
    JsonMessages,
}

/// The user's options for output.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ViewOptions {
    /// `-no-color`.
    pub(crate) no_color: bool,
    /// `-compact-warnings`.
    pub(crate) compact_warnings: bool,
}

/// Standard output, standard error and standard input.
#[derive(Debug)]
pub(crate) struct Shell {
    out: Stream,
    errors: Stream,
    compact_warnings: bool,
    /// Whether warnings go to standard error.
    data_only: bool,
    /// Whether all output consists of JSON messages.
    for_programs: bool,
    /// Whether the user can be asked.
    asks: bool,
    /// Locked while text is written, so that its lines are not mixed with others.
    writing: Mutex<()>,
}

#[derive(Debug)]
struct Stream {
    color: bool,
    width: usize,
    /// Whether the reader has closed the stream.
    gone: AtomicBool,
}

impl Shell {
    /// Returns a shell for the process's own streams.
    pub(crate) fn new(environment: &ProcessEnvironment, view: ViewOptions, output: OutputKind) -> Self {
        let for_programs = output == OutputKind::JsonMessages;
        let colorful = environment.wants_color() && !view.no_color && !for_programs;
        let (out, errors) = (io::stdout(), io::stderr());
        let width = |columns: Option<usize>| columns.or(environment.columns()).unwrap_or(WIDTH);
        let shell = Self {
            out: Stream::new(colorful && out.is_terminal(), width(columns(&out))),
            errors: Stream::new(colorful && errors.is_terminal(), width(columns(&errors))),
            compact_warnings: view.compact_warnings,
            data_only: output == OutputKind::Data,
            for_programs,
            asks: io::stdin().is_terminal(),
            writing: Mutex::new(()),
        };
        if for_programs {
            shell.message(&Message::Version(TERRAFORM_VERSION));
        }
        shell
    }

    /// Returns the layout of text for standard output.
    pub(crate) fn render_options(&self) -> RenderOptions {
        RenderOptions { color: self.out.color, width: self.out.width }
    }

    /// Returns a styled text for standard output.
    pub(crate) fn paint(&self, paint: Paint, text: impl Into<PrintableText>) -> PrintableText {
        painted(text.into(), paint, self.out.color)
    }

    /// Returns whether the output consists of JSON messages.
    pub(crate) fn is_for_programs(&self) -> bool {
        self.for_programs
    }

    /// Writes a JSON message if the output is for programs.
    pub(crate) fn message(&self, message: &Message<'_>) {
        let now = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string();
        let mut line = message.line(&now);
        line.push('\n');
        self.write(true, &PrintableText::from_lines(&line));
    }

    /// Writes text to standard output unchanged. If the output consists of JSON messages, the text
    /// becomes a log message.
    pub(crate) fn print(&self, text: impl Into<PrintableText>) {
        let text = text.into();
        if self.for_programs {
            self.message(&Message::Log(text.as_str().trim()));
        } else {
            self.write(true, &text);
        }
    }

    /// Writes data for programs to standard output: unchanged, because programs depend on each
    /// byte, but as printable text if a person reads it on a terminal. The data may be invalid
    /// UTF-8.
    pub(crate) fn print_data(&self, data: &[u8]) {
        let _turn = self.turn();
        let mut stream = io::stdout().lock();
        if stream.is_terminal() {
            let text = PrintableText::from_lines(&String::from_utf8_lossy(data));
            self.out.write(&mut stream, text.as_str().as_bytes());
        } else {
            self.out.write(&mut stream, data);
        }
    }

    /// Writes a JSON document to standard output, and a line break. In strings of the document,
    /// characters that must not reach a terminal are replaced by JSON escapes.
    pub(crate) fn print_json(&self, document: &str) {
        let mut text = PrintableText::from_lines(&escape_json(document));
        text.push("\n");
        self.write(true, &text);
    }

    /// Writes a document incrementally to standard output, followed by a line break.
    pub(crate) fn document(&self, document: &impl Serialize) {
        let _turn = self.turn();
        self.out.write_with(&mut io::stdout().lock(), |stream| {
            let mut stream = io::BufWriter::with_capacity(1 << 16, stream);
            write_compact(document, &mut stream)?;
            stream.write_all(b"\n")?;
            stream.flush()
        });
    }

    /// Writes text and a line break to standard output.
    pub(crate) fn say(&self, line: impl Into<PrintableText>) {
        let mut text = line.into();
        text.push("\n");
        self.print(text);
    }

    /// Writes text and a line break to standard error.
    pub(crate) fn note(&self, line: impl Into<PrintableText>) {
        let mut text = line.into();
        text.push("\n");
        self.write(false, &text);
    }

    /// Shows errors and warnings, each on the corresponding stream.
    pub(crate) fn diagnostics(&self, diagnostics: &Diagnostics) {
        if self.for_programs {
            for diagnostic in diagnostics {
                self.message(&Message::Diagnostic(diagnostic));
            }
            return;
        }
        if self.compact_warnings && !diagnostics.has_errors() && !diagnostics.is_empty() {
            self.compactly(diagnostics);
            return;
        }
        for diagnostic in consolidated(diagnostics) {
            self.diagnostic(&diagnostic);
        }
    }

    fn diagnostic(&self, diagnostic: &Diagnostic) {
        let is_out = diagnostic.severity == Severity::Warning && !self.data_only;
        let stream = if is_out { &self.out } else { &self.errors };
        let style: &dyn Style = if stream.color { &style::Terminal } else { &NoStyle };
        let text = diagnostic.to_text(stream.width, style);
        self.write(is_out, &text);
    }

    fn compactly(&self, warnings: &Diagnostics) {
        let stream = if self.data_only { &self.errors } else { &self.out };
        let mut text = painted("Warnings:".into(), Paint::Warning, stream.color);
        text.push("\n\n");
        for warning in warnings {
            append!(text, "- {}", warning.summary);
            if let Some(span) = &warning.subject {
                append!(text, " on {} line {}", span.file.name(), span.start_position().line);
            }
            append_line!(text);
        }
        text.push("\nTo see the full warnings, run without -compact-warnings.\n");
        self.write(!self.data_only, &text);
    }

    /// Writes text to standard output or standard error.
    fn write(&self, is_out: bool, text: &PrintableText) {
        let _turn = self.turn();
        let bytes = text.as_str().as_bytes();
        if is_out {
            self.out.write(&mut io::stdout().lock(), bytes);
        } else {
            self.errors.write(&mut io::stderr().lock(), bytes);
        }
    }

    /// Shows why a command failed, and returns its exit status.
    pub(crate) fn failure(&self, failure: &Failure) -> Status {
        match failure {
            Failure::Diagnostics(diagnostics) => self.diagnostics(diagnostics),
            Failure::Usage(Usage { summary, detail, command }) => {
                let problem = Diagnostic::error(summary, detail);
                if self.for_programs {
                    self.message(&Message::Diagnostic(&problem));
                    return Status::Failed;
                }
                self.diagnostic(&problem);
                let command = if command.is_empty() { String::new() } else { format!(" {command}") };
                self.note(printable!("\nFor more help on this, run:\n  wardian{command} -help"));
            }
        }
        Status::Failed
    }

    pub(crate) fn can_ask(&self) -> bool {
        self.asks
    }

    /// Returns whether an answer can be read: from a terminal, or from a pipe that has not ended.
    pub(crate) fn can_read_answer(&self) -> bool {
        self.can_ask() || (!self.for_programs && !input_has_ended())
    }

    /// Asks a question and waits for one line. Returns `None` if the input has ended.
    ///
    /// # Errors
    /// If the input cannot be read.
    pub(crate) async fn ask(&self, question: impl Into<PrintableText>) -> io::Result<Option<String>> {
        self.print(question);
        let (sender, answer) = tokio::sync::oneshot::channel();
        // The thread is separate and is not joined, since the user may interrupt Wardian instead of
        // answering.
        std::thread::spawn(move || {
            let mut line = String::new();
            let read = io::stdin().lock().read_line(&mut line);
            let _ = sender.send(read.map(|length| (length > 0).then_some(line)));
        });
        let line = answer.await.map_err(io::Error::other)??;
        if !self.can_ask() {
            // The terminal has not shown a line break.
            self.say("");
        }
        Ok(line.map(|line| line.trim_end_matches(['\n', '\r']).to_owned()))
    }

    /// Asks a question like [`Shell::ask`], without showing the typed characters.
    ///
    /// # Errors
    /// If the input cannot be read.
    pub(crate) async fn ask_secret(&self, question: &'static str) -> io::Result<Option<String>> {
        // When this guard is dropped, typed characters are shown again, even if the question was
        // abandoned.
        let silence = Silence::begin();
        let answer = self.ask(question).await;
        if silence.is_some() {
            // The terminal has not shown the typed line break either.
            self.say("");
        }
        answer
    }

    /// Shows the warnings and returns the value, or returns the errors with the warnings.
    pub(crate) fn warned<T>(&self, value: T, warnings: &Diagnostics) -> Outcome<T> {
        if warnings.has_errors() {
            return Err(warnings.clone().into());
        }
        self.diagnostics(warnings);
        Ok(value)
    }

    fn turn(&self) -> impl Drop + '_ {
        self.writing.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Stream {
    fn new(color: bool, width: usize) -> Self {
        Self { color, width, gone: AtomicBool::new(false) }
    }

    fn write(&self, stream: &mut dyn Write, bytes: &[u8]) {
        self.write_with(stream, |stream| stream.write_all(bytes).and_then(|()| stream.flush()));
    }

    fn write_with(&self, stream: &mut dyn Write, writing: impl FnOnce(&mut dyn Write) -> io::Result<()>) {
        if !self.gone.load(Ordering::Relaxed) && writing(stream).is_err() {
            self.gone.store(true, Ordering::Relaxed);
        }
    }
}

/// Returns whether the standard input has ended, without waiting for further input.
fn input_has_ended() -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let input = io::stdin();
    let mut waiting = [PollFd::new(&input, PollFlags::IN)];
    let is_ready = poll(&mut waiting, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|ready| ready > 0);
    // If input is ready, this returns it without waiting, or an empty slice at the end.
    is_ready && input.lock().fill_buf().map_or(true, <[u8]>::is_empty)
}

/// Shows warnings of one kind once: a provider may report the same warning for a hundred objects.
/// All errors and all results of checks are shown.
fn consolidated(diagnostics: &Diagnostics) -> Vec<Diagnostic> {
    let mut shown: Vec<(Diagnostic, usize)> = Vec::new();
    let mut warned: HashMap<&str, usize> = HashMap::new();
    for diagnostic in diagnostics {
        let next = shown.len();
        let is_own = diagnostic.is_error() || diagnostic.origin == DiagnosticOrigin::Check;
        let first = if is_own { next } else { *warned.entry(&diagnostic.summary).or_insert(next) };
        match shown.get_mut(first) {
            Some((_, more)) => *more += 1,
            None => shown.push((diagnostic.clone(), 0)),
        }
    }
    let told = |(mut diagnostic, more): (Diagnostic, usize)| {
        match more {
            0 => {}
            1 => diagnostic.detail.push_str("\n\n(and one more similar warning elsewhere)"),
            _ => {
                let _ = write!(diagnostic.detail, "\n\n(and {more} more similar warnings elsewhere)");
            }
        }
        diagnostic
    };
    shown.into_iter().map(told).collect()
}

/// A guard: the terminal does not show typed characters until it is dropped.
#[cfg(unix)]
struct Silence(rustix::termios::Termios);

#[cfg(unix)]
impl Silence {
    /// Hides typed characters; `None` if the input is not a terminal.
    fn begin() -> Option<Self> {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
        let shown = tcgetattr(io::stdin()).ok()?;
        let mut silent = shown.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        tcsetattr(io::stdin(), OptionalActions::Now, &silent).ok()?;
        Some(Self(shown))
    }
}

#[cfg(unix)]
impl Drop for Silence {
    fn drop(&mut self) {
        // A terminal that no longer exists does not need to be restored.
        let _ = rustix::termios::tcsetattr(io::stdin(), rustix::termios::OptionalActions::Now, &self.0);
    }
}

#[cfg(not(unix))]
struct Silence;

#[cfg(not(unix))]
impl Silence {
    fn begin() -> Option<Self> {
        None
    }
}

#[cfg(unix)]
fn columns(stream: &impl std::os::fd::AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    (size.ws_col > 20).then_some(usize::from(size.ws_col))
}

#[cfg(not(unix))]
fn columns<T>(_stream: &T) -> Option<usize> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_of_one_kind_are_shown_once() {
        let mut diagnostics = Diagnostics::new();
        diagnostics.error("a", "1");
        for detail in ["1", "2", "3"] {
            diagnostics.push(Diagnostic::warning("a", detail));
        }
        diagnostics.error("a", "2");
        diagnostics.push(Diagnostic::warning("b", "1"));
        for detail in ["1", "2"] {
            diagnostics.push(Diagnostic::warning("a", detail).with_origin(DiagnosticOrigin::Check));
        }
        let details: Vec<String> =
            consolidated(&diagnostics).into_iter().map(|diagnostic| diagnostic.detail).collect();
        assert_eq!(details, ["1", "1\n\n(and 2 more similar warnings elsewhere)", "2", "1", "1", "2"]);
    }
}
