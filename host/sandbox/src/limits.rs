//! The limits of a plugin, per instance and per call.
//!
//! Two clocks bound a call: its CPU time ([`crate::cpu_budget`]), and the wall clock, which limits
//! the whole call, including the time that it waits in the host.

use std::time::Duration;

use wardian_policy::{PluginPolicy, PolicySetting, SourceLocation};
use wasmtime::ResourceLimiter;

/// Limits of one instance and of each call on it.
#[derive(Clone, Debug)]
pub struct SandboxLimits {
    /// CPU time for the compilation of a small component.
    pub compile_time: Duration,
    /// Bytes of memory for the compilation of a small component.
    pub compile_memory: u64,
    /// CPU time of a call.
    pub computation: Duration,
    /// Duration of calls without external access: schemas, validation, state upgrades, moves,
    /// functions.
    pub local_call: Duration,
    /// Duration of calls that may wait for a remote system.
    pub remote_call: Duration,
    /// Total bytes of an instance's linear memories.
    pub memory: usize,
    /// Total number of elements in an instance's tables.
    pub table_elements: usize,
    /// Maximum number of core instances, of memories, and of tables.
    pub parts: usize,
    /// Number of handles to resources that an instance may hold at a time. For the host's resources
    /// (open files, streams) the limit is a tenth of this number.
    pub handles: usize,
    /// Number of bytes that the guest passes to the host in one response or host call.
    pub answer: usize,
    /// Bytes of log lines and standard output that are retained from one call.
    pub output: usize,
}

impl Default for SandboxLimits {
    fn default() -> Self {
        Self {
            compile_time: Duration::from_secs(20),
            compile_memory: 320 << 20,
            computation: Duration::from_secs(30),
            local_call: Duration::from_mins(2),
            remote_call: Duration::from_hours(4),
            memory: 256 << 20,
            table_elements: 1 << 20,
            parts: 1_000,
            handles: 5_000,
            answer: 64 << 20,
            output: 1 << 20,
        }
    }
}

/// A limit, and the policy line that sets it, if any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bound<T> {
    pub(crate) value: T,
    pub(crate) set_at: Option<SourceLocation>,
}

impl<T: Copy + Ord> Bound<T> {
    pub(crate) fn of_host(value: T) -> Self {
        Self { value, set_at: None }
    }

    /// Returns the host's own limit, unless a policy sets a smaller one, or a larger one and
    /// `may_widen` is true.
    pub(crate) fn new(host: T, set: Option<&PolicySetting<T>>, may_widen: bool) -> Self {
        match set {
            Some(set) if may_widen || set.value < host => {
                Self { value: set.value, set_at: Some(set.location.clone()) }
            }
            _ => Self::of_host(host),
        }
    }

    fn smaller(self, other: &Self) -> Self {
        if other.value < self.value { other.clone() } else { self }
    }
}

impl<T> Bound<T> {
    /// Returns the origin of the limit, to be appended to its value in a message.
    pub(crate) fn origin(&self) -> String {
        self.set_at.as_ref().map(|place| format!(", which {place} sets")).unwrap_or_default()
    }
}

/// The limits of the host and of a policy, combined for one provider configuration.
///
/// A policy can lower limits. Only the organisation's or the user's policy can raise them above the
/// host's limits, since the author of a configuration is not responsible for the machine.
#[derive(Clone, Debug)]
pub(crate) struct EffectiveLimits {
    pub(crate) computation: Bound<Duration>,
    pub(crate) local_call: Bound<Duration>,
    pub(crate) remote_call: Bound<Duration>,
    pub(crate) memory: Bound<usize>,
    /// Number of bytes that one call may write to files.
    pub(crate) bytes_written: Option<Bound<u64>>,
    table_elements: usize,
    parts: usize,
    pub(crate) handles: usize,
    pub(crate) answer: usize,
    pub(crate) output: usize,
}

impl EffectiveLimits {
    pub(crate) fn new(host: &SandboxLimits, policy: &PluginPolicy) -> Self {
        let (set, widened) = (&policy.settings().limits, policy.machine_limits());
        let memory = set.memory.as_ref().map(|set| PolicySetting {
            value: usize::try_from(set.value).unwrap_or(usize::MAX),
            location: set.location.clone(),
        });
        let remote_call = Bound::new(host.remote_call, set.wall_time.as_ref(), widened.wall_time.is_some());
        Self {
            computation: Bound::new(host.computation, set.cpu_time.as_ref(), widened.cpu_time.is_some()),
            local_call: Bound::of_host(host.local_call).smaller(&remote_call),
            remote_call,
            memory: Bound::new(host.memory, memory.as_ref(), widened.memory.is_some()),
            bytes_written: set
                .bytes_written
                .as_ref()
                .map(|set| Bound { value: set.value, set_at: Some(set.location.clone()) }),
            table_elements: host.table_elements,
            parts: host.parts,
            handles: host.handles,
            answer: host.answer,
            output: host.output,
        }
    }

    pub(crate) fn host_handles(&self) -> usize {
        (self.handles / 10).max(1)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it wrote more than {} bytes to files{}", .0.value, .0.origin())]
pub(crate) struct WroteTooMuch(pub(crate) Bound<u64>);

/// A resource that the host refused to an instance. Guests rarely report the reason for a failure,
/// so the refusal is reported with the subsequent trap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    Memory { wanted: usize, limit: Bound<usize> },
    TableElements { wanted: usize, limit: usize },
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Memory { wanted, limit } => {
                let (most, origin) = (limit.value, limit.origin());
                write!(f, "it requested {wanted} bytes of memory; the limit is {most} bytes{origin}")
            }
            Self::TableElements { wanted, limit } => {
                write!(f, "it requested {wanted} table elements; the limit is {limit}")
            }
        }
    }
}

