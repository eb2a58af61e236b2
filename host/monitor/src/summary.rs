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
use wardian_policy::{LeastPrivilegePolicy, NeededAccess, least_privilege_policy};

use crate::record::{Capability, Outcome, Record};

const MAX_LINE_LENGTH: u64 = 16 << 20;

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
}

impl Summary {
    /// Reads an audit log.
    ///
    /// # Errors
    /// Returns an error if the log cannot be read. Lines that are not records are listed in `unreadable`.
    pub fn read(mut log: impl BufRead) -> io::Result<Self> {
        let mut summary = Self::default();
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
                summary.unreadable.push(number);
                continue;
            }
            match serde_json::from_slice(&line) {
                Ok(record) => summary.add(record),
                Err(_) => summary.unreadable.push(number),
            }
        }
        Ok(summary)
    }

    fn add(&mut self, record: Record) {
        self.records += 1;
        let plugin = self.plugins.entry(record.plugin).or_default();
        plugin.codes.insert((record.version, record.sha256));
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
    }

    /// Returns the policy that allows exactly the accesses that were allowed in the run. Accesses
    /// with redacted values are omitted.
    pub fn least_privilege_policy(&self, root_module: &Path) -> LeastPrivilegePolicy {
        let needed = self.plugins.iter().flat_map(|(address, plugin)| needed(address, plugin));
        let mut least = least_privilege_policy(root_module, needed);
        for (address, plugin) in &self.plugins {
            let redacted =
                plugin.uses.keys().filter(|key| key.decision == Outcome::Allowed && key.is_redacted());
            let describe = |key: &UseKey| format!("{address}: {} {}", key.capability.as_str(), key.target);
            least.left_out.extend(redacted.map(describe));
        }
        least
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
    let allowed = plugin.uses.keys().filter(|key| key.decision == Outcome::Allowed && !key.is_redacted());
    let needed = |key: &UseKey| {
        Some(NeededAccess {
            plugin: plugin_address.clone(),
            request: key.request()?,
            address: key.address.as_deref().and_then(|address| address.parse().ok()),
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
