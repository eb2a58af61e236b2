//! Authorizes accesses, and records each decision.

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use jiff::Timestamp;
use wardian_access::{
    AccessRequest, Denied, EnvironmentName, Host, NetworkRequest, ProtectedClasses, Scheme,
};
use wardian_address::ProviderAddress;
use wardian_plugin::{PluginCall, PluginDiagnostic};
use wardian_policy::{CapabilityRequest, Decision, Denial, PluginPolicy, Policy, Remedy, grant_block};

use crate::audit_log::AuditLog;
use crate::record::{Capability, Outcome, Record, RecordedTarget, class_names};

/// The port in suggested rules for a name that a native plugin looked up.
const HTTPS_PORT: u16 = 443;

/// The identity of a plugin in audit records.
#[derive(Clone, Debug)]
pub struct PluginIdentity {
    pub address: ProviderAddress,
    /// The version, if the plugin has one.
    pub version: Option<String>,
    /// SHA-256 of the component, in hexadecimal.
    pub sha256: Option<String>,
    /// The level of a native plugin's confinement.
    pub confinement: Option<&'static str>,
}

/// Authorizes the accesses of one plugin. Clones share the same monitor.
#[derive(Clone)]
pub struct Monitor {
    inner: Arc<Inner>,
}

struct Inner {
    policy: PluginPolicy,
    identity: PluginIdentity,
    log: Arc<AuditLog>,
    declared: OnceLock<Vec<CapabilityRequest>>,
}

impl Monitor {
    pub fn new(policy: PluginPolicy, identity: PluginIdentity, log: Arc<AuditLog>) -> Self {
        Self { inner: Arc::new(Inner { policy, identity, log, declared: OnceLock::new() }) }
    }

    /// Creates a monitor that denies every access and records nothing.
    pub fn deny_all(plugin: &ProviderAddress) -> Self {
        let identity =
            PluginIdentity { address: plugin.clone(), version: None, sha256: None, confinement: None };
        Self::new(Policy::default().for_plugin(plugin), identity, Arc::new(AuditLog::disabled()))
    }

    /// Returns a monitor with the same policy that records nothing.
    pub(crate) fn without_log(&self) -> Self {
        let Inner { policy, identity, .. } = &*self.inner;
        Self::new(policy.clone(), identity.clone(), Arc::new(AuditLog::disabled()))
    }

    /// Sets the capability requests that the plugin declares, once. They determine how a denied access
    /// can be allowed, and grant nothing.
    pub fn set_declared(&self, requests: Vec<CapabilityRequest>) {
        let _ = self.inner.declared.set(requests);
    }

    pub fn policy(&self) -> &PluginPolicy {
        &self.inner.policy
    }

    /// Whether policy grants an environment variable. A plugin receives the granted variables when
    /// it starts, and cannot request others.
    pub fn grants_variable(&self, name: &str) -> bool {
        EnvironmentName::new(name)
            .is_ok_and(|name| self.inner.policy.decide(&AccessRequest::Environment(name)).is_allowed())
    }

    /// Whether accesses are written to an audit log. If not, performance-critical callers can omit
    /// the description of an access.
    pub fn is_recording(&self) -> bool {
        self.inner.log.is_enabled()
    }

    /// Begins an access if policy allows it.
    ///
    /// # Errors
    /// Returns an error if policy does not grant it, or it cannot be recorded.
    pub fn begin(&self, call: &PluginCall, request: AccessRequest) -> Result<Use, Denied> {
        self.begin_among(std::slice::from_ref(call), request, None)
    }

    /// Begins an access to a known address; see [`Monitor::begin`].
    ///
    /// # Errors
    /// Returns an error if policy does not grant it, or it cannot be recorded.
    pub fn begin_at(
        &self,
        call: &PluginCall,
        request: AccessRequest,
        address: IpAddr,
    ) -> Result<Use, Denied> {
        self.begin_among(std::slice::from_ref(call), request, Some(address))
    }

