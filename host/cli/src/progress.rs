//! Reports the progress of a run: as lines of text, or as JSON messages. On a terminal, a footer
//! shows the operations that are running.

mod downloads;
mod modules;
mod running;

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use wardian_engine::{Action, EphemeralAction, Event, Events};
use wardian_printable::{Printable, PrintableText, append, printable};

use crate::render::json::hook;
use crate::render::query::render_list_results;
use crate::shell::{FooterContent, FooterGuard, Paint, Shell};

pub(crate) use downloads::DownloadProgress;
pub(crate) use modules::ModuleProgress;
pub(crate) use running::Phase;
use running::RunStatus;

/// Writes a line for each event.
pub(crate) struct Progress {
    shell: Arc<Shell>,
    /// The state of the run; `None` if no footer is shown.
    status: Mutex<Option<RunStatus>>,
}

impl Progress {
    /// Returns a listener that writes to a shell.
    pub(crate) fn new(shell: &Arc<Shell>) -> Self {
        Self { shell: Arc::clone(shell), status: Mutex::new(None) }
    }

    /// Shows a footer until the guard is dropped. `total` returns the number of objects that a plan
    /// reads, of operations of an apply, or of runs of a suite.
    pub(crate) fn begin(
        self: &Arc<Self>,
        phase: Phase,
        total: impl FnOnce() -> usize,
    ) -> Option<FooterGuard> {
        let guard = self.shell.show_footer(Arc::clone(self) as Arc<dyn FooterContent>)?;
        *self.status.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(RunStatus::new(phase, total(), Instant::now()));
        Some(guard)
    }

    /// Counts a run of a suite that has completed.
    pub(crate) fn complete_run(&self) {
        if let Some(status) = &mut *self.status.lock().unwrap_or_else(PoisonError::into_inner) {
            status.complete_run();
        }
    }

    fn record(&self, event: &Event<'_>) {
        if self.shell.has_footer()
            && let Some(status) = &mut *self.status.lock().unwrap_or_else(PoisonError::into_inner)
        {
            status.record(event, Instant::now());
        }
    }
}

/// Shows events in the footer only. Tests use it, because they write lines about runs, not about
/// objects.
pub(crate) struct FooterEvents(pub(crate) Arc<Progress>);

impl Events for FooterEvents {
    fn event(&self, event: &Event<'_>) {
        self.0.record(event);
    }
}

impl FooterContent for Progress {
    fn lines(&self, columns: usize) -> Vec<PrintableText> {
        let status = self.status.lock().unwrap_or_else(PoisonError::into_inner);
        status.as_ref().map(|status| status.lines(Instant::now(), columns)).unwrap_or_default()
    }
}

impl Events for Progress {
    fn event(&self, event: &Event<'_>) {
        if self.shell.wants_messages()
            && let Some(message) = hook(event)
        {
            self.shell.message(&message);
        }
        self.record(event);
        // The results of a query are not progress.
        let is_result = matches!(event, Event::ListCompleted { .. });
        if self.shell.is_for_programs() || self.shell.is_concise() && !is_result {
            return;
        }
        if let Event::ProvisionOutput { address, provisioner, text } = event {
            let prefix = self.shell.paint(Paint::Bold, printable!("{address} ({provisioner}):"));
            self.shell.say(output_lines(text, &prefix));
        } else if let Event::ActionProgress { address, message, .. } = event {
            let prefix = self.shell.paint(Paint::Bold, printable!("Action progress ({address}):"));
            self.shell.say(output_lines(message, &prefix));
        } else if let Event::ListCompleted { list, found } = event {
            if !found.is_empty() {
                self.shell.print(render_list_results(list, found));
            }
        } else if let Some(line) = line(event) {
            self.shell.say(self.shell.paint(Paint::Bold, line));
        }
    }
}

/// Adds the prefix with the resource and the provisioner to each line of a provisioner's output. A
/// carriage return ends a line, as on a terminal. Lines without visible text are dropped.
fn output_lines(text: &str, prefix: &PrintableText) -> PrintableText {
    let mut shown = PrintableText::new();
    for line in text.split(['\n', '\r']).map(str::trim_end).filter(|line| !line.is_empty()) {
        if !shown.is_empty() {
            shown.push("\n");
        }
        append!(shown, "{prefix} ");
        // `append_lines` preserves tabs; the line contains no line breaks.
        shown.append_lines(&without_colours(line));
    }
    shown
}

