//! Deciding, with a record of each decision.

use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use jiff::Timestamp;
use wardian_address::ProviderAddress;
use wardian_plugin::PluginCall;
use wardian_policy::{Decision, Denial, EnvironmentName, PluginPolicy, Policy, Request};

use crate::audit_log::AuditLog;
use crate::record::{Capability, Described, Outcome, Record};

/// What records say of a plugin.
#[derive(Clone, Debug)]
pub struct PluginIdentity {
    /// Its address.
    pub address: ProviderAddress,
    /// Its version, where it has one.
    pub version: Option<String>,
    /// The SHA-256 of the component, in hexadecimal digits.
    pub sha256: Option<String>,
}

/// Decides for one plugin. Clones are the same monitor.
#[derive(Clone)]
pub struct Monitor {
    inner: Arc<Inner>,
}

struct Inner {
    policy: PluginPolicy,
    identity: PluginIdentity,
    log: Arc<AuditLog>,
}

/// That something is not to be done, for people. It is recorded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Denied {
    /// What was denied and why, as a sentence without its point.
    pub reason: String,
    /// The text of a rule that would allow it, where one can be written.
    pub rule_to_add: Option<String>,
}

impl Monitor {
    /// A monitor that decides as a policy says, and records in a log.
    pub fn new(policy: PluginPolicy, identity: PluginIdentity, log: Arc<AuditLog>) -> Self {
        Self { inner: Arc::new(Inner { policy, identity, log }) }
    }

    /// A monitor that denies everything and records nothing.
    pub fn that_denies_everything(plugin: &ProviderAddress) -> Self {
        let identity = PluginIdentity { address: plugin.clone(), version: None, sha256: None };
        Self::new(Policy::default().of(plugin), identity, Arc::new(AuditLog::nowhere()))
    }

    /// The policy: what it sets, and the directories and variables that it grants.
    pub fn policy(&self) -> &PluginPolicy {
        &self.inner.policy
    }

    /// Whether a variable of the environment is granted. A plugin is given those that are
    /// when it starts; none other is there to be asked for.
    pub fn grants_variable(&self, name: &str) -> bool {
        EnvironmentName::new(name)
            .is_ok_and(|name| self.inner.policy.decide(&Request::Environment(name)).is_allowed())
    }

    /// Whether uses are written to a log. Where they are not, a use that costs little
    /// need not be described.
    pub fn is_recording(&self) -> bool {
        self.inner.log.is_written()
    }

    /// A use begins, if it may.
    ///
    /// # Errors
    /// Where policy does not grant it, or it could not be recorded.
    pub fn begin(&self, call: &PluginCall, request: Request) -> Result<Use, Denied> {
        let decision = self.inner.policy.decide(&request);
        self.settle(call, request, None, decision)
    }

    /// As [`Monitor::begin`], of something that goes to an address which is known.
    ///
    /// # Errors
    /// As there.
    pub fn begin_at(&self, call: &PluginCall, request: Request, address: IpAddr) -> Result<Use, Denied> {
        let decision = self.inner.policy.decide_at(&request, address);
        self.settle(call, request, Some(address), decision)
    }

    /// The second wall of a use that has begun: whether it may go to an address that its
    /// name turned out to have.
    ///
    /// # Errors
    /// Where policy does not grant it; that is recorded as a denied use.
    pub fn check_at(&self, call: &PluginCall, request: &Request, address: IpAddr) -> Result<(), Denied> {
        match self.inner.policy.decide_at(request, address) {
            Decision::Allowed(_) => Ok(()),
            Decision::Denied(denial) => Err(self.denied(call, request, Some(address), &denial)),
        }
    }

    /// Records that a plugin asked for something that nothing can allow, such as a host
    /// that is no host.
    pub fn refuse(
        &self,
        call: &PluginCall,
        capability: Capability,
        target: String,
        reason: impl fmt::Display,
    ) -> Denied {
        let described = Described { target, access: None, arguments: None };
        let mut record = self.record(call, capability, described, Outcome::Denied);
        let reason = reason.to_string();
        record.reason = Some(call.sensitive_values().redact(&reason).into_owned());
        self.inner.log.deny(&record, || None);
        Denied { reason, rule_to_add: None }
    }

