//! The operations that are running, as the footer of the terminal shows them.

use std::time::{Duration, Instant};

use unicode_width::UnicodeWidthChar as _;
use wardian_address::{ActionInstanceAddress, ResourceInstanceAddress};
use wardian_engine::Event;
use wardian_printable::{PrintableText, append, printable};

use super::{ActionNames, Elapsed};

/// The time after which a run has a footer.
const DELAY: Duration = Duration::from_secs(1);

/// The time without a response after which the footer reports the missing response.
const QUIET: Duration = Duration::from_secs(10);

/// The maximum number of operations that the footer lists.
const MAX_LISTED_OPERATIONS: usize = 5;

/// The part of a run that has a separate footer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Plan,
    Apply,
    Test,
}

/// The state of a run.
#[derive(Debug)]
pub(super) struct RunStatus {
    phase: Phase,
    /// The number of objects that a plan reads, of operations of an apply, or of runs of a suite.
    total: usize,
    completed: usize,
    /// In the order in which they started.
    running: Vec<RunningOperation>,
    started: Instant,
    last_response: Instant,
}

#[derive(Debug, PartialEq, Eq)]
enum OperationAddress {
    Resource(ResourceInstanceAddress),
    Action(ActionInstanceAddress),
}

impl std::fmt::Display for OperationAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Resource(address) => address.fmt(f),
            Self::Action(address) => address.fmt(f),
        }
    }
}

#[derive(Debug)]
struct RunningOperation {
    address: OperationAddress,
    /// `creating`, for example.
    activity: String,
    /// The running provisioner.
    provisioner: Option<String>,
    started: Instant,
}

/// The effect of an event on the running operations.
enum Effect {
    Start(String),
    End { counts: bool },
    Provision(Option<String>),
    Response,
}

impl RunStatus {
    pub(super) fn new(phase: Phase, total: usize, now: Instant) -> Self {
        Self { phase, total, completed: 0, running: Vec::new(), started: now, last_response: now }
    }

    /// Counts a run of a suite that has completed.
    pub(super) fn complete_run(&mut self) {
        self.completed += 1;
    }

    /// Records an event. The cost is linear in the number of running operations.
    pub(super) fn record(&mut self, event: &Event<'_>, now: Instant) {
        let (address, effect) = match self.action_effect(event) {
            Some((address, effect)) => (OperationAddress::Action(address.clone()), effect),
            None => {
                let Some((address, effect)) = self.effect(event) else { return };
                (OperationAddress::Resource(address.clone()), effect)
            }
        };
        let place = self.running.iter().position(|operation| operation.address == address);
        match effect {
            Effect::Start(activity) => {
                self.running.push(RunningOperation { address, activity, provisioner: None, started: now });
                return;
            }
            Effect::End { counts } => {
                self.completed += usize::from(counts);
                if let Some(place) = place {
                    self.running.remove(place);
                }
            }
            Effect::Provision(provisioner) => {
                if let Some(operation) = place.and_then(|place| self.running.get_mut(place)) {
                    operation.provisioner = provisioner;
                }
            }
            Effect::Response => {}
        }
        self.last_response = now;
    }

