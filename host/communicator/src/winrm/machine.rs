//! A machine, and the shell in which all its commands run.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::StatusCode;
use tokio::time::timeout;

use super::http::{ExchangeError, HttpConnection, HttpResponse};
use super::messages::{self, Envelope, Fault, OPERATION_TIMEOUT_SECONDS};
use crate::dial::Dialer;
use crate::error::{CommunicatorError, ConnectionPhase};
use crate::settings::{WinRmSettings, WinRmTransport, endpoint};
use crate::stream::Stream;
use crate::tls;

/// Time limit for a response. The machine responds after its operation timeout even if it has no
/// output.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(60 + OPERATION_TIMEOUT_SECONDS as u64);
/// Time limit for deleting the shell.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// A machine with an open shell.
pub(crate) struct Machine {
    settings: WinRmSettings,
    dialer: Arc<Dialer>,
    /// Connections that are not in use.
    idle: Mutex<Vec<HttpConnection>>,
    url: String,
    shell: String,
    is_closed: AtomicBool,
}

/// The reason why a request failed.
pub(super) enum RequestError {
    Fault(Fault),
    Error(CommunicatorError),
}

impl Machine {
    /// Connects and creates a shell, without retries.
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
            url: format!("{scheme}://{}/wsman", endpoint(&settings.host, settings.port)),
            shell: String::new(),
            is_closed: AtomicBool::new(false),
        };
        let message = Envelope { url: &machine.url, shell: None }.create();
        let answer =
            machine.request(message, ConnectionPhase::Connecting).await.map_err(|refused| match refused {
                RequestError::Error(error) => error,
                RequestError::Fault(Fault::Other(message) | Fault::NoShell(message)) => {
                    machine.protocol_error(format!("it did not create a shell: {message}"))
                }
                RequestError::Fault(Fault::NoOutputYet) => CommunicatorError::Silent(machine.endpoint()),
            })?;
        let shell = messages::parse_shell_id(&answer);
        machine.shell = shell
            .ok_or_else(|| machine.protocol_error("it created a shell without returning its ID".into()))?;
        Ok(machine)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    pub(crate) fn endpoint(&self) -> String {
        endpoint(&self.settings.host, self.settings.port)
    }

    pub(super) fn protocol_error(&self, problem: String) -> CommunicatorError {
        CommunicatorError::Protocol { endpoint: self.endpoint(), problem }
    }

    pub(super) fn lost(&self, phase: ConnectionPhase) -> CommunicatorError {
        self.is_closed.store(true, Ordering::Release);
        CommunicatorError::Lost { endpoint: self.endpoint(), phase }
    }

    pub(super) fn envelope(&self) -> Envelope<'_> {
        Envelope { url: &self.url, shell: Some(&self.shell) }
    }

    /// Sends a message and waits for the response.
    pub(super) async fn request(
        &self,
        message: String,
        phase: ConnectionPhase,
    ) -> Result<String, RequestError> {
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
                    // The server had closed an idle connection; the loop tries another connection.
                    Err(ExchangeError::NotSent) if !is_new => {}
                    Err(error) => return Err(self.map_error(error, phase)),
                }
            }
        };
        let answer: Result<HttpResponse, CommunicatorError> = match timeout(RESPONSE_TIMEOUT, asking).await {
            Ok(answer) => answer,
            Err(_) if phase == ConnectionPhase::Connecting => Err(CommunicatorError::Silent(self.endpoint())),
            Err(_) => Err(self.lost(phase)),
        };
        let answer = answer.map_err(RequestError::Error)?;
        if answer.status == StatusCode::OK {
            return Ok(answer.text);
        }
        match messages::parse_fault(&answer.text) {
            Some(fault) => {
                if let Fault::NoShell(_) = fault {
                    self.is_closed.store(true, Ordering::Release);
                }
                Err(RequestError::Fault(fault))
            }
            None => {
                let status = answer.status.as_u16();
                let problem = format!("it responded with HTTP status {status}, so it is not a WinRM service");
                Err(RequestError::Error(self.protocol_error(problem)))
            }
        }
    }

    /// Returns a connection, and whether it is new.
    async fn connection(&self) -> Result<(HttpConnection, bool), CommunicatorError> {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        while let Some(connection) = idle() {
            if !connection.is_closed() {
                return Ok((connection, false));
            }
        }
        let stream = self.dialer.connect_directly(&self.settings.host, self.settings.port).await?;
        let stream: Stream = match &self.settings.transport {
            WinRmTransport::Http => Box::new(stream),
            WinRmTransport::Https(trust) => {
                let secured = tls::connect(&self.settings.host, trust, stream).await;
                Box::new(secured.map_err(|problem| self.protocol_error(problem))?)
            }
        };
        let begun = HttpConnection::begin(&self.settings, stream).await;
        begun
            .map(|connection| (connection, true))
            .map_err(|error| self.map_error(error, ConnectionPhase::Connecting))
    }

    fn map_error(&self, error: ExchangeError, phase: ConnectionPhase) -> CommunicatorError {
        match error {
            ExchangeError::Lost | ExchangeError::NotSent => self.lost(phase),
            ExchangeError::Protocol(problem) => self.protocol_error(problem),
            ExchangeError::Refused(reason) => CommunicatorError::Authentication {
                endpoint: self.endpoint(),
                user: self.settings.user.clone(),
                reason,
            },
        }
    }

    /// Deletes the shell, which terminates everything that runs in it.
    pub(crate) async fn close(&self) {
        if !self.is_closed.swap(true, Ordering::AcqRel) {
            let message = self.envelope().delete();
            let _ = timeout(CLOSE_TIMEOUT, self.request(message, ConnectionPhase::Connecting)).await;
        }
    }
}
