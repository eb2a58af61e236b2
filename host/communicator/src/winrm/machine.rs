//! A machine, and the shell on it that all commands run in.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::StatusCode;
use tokio::time::timeout;

use super::http::{Answer, HttpConnection, NoAnswer};
use super::messages::{self, Envelope, Fault, PATIENCE_SECONDS};
use crate::dial::Dialer;
use crate::error::{CommunicatorError, Doing};
use crate::settings::{WinRmSettings, WinRmTransport, place};
use crate::stream::Stream;
use crate::tls;

/// How long a machine may take for an answer. It answers by itself when it has waited for
/// output.
const ANSWER: Duration = Duration::from_secs(60 + PATIENCE_SECONDS as u64);
/// How long it may take for a good-bye.
const GOOD_BYE: Duration = Duration::from_secs(5);

/// A machine with a shell.
pub(crate) struct Machine {
    settings: WinRmSettings,
    dialer: Arc<Dialer>,
    /// Connections that nobody uses at the moment.
    idle: Mutex<Vec<HttpConnection>>,
    url: String,
    shell: String,
    is_closed: AtomicBool,
}

/// Why something was not done.
pub(super) enum Refused {
    Fault(Fault),
    Error(CommunicatorError),
}

impl Machine {
    /// Connects and makes a shell, once.
    pub(crate) async fn open(
        settings: &WinRmSettings,
        dialer: Arc<Dialer>,
    ) -> Result<Self, CommunicatorError> {
        let scheme = match settings.transport {
            WinRmTransport::Http => "http",
            WinRmTransport::Https(_) => "https",
        };
        let mut machine = Self {
            settings: settings.clone(),
            dialer,
            idle: Mutex::default(),
            url: format!("{scheme}://{}/wsman", place(&settings.host, settings.port)),
            shell: String::new(),
            is_closed: AtomicBool::new(false),
        };
        let message = Envelope { url: &machine.url, shell: None }.create();
        let answer = machine.ask(message, Doing::Connecting).await.map_err(|refused| match refused {
            Refused::Error(error) => error,
            Refused::Fault(Fault::Other(words) | Fault::NoShell(words)) => {
                machine.protocol(format!("it makes no shell: {words}"))
            }
            Refused::Fault(Fault::NothingYet) => CommunicatorError::Silent(machine.place()),
        })?;
        let shell = messages::shell(&answer);
        machine.shell =
            shell.ok_or_else(|| machine.protocol("it makes a shell and does not say which".into()))?;
        Ok(machine)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    pub(crate) fn place(&self) -> String {
        place(&self.settings.host, self.settings.port)
    }

    pub(super) fn protocol(&self, problem: String) -> CommunicatorError {
        CommunicatorError::Protocol { place: self.place(), problem }
    }

    pub(super) fn lost(&self, doing: Doing) -> CommunicatorError {
        self.is_closed.store(true, Ordering::Release);
        CommunicatorError::Lost { place: self.place(), doing }
    }

    pub(super) fn envelope(&self) -> Envelope<'_> {
        Envelope { url: &self.url, shell: Some(&self.shell) }
    }

    /// Sends a message and waits for its answer.
    pub(super) async fn ask(&self, message: String, doing: Doing) -> Result<String, Refused> {
        let asking = async {
            loop {
                let (mut connection, is_new) = self.connection().await?;
                match connection.send(&self.settings, message.clone()).await {
                    Ok(answer) => {
                        if !connection.is_closed() {
                            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
                        }
                        return Ok(answer);
                    }
                    // The machine has closed one that nobody used; there is another.
                    Err(NoAnswer::NotSent) if !is_new => {}
                    Err(no_answer) => return Err(self.told(no_answer, doing)),
                }
            }
        };
        let answer: Result<Answer, CommunicatorError> = match timeout(ANSWER, asking).await {
            Ok(answer) => answer,
            Err(_) if doing == Doing::Connecting => Err(CommunicatorError::Silent(self.place())),
            Err(_) => Err(self.lost(doing)),
        };
        let answer = answer.map_err(Refused::Error)?;
        if answer.status == StatusCode::OK {
            return Ok(answer.text);
        }
        match messages::fault(&answer.text) {
            Some(fault) => {
                if let Fault::NoShell(_) = fault {
                    self.is_closed.store(true, Ordering::Release);
                }
                Err(Refused::Fault(fault))
            }
            None => {
                let status = answer.status.as_u16();
                let problem =
                    format!("it answers with HTTP status {status}, as something else than WinRM does");
                Err(Refused::Error(self.protocol(problem)))
            }
        }
    }

    /// A connection, and whether it was made just now.
    async fn connection(&self) -> Result<(HttpConnection, bool), CommunicatorError> {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        while let Some(connection) = idle() {
            if !connection.is_closed() {
                return Ok((connection, false));
            }
        }
        let stream = self.dialer.direct(&self.settings.host, self.settings.port).await?;
        let stream: Stream = match &self.settings.transport {
            WinRmTransport::Http => Box::new(stream),
            WinRmTransport::Https(believed) => {
                let secured = tls::connect(&self.settings.host, believed, stream).await;
                Box::new(secured.map_err(|problem| self.protocol(problem))?)
            }
        };
        let begun = HttpConnection::begin(&self.settings, stream).await;
        begun
            .map(|connection| (connection, true))
            .map_err(|no_answer| self.told(no_answer, Doing::Connecting))
    }

    fn told(&self, no_answer: NoAnswer, doing: Doing) -> CommunicatorError {
        match no_answer {
            NoAnswer::Lost | NoAnswer::NotSent => self.lost(doing),
            NoAnswer::Protocol(problem) => self.protocol(problem),
            NoAnswer::Refused(reason) => CommunicatorError::Authentication {
                place: self.place(),
                user: self.settings.user.clone(),
                reason,
            },
        }
    }

    /// Ends the shell, and with it all that runs in it.
    pub(crate) async fn close(&self) {
        if !self.is_closed.swap(true, Ordering::AcqRel) {
            let message = self.envelope().delete();
            let _ = timeout(GOOD_BYE, self.ask(message, Doing::Connecting)).await;
        }
    }
}
