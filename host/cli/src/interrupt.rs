//! Ctrl-C, and a request of the system to end.
//!
//! The first time, what is in flight is finished and the state saved. The second
//! time, what is in flight is given up, and the state saved as it is known. The
//! third time, the process ends: even then the journal beside the state has
//! everything that was done.

use std::io;
use std::sync::Arc;

use wardian_engine::{Stop, StopSignal, stop_channel};

use crate::failure::Failure;
use crate::shell::{Paint, Shell};

/// Listens from now on.
///
/// # Errors
/// Where the system does not let this process listen.
pub(crate) fn listen(shell: &Arc<Shell>) -> Result<StopSignal, Failure> {
    let mut requests = Requests::new().map_err(|error| {
        Failure::error("Signals cannot be heard", format!("The system refused to deliver signals: {error}."))
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
                    "Interrupt received. Finishing what is in flight and saving the state; interrupt again to stop \
                     now."
                }
                Stop::Now => {
                    "Second interrupt received. Giving up what is in flight and saving what is known. Objects that \
                     were being changed may be other than the state says."
                }
            };
            shell.say(format_args!("\n{}\n", shell.paint(Paint::Warning, text)));
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
