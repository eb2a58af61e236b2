//! Summarizes an audit log.
//!
//! The log is read line by line. Memory use is proportional to the number of distinct accesses, not
//! to the number of lines.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, Read as _};
use std::path::Path;

use serde::Serialize;
use wardian_access::{AccessRequest, ProtectedClass, ProtectedClasses};
use wardian_address::ProviderAddress;
use wardian_plugin::REDACTED;
use wardian_policy::{LeastPrivilegePolicy, NeededAccess, ObservedAccesses, least_privilege_policy};

use crate::host_requests::HOST_NAME;
use crate::record::{Capability, Outcome, Record};

const MAX_LINE_LENGTH: u64 = 16 << 20;

/// Maximum number of resources that are recorded for each group of accesses: more than a policy lists.
const MAX_RESOURCES_OF_USE: usize = 8;

/// The totals of an audit log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Totals by plugin address.
    pub plugins: BTreeMap<String, PluginSummary>,
    /// Line numbers, from 1, of lines that are not records: lines that are incomplete because a run
    /// was killed, or other text.
    pub unreadable: Vec<u64>,
    pub records: u64,
}

/// The accesses of one plugin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PluginSummary {
    /// The versions and hashes of the plugin.
    pub codes: BTreeSet<(Option<String>, Option<String>)>,
    /// Allowed and denied accesses.
    pub uses: BTreeMap<UseKey, UseTotals>,
    /// Numbers of allowed and of denied accesses for each resource.
    pub resources: BTreeMap<String, (u64, u64)>,
    /// Whether the plugin ran as a confined native plugin.
    pub is_native: bool,
}

/// The properties by which accesses are grouped.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct UseKey {
    pub decision: Outcome,
    pub capability: Capability,
    pub target: String,
    /// The HTTP method, or the kind of file access.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access: Option<String>,
    /// The classes of protected files that the access concerns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub protected: Vec<String>,
    /// Arguments of a program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Vec<String>>,
    /// Names of the variables that the plugin set for a program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environment: Option<Vec<String>>,
    /// Working directory of a program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// The resolved address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
}

/// Totals of the accesses of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct UseTotals {
    /// Number of accesses.
    pub count: u64,
    /// Bytes sent or written.
    pub bytes_sent: u64,
    /// Bytes received or read.
    pub bytes_received: u64,
    /// Total duration.
    pub microseconds: u64,
    /// The policy line that determined the first decision, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The reason for the first denial.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The first resources, in alphabetical order, for which the accesses may have been made.
    #[serde(skip)]
    pub resources: BTreeSet<String>,
}

impl Summary {
    /// Reads an audit log.
    ///
    /// # Errors
    /// Returns an error if the log cannot be read. Lines that are not records are listed in `unreadable`.
    pub fn read(log: impl BufRead) -> io::Result<Self> {
        let mut summary = Self::default();
        summary.unreadable = summary.add_log(log)?;
        Ok(summary)
    }

    /// Adds another audit log, and returns the numbers of the lines that are not records.
    ///
    /// # Errors
    /// Returns an error if the log cannot be read.
    pub fn add_log(&mut self, mut log: impl BufRead) -> io::Result<Vec<u64>> {
        let mut unreadable = Vec::new();
        let mut line = Vec::new();
        for number in 1.. {
            line.clear();
            if log.by_ref().take(MAX_LINE_LENGTH).read_until(b'\n', &mut line)? == 0 {
                break;
            }
            if line.trim_ascii().is_empty() {
                continue;
            }
            if !line.ends_with(b"\n") && line.len() as u64 == MAX_LINE_LENGTH {
                skip_line(&mut log)?;
                unreadable.push(number);
                continue;
            }
            match serde_json::from_slice(&line) {
                Ok(record) => self.add(record),
                Err(_) => unreadable.push(number),
            }
        }
        Ok(unreadable)
    }

    pub(crate) fn add(&mut self, record: Record) {
        self.records += 1;
        let plugin = self.plugins.entry(record.plugin).or_default();
        plugin.codes.insert((record.version, record.sha256));
        plugin.is_native |= record.confinement.is_some();
        let resources: Vec<String> = record.resource.iter().chain(&record.one_of).cloned().collect();
        if let Some(resource) = record.resource {
            let (allowed, denied) = plugin.resources.entry(resource).or_default();
            match record.decision {
                Outcome::Allowed => *allowed += 1,
                Outcome::Denied => *denied += 1,
            }
        }
        let key = UseKey {
            decision: record.decision,
            capability: record.capability,
            target: record.target,
            access: record.access,
            protected: record.protected,
            arguments: record.arguments,
            environment: record.environment,
            directory: record.directory,
            address: record.address,
        };
        let totals = plugin.uses.entry(key).or_default();
        let add =
            |total: &mut u64, more: Option<u64>| *total = total.saturating_add(more.unwrap_or_default());
        totals.count += 1;
        add(&mut totals.bytes_sent, record.bytes_sent);
        add(&mut totals.bytes_received, record.bytes_received);
        add(&mut totals.microseconds, record.microseconds);
        totals.rule = totals.rule.take().or(record.rule);
        totals.reason = totals.reason.take().or(record.reason);
        totals.resources.extend(resources);
        while totals.resources.len() > MAX_RESOURCES_OF_USE {
            totals.resources.pop_last();
        }
    }