    /// Begins an access that a native plugin makes during one of these calls; see [`Monitor::begin`]
    /// and [`Monitor::begin_at`].
    ///
    /// # Errors
    /// Returns an error if policy does not grant it, or it cannot be recorded.
    pub(crate) fn begin_among(
        &self,
        calls: &[PluginCall],
        request: AccessRequest,
        address: Option<IpAddr>,
    ) -> Result<Use, Denied> {
        let decision = match address {
            Some(address) => self.inner.policy.decide_at(&request, address),
            None => self.inner.policy.decide(&request),
        };
        let rule = decision.rule().map(ToString::to_string);
        let protected = match decision {
            Decision::Allowed(grant) => grant.protected,
            Decision::Denied(denial) => return Err(self.record_denial(calls, &request, address, &denial)),
        };
        if let Some(failure) = self.inner.log.failure() {
            return Err(Denied { reason: failure.to_string(), rule_to_add: None });
        }
        self.inner.log.begin_access();
        Ok(Use {
            began: (self.is_recording() || is_logged()).then(|| (Timestamp::now(), Instant::now())),
            monitor: self.clone(),
            calls: calls.to_vec(),
            request,
            protected,
            address,
            rule,
            status: None,
            sent: None,
            received: None,
        })
    }

    /// Checks an access that has already begun, for an address to which its host name resolves.
    ///
    /// # Errors
    /// Returns an error if policy does not grant it. The denial is recorded.
    pub fn check_at(
        &self,
        call: &PluginCall,
        request: &AccessRequest,
        address: IpAddr,
    ) -> Result<(), Denied> {
        match self.inner.policy.decide_at(request, address) {
            Decision::Allowed(_) => Ok(()),
            Decision::Denied(denial) => {
                Err(self.record_denial(std::slice::from_ref(call), request, Some(address), &denial))
            }
        }
    }

    /// Records a request that no rule can allow, such as a request for an invalid host name.
    pub fn reject(
        &self,
        call: &PluginCall,
        capability: Capability,
        target: String,
        reason: impl fmt::Display,
    ) -> Denied {
        self.reject_among(std::slice::from_ref(call), capability, RecordedTarget::new(target), reason)
    }

    /// Records a request that no rule can allow, and that a native plugin made during one of these
    /// calls.
    pub(crate) fn reject_among(
        &self,
        calls: &[PluginCall],
        capability: Capability,
        target: RecordedTarget,
        reason: impl fmt::Display,
    ) -> Denied {
        let mut record = self.record(calls, capability, target, Outcome::Denied);
        let reason = reason.to_string();
        record.reason = Some(redacted(calls, reason.clone()));
        log(&record);
        self.inner.log.deny(&record, || None);
        Denied { reason, rule_to_add: None }
    }

    /// Checks the lookup of a name that no rule for connections grants. The rule to add allows
    /// connections to the name, since a native plugin looks it up before it connects.
    ///
    /// # Errors
    /// Returns an error if policy does not grant the lookup.
    pub(crate) fn check_look_up(&self, calls: &[PluginCall], name: &Host) -> Result<(), Denied> {
        let request = AccessRequest::LookUp(name.clone());
        let Decision::Denied(denial) = self.inner.policy.decide(&request) else { return Ok(()) };
        let connection = NetworkRequest::connection(Scheme::Https, &name.to_string(), HTTPS_PORT);
        let connection = connection.map_or_else(|_| request.clone(), AccessRequest::Network);
        Err(self.record_denial_with_remedy(calls, (&request, None), &denial, &connection))
    }

    fn record_denial(
        &self,
        calls: &[PluginCall],
        request: &AccessRequest,
        address: Option<IpAddr>,
        denial: &Denial,
    ) -> Denied {
        self.record_denial_with_remedy(calls, (request, address), denial, request)
    }

