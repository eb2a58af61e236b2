//! The settings of a policy other than rules: limits, native plugins, deterministic mode.
//!
//! Within a file, the most specific block that contains the setting applies; among equally specific
//! blocks, the strictest value applies. Among files, the strictest value applies.

use std::fmt;
use std::time::Duration;

use crate::source_location::SourceLocation;
use crate::units::{format_duration, format_size};

/// A value and the line that sets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicySetting<T> {
    pub value: T,
    pub location: SourceLocation,
}

/// The treatment of a native plugin, which is not sandboxed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NativePlugins {
    /// The plugin runs without a warning.
    Allow,
    /// The plugin runs, with a warning.
    Warn,
    /// The plugin runs confined as far as possible, with a warning if confinement is incomplete.
    ConfineOrWarn,
    /// The plugin runs only if the kernel can confine it to the granted directories and TCP ports.
    /// Other rules are not enforced.
    ConfineFiles,
    /// The plugin runs only if a supervisor can confine it to the granted files, hosts, sockets and
    /// programs.
    Confine,
    /// The plugin does not run.
    Deny,
}

impl NativePlugins {
    pub(crate) const ALL: [Self; 6] =
        [Self::Allow, Self::Warn, Self::ConfineOrWarn, Self::ConfineFiles, Self::Confine, Self::Deny];

    /// Returns the name in a policy.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Warn => "warn",
            Self::ConfineOrWarn => "confine-or-warn",
            Self::ConfineFiles => "confine-files",
            Self::Confine => "confine",
            Self::Deny => "deny",
        }
    }
}

impl fmt::Display for NativePlugins {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// The treatment of a native plugin under an untrusted configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UntrustedNative {
    /// The plugin runs if it is confined. The organisation declares that the credentials that it can
    /// reach allow only reading, since the configuration determines their use.
    ReadOnlyCredentials,
    /// The plugin does not run.
    Deny,
}

impl UntrustedNative {
    pub(crate) const ALL: [Self; 2] = [Self::ReadOnlyCredentials, Self::Deny];

    /// Returns the name in a policy.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnlyCredentials => "read-only-credentials",
            Self::Deny => "deny",
        }
    }
}

/// Resource limits of a plugin. If a limit is absent, the host's default applies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PluginLimits {
    /// Memory of an instance, in bytes.
    pub memory: Option<PolicySetting<u64>>,
    /// CPU time of a call.
    pub cpu_time: Option<PolicySetting<Duration>>,
    /// Duration of a call.
    pub wall_time: Option<PolicySetting<Duration>>,
    /// Number of concurrent network requests.
    pub concurrent_requests: Option<PolicySetting<u64>>,
    /// Size of a response, in bytes.
    pub response_size: Option<PolicySetting<u64>>,
    /// Bytes that a call may write to files.
    pub bytes_written: Option<PolicySetting<u64>>,
    /// CPU time of the compilation of a component.
    pub compile_time: Option<PolicySetting<Duration>>,
    /// Memory of the compilation of a component, in bytes.
    pub compile_memory: Option<PolicySetting<u64>>,
}

impl PluginLimits {
    /// The argument names in a policy.
    pub(crate) const NAMES: [&'static str; 8] = [
        "memory",
        "cpu_time",
        "wall_time",
        "concurrent_requests",
        "response_size",
        "bytes_written",
        "compile_time",
        "compile_memory",
    ];

    /// Returns the limits that are set: name, formatted value, and line.
    pub fn entries(&self) -> Vec<(&'static str, String, &SourceLocation)> {
        let [
            memory,
            cpu_time,
            wall_time,
            concurrent_requests,
            response_size,
            bytes_written,
            compile_time,
            compile_memory,
        ] = Self::NAMES;
        let size = |name, set: &'_ Option<PolicySetting<u64>>| {
            set.as_ref().map(|set| (name, format_size(set.value)))
        };
        let time = |name, set: &'_ Option<PolicySetting<Duration>>| {
            set.as_ref().map(|set| (name, format_duration(set.value)))
        };
        let number =
            self.concurrent_requests.as_ref().map(|set| (concurrent_requests, set.value.to_string()));
        let texts = [
            size(memory, &self.memory),
            time(cpu_time, &self.cpu_time),
            time(wall_time, &self.wall_time),
            number,
            size(response_size, &self.response_size),
            size(bytes_written, &self.bytes_written),
            time(compile_time, &self.compile_time),
            size(compile_memory, &self.compile_memory),
        ];
        let locations = [
            self.memory.as_ref().map(|set| &set.location),
            self.cpu_time.as_ref().map(|set| &set.location),
            self.wall_time.as_ref().map(|set| &set.location),
            self.concurrent_requests.as_ref().map(|set| &set.location),
            self.response_size.as_ref().map(|set| &set.location),
            self.bytes_written.as_ref().map(|set| &set.location),
            self.compile_time.as_ref().map(|set| &set.location),
            self.compile_memory.as_ref().map(|set| &set.location),
        ];
        texts
            .into_iter()
            .zip(locations)
            .filter_map(|(text, location)| {
                text.zip(location).map(|((name, text), location)| (name, text, location))
            })
            .collect()
    }

    /// Reduces each limit to the smaller of the two.
    fn narrow_to(&mut self, other: &Self) {
        narrow(&mut self.memory, other.memory.as_ref(), |one, two| one < two);
        narrow(&mut self.cpu_time, other.cpu_time.as_ref(), |one, two| one < two);
        narrow(&mut self.wall_time, other.wall_time.as_ref(), |one, two| one < two);
        narrow(&mut self.concurrent_requests, other.concurrent_requests.as_ref(), |one, two| one < two);
        narrow(&mut self.response_size, other.response_size.as_ref(), |one, two| one < two);
        narrow(&mut self.bytes_written, other.bytes_written.as_ref(), |one, two| one < two);
        narrow(&mut self.compile_time, other.compile_time.as_ref(), |one, two| one < two);
        narrow(&mut self.compile_memory, other.compile_memory.as_ref(), |one, two| one < two);
    }

    /// Replaces the limits that `other` sets.
    fn overlay_with(&mut self, other: Self) {
        overlay(&mut self.memory, other.memory);
        overlay(&mut self.cpu_time, other.cpu_time);
        overlay(&mut self.wall_time, other.wall_time);
        overlay(&mut self.concurrent_requests, other.concurrent_requests);
        overlay(&mut self.response_size, other.response_size);
        overlay(&mut self.bytes_written, other.bytes_written);
        overlay(&mut self.compile_time, other.compile_time);
        overlay(&mut self.compile_memory, other.compile_memory);
    }
}

