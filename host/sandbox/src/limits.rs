//! How much a plugin may use, per instance and per call.
//!
//! Two clocks bound a call. Epochs bound what it computes: they fire only while
//! the guest's own code runs. The wall clock bounds everything, waiting in the
//! host included. Each tick also yields to the executor, so that a guest that
//! computes cannot keep the wall clock, or a cancellation, from being noticed.

use std::time::Duration;

use wasmtime::{ResourceLimiter, UpdateDeadline};

use crate::ticker::TICK;

/// Limits of one instance and of each call on it.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Time that a call may compute.
    pub computation: Duration,
    /// Time for calls that reach nothing outside: schemas, validation, state
    /// upgrades, moves, functions.
    pub local_call: Duration,
    /// Time for calls that may wait for a remote system.
    pub remote_call: Duration,
    /// Bytes of all linear memories of an instance together.
    pub memory: usize,
    /// Elements of all tables of an instance together.
    pub table_elements: usize,
    /// Core instances, memories and tables, each.
    pub parts: usize,
    /// Handles to resources that an instance may hold at a time; of the host's
    /// resources (open files, streams) it may hold a tenth of that.
    pub handles: usize,
    /// Bytes that cross from the guest to the host in one answer or host call.
    pub answer: usize,
    /// Bytes of log lines and standard output that are kept of one call.
    pub output: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
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

impl Limits {
    pub(crate) fn host_handles(&self) -> usize {
        (self.handles / 10).max(1)
    }
}

/// What an instance asked for and was not given. Guests seldom say why they gave
/// up, so this is told with the trap that follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    Memory { wanted: usize, limit: usize },
    TableElements { wanted: usize, limit: usize },
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Memory { wanted, limit } => {
                write!(f, "it asked for {wanted} bytes of memory; its limit is {limit} bytes")
            }
            Self::TableElements { wanted, limit } => {
                write!(f, "it asked for {wanted} table elements; its limit is {limit}")
            }
        }
    }
}

/// Counts memories and tables of a store together, so that many small ones are
/// bounded like one large one.
#[derive(Debug)]
pub(crate) struct SpaceBudget {
    memory: usize,
    memory_limit: usize,
    table_elements: usize,
    table_elements_limit: usize,
    parts: usize,
    refusal: Option<Refusal>,
}

impl SpaceBudget {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            memory: 0,
            memory_limit: limits.memory,
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

impl ResourceLimiter for SpaceBudget {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let wanted = self.memory.saturating_sub(current).saturating_add(desired);
        if wanted > self.memory_limit {
            self.refusal = Some(Refusal::Memory { wanted, limit: self.memory_limit });
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

/// The call computed for too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it computed for longer than {0:?}")]
pub(crate) struct OutOfTime(pub(crate) Duration);

/// Counts the ticks during which one call computed.
#[derive(Debug)]
pub(crate) struct ComputationClock {
    limit: Duration,
    left: Duration,
}

impl ComputationClock {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self { limit: limits.computation, left: limits.computation }
    }

    pub(crate) fn restart(&mut self) {
        self.left = self.limit;
    }

    /// To be called by the epoch's callback, once a tick.
    pub(crate) fn tick(&mut self) -> wasmtime::Result<UpdateDeadline> {
        match self.left.checked_sub(TICK) {
            Some(left) => {
                self.left = left;
                Ok(UpdateDeadline::Yield(1))
            }
            None => Err(wasmtime::Error::new(OutOfTime(self.limit))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_small_memories_count_as_one_large_one() {
        let mut budget = SpaceBudget::new(&Limits { memory: 100, ..Limits::default() });
        assert!(budget.memory_growing(0, 60, None).unwrap());
        assert!(!budget.memory_growing(0, 60, None).unwrap());
        assert_eq!(budget.take_refusal(), Some(Refusal::Memory { wanted: 120, limit: 100 }));
        assert!(budget.memory_growing(60, 100, None).unwrap());
        assert_eq!(budget.take_refusal(), None);
    }

    #[test]
    fn tables_of_big_sdks_fit() {
        let mut budget = SpaceBudget::new(&Limits::default());
        assert!(budget.table_growing(0, 65_536, None).unwrap());
        assert!(!budget.table_growing(65_536, usize::MAX, None).unwrap());
    }

    #[test]
    fn a_call_may_compute_for_its_limit_and_no_longer() {
        let mut clock = ComputationClock::new(&Limits { computation: 2 * TICK, ..Limits::default() });
        for _ in 0..2 {
            assert!(clock.tick().is_ok());
            assert!(clock.tick().is_ok());
            assert!(clock.tick().err().is_some_and(|error| error.is::<OutOfTime>()));
            clock.restart();
        }
    }
}
