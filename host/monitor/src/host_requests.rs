//! Records the requests that the host itself sends for the operator, and the connections that it opens,
//! such as those of backends.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderName;
use jiff::{SignedDuration, Timestamp};
use wardian_access::{
    AccessRequest, Denied, FileAccess, FileOperation, HostConnection, HostConnections, HostPeer,
    HttpAuthority, HttpCredential, HttpExchange, NetworkRequest,
};

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
    rule: Option<Arc<str>>,
}

impl HostRequests {
    /// Returns the authority over the requests for a purpose, such as `backend`.
    pub fn new(purpose: &'static str, log: Arc<AuditLog>) -> Self {
        Self { purpose, log, rule: None }
    }

    /// Records the line of the policy that permits the requests.
    #[must_use]
    pub fn with_rule(mut self, rule: &str) -> Self {
        self.rule = Some(rule.into());
        self
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
        self.record(&Ended {
            request: AccessRequest::Network(exchange.request.clone()),
            address: exchange.address,
            status: exchange.status,
            sent: exchange.sent,
            received: exchange.received,
            duration: exchange.duration,
        });
    }
}

impl HostConnections for HostRequests {
    fn finished(&self, connection: &HostConnection) {
        let request = match &connection.peer {
            HostPeer::Tcp { host, port } => match NetworkRequest::tcp(host, *port) {
                Ok(request) => AccessRequest::Network(request),
                // No connection can be opened to such a host.
                Err(_) => return,
            },
            HostPeer::Socket(path) => {
                AccessRequest::File(FileAccess::from_normalized(path.clone(), FileOperation::Connect))
            }
        };
        self.record(&Ended {
            request,
            address: connection.address,
            status: None,
            sent: connection.sent,
            received: connection.received,
            duration: connection.duration,
        });
    }
}

/// A request or a connection that ended.
struct Ended {
    request: AccessRequest,
    address: Option<IpAddr>,
    status: Option<u16>,
    sent: u64,
    received: u64,
    duration: Duration,
}

impl HostRequests {
    fn record(&self, ended: &Ended) {
        if !self.log.is_enabled() {
            return;
        }
        let target = RecordedTarget::from_request(&ended.request);
        // The log stores its error, which is reported at the end of the run.
        let _ = self.log.append(&Record {
            time: format_timestamp(begin(ended.duration)),
            plugin: HOST_NAME.to_owned(),
            version: None,
            sha256: None,
            resource: None,
            one_of: Vec::new(),
            call: self.purpose.to_owned(),
            confinement: None,
            capability: Capability::from_request(&ended.request),
            target: target.target,
            access: target.access,
            protected: Vec::new(),
            arguments: None,
            environment: None,
            directory: None,
            address: ended.address.map(|address| address.to_string()),
            decision: Outcome::Allowed,
            rule: self.rule.as_deref().map(str::to_owned),
            reason: None,
            status: ended.status.map(i64::from),
            bytes_sent: Some(ended.sent),
            bytes_received: Some(ended.received),
            microseconds: u64::try_from(ended.duration.as_micros()).ok(),
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
        HttpAuthority::finished(
            &requests,
            &HttpExchange {
                request: NetworkRequest::http("https", "states.example", "PUT").unwrap(),
                address: None,
                status: Some(200),
                sent: 7,
                received: 0,
                duration: Duration::from_millis(3),
            },
        );
        let summary: Summary = log.summary();
        let totals = summary.plugins.get(HOST_NAME).unwrap().uses.values().next().unwrap();
        assert_eq!((totals.count, totals.bytes_sent), (1, 7));
        assert!(summary.observed(std::path::Path::new("/srv")).needed.is_empty());
    }

    #[test]
    fn connections_are_recorded_with_the_rule() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("audit.log");
        let requests =
            HostRequests::new("backend", Arc::new(AuditLog::open(&path).unwrap())).with_rule("p.hcl:3");
        let peers = [
            HostPeer::Tcp { host: "db.example.com".to_owned(), port: 5432 },
            HostPeer::Socket("/run/pg/.s.PGSQL.5432".into()),
        ];
        for peer in peers {
            let connection = HostConnection {
                peer,
                address: None,
                sent: 3,
                received: 4,
                duration: Duration::from_millis(1),
            };
            HostConnections::finished(&requests, &connection);
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let records: Vec<Record> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let seen =
            records.iter().map(|record| (&*record.target, record.access.as_deref(), record.rule.as_deref()));
        assert_eq!(
            seen.collect::<Vec<_>>(),
            [
                ("tcp://db.example.com:5432", None, Some("p.hcl:3")),
                ("/run/pg/.s.PGSQL.5432", Some("connect"), Some("p.hcl:3"))
            ]
        );
    }
}
