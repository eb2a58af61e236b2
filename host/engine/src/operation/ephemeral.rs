//! Opens, renews and closes ephemeral resources.
//!
//! A [`Lease`] represents an open resource. While the lease exists, the resource is renewed at the
//! times that the provider sets. It is closed with the private data from the open call, not from a
//! renewal. Dropping the lease ends the renewals.

use std::future::Future;
use std::time::{Duration, Instant, SystemTime};

use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use wardian_diagnostic::{Diagnosed, Diagnostics};
use wardian_plugin::{
    ClientCapabilities, ConfigKind, OpenEphemeralRequest, OpenEphemeralResponse, PrivateBytes,
    ValidateConfigRequest,
};
use wardian_value::{Marks, Value};

use super::data::marked_by_configuration;
use super::subject::{PROGRESS_INTERVAL, Subject};
use crate::events::{EphemeralAction, Event};
use crate::expired::Expired;
use crate::object::proposed::placeholder;

/// Minimum interval between renewals, in case a provider returns times in the past.
const MIN_RENEWAL_INTERVAL: Duration = Duration::from_millis(100);

/// The result of opening an ephemeral resource.
pub struct OpenedEphemeral {
    /// The value, marked as ephemeral.
    pub value: Value,
    /// The lease; `None` if the resource is not open yet.
    pub lease: Option<Lease>,
}

/// An open ephemeral resource.
pub struct Lease {
    subject: Subject,
    private: PrivateBytes,
    renewals: Option<Renewals>,
}

struct Renewals {
    end: oneshot::Sender<()>,
    task: JoinHandle<Diagnostics>,
}

/// Validates a configuration with unknown values; the resource is opened later.
pub async fn defer(subject: &Subject, config: &Value) -> Diagnosed<OpenedEphemeral> {
    let diagnostics = validate(subject, config).await;
    let later = placeholder(&subject.schema.block, &config.unmark_deep());
    let opened = OpenedEphemeral { value: ephemeral(config, &later), lease: None };
    Diagnosed::unless_errors(opened, diagnostics)
}

/// Opens an ephemeral resource whose configuration is wholly known.
pub async fn open(subject: &Subject, config: &Value, expired: &Expired) -> Diagnosed<OpenedEphemeral> {
    Diagnosed::from_result(try_open(subject, config, expired).await)
}

async fn try_open(
    subject: &Subject,
    config: &Value,
    expired: &Expired,
) -> Result<(OpenedEphemeral, Diagnostics), Diagnostics> {
    let mut diagnostics = validate(subject, config).await;
    if diagnostics.has_errors() {
        return Err(diagnostics);
    }
    let work = async {
        let request = OpenEphemeralRequest {
            type_name: subject.address.type_name().clone(),
            config: subject.context.unmark_and_register(config),
            capabilities: ClientCapabilities::default(),
        };
        let response = subject.provider.open_ephemeral_resource(&subject.context, request).await;
        diagnostics.extend(subject.about(&response.diagnostics));
        if diagnostics.has_errors() {
            return Err(diagnostics);
        }
        match usable(subject, &response) {
            Ok(value) => Ok((value, response, diagnostics)),
            Err(problem) => {
                diagnostics.extend(problem);
                // The resource may be open, although its value cannot be used.
                diagnostics.extend(end(subject, response.private).await);
                Err(diagnostics)
            }
        }
    };
    let (value, response, diagnostics) =
        with_progress(subject, EphemeralAction::Open, work, Result::is_err).await?;
    let private = response.private;
    let renewals = response.renew_at.map(|at| {
        let (end, ended) = oneshot::channel();
        let work = renew(subject.clone(), PrivateBytes::clone(&private), at, ended, expired.clone());
        let task = tokio::spawn(work);
        Renewals { end, task }
    });
    let lease = Lease { subject: subject.clone(), private, renewals };
    Ok((OpenedEphemeral { value: ephemeral(config, &value), lease: Some(lease) }, diagnostics))
}

async fn validate(subject: &Subject, config: &Value) -> Diagnostics {
    let request = ValidateConfigRequest {
        type_name: subject.address.type_name().clone(),
        config: subject.context.unmark_and_register(config),
        capabilities: ClientCapabilities::default(),
    };
    subject.about(
        &subject.provider.validate_config(&subject.context, ConfigKind::EphemeralResource, request).await,
    )
}

/// Returns the opened value if other objects can use it.
fn usable(subject: &Subject, response: &OpenEphemeralResponse) -> Result<Value, Diagnostics> {
    let address = &subject.address;
    let (summary, problem) = match &response.result {
        _ if response.deferred.is_some() => (
            "Provider deferred changes without being allowed to",
            format!("deferred the opening of {address}, which was not allowed."),
        ),
        Some(value) if value.is_null() => {
            ("Provider produced null object", format!("produced a null object for {address}."))
        }
        Some(value) if value.is_wholly_known() => return Ok(value.clone()),
        Some(_) => (
            "Provider produced invalid object",
            format!("produced an object for {address} that is not wholly known."),
        ),
        None => ("Provider produced invalid object", format!("returned no object for {address}.")),
    };
    Err(subject.provider_error(summary, &problem).into())
}

/// Marks a value as ephemeral. Unlike in stored objects, sensitive attributes are not marked as
/// sensitive, because an ephemeral value is never shown or stored.
fn ephemeral(config: &Value, value: &Value) -> Value {
    marked_by_configuration(config, value).with_marks(Marks::EPHEMERAL)
}

/// Renews the resource until the lease ends, the provider requests no more renewals, or a renewal
/// fails.
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
        shortest = MIN_RENEWAL_INTERVAL;
        tokio::select! {
            biased;
            _ = &mut ended => return diagnostics,
            () = tokio::time::sleep(wait) => {}
        }
        let work = async {
            let type_name = subject.address.type_name().clone();
            let response = subject
                .provider
                .renew_ephemeral_resource(&subject.context, type_name, PrivateBytes::clone(&private))
                .await;
            let found = subject.about(&response.diagnostics);
            (response, found)
        };
        let (response, found) =
            with_progress(&subject, EphemeralAction::Renew, work, |(_, found)| found.has_errors()).await;
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
    pub fn subject(&self) -> &Subject {
        &self.subject
    }

    /// Closes the resource. The result includes the errors of renewals.
    pub async fn close(self) -> Diagnostics {
        let mut diagnostics = Diagnostics::new();
        if let Some(Renewals { end, task }) = self.renewals {
            // If the receiver was dropped, the renewals have ended.
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
        diagnostics.extend(end(&self.subject, self.private).await);
        diagnostics
    }
}

async fn end(subject: &Subject, private: PrivateBytes) -> Diagnostics {
    let type_name = subject.address.type_name().clone();
    let work = async {
        subject.about(&subject.provider.close_ephemeral_resource(&subject.context, type_name, private).await)
    };
    with_progress(subject, EphemeralAction::Close, work, Diagnostics::has_errors).await
}

/// Runs an operation and reports its start, progress and end.
async fn with_progress<T>(
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