    /// Records a denial. The rule to add is the one that allows `granted`.
    fn record_denial_with_remedy(
        &self,
        calls: &[PluginCall],
        (request, address): (&AccessRequest, Option<IpAddr>),
        denial: &Denial,
        granted: &AccessRequest,
    ) -> Denied {
        let reason = denial.to_string();
        let mut record = self.record(
            calls,
            Capability::from_request(request),
            RecordedTarget::from_request(request),
            Outcome::Denied,
        );
        record.address = address.map(|address| address.to_string());
        record.protected = class_names(denial.protected);
        record.rule = denial.rule().map(ToString::to_string);
        record.reason = Some(redacted(calls, reason.clone()));
        let policy = &self.inner.policy;
        let rule_to_add = denial.is_missing_grant().then(|| policy.rule_for(granted, address)).flatten();
        // A suggested rule in which a value is redacted would not allow the access.
        let can_be_shown = |remedy: &Remedy| {
            let is_unchanged = |call: &PluginCall| {
                let rule = remedy.rule().unwrap_or_default();
                matches!(call.sensitive_values().redact(rule), Cow::Borrowed(same) if same == rule)
            };
            calls.iter().all(is_unchanged)
        };
        // Only the first of equal denials needs the remedy.
        let remedy = || {
            let declared = self.inner.declared.get().map_or(&[][..], Vec::as_slice);
            policy.remedy(denial, (granted, address), declared, rule_to_add.as_deref()).filter(can_be_shown)
        };
        log(&record);
        if let [call] = calls
            && let Some(notices) = call.context.notices()
        {
            notices.add(self.notice(record.reason.as_deref().unwrap_or_default(), remedy()));
        }
        self.inner.log.deny(&record, remedy);
        Denied { reason, rule_to_add }
    }

    /// Returns the diagnostic about a denial, for a host that shows only the response of the call.
    fn notice(&self, reason: &str, remedy: Option<Remedy>) -> PluginDiagnostic {
        let mut text = format!("{reason}.");
        if let Some(remedy) = remedy {
            let is_new = !self.inner.policy.has_root_module_file();
            let (file, is_new, rule) = match remedy {
                Remedy::RuleInFile { file, rule } => (file.to_string(), false, rule),
                Remedy::Rule(rule) => (self.root_module_file(), is_new, rule),
                Remedy::DeclaredGrants => (self.root_module_file(), is_new, self.declared_rules()),
            };
            let _ = if is_new {
                write!(
                    text,
                    "\n\nTo allow the access, create {file} with this content:\n\notherwise = \"defer\"\n\n{rule}"
                )
            } else {
                write!(text, "\n\nTo allow the access, add this rule to {file}:\n\n{rule}")
            };
        }
        PluginDiagnostic::warning("Denied by policy", text.trim_end())
    }

    fn root_module_file(&self) -> String {
        self.inner.policy.root_module_file().display().to_string()
    }

    /// Returns the grants that the plugin declares, as a block of a policy.
    fn declared_rules(&self) -> String {
        let declared: Vec<&CapabilityRequest> = self.inner.declared.get().into_iter().flatten().collect();
        grant_block(&self.inner.identity.address, &declared)
    }

    fn record(
        &self,
        calls: &[PluginCall],
        capability: Capability,
        mut target: RecordedTarget,
        decision: Outcome,
    ) -> Record {
        let identity = &self.inner.identity;
        for call in calls {
            call.sensitive_values().redact_in_place(&mut target.target);
            let texts = target.arguments.iter_mut().chain(&mut target.environment).flatten();
            for text in texts.chain(&mut target.directory) {
                call.sensitive_values().redact_in_place(text);
            }
        }
        let mut functions: Vec<&str> = calls.iter().map(|call| call.function).collect();
        functions.dedup();
        let named = calls.iter().map(PluginCall::resource).filter(|name| !name.is_empty());
        let mut resources: Vec<String> = named.map(str::to_owned).collect();
        let resource = if calls.len() == 1 { resources.pop() } else { None };
        Record {
            time: format_timestamp(Timestamp::now()),
            plugin: identity.address.for_display().to_string(),
            version: identity.version.clone(),
            sha256: identity.sha256.clone(),
            resource,
            one_of: resources,
            call: functions.join(", "),
            confinement: identity.confinement.map(str::to_owned),
            capability,
            target: target.target,
            access: target.access,
            protected: Vec::new(),
            arguments: target.arguments,
            environment: target.environment,
            directory: target.directory,
            address: None,
            decision,
            rule: None,
            reason: None,
            status: None,
            bytes_sent: None,
            bytes_received: None,
            microseconds: None,
        }
    }
}

