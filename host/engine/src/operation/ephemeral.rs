//! Opening, renewing and closing ephemeral resources.
//!
//! What is opened is held by a [`Lease`]: it is renewed at the moments that the
//! provider names for as long as the lease lasts, and closed with the bytes that
//! opening it gave, whatever renewals gave since. A lease that is dropped is not
//! renewed any more.

use std::future::Future;
use std::time::{Duration, Instant, SystemTime};

use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use wardian_diagnostic::Diagnostics;
use wardian_plugin::{
    ClientCapabilities, ConfigKind, OpenEphemeralRequest, OpenEphemeralResponse, PrivateBytes, Secrets,
    ValidateConfigRequest, current_secrets, hand_over, on_behalf_of, with_secrets,
};
use wardian_value::{Marks, Value};

use super::data::marked;
use super::subject::{PROGRESS_INTERVAL, Subject};
use crate::ephemeral::Expired;
use crate::events::{EphemeralAction, Event};
use crate::object::proposed::placeholder;

/// A provider that names a moment that is past already is not asked in a loop.
const SHORTEST_RENEWAL: Duration = Duration::from_millis(100);

/// An ephemeral resource as others see it.
pub struct Opened {
    /// Its value, ephemeral as a whole.
    pub value: Value,
    /// What is to be closed; `None` where it was not opened yet.
    pub lease: Option<Lease>,
    /// Warnings.
    pub diagnostics: Diagnostics,
}

/// An ephemeral resource that is open.
pub struct Lease {
    subject: Subject,
    private: PrivateBytes,
    /// What was told when it was opened.
    secrets: Secrets,
    renewals: Option<Renewals>,
}

struct Renewals {
    end: oneshot::Sender<()>,
    task: JoinHandle<Diagnostics>,
}

/// Asks the provider whether a configuration is valid; what it will be is not known.
pub async fn defer(subject: &Subject, config: &Value) -> Result<Opened, Diagnostics> {
    let diagnostics = validate(subject, config).await;
    if diagnostics.has_errors() {
        return Err(diagnostics);
    }
    let later = placeholder(&subject.schema.block, &config.unmark_deep());
    Ok(Opened { value: ephemeral(subject, config, &later), lease: None, diagnostics })
}

/// Opens an ephemeral resource whose configuration is wholly known.
pub async fn open(subject: &Subject, config: &Value, expired: &Expired) -> Result<Opened, Diagnostics> {
    let mut diagnostics = validate(subject, config).await;
    if diagnostics.has_errors() {
        return Err(diagnostics);
    }
    let work = async {
        let request = OpenEphemeralRequest {
            type_name: subject.address.type_name().clone(),
            config: hand_over(config),
            capabilities: ClientCapabilities::default(),
        };
        let response = subject.provider.open_ephemeral_resource(request).await;
        diagnostics.extend(subject.about(&response.diagnostics));
        if diagnostics.has_errors() {
            return Err(diagnostics);
        }
        match usable(subject, &response) {
            Ok(value) => Ok((value, response, diagnostics)),
            Err(problem) => {
                diagnostics.extend(problem);
                // It may be open all the same.
                diagnostics.extend(end(subject, response.private).await);
                Err(diagnostics)
            }
        }
    };
    let (value, response, diagnostics) = told(subject, EphemeralAction::Open, work, Result::is_err).await?;
    let private = response.private;
    let renewals = response.renew_at.map(|at| {
        let (end, ended) = oneshot::channel();
        let work = renew(subject.clone(), PrivateBytes::clone(&private), at, ended, expired.clone());
        let work = with_secrets(current_secrets(), work);
        let task = tokio::spawn(on_behalf_of(subject.address.to_string(), work));
        Renewals { end, task }
    });
    let lease = Lease { subject: subject.clone(), private, secrets: current_secrets(), renewals };
    Ok(Opened { value: ephemeral(subject, config, &value), lease: Some(lease), diagnostics })
}

async fn validate(subject: &Subject, config: &Value) -> Diagnostics {
    let request = ValidateConfigRequest {
        type_name: subject.address.type_name().clone(),
        config: hand_over(config),
        capabilities: ClientCapabilities::default(),
    };
    subject.about(&subject.provider.validate_config(ConfigKind::EphemeralResource, request).await)
}

