//! Authorizes and records the accesses of confined native plugins.
//!
//! A native plugin makes system calls, not calls of the host's interfaces. The host knows which plugin
//! calls its process is executing, but not which of them an access belongs to.

use std::ffi::OsString;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use wardian_access::{
    AccessRequest, AllowedConnection, ConnectionRecord, Denied, FileAccess, FileOperation, Host,
    NativeAuthority, NetworkRequest, ProcessAuthority, ProcessStart, Scheme,
};
use wardian_plugin::{CallsInFlight, PluginCall};
use wardian_policy::Decision;

use crate::monitor::{Monitor, Use};
use crate::program::ProgramMonitor;
use crate::record::{Capability, RecordedTarget};

/// The protocols of connections, in the order in which they are preferred.
const SCHEMES: [Scheme; 3] = [Scheme::Https, Scheme::Http, Scheme::Tcp];

/// Maximum number of recorded denials of a process, so that it cannot fill the disk. Accesses are denied
/// beyond it as well.
const MAX_RECORDED_DENIALS: u32 = 1_000;

/// The authority over one process of a native plugin.
pub struct NativeMonitor {
    monitor: Monitor,
    denials: Arc<Denials>,
    plugin: Arc<str>,
    calls: Arc<CallsInFlight>,
}

impl NativeMonitor {
    /// Creates the authority. `plugin` is the plugin's name in messages, and `calls` contains the calls
    /// of the process.
    pub fn new(monitor: Monitor, plugin: Arc<str>, calls: Arc<CallsInFlight>) -> Self {
        let denials = Arc::new(Denials::new(&monitor));
        Self { monitor, denials, plugin, calls }
    }

    fn calls(&self) -> Vec<PluginCall> {
        let calls = self.calls.current();
        if calls.is_empty() { vec![PluginCall::outside_of_calls(&self.plugin)] } else { calls }
    }

    fn check_file(&self, path: &Path, operation: FileOperation) -> Result<(), Denied> {
        let request = AccessRequest::File(FileAccess::from_normalized(path.to_owned(), operation));
        self.monitor_for(&request).begin_among(&self.calls(), request, None).map(drop)
    }

    /// Returns the monitor for an access without an address.
    fn monitor_for(&self, request: &AccessRequest) -> &Monitor {
        let is_allowed = self.monitor.policy().decide(request).is_allowed();
        if is_allowed { &self.monitor } else { self.denials.monitor() }
    }

    fn reject(&self, capability: Capability, target: RecordedTarget, reason: &str) {
        // The caller returns an error number, which has no text.
        let _ = self.denials.monitor().reject_among(&self.calls(), capability, target, reason);
    }
}

/// Counts the denials of a process.
struct Denials {
    recording: Monitor,
    /// Has the same policy, and records nothing.
    silent: Monitor,
    count: AtomicU32,
}

impl Denials {
    fn new(monitor: &Monitor) -> Self {
        Self { recording: monitor.clone(), silent: monitor.without_log(), count: AtomicU32::new(0) }
    }

    /// Returns the monitor for another denial.
    fn monitor(&self) -> &Monitor {
        match self.count.fetch_add(1, Ordering::Relaxed) {
            count if count < MAX_RECORDED_DENIALS => return &self.recording,
            MAX_RECORDED_DENIALS => tracing::warn!(
                target: "wardian::access",
                "a native plugin was denied {MAX_RECORDED_DENIALS} accesses; further denials are not recorded"
            ),
            // The count remains above the limit.
            _ => self.count.store(MAX_RECORDED_DENIALS + 1, Ordering::Relaxed),
        }
        &self.silent
    }
}

/// The ports of well-known protocols that begin with neither TLS nor HTTP: SSH, mail, DNS, directories,
/// message brokers and databases.
const OTHER_PROTOCOLS: [u16; 18] =
    [22, 25, 53, 110, 143, 389, 587, 1433, 1521, 1883, 3306, 4222, 5432, 5672, 6379, 9042, 9092, 27017];

/// Describes a connection, whose HTTP method is not visible.
fn request(scheme: Scheme, host: &Host, port: u16) -> Option<AccessRequest> {
    NetworkRequest::connection(scheme, &host.to_string(), port).ok().map(AccessRequest::Network)
}

