//! A log, read and added up.
//!
//! Lines are read one after the other; what is kept grows with the number of different
//! uses, not with the number of lines.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, Read as _};
use std::path::Path;

use serde::Serialize;
use wardian_address::ProviderAddress;
use wardian_plugin::REDACTED;
use wardian_policy::{LeastPolicy, NeededUse, least_policy};

use crate::record::{Capability, Outcome, Record};

/// The longest line that can be a record.
const LONGEST_LINE: u64 = 16 << 20;

/// What a log says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// By the plugin's address.
    pub plugins: BTreeMap<String, PluginSummary>,
    /// Numbers of lines that are no records, from 1; such as the torn end of a run that
    /// was killed, and what somebody else wrote.
    pub unreadable: Vec<u64>,
    /// Lines that are records.
    pub records: u64,
}

/// What one plugin did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PluginSummary {
    /// Versions and hashes that it had.
    pub codes: BTreeSet<(Option<String>, Option<String>)>,
    /// What it used, or wanted to.
    pub uses: BTreeMap<UseKey, UseTotals>,
    /// How often something was allowed and denied for each resource.
    pub resources: BTreeMap<String, (u64, u64)>,
}

/// Uses that are added up.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct UseKey {
    /// Whether it was done.
    pub decision: Outcome,
    /// What was used.
    pub capability: Capability,
    /// What of it.
    pub target: String,
    /// The method, or the kind of access to a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access: Option<String>,
    /// Arguments of a program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Vec<String>>,
    /// Where a name led to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
}

/// What they come to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct UseTotals {
    /// How many.
    pub count: u64,
    /// Bytes that were sent or written.
    pub bytes_sent: u64,
    /// Bytes that were received or read.
    pub bytes_received: u64,
    /// How long they took together.
    pub microseconds: u64,
    /// The line of the policy that settled the first of them, where one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Why the first of them was denied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Summary {
    /// Reads a log.
    ///
    /// # Errors
    /// Where it cannot be read. A line that is no record is none, and is told.
    pub fn read(mut log: impl BufRead) -> io::Result<Self> {
        let mut summary = Self::default();
        let mut line = Vec::new();
        for number in 1.. {
            line.clear();
            if log.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line)? == 0 {
                break;
            }
            if line.trim_ascii().is_empty() {
                continue;
            }
            if !line.ends_with(b"\n") && line.len() as u64 == LONGEST_LINE {
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
            arguments: record.arguments,
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

    /// The policy that allows what was allowed in the run, and nothing else. What a secret
    /// was masked in is left out.
    pub fn least_policy(&self, root_module: &Path) -> LeastPolicy {
        let needed = self.plugins.iter().flat_map(|(address, plugin)| needed(address, plugin));
        let mut least = least_policy(root_module, needed);
        for (address, plugin) in &self.plugins {
            let masked = plugin.uses.keys().filter(|key| key.decision == Outcome::Allowed && key.is_masked());
            let told = |key: &UseKey| format!("{address}: {} {}", key.capability.word(), key.target);
            least.left_out.extend(masked.map(told));
        }
        least
    }
}

impl UseKey {
    /// Whether it is not known what it was of.
    fn is_masked(&self) -> bool {
        let arguments = self.arguments.iter().flatten();
        std::iter::once(&self.target).chain(arguments).any(|text| text.contains(REDACTED))
    }

    /// What was asked for, where that can be told.
    fn request(&self) -> Option<wardian_policy::Request> {
        crate::record::request(
            self.capability,
            &self.target,
            self.access.as_deref(),
            self.arguments.as_deref(),
        )
    }
}

fn needed(address: &str, plugin: &PluginSummary) -> Vec<NeededUse> {
    let Ok(plugin_address) = ProviderAddress::parse(address) else { return Vec::new() };
    let allowed = plugin.uses.keys().filter(|key| key.decision == Outcome::Allowed && !key.is_masked());
    let needed = |key: &UseKey| {
        Some(NeededUse {
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