/// Compares monitors by identity, not by content.
impl PartialEq for Monitor {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }
}

impl Eq for Monitor {}

impl fmt::Debug for Monitor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Monitor({})", self.inner.identity.address)
    }
}

/// An allowed access, which is recorded when this value is dropped.
#[must_use = "dropping it ends the access"]
pub struct Use {
    monitor: Monitor,
    /// The calls of which one makes the access; exactly one for a component.
    calls: Vec<PluginCall>,
    request: AccessRequest,
    protected: ProtectedClasses,
    address: Option<IpAddr>,
    rule: Option<String>,
    /// `None` if nothing is recorded.
    began: Option<(Timestamp, Instant)>,
    status: Option<i64>,
    sent: Option<u64>,
    received: Option<u64>,
}

impl Use {
    pub fn request(&self) -> &AccessRequest {
        &self.request
    }

    /// Returns the call that makes the access; [`None`] if there are several candidates.
    pub fn call(&self) -> Option<&PluginCall> {
        if let [call] = &*self.calls { Some(call) } else { None }
    }

    /// Replaces the description of the access by a more exact one, for which policy also allows it.
    pub(crate) fn specify(&mut self, request: AccessRequest) {
        self.request = request;
    }

    /// Ends the access without a record, because a later check denied and recorded it.
    pub fn discard(mut self) {
        self.began = None;
    }

    /// Sets the address to which the connection was opened.
    pub fn set_address(&mut self, address: IpAddr) {
        self.address = Some(address);
    }

    /// Sets the status of a response, or the exit code of a program.
    pub fn set_status(&mut self, status: i64) {
        self.status = Some(status);
    }

    /// Adds bytes that were sent or written.
    pub fn add_sent(&mut self, bytes: u64) {
        let before = self.sent.unwrap_or_default();
        self.sent = Some(before.saturating_add(bytes));
    }

    /// Adds bytes that were received or read.
    pub fn add_received(&mut self, bytes: u64) {
        let before = self.received.unwrap_or_default();
        self.received = Some(before.saturating_add(bytes));
    }
}

impl fmt::Debug for Use {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Use({} for {:?})", self.request, self.calls)
    }
}

impl Drop for Use {
    fn drop(&mut self) {
        self.record();
        self.monitor.inner.log.end_access();
    }
}

impl Use {
    fn record(&mut self) {
        let Some((time, began)) = self.began else { return };
        let (capability, target) =
            (Capability::from_request(&self.request), RecordedTarget::from_request(&self.request));
        let mut record = self.monitor.record(&self.calls, capability, target, Outcome::Allowed);
        record.time = format_timestamp(time);
        record.rule = self.rule.take();
        record.protected = class_names(self.protected);
        record.address = self.address.map(|address| address.to_string());
        record.status = self.status;
        record.bytes_sent = self.sent;
        record.bytes_received = self.received;
        record.microseconds = u64::try_from(began.elapsed().as_micros()).ok();
        log(&record);
        // The audit log stores its error: later accesses are denied, and the error is reported at
        // the end of the run.
        let _ = self.monitor.inner.log.append(&record);
    }
}

/// Redacts the sensitive values of all calls.
fn redacted(calls: &[PluginCall], mut text: String) -> String {
    for call in calls {
        call.sensitive_values().redact_in_place(&mut text);
    }
    text
}

/// The target of log lines about accesses.
const ACCESS_TARGET: &str = "wardian::access";

fn is_logged() -> bool {
    tracing::enabled!(target: ACCESS_TARGET, tracing::Level::DEBUG)
}

/// Logs an access and the decision on it. The record is redacted.
fn log(record: &Record) {
    tracing::debug!(
        target: ACCESS_TARGET,
        plugin = record.plugin,
        call = record.call,
        resource = record.resource,
        capability = ?record.capability,
        access = record.target,
        rule = record.rule,
        reason = record.reason,
        status = record.status,
        bytes_sent = record.bytes_sent,
        bytes_received = record.bytes_received,
        microseconds = record.microseconds,
        decision = ?record.decision,
    );
}

pub(crate) fn format_timestamp(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
}
