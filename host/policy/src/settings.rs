//! What is not allowed or denied but set: limits, native plugins, determinism.
//!
//! Of one file the most specific rule counts that says something, and of equals the
//! stricter. Of several files the strictest counts.

use std::fmt;
use std::time::Duration;

use crate::place::Place;
use crate::units::{size_text, time_text};

/// A setting and the line that it stands in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set<T> {
    /// What it is set to.
    pub value: T,
    /// Where.
    pub place: Place,
}

/// What becomes of a plugin that is native code, and so outside of every wall.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NativePlugins {
    /// It runs.
    Allow,
    /// It runs, and a warning says so.
    Warn,
    /// It runs, and the kernel holds it to what rules grant; with a warning where the kernel
    /// cannot.
    ConfineOrWarn,
    /// It runs only where the kernel can hold it to what rules grant.
    Confine,
    /// It does not run.
    Deny,
}

impl NativePlugins {
    pub(crate) const ALL: [Self; 5] =
        [Self::Allow, Self::Warn, Self::ConfineOrWarn, Self::Confine, Self::Deny];

    /// The word in a policy.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Warn => "warn",
            Self::ConfineOrWarn => "confine-or-warn",
            Self::Confine => "confine",
            Self::Deny => "deny",
        }
    }
}

impl fmt::Display for NativePlugins {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.word())
    }
}

/// How much a plugin may use. What is not set is left to the host's own limits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of memory of an instance.
    pub memory: Option<Set<u64>>,
    /// Time that a call may compute.
    pub cpu_time: Option<Set<Duration>>,
    /// Time that a call may take.
    pub wall_time: Option<Set<Duration>>,
    /// Requests of the network at a time.
    pub concurrent_requests: Option<Set<u64>>,
    /// Bytes of one response.
    pub response_size: Option<Set<u64>>,
    /// Bytes that a call may write to files.
    pub bytes_written: Option<Set<u64>>,
}

impl Limits {
    /// The names in a policy.
    pub(crate) const NAMES: [&'static str; 6] =
        ["memory", "cpu_time", "wall_time", "concurrent_requests", "response_size", "bytes_written"];

    /// Those that are set: name, value as people write it, and line.
    pub fn entries(&self) -> Vec<(&'static str, String, &Place)> {
        let [memory, cpu_time, wall_time, concurrent_requests, response_size, bytes_written] = Self::NAMES;
        let size = |name, set: &'_ Option<Set<u64>>| set.as_ref().map(|set| (name, size_text(set.value)));
        let time =
            |name, set: &'_ Option<Set<Duration>>| set.as_ref().map(|set| (name, time_text(set.value)));
        let number =
            self.concurrent_requests.as_ref().map(|set| (concurrent_requests, set.value.to_string()));
        let texts = [
            size(memory, &self.memory),
            time(cpu_time, &self.cpu_time),
            time(wall_time, &self.wall_time),
            number,
            size(response_size, &self.response_size),
            size(bytes_written, &self.bytes_written),
        ];
        let places = [
            self.memory.as_ref().map(|set| &set.place),
            self.cpu_time.as_ref().map(|set| &set.place),
            self.wall_time.as_ref().map(|set| &set.place),
            self.concurrent_requests.as_ref().map(|set| &set.place),
            self.response_size.as_ref().map(|set| &set.place),
            self.bytes_written.as_ref().map(|set| &set.place),
        ];
        texts
            .into_iter()
            .zip(places)
            .filter_map(|(text, place)| text.zip(place).map(|((name, text), place)| (name, text, place)))
            .collect()
    }

    /// Each from whichever has it, and the smaller where both have.
    fn narrowed(&mut self, other: &Self) {
        narrow(&mut self.memory, other.memory.as_ref(), |one, two| one < two);
        narrow(&mut self.cpu_time, other.cpu_time.as_ref(), |one, two| one < two);
        narrow(&mut self.wall_time, other.wall_time.as_ref(), |one, two| one < two);
        narrow(&mut self.concurrent_requests, other.concurrent_requests.as_ref(), |one, two| one < two);
        narrow(&mut self.response_size, other.response_size.as_ref(), |one, two| one < two);
        narrow(&mut self.bytes_written, other.bytes_written.as_ref(), |one, two| one < two);
    }

    /// Those of `other` where it says something, these otherwise.
    fn overlaid(&mut self, other: Self) {
        overlay(&mut self.memory, other.memory);
        overlay(&mut self.cpu_time, other.cpu_time);
        overlay(&mut self.wall_time, other.wall_time);
        overlay(&mut self.concurrent_requests, other.concurrent_requests);
        overlay(&mut self.response_size, other.response_size);
        overlay(&mut self.bytes_written, other.bytes_written);
    }
}

/// All settings of a rule, of a file, or in effect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// How much may be used.
    pub limits: Limits,
    /// What becomes of native code.
    pub native: Option<Set<NativePlugins>>,
    /// Whether the clock stands still and randomness is the same in each run.
    pub deterministic: Option<Set<bool>>,
}

impl Settings {
    /// The stricter of both, one by one.
    pub(crate) fn narrowed(&mut self, other: &Self) {
        self.limits.narrowed(&other.limits);
        narrow(&mut self.native, other.native.as_ref(), |one, two| one > two);
        narrow(&mut self.deterministic, other.deterministic.as_ref(), |one, two| *one && !*two);
    }

    /// What the rules of one file come to, each with how specific it is.
    pub(crate) fn of_file<'a>(rules: impl IntoIterator<Item = (u8, &'a Self)>) -> Self {
        let mut by_specificity = std::collections::BTreeMap::<u8, Self>::new();
        for (specificity, settings) in rules {
            by_specificity.entry(specificity).or_default().narrowed(settings);
        }
        let mut result = Self::default();
        for (_, settings) in by_specificity {
            result.limits.overlaid(settings.limits);
            overlay(&mut result.native, settings.native);
            overlay(&mut result.deterministic, settings.deterministic);
        }
        result
    }
}

fn narrow<T: Clone>(here: &mut Option<Set<T>>, other: Option<&Set<T>>, is_stricter: impl Fn(&T, &T) -> bool) {
    if let Some(other) = other
        && here.as_ref().is_none_or(|here| is_stricter(&other.value, &here.value))
    {
        *here = Some(other.clone());
    }
}

fn overlay<T>(here: &mut Option<Set<T>>, other: Option<Set<T>>) {
    if other.is_some() {
        *here = other;
    }
}