/// Removes the escape sequences that set colors on a terminal.
fn without_colours(text: &str) -> Cow<'_, str> {
    const BEGIN: &str = "\u{1b}[";
    if !text.contains(BEGIN) {
        return Cow::Borrowed(text);
    }
    let mut parts = text.split(BEGIN);
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';').strip_prefix('m') {
            Some(rest) => plain.push_str(rest),
            None => plain.extend([BEGIN, part]),
        }
    }
    Cow::Owned(plain)
}

fn line(event: &Event<'_>) -> Option<PrintableText> {
    Some(match event {
        Event::RefreshStarted { address, id } => printable!("{address}: Refreshing state...{}", Id(id)),
        // A line was printed when the refresh started; its completion needs no line of its own.
        Event::RefreshCompleted { .. } => return None,
        // The error itself is shown at the end of the run.
        Event::ReadFailed { .. } => return None,
        Event::ImportStarted { address, id } => printable!("{address}: Preparing import... [{id}]"),
        // Reading the object is the next step, and is reported.
        Event::ImportFound { .. } => return None,
        Event::Importing { address, id } => printable!("{address}: Importing... [{id}]"),
        Event::Imported { address, id } => printable!("{address}: Import complete [{id}]"),
        Event::Started { address, deposed, action, id } => {
            let deposed =
                deposed.map_or_else(PrintableText::new, |key| printable!(" (deposed object {key})"));
            printable!("{address}{deposed}: {}...{}", ActionNames::for_action(*action)?.in_progress, Id(id))
        }
        Event::InProgress { address, action, id, elapsed } => {
            let in_progress = ActionNames::for_action(*action)?.in_progress.to_lowercase();
            let id = id.as_ref().map_or_else(PrintableText::new, |id| printable!("{id}, "));
            printable!("{address}: Still {in_progress}... [{id}{} elapsed]", Elapsed(*elapsed))
        }
        Event::Completed { address, action, id, elapsed } => {
            let words = ActionNames::for_action(*action)?;
            // A destroyed object no longer has an ID.
            let id = if *action == Action::Delete { &None } else { id };
            printable!("{address}: {} complete after {}{}", words.done, Elapsed(*elapsed), Id(id))
        }
        Event::ProvisionStarted { address, provisioner } => {
            printable!("{address}: Provisioning with '{provisioner}'...")
        }
        Event::EphemeralStarted { address, action } => {
            printable!("{address}: {}...", ActionNames::for_ephemeral(*action).in_progress)
        }
        Event::EphemeralInProgress { address, action, elapsed } => {
            let in_progress = ActionNames::for_ephemeral(*action).in_progress.to_lowercase();
            printable!("{address}: Still {in_progress}... [{} elapsed]", Elapsed(*elapsed))
        }
        Event::EphemeralCompleted { address, action, elapsed } => {
            printable!(
                "{address}: {} complete after {}",
                ActionNames::for_ephemeral(*action).done,
                Elapsed(*elapsed)
            )
        }
        Event::ActionStarted { address, trigger } => match trigger.resource() {
            Some(resource) => printable!("Action started: {address} (triggered by {resource})"),
            None => printable!("Action started: {address}"),
        },
        Event::ActionCompleted { address, .. } => printable!("Action complete: {address}"),
        // The results of a query are shown when it has ended.
        Event::ListStarted { .. } | Event::ListFound { .. } | Event::ListCompleted { .. } => return None,
        // The message was shown when it was received; an error is shown at the end of the run.
        Event::ActionProgress { .. } | Event::ActionFailed { .. } => return None,
        // Each line of output was shown with its prefix when it was received; later events show
        // that the provisioner has finished.
        Event::ProvisionOutput { .. } | Event::ProvisionCompleted { .. } => return None,
        // The error itself is shown at the end of the run.
        Event::Failed { .. } | Event::ProvisionFailed { .. } | Event::EphemeralFailed { .. } => return None,
    })
}

/// The words for an action while it runs and after it finished.
struct ActionNames {
    in_progress: &'static str,
    done: &'static str,
}

impl ActionNames {
    fn for_action(action: Action) -> Option<Self> {
        let (in_progress, done) = match action {
            Action::Create => ("Creating", "Creation"),
            Action::Read => ("Reading", "Read"),
            Action::Update => ("Modifying", "Modifications"),
            Action::Delete => ("Destroying", "Destruction"),
            // The two steps of a replacement are reported separately.
            Action::NoOp | Action::Forget | Action::DeleteThenCreate | Action::CreateThenDelete => {
                return None;
            }
        };
        Some(Self { in_progress, done })
    }

