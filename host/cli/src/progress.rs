//! What a run tells while it goes on: as lines for people, as messages for programs.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use wardian_engine::{Action, EphemeralAction, Event, Events};

use crate::render::json::hook;
use crate::shell::{Paint, Shell};

/// Writes a line for every event.
pub(crate) struct Progress {
    shell: Arc<Shell>,
}

impl Progress {
    /// Lines in a shell.
    pub(crate) fn new(shell: &Arc<Shell>) -> Self {
        Self { shell: Arc::clone(shell) }
    }
}

impl Events for Progress {
    fn event(&self, event: &Event<'_>) {
        if self.shell.is_for_programs() {
            if let Some(message) = hook(event) {
                self.shell.message(&message);
            }
        } else if let Some(line) = line(event) {
            self.shell.say(self.shell.paint(Paint::Bold, &line));
        }
    }
}

fn line(event: &Event<'_>) -> Option<String> {
    Some(match event {
        Event::RefreshStarted { address, id } => format!("{address}: Refreshing state...{}", Id(id)),
        // Its start was said; that it is done is seen in the plan.
        Event::RefreshCompleted { .. } => return None,
        Event::ImportStarted { address, id } => format!("{address}: Preparing import... [{id}]"),
        // What was found is read next, and that is said.
        Event::ImportFound { .. } => return None,
        Event::Importing { address, id } => format!("{address}: Importing... [{id}]"),
        Event::Imported { address, id } => format!("{address}: Import complete [{id}]"),
        Event::Started { address, deposed, action, id } => {
            let deposed = deposed.map_or(String::new(), |key| format!(" (deposed object {key})"));
            format!("{address}{deposed}: {}...{}", Words::of(*action)?.going_on, Id(id))
        }
        Event::InProgress { address, action, id, elapsed } => {
            let going_on = Words::of(*action)?.going_on.to_lowercase();
            let id = match id {
                Some(id) => format!("{id}, "),
                None => String::new(),
            };
            format!("{address}: Still {going_on}... [{id}{} elapsed]", Elapsed(*elapsed))
        }
        Event::Completed { address, action, id, elapsed } => {
            let words = Words::of(*action)?;
            // What is destroyed has no name any more.
            let id = if *action == Action::Delete { &None } else { id };
            format!("{address}: {} complete after {}{}", words.done, Elapsed(*elapsed), Id(id))
        }
        Event::EphemeralStarted { address, action } => {
            format!("{address}: {}...", Words::of_ephemeral(*action).going_on)
        }
        Event::EphemeralInProgress { address, action, elapsed } => {
            let going_on = Words::of_ephemeral(*action).going_on.to_lowercase();
            format!("{address}: Still {going_on}... [{} elapsed]", Elapsed(*elapsed))
        }
        Event::EphemeralCompleted { address, action, elapsed } => {
            format!("{address}: {} complete after {}", Words::of_ephemeral(*action).done, Elapsed(*elapsed))
        }
        // The error itself is shown when the run is over.
        Event::Failed { .. } | Event::EphemeralFailed { .. } => return None,
    })
}

/// How an action is called.
struct Words {
    going_on: &'static str,
    done: &'static str,
}

impl Words {
    fn of(action: Action) -> Option<Self> {
        let (going_on, done) = match action {
            Action::Create => ("Creating", "Creation"),
            Action::Read => ("Reading", "Read"),
            Action::Update => ("Modifying", "Modifications"),
            Action::Delete => ("Destroying", "Destruction"),
            // A replacement is told as its two halves.
            Action::NoOp | Action::Forget | Action::DeleteThenCreate | Action::CreateThenDelete => {
                return None;
            }
        };
        Some(Self { going_on, done })
    }

    fn of_ephemeral(action: EphemeralAction) -> Self {
        let (going_on, done) = match action {
            EphemeralAction::Open => ("Opening", "Opening"),
            EphemeralAction::Renew => ("Renewing", "Renewal"),
            EphemeralAction::Close => ("Closing", "Closing"),
        };
        Self { going_on, done }
    }
}

struct Id<'a>(&'a Option<String>);

impl fmt::Display for Id<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(id) => write!(f, " [{id}]"),
            None => Ok(()),
        }
    }
}

/// Whole seconds: `0s`, `1m10s`, `2h0m5s`.
struct Elapsed(Duration);

impl fmt::Display for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs();
        let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        match (hours, minutes) {
            (0, 0) => write!(f, "{seconds}s"),
            (0, _) => write!(f, "{minutes}m{seconds}s"),
            _ => write!(f, "{hours}h{minutes}m{seconds}s"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_become_lines() {
        let address = "random_id.a[0]".parse().unwrap();
        let (id, elapsed) = (Some("id=x".to_owned()), Duration::from_millis(70_900));
        let check = |event: Event<'_>, expected: &str| assert_eq!(line(&event).unwrap_or_default(), expected);
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
            Event::EphemeralStarted { address: &address, action: EphemeralAction::Open },
            "random_id.a[0]: Opening...",
        );
        check(
            Event::EphemeralCompleted { address: &address, action: EphemeralAction::Close, elapsed },
            "random_id.a[0]: Closing complete after 1m10s",
        );
    }
}