    fn action_effect<'a>(&self, event: &Event<'a>) -> Option<(&'a ActionInstanceAddress, Effect)> {
        Some(match event {
            Event::ActionStarted { address, .. } => (*address, Effect::Start("running".to_owned())),
            Event::ActionProgress { address, .. } => (*address, Effect::Response),
            Event::ActionCompleted { address, .. } | Event::ActionFailed { address, .. } => {
                (*address, Effect::End { counts: self.phase == Phase::Apply })
            }
            _ => return None,
        })
    }

    fn effect<'a>(&self, event: &Event<'a>) -> Option<(&'a ResourceInstanceAddress, Effect)> {
        Some(match event {
            Event::RefreshStarted { address, .. } => (*address, Effect::Start("reading".to_owned())),
            Event::ImportStarted { address, .. } => (*address, Effect::Start("importing".to_owned())),
            Event::Started { address, action, .. } => {
                (*address, Effect::Start(ActionNames::for_action(*action)?.in_progress.to_lowercase()))
            }
            Event::EphemeralStarted { address, action } => {
                (*address, Effect::Start(ActionNames::for_ephemeral(*action).in_progress.to_lowercase()))
            }
            Event::RefreshCompleted { address, .. } => {
                (*address, Effect::End { counts: self.phase != Phase::Test })
            }
            Event::ReadFailed { address } => (*address, Effect::End { counts: false }),
            Event::Completed { address, .. } | Event::Failed { address, .. } => {
                (*address, Effect::End { counts: self.phase == Phase::Apply })
            }
            Event::ImportFound { address, .. }
            | Event::EphemeralCompleted { address, .. }
            | Event::EphemeralFailed { address, .. } => (*address, Effect::End { counts: false }),
            Event::ProvisionStarted { address, provisioner } => {
                (*address, Effect::Provision(Some((*provisioner).to_owned())))
            }
            Event::ProvisionCompleted { address, .. } | Event::ProvisionFailed { address, .. } => {
                (*address, Effect::Provision(None))
            }
            Event::ProvisionOutput { address, .. } => (*address, Effect::Response),
            Event::ActionStarted { .. }
            | Event::ActionProgress { .. }
            | Event::ActionCompleted { .. }
            | Event::ActionFailed { .. }
            | Event::ListStarted { .. }
            | Event::ListFound { .. }
            | Event::ListCompleted { .. }
            | Event::Importing { .. }
            | Event::Imported { .. }
            | Event::InProgress { .. }
            | Event::EphemeralInProgress { .. } => return None,
        })
    }

    /// Returns the lines of the footer, none of which is wider than the number of columns. A short
    /// run has no footer.
    pub(super) fn lines(&self, now: Instant, columns: usize) -> Vec<PrintableText> {
        let elapsed = now - self.started;
        if elapsed < DELAY {
            return Vec::new();
        }
        let mut lines = vec![self.summary(now)];
        let (shown, hidden) = self.running.split_at(self.running.len().min(MAX_LISTED_OPERATIONS));
        lines.extend(shown.iter().map(|operation| operation.line(now)));
        if !hidden.is_empty() {
            lines.push(printable!("  and {} more", hidden.len()));
        }
        lines.into_iter().map(|line| truncated(&line, columns)).collect()
    }

    fn summary(&self, now: Instant) -> PrintableText {
        let (name, unit) = match self.phase {
            Phase::Plan => ("Planning", "read"),
            Phase::Apply => ("Applying", "complete"),
            Phase::Test => ("Testing", "runs complete"),
        };
        let mut line = printable!("{name}: ");
        // An apply can have more operations than planned, such as reading a data source.
        let total = self.total.max(self.completed);
        if total > 0 {
            append!(line, "{} of {total} {unit}, ", self.completed);
        }
        if self.phase != Phase::Test {
            append!(line, "{} running, ", self.running.len());
        }
        append!(line, "{} elapsed", Elapsed(now - self.started));
        let quiet = now - self.last_response;
        if quiet >= QUIET && !self.running.is_empty() {
            append!(line, ", last response {} ago", Elapsed(quiet));
        }
        line
    }
}

impl RunningOperation {
    fn line(&self, now: Instant) -> PrintableText {
        let (address, activity, elapsed) = (&self.address, &self.activity, Elapsed(now - self.started));
        match &self.provisioner {
            Some(provisioner) => printable!("  {address}: {activity}, {provisioner}, {elapsed}"),
            None => printable!("  {address}: {activity}, {elapsed}"),
        }
    }
}

/// Returns the start of a line that fits in the columns. The last column remains empty, because
/// some terminals break a line that fills it.
pub(super) fn truncated(line: &PrintableText, columns: usize) -> PrintableText {
    const ELLIPSIS: char = '…';
    let columns = columns.saturating_sub(1);
    let width = |text: &str| text.chars().map(|character| character.width().unwrap_or(0)).sum::<usize>();
    if width(line.as_str()) <= columns {
        return line.clone();
    }
    let mut room = columns.saturating_sub(1);
    let mut shown = String::new();
    for character in line.as_str().chars() {
        let Some(rest) = room.checked_sub(character.width().unwrap_or(0)) else { break };
        room = rest;
        shown.push(character);
    }
    shown.push(ELLIPSIS);
    PrintableText::from_lines(&shown)
}

#[cfg(test)]
mod tests {
    use wardian_engine::Action;

    use super::*;