    fn for_ephemeral(action: EphemeralAction) -> Self {
        let (in_progress, done) = match action {
            EphemeralAction::Open => ("Opening", "Opening"),
            EphemeralAction::Renew => ("Renewing", "Renewal"),
            EphemeralAction::Close => ("Closing", "Closing"),
        };
        Self { in_progress, done }
    }
}

struct Id<'a>(&'a Option<String>);

impl Printable for Id<'_> {
    fn append_to(&self, text: &mut PrintableText) {
        if let Some(id) = self.0 {
            append!(text, " [{id}]");
        }
    }
}

/// A duration in whole seconds: `0s`, `1m10s`, `2h0m5s`.
struct Elapsed(Duration);

impl Printable for Elapsed {
    fn append_to(&self, text: &mut PrintableText) {
        let seconds = self.0.as_secs();
        let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        match (hours, minutes) {
            (0, 0) => append!(text, "{seconds}s"),
            (0, _) => append!(text, "{minutes}m{seconds}s"),
            _ => append!(text, "{hours}h{minutes}m{seconds}s"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_rendered_as_lines() {
        let address = "random_id.a[0]".parse().unwrap();
        let (id, elapsed) = (Some("id=x".to_owned()), Duration::from_millis(70_900));
        let check = |event: Event<'_>, expected: &str| {
            assert_eq!(line(&event).unwrap_or_default().as_str(), expected);
        };
        check(
            Event::RefreshStarted { address: &address, id: id.clone() },
            "random_id.a[0]: Refreshing state... [id=x]",
        );
        check(
            Event::ImportStarted { address: &address, id: "id=x" },
            "random_id.a[0]: Preparing import... [id=x]",
        );
        check(Event::Importing { address: &address, id: "id=x" }, "random_id.a[0]: Importing... [id=x]");
        check(Event::Imported { address: &address, id: "id=x" }, "random_id.a[0]: Import complete [id=x]");
        check(
            Event::Started { address: &address, deposed: None, action: Action::Create, id: None },
            "random_id.a[0]: Creating...",
        );
        check(
            Event::Started {
                address: &address,
                deposed: Some("0a1b2c3d"),
                action: Action::Delete,
                id: id.clone(),
            },
            "random_id.a[0] (deposed object 0a1b2c3d): Destroying... [id=x]",
        );
        check(
            Event::InProgress { address: &address, action: Action::Create, id: id.clone(), elapsed },
            "random_id.a[0]: Still creating... [id=x, 1m10s elapsed]",
        );
        check(
            Event::Completed { address: &address, action: Action::Update, id: id.clone(), elapsed },
            "random_id.a[0]: Modifications complete after 1m10s [id=x]",
        );
        check(
            Event::Completed { address: &address, action: Action::Delete, id, elapsed: Duration::ZERO },
            "random_id.a[0]: Destruction complete after 0s",
        );
        check(Event::Failed { address: &address, action: Action::Create, elapsed }, "");
        check(
            Event::ProvisionStarted { address: &address, provisioner: "local-exec" },
            "random_id.a[0]: Provisioning with 'local-exec'...",
        );
        check(
            Event::EphemeralStarted { address: &address, action: EphemeralAction::Open },
            "random_id.a[0]: Opening...",
        );
        check(
            Event::EphemeralCompleted { address: &address, action: EphemeralAction::Close, elapsed },
            "random_id.a[0]: Closing complete after 1m10s",
        );
    }

    #[test]
    fn control_characters_in_ids_are_escaped() {
        let address = "random_id.a".parse().unwrap();
        let id = Some("x]\nrandom_id.a: Refreshing\u{1b}[2J\u{202e}".to_owned());
        let shown = line(&Event::RefreshStarted { address: &address, id }).unwrap();
        assert_eq!(
            shown.as_str(),
            "random_id.a: Refreshing state... [x]\\nrandom_id.a: Refreshing\\u{1b}[2J\\u{202e}]"
        );
    }

    #[test]
    fn provisioner_output_lines_have_prefix() {
        let lines = |text| output_lines(text, &"a:".into()).into_string();
        assert_eq!(lines("one\n  two  \n\n"), "a: one\na:   two");
        assert_eq!(lines("10 %\r20 %\n"), "a: 10 %\na: 20 %");
        assert_eq!(lines("\n"), "");
        assert_eq!(lines("a\tb"), "a: a\tb");
        assert_eq!(lines("\u{1b}[1;31mred\u{1b}[0m rest"), "a: red rest");
        assert_eq!(lines("\u{1b}[2Jx\u{7}"), "a: \\u{1b}[2Jx\\u{7}");
    }
}