    /// Returns the policy that allows the accesses that were allowed in the runs. Accesses with
    /// redacted values are omitted.
    pub fn least_privilege_policy(&self, root_module: &Path) -> LeastPrivilegePolicy {
        let mut least = least_privilege_policy(&self.observed(root_module));
        least.left_out.extend(self.redacted());
        least
    }

    /// Returns the accesses that a policy must allow, and the confined native plugins.
    pub fn observed(&self, root_module: &Path) -> ObservedAccesses {
        let native = self.plugins.iter().filter(|(_, plugin)| plugin.is_native);
        // No policy applies to the host's own requests.
        let plugins = self.plugins.iter().filter(|(address, _)| *address != HOST_NAME);
        ObservedAccesses {
            root_module: root_module.to_owned(),
            needed: plugins.flat_map(|(address, plugin)| needed(address, plugin)).collect(),
            native: native.filter_map(|(address, _)| ProviderAddress::parse(address).ok()).collect(),
            ..ObservedAccesses::default()
        }
    }

    /// Describes the allowed accesses for which no rule can be written because a value is redacted.
    pub fn redacted(&self) -> BTreeSet<String> {
        let uses = self
            .plugins
            .iter()
            .flat_map(|(address, plugin)| plugin.uses.keys().map(move |key| (address, key)));
        let redacted = uses.filter(|(_, key)| key.decision == Outcome::Allowed && key.is_redacted());
        redacted
            .map(|(address, key)| format!("{address}: {} {}", key.capability.as_str(), key.target))
            .collect()
    }

    /// Describes the denied accesses.
    pub fn denied(&self) -> BTreeSet<String> {
        let uses = self.plugins.iter().flat_map(|(address, plugin)| {
            plugin.uses.iter().map(move |(key, totals)| (address, key, totals))
        });
        let denied = uses.filter(|(_, key, _)| key.decision == Outcome::Denied);
        denied
            .map(|(address, key, totals)| {
                let reason = totals.reason.as_deref().unwrap_or_default();
                // The reason of a missing or denying rule describes the access.
                if reason.starts_with(address.as_str()) {
                    return reason.to_owned();
                }
                let (capability, target) = (key.capability.as_str(), &key.target);
                format!("{address} is denied access ({capability} {target}): {reason}")
            })
            .collect()
    }
}

impl UseKey {
    /// Whether a sensitive value was redacted.
    fn is_redacted(&self) -> bool {
        let arguments = self.arguments.iter().chain(&self.environment).flatten();
        std::iter::once(&self.target).chain(arguments).any(|text| text.contains(REDACTED))
    }

    /// Rebuilds the request, if possible.
    fn request(&self) -> Option<AccessRequest> {
        let request = crate::record::parse_request(
            self.capability,
            &self.target,
            self.access.as_deref(),
            self.arguments.as_deref(),
            self.environment.as_deref(),
        )?;
        let classes: Option<ProtectedClasses> =
            self.protected.iter().map(|word| ProtectedClass::from_word(word)).collect();
        Some(match request {
            AccessRequest::File(access) => AccessRequest::File(access.with_classes(classes?)),
            other => other,
        })
    }
}

fn needed(address: &str, plugin: &PluginSummary) -> Vec<NeededAccess> {
    let Ok(plugin_address) = ProviderAddress::parse(address) else { return Vec::new() };
    let allowed =
        plugin.uses.iter().filter(|(key, _)| key.decision == Outcome::Allowed && !key.is_redacted());
    let needed = |(key, totals): (&UseKey, &UseTotals)| {
        Some(NeededAccess {
            plugin: plugin_address.clone(),
            request: key.request()?,
            address: key.address.as_deref().and_then(|address| address.parse().ok()),
            resources: totals.resources.clone(),
        })
    };
    allowed.filter_map(needed).collect()
}

fn skip_line(log: &mut impl BufRead) -> io::Result<()> {
    loop {
        let available = log.fill_buf()?;
        if available.is_empty() {
            return Ok(());
        }
        match available.iter().position(|byte| *byte == b'\n') {
            Some(at) => {
                log.consume(at + 1);
                return Ok(());
            }
            None => {
                let length = available.len();
                log.consume(length);
            }
        }
    }
}
