//! Records the requests that the host itself sends for the operator, such as the requests of
//! backends.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderName;
use jiff::{SignedDuration, Timestamp};
use wardian_access::{AccessRequest, Denied, HttpAuthority, HttpCredential, HttpExchange, NetworkRequest};

use crate::audit_log::AuditLog;
use crate::monitor::format_timestamp;
use crate::record::{Capability, Outcome, Record, RecordedTarget};

/// The name of the host in the audit log, in place of a plugin's address.
pub const HOST_NAME: &str = "wardian";

/// Allows every request, because the operator determined its destination, and records it. If the
/// audit log cannot be written, requests are still allowed: otherwise, a state could not be stored
/// or unlocked. The error is reported at the end of the run.
#[derive(Clone)]
pub struct HostRequests {
    purpose: &'static str,
    log: Arc<AuditLog>,
}

impl HostRequests {
    /// Returns the authority over the requests for a purpose, such as `backend`.
    pub fn new(purpose: &'static str, log: Arc<AuditLog>) -> Self {
        Self { purpose, log }
    }
}

impl HttpAuthority for HostRequests {
    fn reserved_headers(&self, _request: &NetworkRequest) -> Vec<HeaderName> {
        Vec::new()
    }

    fn may_send(&self, _request: &NetworkRequest) -> Result<(), Denied> {
        Ok(())
    }

    fn may_connect(&self, _request: &NetworkRequest, _address: IpAddr) -> Result<(), Denied> {
        Ok(())
    }

    fn credentials(&self, _request: &NetworkRequest) -> Result<Vec<HttpCredential>, Denied> {
        Ok(Vec::new())
    }

    fn finished(&self, exchange: &HttpExchange) {
        if !self.log.is_enabled() {
            return;
        }
        let request = AccessRequest::Network(exchange.request.clone());
        let target = RecordedTarget::from_request(&request);
        // The log stores its error, which is reported at the end of the run.
        let _ = self.log.append(&Record {
            time: format_timestamp(begin(exchange.duration)),
            plugin: HOST_NAME.to_owned(),
            version: None,
            sha256: None,
            resource: None,
            one_of: Vec::new(),
            call: self.purpose.to_owned(),
            confinement: None,
            capability: Capability::from_request(&request),
            target: target.target,
            access: target.access,
            protected: Vec::new(),
            arguments: None,
            environment: None,
            directory: None,
            address: exchange.address.map(|address| address.to_string()),
            decision: Outcome::Allowed,
            rule: None,
            reason: None,
            status: exchange.status.map(i64::from),
            bytes_sent: Some(exchange.sent),
            bytes_received: Some(exchange.received),
            microseconds: u64::try_from(exchange.duration.as_micros()).ok(),
        });
    }
}

/// Returns the time at which an exchange that has just ended began.
fn begin(duration: Duration) -> Timestamp {
    let now = Timestamp::now();
    SignedDuration::try_from(duration).ok().and_then(|duration| now.checked_sub(duration).ok()).unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Summary;

    #[test]
    fn requests_are_recorded_but_need_no_policy() {
        let log = Arc::new(AuditLog::disabled().with_summary());
        let requests = HostRequests::new("backend", Arc::clone(&log));
        requests.finished(&HttpExchange {
            request: NetworkRequest::http("https", "states.example", "PUT").unwrap(),
            address: None,
            status: Some(200),
            sent: 7,
            received: 0,
            duration: Duration::from_millis(3),
        });
        let summary: Summary = log.summary();
        let totals = summary.plugins.get(HOST_NAME).unwrap().uses.values().next().unwrap();
        assert_eq!((totals.count, totals.bytes_sent), (1, 7));
        assert!(summary.observed(std::path::Path::new("/srv")).needed.is_empty());
    }
}
