//! Writes all output, and prompts the user.
//!
//! A command's result goes to standard output, and so do warnings unless the output is data for
//! programs; errors go to standard error. Human-readable text is a [`PrintableText`]; data for
//! programs is written unchanged, except on a terminal. Color is used only on terminals, and never
//! conveys information that is missing from the text. If the output is closed, the command
//! continues: an apply whose output is no longer read must still save the state. If output cannot
//! be written for another reason, such as a full disk, the command reports an error at its end.

mod footer;
pub(crate) mod screen;
mod style;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufRead as _, IsTerminal as _, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock};

use jiff::Timestamp;
use serde::Serialize;
use wardian_app::ProcessEnvironment;
use wardian_app::compatibility::TERRAFORM_VERSION;
use wardian_diagnostic::{
    Diagnostic, DiagnosticOrigin, Diagnostics, NoStyle, PlainStyle, Severity, Style, system_reason,
};
use wardian_printable::escape::escape_json;
use wardian_printable::{PrintableText, append, append_line, printable};

use crate::crash;
use crate::failure::{Failure, Outcome, Status, Usage};
use crate::product::Product;
use crate::render::RenderOptions;
use crate::render::json::{Message, write_compact};
use crate::render::wrapping::wrap;

use footer::Footer;
pub(crate) use footer::{FooterContent, FooterGuard};
pub(crate) use screen::{Screen, ScreenEvent};
pub(crate) use style::Paint;
use style::painted;

/// The maximum number of source positions that are listed for similar warnings.
const MAX_POSITIONS: usize = 3;

/// The maximum number of warnings that are remembered for a review of the plan.
const MAX_REMEMBERED_WARNINGS: usize = 100;

/// The output width if the environment does not specify one.
const WIDTH: usize = 78;

/// The kind of data that a command writes to standard output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum OutputKind {
    /// Human-readable text, including warnings.
    #[default]
    Report,
    /// Only the data that the user requested. Warnings are written to standard error.
    Data,
    /// JSON messages for programs, including diagnostics, one per line.
    JsonMessages,
}

/// A step or a result of `init`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InitStep {
    StateStore,
    Backend,
    Modules,
    ModuleUpgrade,
    Providers,
    LockFileCreated,
    LockFileChanged,
    Success,
    NextSteps,
    EmptyDirectory,
}

impl InitStep {
    /// Returns the code in JSON messages.
    const fn code(self) -> &'static str {
        match self {
            Self::StateStore => "initializing_provider_plugin_from_config_message",
            Self::Backend => "initializing_backend_message",
            Self::Modules => "initializing_modules_message",
            Self::ModuleUpgrade => "upgrading_modules_message",
            Self::Providers => "initializing_provider_plugin_message",
            Self::LockFileCreated => "lock_info",
            Self::LockFileChanged => "dependencies_lock_changes_info",
            Self::Success => "output_init_success_message",
            Self::NextSteps => "output_init_success_cli_message",
            Self::EmptyDirectory => "output_init_empty_message",
        }
    }
}

/// The user's options for output.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ViewOptions {
    /// `-no-color`.
    pub(crate) no_color: bool,
    /// `-compact-warnings`.
    pub(crate) compact_warnings: bool,
    /// `-concise`.
    pub(crate) concise: bool,
}

/// Standard output, standard error and standard input.
#[derive(Debug)]
pub(crate) struct Shell {
    out: Stream,
    errors: Stream,
    product: Product,
    compact_warnings: bool,
    concise: bool,
    /// Whether a vertical line is printed next to the lines of a diagnostic. Tools that run
    /// Terraform with `-no-color` search for errors at the start of a line.
    has_frames: bool,
    /// Whether warnings go to standard error.
    data_only: bool,
    /// Whether all output consists of JSON messages.
    for_programs: bool,
    /// The file that receives JSON messages in addition to the text output.
    recording: Option<Recording>,
    /// Whether the user can be asked.
    asks: bool,
    /// Whether a prompt is waiting for an answer.
    is_asking: AtomicBool,
    /// Whether a footer can be shown on standard output.
    has_footer: bool,
    /// Whether standard output is a terminal that can move its cursor.
    is_terminal: bool,
    /// Locked while text is written, to prevent other output between its lines.
    footer: Mutex<Footer>,
    /// The output that is held back while the terminal is in full-screen mode, each text with whether it
    /// is for standard output.
    held: Mutex<Option<Vec<(bool, PrintableText)>>>,
    /// The first warnings that were shown, except for those of checks, which are part of plans.
    shown_warnings: Mutex<Diagnostics>,
}