/// The value that was opened, if others can use it.
fn usable(subject: &Subject, response: &OpenEphemeralResponse) -> Result<Value, Diagnostics> {
    let address = &subject.address;
    let (summary, problem) = match &response.result {
        _ if response.deferred.is_some() => (
            "Provider deferred changes without being allowed to",
            format!("put off the opening of {address}, though it was not told that it may."),
        ),
        Some(value) if value.is_null() => {
            ("Provider produced null object", format!("produced a null object for {address}."))
        }
        Some(value) if value.is_wholly_known() => return Ok(value.clone()),
        Some(_) => (
            "Provider produced invalid object",
            format!("produced an object for {address} that is not wholly known."),
        ),
        None => ("Provider produced invalid object", format!("gave no object for {address}.")),
    };
    Err(subject.provider_error(summary, &problem).into())
}

fn ephemeral(subject: &Subject, config: &Value, value: &Value) -> Value {
    marked(subject, config, value).with_marks(Marks::EPHEMERAL)
}

/// Renews until the lease ends, the provider wants no more of it, or it fails.
async fn renew(
    subject: Subject,
    mut private: PrivateBytes,
    mut at: SystemTime,
    mut ended: oneshot::Receiver<()>,
    expired: Expired,
) -> Diagnostics {
    let mut diagnostics = Diagnostics::new();
    let mut shortest = Duration::ZERO;
    loop {
        let wait = at.duration_since(SystemTime::now()).unwrap_or_default().max(shortest);
        shortest = SHORTEST_RENEWAL;
        tokio::select! {
            biased;
            _ = &mut ended => return diagnostics,
            () = tokio::time::sleep(wait) => {}
        }
        let work = async {
            let type_name = subject.address.type_name().clone();
            let response =
                subject.provider.renew_ephemeral_resource(type_name, PrivateBytes::clone(&private)).await;
            let found = subject.about(&response.diagnostics);
            (response, found)
        };
        let (response, found) =
            told(&subject, EphemeralAction::Renew, work, |(_, found)| found.has_errors()).await;
        let failed = found.has_errors();
        diagnostics.extend(found);
        match response.renew_at {
            _ if failed => {
                expired.add(&subject.address);
                return diagnostics;
            }
            None => return diagnostics,
            Some(next) => (at, private) = (next, response.private),
        }
    }
}

impl Lease {
    /// What is open.
    pub fn subject(&self) -> &Subject {
        &self.subject
    }

    /// Closes it. What went wrong with renewals is told here, too.
    pub async fn close(self) -> Diagnostics {
        let mut diagnostics = Diagnostics::new();
        if let Some(Renewals { end, task }) = self.renewals {
            // Where nobody hears it the renewals are over.
            let _ = end.send(());
            match task.await {
                Ok(found) => diagnostics.extend(found),
                Err(problem) => {
                    let detail = format!("The renewals of {} ended early: {problem}.", self.subject.address);
                    diagnostics.push(
                        self.subject
                            .error("Ephemeral resources failed to Close during renew operations", detail),
                    );
                }
            }
        }
        diagnostics.extend(with_secrets(self.secrets, end(&self.subject, self.private)).await);
        diagnostics
    }
}

async fn end(subject: &Subject, private: PrivateBytes) -> Diagnostics {
    let type_name = subject.address.type_name().clone();
    let work = async { subject.about(&subject.provider.close_ephemeral_resource(type_name, private).await) };
    told(subject, EphemeralAction::Close, work, Diagnostics::has_errors).await
}

/// Does some work and tells of its beginning, its going on and its end.
async fn told<T>(
    subject: &Subject,
    action: EphemeralAction,
    work: impl Future<Output = T>,
    failed: impl FnOnce(&T) -> bool,
) -> T {
    let address = &subject.address;
    subject.events.event(&Event::EphemeralStarted { address, action });
    let started = Instant::now();
    let mut work = std::pin::pin!(work);
    let result = loop {
        match tokio::time::timeout(PROGRESS_INTERVAL, &mut work).await {
            Ok(result) => break result,
            Err(_) => {
                let elapsed = started.elapsed();
                subject.events.event(&Event::EphemeralInProgress { address, action, elapsed });
            }
        }
    };
    let elapsed = started.elapsed();
    subject.events.event(&if failed(&result) {
        Event::EphemeralFailed { address, action, elapsed }
    } else {
        Event::EphemeralCompleted { address, action, elapsed }
    });
    result
}