/// Returns the protocols for which policy grants a connection.
fn granted_schemes(monitor: &Monitor, host: &Host, address: SocketAddr) -> Vec<Scheme> {
    let is_granted = |scheme: &Scheme| {
        request(*scheme, host, address.port()).is_some_and(|request| {
            let policy = monitor.policy();
            match policy.decide_at(&request, address.ip()) {
                Decision::Allowed(grant) if grant.rules.is_empty() => {
                    learnt_schemes(address.port()).contains(scheme)
                }
                decision => decision.is_allowed() && policy.decide(&request).is_allowed(),
            }
        })
    };
    SCHEMES.into_iter().filter(is_granted).collect()
}

/// Returns the protocols that are learnt for a port. A connection that is learnt as `tcp` is not
/// inspected, so only the ports of other well-known protocols are learnt as `tcp`.
fn learnt_schemes(port: u16) -> &'static [Scheme] {
    match port {
        443 => &[Scheme::Https],
        80 => &[Scheme::Http],
        _ if OTHER_PROTOCOLS.contains(&port) => &[Scheme::Tcp],
        _ => &[Scheme::Https, Scheme::Http],
    }
}

/// Returns the protocol that a connection to a port probably uses.
fn probable_scheme(port: u16) -> Scheme {
    SCHEMES.into_iter().find(|scheme| scheme.port() == Some(port)).unwrap_or(Scheme::Tcp)
}

impl NativeAuthority for NativeMonitor {
    fn may_look_up(&self, name: &Host) -> Result<(), Denied> {
        let policy = self.monitor.policy();
        if policy.grants_name_to_native_code(name) {
            return Ok(());
        }
        self.denials.monitor().check_look_up(&self.calls(), name)
    }

    fn refuse_look_up(&self, text: &str) {
        let target = RecordedTarget::new(text.to_owned());
        self.reject(Capability::NameLookUp, target, "it is not a host name");
    }

    fn may_connect(&self, names: &[Host], address: SocketAddr) -> Result<AllowedConnection, Denied> {
        let literal = Host::Address(address.ip());
        let calls = self.calls();
        // Many programs map this name themselves (RFC 6761, section 6.3).
        let localhost = Host::parse("localhost").ok().filter(|_| address.ip().is_loopback());
        for host in names.iter().chain([&literal]).chain(&localhost) {
            let schemes = granted_schemes(&self.monitor, host, address);
            let Some(first) = schemes.first().and_then(|first| request(*first, host, address.port())) else {
                continue;
            };
            let usage = self.monitor.begin_among(&calls, first, Some(address.ip()))?;
            let record = NativeConnection {
                usage: Some(usage),
                monitor: self.monitor.clone(),
                denials: Arc::clone(&self.denials),
                calls,
                host: host.clone(),
                address,
                scheme: schemes[0],
            };
            let max_received =
                self.monitor.policy().settings().limits.response_size.as_ref().map(|set| set.value);
            return Ok(AllowedConnection {
                host: host.clone(),
                schemes,
                max_received,
                record: Box::new(record),
            });
        }
        // The denial names the host that the program looked up last.
        let host = names.first().unwrap_or(&literal);
        let monitor = self.denials.monitor();
        let scheme = probable_scheme(address.port());
        let Some(request) = request(scheme, host, address.port()) else {
            let target = RecordedTarget::new(format!("{scheme}://{address}"));
            let reason = "it is not a valid destination";
            return Err(monitor.reject_among(&calls, Capability::Network, target, reason));
        };
        monitor.begin_among(&calls, request.clone(), None)?.discard();
        monitor.begin_among(&calls, request, Some(address.ip()))?.discard();
        // The policy does not change, so this is unreachable. The access is denied as a precaution.
        Err(Denied { reason: "policy does not grant it".to_owned(), rule_to_add: None })
    }

    fn may_connect_to_path(&self, path: &Path) -> Result<(), Denied> {
        self.check_file(path, FileOperation::Connect)
    }

    fn may_change_attributes(&self, path: &Path) -> Result<(), Denied> {
        self.check_file(path, FileOperation::Write)
    }

    fn opens(&self, path: &Path, operation: FileOperation, is_reachable: bool) {
        let access = FileAccess::from_normalized(path.to_owned(), operation);
        let request = AccessRequest::File(access);
        if self.monitor.policy().records_opening(&request, is_reachable) {
            // A denial has been recorded; the kernel enforces it.
            let _ = self.monitor_for(&request).begin_among(&self.calls(), request, None);
        }
    }