    fn shown(status: &RunStatus, now: Instant, columns: usize) -> String {
        let mut text = PrintableText::new();
        for line in status.lines(now, columns) {
            wardian_printable::append_line!(text, "{line}");
        }
        text.into_string()
    }

    #[test]
    fn footer_lists_oldest_operations() {
        let begin = Instant::now();
        let after = |seconds| begin + Duration::from_secs(seconds);
        let mut status = RunStatus::new(Phase::Apply, 9, begin);
        let addresses: Vec<ResourceInstanceAddress> =
            (0..8).map(|index| format!("time_sleep.wait[{index}]").parse().unwrap()).collect();
        for (address, second) in addresses.iter().zip(0..) {
            let event = Event::Started { address, deposed: None, action: Action::Create, id: None };
            status.record(&event, after(second));
        }
        assert_eq!(shown(&status, begin, 80), "");
        let end = |address| Event::Completed {
            address,
            action: Action::Create,
            id: None,
            elapsed: Duration::from_secs(1),
        };
        status.record(&end(&addresses[1]), after(8));
        let provisioning = Event::ProvisionStarted { address: &addresses[0], provisioner: "local-exec" };
        status.record(&provisioning, after(9));
        assert_eq!(
            shown(&status, after(70), 80),
            "Applying: 1 of 9 complete, 7 running, 1m10s elapsed, last response 1m1s ago\n  \
             time_sleep.wait[0]: creating, local-exec, 1m10s\n  time_sleep.wait[2]: creating, 1m8s\n  \
             time_sleep.wait[3]: creating, 1m7s\n  time_sleep.wait[4]: creating, 1m6s\n  \
             time_sleep.wait[5]: creating, 1m5s\n  and 2 more\n"
        );
        let failed =
            Event::Failed { address: &addresses[0], action: Action::Create, elapsed: Duration::from_secs(1) };
        status.record(&failed, after(70));
        for address in &addresses[2..] {
            status.record(&end(address), after(70));
        }
        assert_eq!(shown(&status, after(90), 80), "Applying: 8 of 9 complete, 0 running, 1m30s elapsed\n");
    }

    #[test]
    fn footer_counts_objects_read_during_plan() {
        let begin = Instant::now();
        let address = "random_id.a".parse().unwrap();
        let mut status = RunStatus::new(Phase::Plan, 2, begin);
        for second in 0..2 {
            let at = begin + Duration::from_secs(second);
            status.record(&Event::RefreshStarted { address: &address, id: None }, at);
            status.record(&Event::RefreshCompleted { address: &address, id: None }, at);
        }
        status.record(&Event::RefreshStarted { address: &address, id: None }, begin);
        status.record(&Event::ReadFailed { address: &address }, begin);
        let at = begin + Duration::from_secs(3);
        assert_eq!(shown(&status, at, 80), "Planning: 2 of 2 read, 0 running, 3s elapsed\n");
    }

    #[test]
    fn footer_counts_runs_of_a_suite() {
        let begin = Instant::now();
        let address = "time_sleep.wait".parse().unwrap();
        let mut status = RunStatus::new(Phase::Test, 3, begin);
        let started = Event::Started { address: &address, deposed: None, action: Action::Create, id: None };
        status.record(&started, begin);
        assert_eq!(
            shown(&status, begin + Duration::from_secs(2), 80),
            "Testing: 0 of 3 runs complete, 2s elapsed\n  time_sleep.wait: creating, 2s\n"
        );
        let elapsed = Duration::from_secs(3);
        status.record(
            &Event::Completed { address: &address, action: Action::Create, id: None, elapsed },
            begin + elapsed,
        );
        status.complete_run();
        assert_eq!(shown(&status, begin + elapsed, 80), "Testing: 1 of 3 runs complete, 3s elapsed\n");
    }

    #[test]
    fn wide_lines_are_truncated() {
        let line = printable!("{}", "aé漢字b");
        assert_eq!(truncated(&line, 8).as_str(), "aé漢字b");
        assert_eq!(truncated(&line, 7).as_str(), "aé漢…");
        assert_eq!(truncated(&line, 5).as_str(), "aé…");
        assert_eq!(truncated(&printable!("{}", "a\nb"), 4).as_str(), "a\\…");
        assert_eq!(truncated(&line, 0).as_str(), "…");
    }
}