/// Counts the memories and tables of a store together. Therefore, the limit for many small memories
/// is the same as for a large memory.
#[derive(Debug)]
pub(crate) struct MemoryLimiter {
    memory: usize,
    memory_limit: Bound<usize>,
    table_elements: usize,
    table_elements_limit: usize,
    parts: usize,
    refusal: Option<Refusal>,
}

impl MemoryLimiter {
    pub(crate) fn new(limits: &EffectiveLimits) -> Self {
        Self {
            memory: 0,
            memory_limit: limits.memory.clone(),
            table_elements: 0,
            table_elements_limit: limits.table_elements,
            parts: limits.parts,
            refusal: None,
        }
    }

    pub(crate) fn take_refusal(&mut self) -> Option<Refusal> {
        self.refusal.take()
    }
}

impl ResourceLimiter for MemoryLimiter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let wanted = self.memory.saturating_sub(current).saturating_add(desired);
        if wanted > self.memory_limit.value {
            self.refusal = Some(Refusal::Memory { wanted, limit: self.memory_limit.clone() });
            return Ok(false);
        }
        self.memory = wanted;
        Ok(true)
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let wanted = self.table_elements.saturating_sub(current).saturating_add(desired);
        if wanted > self.table_elements_limit {
            self.refusal = Some(Refusal::TableElements { wanted, limit: self.table_elements_limit });
            return Ok(false);
        }
        self.table_elements = wanted;
        Ok(true)
    }

    fn instances(&self) -> usize {
        self.parts
    }

    fn tables(&self) -> usize {
        self.parts
    }

    fn memories(&self) -> usize {
        self.parts
    }
}

#[cfg(test)]
mod tests {
    use wardian_address::ProviderAddress;
    use wardian_diagnostic::SourceFile;
    use wardian_policy::{Level, Policy, PolicyFile};

    use super::*;

    fn effective(limits: &SandboxLimits, policy: &[(Level, &str)]) -> EffectiveLimits {
        let root = std::path::Path::new("/srv/project");
        let file = |(level, limits): &(Level, &str)| {
            let text = format!("otherwise = \"defer\"\nplugin \"*\" {{\n  limits {{\n{limits}\n  }}\n}}\n");
            PolicyFile::parse(*level, &SourceFile::new("p.hcl", text), root).unwrap()
        };
        let files: Vec<_> = policy.iter().map(file).collect();
        let address = ProviderAddress::parse("acme/x").unwrap();
        EffectiveLimits::new(limits, &Policy::new(root, files, []).for_plugin(&address))
    }

    #[test]
    fn root_module_lowers_and_user_policy_raises_limits() {
        let host = SandboxLimits { memory: 100 << 20, ..SandboxLimits::default() };
        let memory = |policy: &[(Level, &str)]| {
            let memory = effective(&host, policy).memory;
            (memory.value >> 20, memory.set_at.map(|location| location.line))
        };
        let (small, large) = ("memory = \"50 MiB\"", "memory = \"200 MiB\"");
        assert_eq!(memory(&[]), (100, None));
        assert_eq!(memory(&[(Level::RootModule, small)]), (50, Some(4)));
        assert_eq!(memory(&[(Level::RootModule, large)]), (100, None));
        assert_eq!(memory(&[(Level::Organisation, large)]), (200, Some(4)));
        assert_eq!(memory(&[(Level::User, large)]), (200, Some(4)));
        assert_eq!(memory(&[(Level::Organisation, large), (Level::RootModule, small)]), (50, Some(4)));
        assert_eq!(memory(&[(Level::Organisation, small), (Level::User, large)]), (50, Some(4)));
    }

    #[test]
    fn wall_time_limit_applies_to_all_calls() {
        let limits = effective(&SandboxLimits::default(), &[(Level::RootModule, "wall_time = \"1s\"")]);
        let second = Duration::from_secs(1);
        assert_eq!((limits.local_call.value, limits.remote_call.value), (second, second));
        let limits = effective(&SandboxLimits::default(), &[(Level::User, "wall_time = \"10h\"")]);
        assert_eq!(limits.remote_call.value, Duration::from_hours(10));
        assert_eq!(limits.local_call, Bound::of_host(SandboxLimits::default().local_call));
    }

    #[test]
    fn many_small_memories_share_one_limit() {
        let mut budget =
            MemoryLimiter::new(&effective(&SandboxLimits { memory: 100, ..SandboxLimits::default() }, &[]));
        assert!(budget.memory_growing(0, 60, None).unwrap());
        assert!(!budget.memory_growing(0, 60, None).unwrap());
        assert_eq!(budget.take_refusal(), Some(Refusal::Memory { wanted: 120, limit: Bound::of_host(100) }));
        assert!(budget.memory_growing(60, 100, None).unwrap());
        assert_eq!(budget.take_refusal(), None);
    }

    #[test]
    fn tables_of_large_sdks_are_within_limits() {
        let mut budget = MemoryLimiter::new(&effective(&SandboxLimits::default(), &[]));
        assert!(budget.table_growing(0, 65_536, None).unwrap());
        assert!(!budget.table_growing(65_536, usize::MAX, None).unwrap());
    }
}
