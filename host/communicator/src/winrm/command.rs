//! Commands in a WinRM shell.
//!
//! The client polls the machine for output, and the machine discards output after sending it.
//! A separate task therefore polls and queues the output. No output is lost if a reader stops
//! waiting.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use wardian_access::ExitStatus;
use wardian_process::CommandEvent;

use super::machine::{Machine, RequestError};
use super::messages::{self, Fault};
use crate::error::{CommunicatorError, ConnectionPhase};
use wardian_process::LineBuffer;

/// Maximum number of queued events. Polling pauses while the queue is full.
const MAX_QUEUED_EVENTS: usize = 4;

type EventResult = Result<CommandEvent, CommunicatorError>;

/// A running command. Dropping it terminates the command.
pub(crate) struct WinRmCommand {
    machine: Arc<Machine>,
    command: Arc<str>,
    events: mpsc::Receiver<EventResult>,
    reader: JoinHandle<()>,
    /// Whether the machine has reported that the command ended.
    is_over: Arc<AtomicBool>,
}

impl WinRmCommand {
    pub(crate) async fn start(machine: Arc<Machine>, command: &str) -> Result<Self, CommunicatorError> {
        let message = machine.envelope().command(command);
        let answer =
            machine.request(message, ConnectionPhase::Running).await.map_err(|refused| match refused {
                RequestError::Error(error) => error,
                // The command was not started, so it can be repeated.
                RequestError::Fault(Fault::NoShell(_)) => machine.lost(ConnectionPhase::Starting),
                RequestError::Fault(Fault::NoOutputYet) => CommunicatorError::Silent(machine.endpoint()),
                RequestError::Fault(Fault::Other(reason)) => {
                    CommunicatorError::Start { endpoint: machine.endpoint(), reason }
                }
            })?;
        let command = messages::parse_command_id(&answer);
        let command: Arc<str> = command
            .ok_or_else(|| machine.protocol_error("it started a command without returning its ID".into()))?
            .into();
        let (sender, events) = mpsc::channel(MAX_QUEUED_EVENTS);
        let is_over = Arc::<AtomicBool>::default();
        let reader = tokio::spawn(forward_events(
            Arc::clone(&machine),
            Arc::clone(&command),
            sender,
            Arc::clone(&is_over),
        ));
        Ok(Self { machine, command, events, reader, is_over })
    }

    /// Returns the next event; `None` after the last event. Cancel safe.
    pub(crate) async fn next_event(&mut self) -> Result<Option<CommandEvent>, CommunicatorError> {
        self.events.recv().await.transpose()
    }
}

/// Forwards the command's events until it ends or the receiver is dropped.
async fn forward_events(
    machine: Arc<Machine>,
    command: Arc<str>,
    events: mpsc::Sender<EventResult>,
    is_over: Arc<AtomicBool>,
) {
    let (mut stdout, mut stderr) = (LineBuffer::default(), LineBuffer::default());
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
        let mut new_events: Vec<CommandEvent> = Vec::new();
        new_events.extend(stdout.push(&output.stdout).map(CommandEvent::Stdout));
        new_events.extend(stderr.push(&output.stderr).map(CommandEvent::Stderr));
        if let Some(code) = output.exit_code {
            is_over.store(true, Ordering::Release);
            new_events.extend(stdout.finish().map(CommandEvent::Stdout));
            new_events.extend(stderr.finish().map(CommandEvent::Stderr));
            new_events.push(CommandEvent::Exited(ExitStatus::Code(code)));
        }
        for event in new_events {
            if events.send(Ok(event)).await.is_err() {
                return;
            }
        }
        if output.exit_code.is_some() {
            return;
        }
    }
}

/// Polls once; returns `None` if there was no output within the operation timeout.
async fn receive(machine: &Machine, command: &str) -> Result<Option<messages::Output>, CommunicatorError> {
    let message = machine.envelope().receive(command);
    match machine.request(message, ConnectionPhase::Running).await {
        Ok(answer) => messages::parse_output(&answer)
            .map(Some)
            .ok_or_else(|| machine.protocol_error("it sent malformed command output".into())),
        Err(RequestError::Fault(Fault::NoOutputYet)) => Ok(None),
        Err(RequestError::Fault(_)) => Err(machine.lost(ConnectionPhase::Running)),
        Err(RequestError::Error(error)) => Err(error),
    }
}

impl Drop for WinRmCommand {
    fn drop(&mut self) {
        self.reader.abort();
        // If the runtime no longer exists, the connection is closed as well.
        if !self.is_over.load(Ordering::Acquire)
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let message = self.machine.envelope().terminate(&self.command);
            let machine = Arc::clone(&self.machine);
            runtime.spawn(async move {
                let _ = machine.request(message, ConnectionPhase::Running).await;
            });
        }
    }
}
