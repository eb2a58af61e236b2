//! Handles Ctrl-C and the system's termination signal.
//!
//! Before a run begins to walk its graph, there are no changes in progress, and the first signal
//! ends the process. During the walk, the first interrupt lets running operations finish, and the
//! state is saved. The second interrupt abandons running operations and saves all changes that are
//! known; the system's termination signal immediately has the same effect. The third interrupt ends
//! the process: even then, the journal next to the state contains every completed change.
//!
//! A separate thread waits for signals, because compilation, evaluation and reading block the
//! threads on which they run.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use wardian_app::AppError;
use wardian_engine::{Stop, StopSignal, Stopper, stop_channel};
use wardian_printable::printable;
use wardian_state::{release_locks, remove_lock_information};

use crate::failure::Failure;
use crate::shell::{Paint, Shell, screen};

/// Starts to listen for signals.
///
/// # Errors
/// Returns an error if the system does not allow it.
pub(crate) fn listen(shell: &Arc<Shell>) -> Result<StopSignal, Failure> {
    let (stopper, signal) = stop_channel();
    let shell = Arc::clone(shell);
    start(move |runtime, requests| wait(runtime, requests, &stopper, &shell))?;
    Ok(signal)
}

/// Lets a signal end this process together with the build tools that it runs, to which a terminal does not send
/// Ctrl-C.
///
/// # Errors
/// Returns an error if the system does not allow it.
pub(crate) fn end_with_build_tools() -> Result<(), Failure> {
    start(|runtime, requests| {
        runtime.block_on(requests.next());
        wardian_authoring::project::end_programs();
        std::process::exit(1);
    })
}

/// Starts a thread that receives signals.
fn start(
    receive: impl FnOnce(&tokio::runtime::Runtime, &mut Requests) + Send + 'static,
) -> Result<(), Failure> {
    let failed = |error: io::Error| {
        Failure::error(
            "Signals cannot be received",
            format!("The system refused to deliver signals: {error}."),
        )
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let mut requests = {
        let _guard = runtime.enter();
        Requests::new().map_err(failed)?
    };
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || receive(&runtime, &mut requests))
        .map_err(failed)?;
    Ok(())
}

fn wait(runtime: &tokio::runtime::Runtime, requests: &mut Requests, stopper: &Stopper, shell: &Shell) {
    loop {
        let request = runtime.block_on(requests.next());
        handle(request, runtime, stopper, shell);
    }
}

/// How long the process waits for the release of locks before a signal ends it.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(10);

/// A signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Request {
    Interrupt,
    Terminate,
}

/// The effect of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reaction {
    Finish,
    Abandon,
    End,
}

fn reaction(request: Request, walk_has_begun: bool, asked: Stop) -> Reaction {
    match (request, asked) {
        _ if !walk_has_begun || asked == Stop::Now => Reaction::End,
        (Request::Interrupt, Stop::No) => Reaction::Finish,
        _ => Reaction::Abandon,
    }
}

fn handle(request: Request, runtime: &tokio::runtime::Runtime, stopper: &Stopper, shell: &Shell) {
    let is_asking = shell.is_asking();
    // The view of a plan ends with the signal.
    if screen::restore() {
        shell.release_output();
    }
    // The message comes first, because the command may end immediately after the request.
    let say = |text: &str| {
        shell.say(printable!("\n{}\n", shell.paint(Paint::Warning, printable!("{text}"))));
    };
    let reaction = reaction(request, stopper.walk_has_begun(), stopper.current());
    let signal = match (request, reaction) {
        (Request::Interrupt, Reaction::Abandon) => "Second interrupt received.",
        (Request::Interrupt, _) => "Interrupt received.",
        (Request::Terminate, _) => "Termination signal received.",
    };
    match reaction {
        // No operation is running: the command is waiting for an answer, and ends without one.
        Reaction::Finish if is_asking => {
            say(signal);
            stopper.ask();
        }
        Reaction::Finish => {
            say(&format!(
                "{signal} Waiting for running operations to finish and saving the state; interrupt again to \
                 stop now."
            ));
            stopper.ask();
        }
        Reaction::Abandon => {
            say(&format!(
                "{signal} Abandoning running operations and saving the state as far as it is known. Objects \
                 that were being changed may differ from the state."
            ));
            while stopper.ask() != Stop::Now {}
        }
        Reaction::End => {
            if !stopper.walk_has_begun() {
                shell.failure(&AppError::interrupted().into());
            }
            remove_lock_information();
            let release = async { tokio::time::timeout(RELEASE_TIMEOUT, release_locks()).await };
            let released = runtime.block_on(release);
            for error in released.unwrap_or_default() {
                shell.failure(&AppError::for_unlock(error).into());
            }
            std::process::exit(1);
        }
    }
}

#[cfg(unix)]
struct Requests {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Requests {
    fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    async fn next(&mut self) -> Request {
        tokio::select! {
            _ = self.interrupt.recv() => Request::Interrupt,
            _ = self.terminate.recv() => Request::Terminate,
        }
    }
}

#[cfg(not(unix))]
struct Requests;

#[cfg(not(unix))]
impl Requests {
    fn new() -> io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) -> Request {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        Request::Interrupt
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_before_the_walk_end_the_process() {
        for request in [Request::Interrupt, Request::Terminate] {
            for asked in [Stop::No, Stop::Graceful, Stop::Now] {
                assert_eq!(reaction(request, false, asked), Reaction::End);
            }
        }
    }

    #[test]
    fn termination_counts_as_the_second_interrupt() {
        assert_eq!(reaction(Request::Interrupt, true, Stop::No), Reaction::Finish);
        assert_eq!(reaction(Request::Interrupt, true, Stop::Graceful), Reaction::Abandon);
        assert_eq!(reaction(Request::Terminate, true, Stop::No), Reaction::Abandon);
        assert_eq!(reaction(Request::Terminate, true, Stop::Graceful), Reaction::Abandon);
        assert_eq!(reaction(Request::Interrupt, true, Stop::Now), Reaction::End);
        assert_eq!(reaction(Request::Terminate, true, Stop::Now), Reaction::End);
    }
}
