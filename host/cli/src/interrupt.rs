//! Ctrl-C, and the system's termination signal.
//!
//! The first signal lets running operations finish, and the state is saved. The second abandons
//! running operations and saves all changes that are known. The third ends the process at once:
//! even then, the journal next to the state contains every completed change.

use std::io;
use std::sync::Arc;

use wardian_engine::{Stop, StopSignal, stop_channel};

use crate::failure::Failure;
use crate::shell::{Paint, Shell};
use wardian_printable::printable;

/// Starts to listen for signals.
///
/// # Errors
/// If the system does not allow it.
pub(crate) fn listen(shell: &Arc<Shell>) -> Result<StopSignal, Failure> {
    let mut requests = Requests::new().map_err(|error| {
        Failure::error(
            "Signals cannot be received",
            format!("The system refused to deliver signals: {error}."),
        )
    })?;
    let (stopper, signal) = stop_channel();
    let shell = Arc::clone(shell);
    tokio::spawn(async move {
        let mut asked = Stop::No;
        loop {
            requests.next().await;
            if asked == Stop::Now {
                std::process::exit(1);
            }
            asked = stopper.ask();
            let text = match asked {
                Stop::No => continue,
                Stop::Graceful => {
                    "Interrupt received. Waiting for running operations to finish and saving the state; \
                     interrupt again to stop now."
                }
                Stop::Now => {
                    "Second interrupt received. Abandoning running operations and saving the state as far \
                     as it is known. Objects that were being changed may differ from the state."
                }
            };
            shell.say(printable!("\n{}\n", shell.paint(Paint::Warning, text)));
        }
    });
    Ok(signal)
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

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
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

    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