/// Limits on the values that expressions produce. These limits apply to a run, not to a plugin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EvaluationSettings {
    /// Total size of the values of one expression, in bytes.
    pub expression_size: Option<PolicySetting<u64>>,
    /// Total size of the values of all expressions in a run, in bytes.
    pub total_size: Option<PolicySetting<u64>>,
}

impl EvaluationSettings {
    /// The argument names in a policy.
    pub(crate) const NAMES: [&'static str; 2] = ["expression_size", "total_size"];

    /// Reduces each limit to the smaller of the two.
    pub(crate) fn narrow_to(&mut self, other: &Self) {
        narrow(&mut self.expression_size, other.expression_size.as_ref(), |one, two| one < two);
        narrow(&mut self.total_size, other.total_size.as_ref(), |one, two| one < two);
    }
}

/// All settings of a block, of a file, or in effect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    pub limits: PluginLimits,
    /// The treatment of native code.
    pub native: Option<PolicySetting<NativePlugins>>,
    /// The treatment of native code under an untrusted configuration.
    pub untrusted: Option<PolicySetting<UntrustedNative>>,
    /// Whether clocks and randomness return the same values in each run.
    pub deterministic: Option<PolicySetting<bool>>,
}

impl Settings {
    /// Compares the values, but not their locations.
    pub(crate) fn has_same_values(&self, other: &Self) -> bool {
        let limits = |settings: &Self| -> Vec<(&'static str, String)> {
            settings.limits.entries().into_iter().map(|(name, value, _)| (name, value)).collect()
        };
        let value = |set: &Option<PolicySetting<NativePlugins>>| set.as_ref().map(|set| set.value);
        let flag = |set: &Option<PolicySetting<bool>>| set.as_ref().map(|set| set.value);
        limits(self) == limits(other)
            && value(&self.native) == value(&other.native)
            && self.untrusted.as_ref().map(|set| set.value) == other.untrusted.as_ref().map(|set| set.value)
            && flag(&self.deterministic) == flag(&other.deterministic)
    }

    /// Sets each setting to the stricter of the two values.
    pub(crate) fn narrow_to(&mut self, other: &Self) {
        self.limits.narrow_to(&other.limits);
        narrow(&mut self.native, other.native.as_ref(), |one, two| one > two);
        narrow(&mut self.untrusted, other.untrusted.as_ref(), |one, two| one > two);
        narrow(&mut self.deterministic, other.deterministic.as_ref(), |one, two| *one && !*two);
    }

    /// Combines the blocks of one file, each with its specificity.
    pub(crate) fn from_blocks<'a>(rules: impl IntoIterator<Item = (u8, &'a Self)>) -> Self {
        let mut by_specificity = std::collections::BTreeMap::<u8, Self>::new();
        for (specificity, settings) in rules {
            by_specificity.entry(specificity).or_default().narrow_to(settings);
        }
        let mut result = Self::default();
        for (_, settings) in by_specificity {
            result.limits.overlay_with(settings.limits);
            overlay(&mut result.native, settings.native);
            overlay(&mut result.untrusted, settings.untrusted);
            overlay(&mut result.deterministic, settings.deterministic);
        }
        result
    }
}

fn narrow<T: Clone>(
    current: &mut Option<PolicySetting<T>>,
    other: Option<&PolicySetting<T>>,
    is_stricter: impl Fn(&T, &T) -> bool,
) {
    if let Some(other) = other
        && current.as_ref().is_none_or(|current| is_stricter(&other.value, &current.value))
    {
        *current = Some(other.clone());
    }
}

fn overlay<T>(current: &mut Option<PolicySetting<T>>, other: Option<PolicySetting<T>>) {
    if other.is_some() {
        *current = other;
    }
}
