//! A command in the machine's shell.
//!
//! A machine is asked for output again and again, and what it has answered it has handed
//! over: so a task of its own asks and keeps the answers, whether or not anybody waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use wardian_process::{Event, ExitStatus};

use super::machine::{Machine, Refused};
use super::messages::{self, Fault};
use crate::error::{CommunicatorError, Doing};
use crate::lines::Lines;

/// Events that wait to be taken. The machine is asked for no more meanwhile.
const WAITING_EVENTS: usize = 4;

type Said = Result<Event, CommunicatorError>;

/// A command that runs. Dropping it ends it there.
pub(crate) struct WinRmCommand {
    machine: Arc<Machine>,
    command: Arc<str>,
    events: mpsc::Receiver<Said>,
    listening: JoinHandle<()>,
    /// Whether the machine has told its end.
    is_over: Arc<AtomicBool>,
}

impl WinRmCommand {
    /// Starts a command.
    pub(crate) async fn start(machine: Arc<Machine>, command: &str) -> Result<Self, CommunicatorError> {
        let message = machine.envelope().command(command);
        let answer = machine.ask(message, Doing::Running).await.map_err(|refused| match refused {
            Refused::Error(error) => error,
            // The machine did nothing yet, so that it can be asked again.
            Refused::Fault(Fault::NoShell(_)) => machine.lost(Doing::Starting),
            Refused::Fault(Fault::NothingYet) => CommunicatorError::Silent(machine.place()),
            Refused::Fault(Fault::Other(reason)) => {
                CommunicatorError::Start { place: machine.place(), reason }
            }
        })?;
        let command = messages::command(&answer);
        let command: Arc<str> = command
            .ok_or_else(|| machine.protocol("it starts a command and does not say which".into()))?
            .into();
        let (sender, events) = mpsc::channel(WAITING_EVENTS);
        let is_over = Arc::<AtomicBool>::default();
        let listening =
            tokio::spawn(listen(Arc::clone(&machine), Arc::clone(&command), sender, Arc::clone(&is_over)));
        Ok(Self { machine, command, events, listening, is_over })
    }

    /// The next event; `None` after the last. Nothing is lost where this is not waited
    /// for.
    pub(crate) async fn next_event(&mut self) -> Result<Option<Event>, CommunicatorError> {
        self.events.recv().await.transpose()
    }
}

/// Hands on what the command does, until it ends or nobody listens.
async fn listen(
    machine: Arc<Machine>,
    command: Arc<str>,
    events: mpsc::Sender<Said>,
    is_over: Arc<AtomicBool>,
) {
    let (mut stdout, mut stderr) = (Lines::default(), Lines::default());
    loop {
        let output = match receive(&machine, &command).await {
            Ok(None) => continue,
            Ok(Some(output)) => output,
            Err(error) => {
                is_over.store(true, Ordering::Release);
                let _ = events.send(Err(error)).await;
                return;
            }
        };
        let mut said: Vec<Event> = Vec::new();
        said.extend(stdout.push(&output.stdout).map(Event::Stdout));
        said.extend(stderr.push(&output.stderr).map(Event::Stderr));
        if let Some(code) = output.ended {
            is_over.store(true, Ordering::Release);
            said.extend(stdout.finish().map(Event::Stdout));
            said.extend(stderr.finish().map(Event::Stderr));
            said.push(Event::Exited(ExitStatus::Code(code)));
        }
        for event in said {
            if events.send(Ok(event)).await.is_err() {
                return;
            }
        }
        if output.ended.is_some() {
            return;
        }
    }
}

/// Asks once; `None` where there was nothing in the time.
async fn receive(machine: &Machine, command: &str) -> Result<Option<messages::Output>, CommunicatorError> {
    let message = machine.envelope().receive(command);
    match machine.ask(message, Doing::Running).await {
        Ok(answer) => messages::output(&answer)
            .map(Some)
            .ok_or_else(|| machine.protocol("what it says of a command is not to be understood".into())),
        Err(Refused::Fault(Fault::NothingYet)) => Ok(None),
        Err(Refused::Fault(_)) => Err(machine.lost(Doing::Running)),
        Err(Refused::Error(error)) => Err(error),
    }
}

impl Drop for WinRmCommand {
    fn drop(&mut self) {
        self.listening.abort();
        // Where there is no runtime any more, the connection is gone as well.
        if !self.is_over.load(Ordering::Acquire)
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let message = self.machine.envelope().terminate(&self.command);
            let machine = Arc::clone(&self.machine);
            runtime.spawn(async move {
                let _ = machine.ask(message, Doing::Running).await;
            });
        }
    }
}