/// A file that receives JSON messages.
#[derive(Debug)]
struct Recording {
    file: Mutex<File>,
    /// The reason why the file could not be written.
    failure: OnceLock<String>,
}

impl Recording {
    fn write(&self, line: &str) {
        let mut file = self.file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Err(error) = file.write_all(line.as_bytes()) {
            // Only the first failure is reported.
            let _ = self.failure.set(system_reason(&error));
        }
    }
}

#[derive(Debug)]
struct Stream {
    color: bool,
    width: usize,
    /// Whether the stream can no longer be written.
    gone: AtomicBool,
    /// The reason why the stream cannot be written, unless its reader has closed it.
    failure: OnceLock<String>,
}

impl Shell {
    /// Returns a shell for the process's own streams.
    pub(crate) fn new(
        environment: &ProcessEnvironment,
        product: Product,
        view: ViewOptions,
        output: OutputKind,
    ) -> Self {
        let for_programs = output == OutputKind::JsonMessages;
        let colorful = environment.wants_color() && !view.no_color && !for_programs;
        let (out, errors) = (io::stdout(), io::stderr());
        let width = |columns: Option<usize>| columns.or(environment.columns()).unwrap_or(WIDTH);
        let shell = Self {
            out: Stream::new(colorful && out.is_terminal(), width(columns(&out))),
            errors: Stream::new(colorful && errors.is_terminal(), width(columns(&errors))),
            product,
            compact_warnings: view.compact_warnings,
            concise: view.concise,
            has_frames: product.is_own() || !view.no_color,
            data_only: output == OutputKind::Data,
            for_programs,
            recording: None,
            asks: io::stdin().is_terminal() && !for_programs,
            is_asking: AtomicBool::new(false),
            has_footer: out.is_terminal()
                && environment.terminal_has_cursor()
                && !for_programs
                && !view.concise,
            is_terminal: out.is_terminal() && environment.terminal_has_cursor(),
            footer: Mutex::default(),
            held: Mutex::default(),
            shown_warnings: Mutex::default(),
        };
        if for_programs {
            shell.message(&Message::Version(TERRAFORM_VERSION));
        }
        shell
    }

    /// From now on, also writes JSON messages to a file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be created.
    pub(crate) fn record_messages(&mut self, path: &Path) -> io::Result<()> {
        let file = Mutex::new(File::create(path)?);
        self.recording = Some(Recording { file, failure: OnceLock::new() });
        self.message(&Message::Version(TERRAFORM_VERSION));
        Ok(())
    }

    /// Returns whether JSON messages are written, to standard output or to a file.
    pub(crate) fn wants_messages(&self) -> bool {
        self.for_programs || self.recording.is_some()
    }

    /// Returns the options for text on standard output.
    pub(crate) fn render_options(&self) -> RenderOptions {
        RenderOptions { color: self.out.color, width: self.out.width, product: self.product }
    }

    /// Returns the product whose wording the output uses.
    pub(crate) fn product(&self) -> Product {
        self.product
    }

    /// Returns a styled text for standard output.
    pub(crate) fn paint(&self, paint: Paint, text: impl Into<PrintableText>) -> PrintableText {
        painted(text.into(), paint, self.out.color)
    }

    /// Returns whether progress messages about individual objects are omitted.
    pub(crate) fn is_concise(&self) -> bool {
        self.concise
    }

    /// Returns whether the output consists of JSON messages.
    pub(crate) fn is_for_programs(&self) -> bool {
        self.for_programs
    }