    fn program_authority(&self, variables: Vec<String>) -> Arc<dyn ProcessAuthority> {
        Arc::new(ProgramMonitor::new(self.monitor.clone(), self.calls(), variables))
    }

    fn refuse_program(&self, program: &Path, arguments: &[OsString]) {
        let name = program.to_string_lossy();
        let arguments: Vec<String> =
            arguments.iter().map(|argument| argument.to_string_lossy().into_owned()).collect();
        let mut target = RecordedTarget::new(name.clone().into_owned());
        target.arguments = Some(arguments.clone());
        // A policy that denies the program is the better reason.
        if let Ok(start) = ProcessStart::new(&name, arguments)
            && let Decision::Denied(_) = self.monitor.policy().decide(&AccessRequest::Process(start.clone()))
        {
            let denied =
                self.denials.monitor().begin_among(&self.calls(), AccessRequest::Process(start), None);
            debug_assert!(denied.is_err(), "the policy does not change");
            return;
        }
        self.reject(
            Capability::Process,
            target,
            "a confined native plugin can start only programs that a rule allows by name, and only by their \
            bare names",
        );
    }

    fn refuse_system_call(&self, name: &str, reason: &str) {
        let target = RecordedTarget::new(name.to_owned());
        self.reject(
            Capability::SystemCall,
            target,
            &format!("no policy can grant it to a native plugin: {reason}"),
        );
    }
}

/// A connection of a native plugin.
struct NativeConnection {
    /// [`None`] after the connection was refused.
    usage: Option<Use>,
    monitor: Monitor,
    denials: Arc<Denials>,
    calls: Vec<PluginCall>,
    host: Host,
    address: SocketAddr,
    scheme: Scheme,
}

impl NativeConnection {
    fn address(&self) -> IpAddr {
        self.address.ip()
    }
}

impl ConnectionRecord for NativeConnection {
    fn set_scheme(&mut self, scheme: Scheme) {
        self.scheme = scheme;
        if let (Some(usage), Some(request)) =
            (&mut self.usage, request(scheme, &self.host, self.address.port()))
        {
            usage.specify(request);
        }
    }

    fn permits_name(&self, name: &Host, scheme: Scheme) -> bool {
        let is_permitted = granted_schemes(&self.monitor, name, self.address).contains(&scheme);
        // A learnt policy must also allow the names that a connection mentions later.
        if is_permitted
            && self.monitor.policy().is_learning()
            && *name != self.host
            && let Some(request) = request(scheme, name, self.address.port())
        {
            return self.monitor.begin_among(&self.calls, request, Some(self.address())).is_ok();
        }
        is_permitted
    }

    fn add_sent(&mut self, bytes: u64) {
        if let Some(usage) = &mut self.usage {
            usage.add_sent(bytes);
        }
    }

    fn add_received(&mut self, bytes: u64) {
        if let Some(usage) = &mut self.usage {
            usage.add_received(bytes);
        }
    }

    fn refuse(&mut self, reason: &str) {
        // The record of the connection itself remains: it was open until now.
        self.usage = None;
        let target = match request(self.scheme, &self.host, self.address.port()) {
            Some(request) => RecordedTarget::from_request(&request),
            None => RecordedTarget::new(self.address().to_string()),
        };
        let _ = self.denials.monitor().reject_among(&self.calls, Capability::Network, target, reason);
    }
}

#[cfg(test)]
mod tests {
    use wardian_address::ProviderAddress;

    use super::*;

    #[test]
    fn recorded_denials_are_limited_and_further_accesses_are_denied() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("audit.log");
        let log = Arc::new(crate::AuditLog::open(&file).unwrap());
        let address = ProviderAddress::parse("acme/dns").unwrap();
        let policy = wardian_policy::Policy::default().for_plugin(&address);
        let identity =
            crate::PluginIdentity { address, version: None, sha256: None, confinement: Some("filtered") };
        let monitor = Monitor::new(policy, identity, log);
        let native = NativeMonitor::new(monitor, "acme/dns".into(), Arc::default());
        let forbidden = "192.0.2.1:443".parse().unwrap();
        for _ in 0..2 * MAX_RECORDED_DENIALS {
            assert!(native.may_connect(&[], forbidden).is_err());
            assert!(native.may_look_up(&Host::parse("x.example").unwrap()).is_err());
        }
        let lines = std::fs::read_to_string(&file).unwrap().lines().count();
        assert_eq!(lines, MAX_RECORDED_DENIALS as usize);
    }
}