    fn settle(
        &self,
        call: &PluginCall,
        request: Request,
        address: Option<IpAddr>,
        decision: Decision,
    ) -> Result<Use, Denied> {
        let rule = decision.rule().map(ToString::to_string);
        if let Decision::Denied(denial) = decision {
            return Err(self.denied(call, &request, address, &denial));
        }
        if let Some(failure) = self.inner.log.failure() {
            return Err(Denied { reason: failure.to_string(), rule_to_add: None });
        }
        Ok(Use {
            began: self.is_recording().then(|| (Timestamp::now(), Instant::now())),
            monitor: self.clone(),
            call: call.clone(),
            request,
            address,
            rule,
            status: None,
            sent: None,
            received: None,
        })
    }

    fn denied(
        &self,
        call: &PluginCall,
        request: &Request,
        address: Option<IpAddr>,
        denial: &Denial,
    ) -> Denied {
        let reason = denial.to_string();
        let mut record = self.record(call, Capability::of(request), Described::of(request), Outcome::Denied);
        record.address = address.map(|address| address.to_string());
        record.rule = denial.rule().map(ToString::to_string);
        record.reason = Some(call.sensitive_values().redact(&reason).into_owned());
        let lacks_grant = denial.is_lack_of_grant();
        let rule_to_add = lacks_grant.then(|| self.inner.policy.rule_for(request, address)).flatten();
        // A rule with something else in a secret's place would not be the one.
        let can_be_shown = |rule: &String| matches!(call.sensitive_values().redact(rule), Cow::Borrowed(same) if same == rule);
        self.inner.log.deny(&record, || rule_to_add.clone().filter(can_be_shown));
        Denied { reason, rule_to_add }
    }

    fn record(
        &self,
        call: &PluginCall,
        capability: Capability,
        mut what: Described,
        decision: Outcome,
    ) -> Record {
        let identity = &self.inner.identity;
        call.sensitive_values().redact_in_place(&mut what.target);
        for argument in what.arguments.iter_mut().flatten() {
            call.sensitive_values().redact_in_place(argument);
        }
        Record {
            time: text_of(Timestamp::now()),
            plugin: identity.address.for_display().to_string(),
            version: identity.version.clone(),
            sha256: identity.sha256.clone(),
            resource: Some(call.resource()).filter(|name| !name.is_empty()).map(str::to_owned),
            call: call.function.to_owned(),
            capability,
            target: what.target,
            access: what.access,
            arguments: what.arguments,
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

/// Whether they are the same monitor.
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

/// Something that may be done, and is recorded when this is dropped.
#[must_use = "dropping it ends the use"]
pub struct Use {
    monitor: Monitor,
    call: PluginCall,
    request: Request,
    address: Option<IpAddr>,
    rule: Option<String>,
    /// None where nothing is recorded.
    began: Option<(Timestamp, Instant)>,
    status: Option<i64>,
    sent: Option<u64>,
    received: Option<u64>,
}

impl Use {
    /// What may be done.
    pub fn request(&self) -> &Request {
        &self.request
    }

    /// On whose behalf.
    pub fn call(&self) -> &PluginCall {
        &self.call
    }

    /// The address that was connected to.
    pub fn connected_to(&mut self, address: IpAddr) {
        self.address = Some(address);
    }

    /// The status of an answer, or the code of a program's end.
    pub fn answered(&mut self, status: i64) {
        self.status = Some(status);
    }

    /// Further bytes were sent or written.
    pub fn sent(&mut self, bytes: u64) {
        let before = self.sent.unwrap_or_default();
        self.sent = Some(before.saturating_add(bytes));
    }

    /// Further bytes were received or read.
    pub fn received(&mut self, bytes: u64) {
        let before = self.received.unwrap_or_default();
        self.received = Some(before.saturating_add(bytes));
    }
}

impl fmt::Debug for Use {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Use({} for {})", self.request, self.call)
    }
}

impl Drop for Use {
    fn drop(&mut self) {
        let Some((time, began)) = self.began else { return };
        let (capability, described) = (Capability::of(&self.request), Described::of(&self.request));
        let mut record = self.monitor.record(&self.call, capability, described, Outcome::Allowed);
        record.time = text_of(time);
        record.rule = self.rule.take();
        record.address = self.address.map(|address| address.to_string());
        record.status = self.status;
        record.bytes_sent = self.sent;
        record.bytes_received = self.received;
        record.microseconds = u64::try_from(began.elapsed().as_micros()).ok();
        // The log keeps that it failed: nothing further is allowed, and the run says so.
        let _ = self.monitor.inner.log.append(&record);
    }
}

fn text_of(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
}