    /// Writes a JSON message to standard output if the output is for programs, and to the file that
    /// receives messages.
    pub(crate) fn message(&self, message: &Message<'_>) {
        let format = match message {
            Message::InitOutput { .. } => "%Y-%m-%dT%H:%M:%SZ",
            _ => "%Y-%m-%dT%H:%M:%S.%6fZ",
        };
        let now = Timestamp::now().strftime(format).to_string();
        let mut line = message.line(&now, self.product);
        line.push('\n');
        if let Some(recording) = &self.recording {
            recording.write(&line);
        }
        if self.for_programs {
            self.write(true, &PrintableText::from_lines(&line));
        }
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

    /// Writes a step or a result of `init`, followed by a line break.
    pub(crate) fn init_output(&self, step: InitStep, text: PrintableText) {
        if self.for_programs {
            self.message(&Message::InitOutput { code: step.code(), text: text.as_str().trim() });
        } else {
            self.say(text);
        }
    }

    /// Returns sentences broken into lines of the width of standard output. For JSON messages, the
    /// width in the environment is used.
    pub(crate) fn wrapped(&self, text: &PrintableText) -> PrintableText {
        wrap(text, self.out.width, 0)
    }

    /// Returns a list item broken into lines. The lines are aligned with the item's text.
    pub(crate) fn wrapped_item(&self, text: &PrintableText) -> PrintableText {
        wrap(text, self.out.width, 2)
    }

    /// Writes data for programs to standard output. The data is unchanged, because programs depend
    /// on each byte; but on a terminal, it is printed as printable text. The data may be invalid
    /// UTF-8.
    pub(crate) fn print_data(&self, data: &[u8]) {
        let _footer = self.footer();
        let mut stream = io::stdout().lock();
        if stream.is_terminal() {
            let text = PrintableText::from_lines(&String::from_utf8_lossy(data));
            self.out.write(&mut stream, text.as_str().as_bytes());
        } else {
            self.out.write(&mut stream, data);
        }
    }

    /// Writes a JSON document to standard output, followed by a line break. In strings of the
    /// document, characters that are unsafe to print on a terminal are replaced by JSON escapes.
    pub(crate) fn print_json(&self, document: &str) {
        let mut text = PrintableText::from_lines(&escape_json(document));
        text.push("\n");
        self.write(true, &text);
    }

    /// Writes a document incrementally to standard output, followed by a line break.
    pub(crate) fn document(&self, document: &impl Serialize) {
        let _footer = self.footer();
        self.out.write_with(&mut io::stdout().lock(), |stream| {
            let mut stream = io::BufWriter::with_capacity(1 << 16, stream);
            write_compact(document, &mut stream)?;
            stream.write_all(b"\n")?;
            stream.flush()
        });
    }

    /// Writes a document of any format to standard output. It must contain no characters that control a
    /// terminal.
    pub(crate) fn write_with(&self, writing: impl FnOnce(&mut dyn Write) -> io::Result<()>) {
        let _footer = self.footer();
        self.out.write_with(&mut io::stdout().lock(), writing);
    }

    /// Writes text to standard output, followed by a line break.
    pub(crate) fn say(&self, line: impl Into<PrintableText>) {
        let mut text = line.into();
        text.push("\n");
        self.print(text);
    }

    /// Writes text to standard error, followed by a line break.
    pub(crate) fn note(&self, line: impl Into<PrintableText>) {
        let mut text = line.into();
        text.push("\n");
        self.write(false, &text);
    }

    /// Shows errors and warnings, each on the corresponding stream. Commands in the messages are
    /// replaced with the commands of the product whose wording the output uses.
    pub(crate) fn diagnostics(&self, diagnostics: &Diagnostics) {
        diagnostics.iter().for_each(crash::report_bug);
        if self.product.is_own() {
            self.show_diagnostics(diagnostics);
        } else {
            let adapt = |diagnostic: &Diagnostic| Diagnostic {
                summary: self.product.adapt_commands(&diagnostic.summary),
                detail: self.product.adapt_commands(&diagnostic.detail),
                ..diagnostic.clone()
            };
            self.show_diagnostics(&diagnostics.iter().map(adapt).collect());
        }
    }

    fn show_diagnostics(&self, diagnostics: &Diagnostics) {
        if self.wants_messages() {
            for diagnostic in diagnostics {
                self.message(&Message::Diagnostic(diagnostic));
            }
        }
        self.remember_warnings(diagnostics);
        if self.for_programs {
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

    fn remember_warnings(&self, diagnostics: &Diagnostics) {
        let is_remembered =
            |one: &&Diagnostic| one.severity == Severity::Warning && one.origin != DiagnosticOrigin::Check;
        let mut shown = self.shown_warnings.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let left = MAX_REMEMBERED_WARNINGS.saturating_sub(shown.len());
        shown.extend(diagnostics.iter().filter(is_remembered).take(left).cloned());
    }

    /// Returns the first warnings that were shown.
    pub(crate) fn shown_warnings(&self) -> Diagnostics {
        self.shown_warnings.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    fn diagnostic(&self, diagnostic: &Diagnostic) {
        let is_out = diagnostic.severity == Severity::Warning && !self.data_only;
        let stream = if is_out { &self.out } else { &self.errors };
        let style: &dyn Style = if stream.color {
            &style::Terminal
        } else if self.has_frames {
            &NoStyle
        } else {
            &PlainStyle
        };
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
        if let Some(held) = &mut *self.held() {
            held.push((is_out, text.clone()));
            return;
        }
        let mut footer = self.footer();
        let mut out = footer.erase();
        if is_out {
            out.append(text);
        } else {
            // Both streams may be the same terminal.
            self.write_out(&out);
            self.errors.write(&mut io::stderr().lock(), text.as_str().as_bytes());
            out = PrintableText::new();
        }
        if self.has_footer && !self.is_asking() {
            out.append(&footer.draw(self.current_columns()));
        }
        self.write_out(&out);
    }

    fn write_out(&self, text: &PrintableText) {
        if !text.is_empty() {
            self.out.write(&mut io::stdout().lock(), text.as_str().as_bytes());
        }
    }

    /// Returns whether a footer can be shown.
    pub(crate) fn has_footer(&self) -> bool {
        self.has_footer
    }

    /// Shows the reason why a command failed, and returns its exit status.
    pub(crate) fn failure(&self, failure: &Failure) -> Status {
        match failure {
            Failure::Diagnostics(diagnostics) => self.diagnostics(diagnostics),
            Failure::ConsentNeeded(diagnostics) => {
                self.diagnostics(diagnostics);
                return Status::ConsentNeeded;
            }
            Failure::Usage(Usage { summary, detail, command }) => {
                let problem = Diagnostic::error(summary, detail);
                if self.for_programs {
                    self.message(&Message::Diagnostic(&problem));
                    return Status::Failed;
                }
                self.diagnostic(&problem);
                let command = if command.is_empty() { String::new() } else { format!(" {command}") };
                let program = self.product.command();
                self.note(printable!("\nFor more help on this, run:\n  {program}{command} -help"));
            }
        }
        Status::Failed
    }

    pub(crate) fn can_ask(&self) -> bool {
        self.asks
    }

    /// Returns whether an answer can be read, from a terminal or from a pipe that has not ended.
    pub(crate) fn can_read_answer(&self) -> bool {
        self.can_ask() || (!self.for_programs && !input_has_ended())
    }

    /// Returns whether a prompt is waiting for an answer.
    pub(crate) fn is_asking(&self) -> bool {
        self.is_asking.load(Ordering::Relaxed)
    }

    /// Returns the reason why standard output or the file for messages could not be written; `None`
    /// if both could be written, or if the reader of standard output has closed it.
    pub(crate) fn output_failure(&self) -> Option<&str> {
        let recording = self.recording.as_ref().and_then(|recording| recording.failure.get());
        self.out.failure.get().or(recording).map(String::as_str)
    }

    /// Asks a question and waits for one line. Returns `None` if the input has ended.
    ///
    /// # Errors
    /// Returns an error if the input cannot be read.
    pub(crate) async fn ask(&self, question: impl Into<PrintableText>) -> io::Result<Option<String>> {
        self.is_asking.store(true, Ordering::Relaxed);
        self.print(question);
        let (sender, answer) = tokio::sync::oneshot::channel();
        // The separate thread is not joined, because the user may interrupt Wardian instead of
        // answering.
        std::thread::spawn(move || {
            let mut line = String::new();
            let read = io::stdin().lock().read_line(&mut line);
            let _ = sender.send(read.map(|length| (length > 0).then_some(line)));
        });
        let line = answer.await;
        self.is_asking.store(false, Ordering::Relaxed);
        let line = line.map_err(io::Error::other)??;
        if !self.can_ask() {
            // If the answer was not typed on a terminal, no line break follows the question yet.
            self.say("");
        }
        Ok(line.map(|line| line.trim_end_matches(['\n', '\r']).to_owned()))
    }

    /// Asks a question like [`Shell::ask`], without showing the typed characters.
    ///
    /// # Errors
    /// Returns an error if the input cannot be read.
    pub(crate) async fn ask_secret(&self, question: impl Into<PrintableText>) -> io::Result<Option<String>> {
        // Dropping this guard makes typed characters visible again, even if the question was
        // abandoned.
        let silence = Silence::begin();
        let answer = self.ask(question).await;
        if silence.is_some() {
            // The terminal did not echo the user's line break either.
            self.say("");
        }
        answer
    }

    /// Shows the warnings and returns the value, or returns the errors together with the warnings.
    pub(crate) fn warned<T>(&self, value: T, warnings: &Diagnostics) -> Outcome<T> {
        if warnings.has_errors() {
            return Err(warnings.clone().into());
        }
        self.diagnostics(warnings);
        Ok(value)
    }

    fn held(&self) -> MutexGuard<'_, Option<Vec<(bool, PrintableText)>>> {
        self.held.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Holds back all output, and treats the user as asked.
    fn hold_output(&self) {
        self.held().get_or_insert_default();
        self.is_asking.store(true, Ordering::Relaxed);
    }

    /// Writes the output that was held back.
    pub(crate) fn release_output(&self) {
        self.is_asking.store(false, Ordering::Relaxed);
        let held = self.held().take();
        for (is_out, text) in held.into_iter().flatten() {
            self.write(is_out, &text);
        }
    }

    fn footer(&self) -> MutexGuard<'_, Footer> {
        self.footer.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Stream {
    fn new(color: bool, width: usize) -> Self {
        Self { color, width, gone: AtomicBool::new(false), failure: OnceLock::new() }
    }

    fn write(&self, stream: &mut dyn Write, bytes: &[u8]) {
        self.write_with(stream, |stream| stream.write_all(bytes).and_then(|()| stream.flush()));
    }

    fn write_with(&self, stream: &mut dyn Write, writing: impl FnOnce(&mut dyn Write) -> io::Result<()>) {
        if self.gone.load(Ordering::Relaxed) {
            return;
        }
        if let Err(error) = writing(stream) {
            self.gone.store(true, Ordering::Relaxed);
            if error.kind() != io::ErrorKind::BrokenPipe {
                // Only the first failure is reported.
                let _ = self.failure.set(system_reason(&error));
            }
        }
    }
}

/// Returns whether the standard input has ended, without waiting for further input.
fn input_has_ended() -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let input = io::stdin();
    let mut waiting = [PollFd::new(&input, PollFlags::IN)];
    let is_ready = poll(&mut waiting, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|ready| ready > 0);
    // If input is ready, this call returns it without waiting; at the end of the input, it returns
    // an empty slice.
    is_ready && input.lock().fill_buf().map_or(true, <[u8]>::is_empty)
}

/// Combines warnings with the same summary, because a provider may report the same warning for a
/// hundred objects. The one with the first position is shown. All errors and all results of checks
/// are shown.
fn consolidated(diagnostics: &Diagnostics) -> Vec<Diagnostic> {
    let mut shown: Vec<Vec<&Diagnostic>> = Vec::new();
    let mut warned: HashMap<&str, usize> = HashMap::new();
    for diagnostic in diagnostics {
        let next = shown.len();
        let is_own = diagnostic.is_error() || diagnostic.origin == DiagnosticOrigin::Check;
        let first = if is_own { next } else { *warned.entry(&diagnostic.summary).or_insert(next) };
        match shown.get_mut(first) {
            Some(similar) => similar.push(diagnostic),
            None => shown.push(vec![diagnostic]),
        }
    }
    let position = |diagnostic: &&Diagnostic| {
        diagnostic.subject.as_ref().map(|span| (span.file.name().to_owned(), span.start))
    };
    shown
        .into_iter()
        .filter_map(|mut similar| {
            similar.sort_by_cached_key(position);
            let (first, more) = similar.split_first()?;
            let more: Vec<_> = more.iter().map(|diagnostic| line_of(diagnostic)).collect();
            Some(with_further_positions((*first).clone(), &more))
        })
        .collect()
}

fn line_of(diagnostic: &Diagnostic) -> Option<String> {
    let span = diagnostic.subject.as_ref()?;
    Some(format!("{} line {}", span.file.name(), span.start_position().line))
}

/// Adds the number of similar warnings to a warning, and the source positions of the first few.
fn with_further_positions(mut diagnostic: Diagnostic, more: &[Option<String>]) -> Diagnostic {
    let count = match more.len() {
        0 => return diagnostic,
        1 => "one more similar warning".to_owned(),
        number => format!("{number} more similar warnings"),
    };
    let known: Vec<&str> = more.iter().flatten().map(String::as_str).collect();
    let listed = known.iter().take(MAX_POSITIONS).copied().collect::<Vec<_>>().join(", ");
    let positions = match known.len() {
        0 => String::new(),
        number if number <= MAX_POSITIONS => format!(": {listed}"),
        _ => format!(": {listed}, ..."),
    };
    let _ = write!(diagnostic.detail, "\n\n(and {count} elsewhere{positions})");
    diagnostic
}

/// A guard that prevents the terminal from showing typed characters until it is dropped.
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
    fn warnings_with_the_same_summary_are_merged() {
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
