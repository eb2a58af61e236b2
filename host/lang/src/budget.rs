//! Limits the size of the values that evaluations produce.
//!
//! A short expression can describe more values than fit in memory. Therefore, each evaluation
//! counts the bytes that it produces, and compares the size of each value with a limit; a shared
//! part is counted once per occurrence. A [`Budget`] belongs to a run and also counts the bytes of
//! all evaluations together; a [`Scope`](crate::Scope) provides it. Counting costs one addition for
//! each collection and each function call.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use wardian_diagnostic::{Diagnostic, Span};
use wardian_value::Value;

/// Bytes that an element of a list or tuple occupies, including its type.
pub(crate) const ELEMENT: u64 = 120;
/// Bytes that an element of a map or an attribute of an object occupies, including its type and
/// key.
pub(crate) const ENTRY: u64 = 192;
/// Minimum number of bytes that an instance of a resource or module occupies.
const INSTANCE: u64 = 1_024;

/// The maximum sizes of values, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvaluationLimits {
    /// The maximum number of bytes that one evaluation may produce. Also the maximum size of a
    /// value with all its parts; a shared part is counted once per occurrence.
    pub expression: u64,
    /// The maximum number of bytes that all evaluations of a run may produce.
    pub total: u64,
    /// The source of these limits, and advice for changing them, for messages.
    pub origin: Box<str>,
}

impl Default for EvaluationLimits {
    fn default() -> Self {
        Self { expression: 1 << 30, total: 8 << 30, origin: Box::default() }
    }
}

/// The number of bytes that the evaluations of a run may still produce.
#[derive(Debug, Default)]
pub struct Budget {
    limits: EvaluationLimits,
    used: AtomicU64,
    stopped: OnceLock<Arc<AtomicBool>>,
}

impl Budget {
    pub fn new(limits: EvaluationLimits) -> Self {
        Self { limits, used: AtomicU64::new(0), stopped: OnceLock::new() }
    }

    /// Sets a flag that ends all evaluations with an error as soon as they produce a value. A
    /// second flag has no effect.
    pub fn end_with(&self, flag: Arc<AtomicBool>) {
        let _ = self.stopped.set(flag);
    }

    /// Returns the number of bytes that all evaluations have produced so far.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Counts a value that is encoded in full, for example into a plan.
    ///
    /// # Errors
    /// Returns an error if the sum of all counted bytes exceeds the limit.
    pub fn spend_value(&self, value: &Value, place: &Span) -> Result<(), Diagnostic> {
        self.spend(value.expanded_size(), place)
    }

    /// Counts instances of a resource or a module.
    ///
    /// # Errors
    /// Returns an error if the sum of all counted bytes exceeds the limit.
    pub fn spend_instances(&self, number: u64, place: &Span) -> Result<(), Diagnostic> {
        self.spend(number.saturating_mul(INSTANCE), place)
    }

    fn spend(&self, bytes: u64, place: &Span) -> Result<(), Diagnostic> {
        self.record(bytes);
        match self.exceeded(0) {
            Some(exceeded) => Err(self.diagnostic(exceeded).at(place.clone())),
            None => Ok(()),
        }
    }

    /// Adds the bytes that an evaluation has produced.
    pub(crate) fn record(&self, bytes: u64) {
        // The sum saturates: if it wrapped, it would be small.
        let _ = self
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| Some(used.saturating_add(bytes)));
    }

    /// Returns the limit that an evaluation exceeds if it has produced this many bytes; `None` if
    /// no limit is exceeded.
    pub(crate) fn exceeded(&self, bytes: u64) -> Option<Exceeded> {
        if self.stopped.get().is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            Some(Exceeded::Stopped)
        } else if bytes > self.limits.expression {
            Some(Exceeded::Expression)
        } else if self.used().saturating_add(bytes) > self.limits.total {
            Some(Exceeded::Total)
        } else {
            None
        }
    }

    /// Returns whether a value with all its parts is larger than the limit.
    pub(crate) fn is_too_large(&self, value: &Value) -> bool {
        value.expanded_size() > self.limits.expression
    }

    /// Returns the number of bytes that an evaluation may still produce.
    pub(crate) fn remaining(&self, bytes: u64) -> u64 {
        let total = self.limits.total.saturating_sub(self.used());
        self.limits.expression.min(total).saturating_sub(bytes)
    }

    pub(crate) fn diagnostic(&self, exceeded: Exceeded) -> Diagnostic {
        let EvaluationLimits { expression, total, origin } = &self.limits;
        let detail = match exceeded {
            Exceeded::Expression => format!(
                "The values that this expression produces exceed {}, the memory limit for a single \
                 expression.",
                Size(*expression)
            ),
            Exceeded::Value => format!(
                "The value of this expression exceeds {}, the memory limit for a single expression, if \
                 values that occur several times are counted each time.",
                Size(*expression)
            ),
            Exceeded::Total => format!(
                "With this expression, the values of this run exceed {}, the memory limit for all \
                 expressions in total.",
                Size(*total)
            ),
            Exceeded::Stopped => {
                return Diagnostic::error(
                    "Evaluation stopped",
                    "The run was stopped during this evaluation.",
                );
            }
        };
        let origin = if origin.is_empty() { String::new() } else { format!(" {origin}") };
        Diagnostic::error("Evaluation limit exceeded", format!("{detail}{origin}"))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exceeded {
    Expression,
    /// The limit of an expression, exceeded by a value with shared parts.
    Value,
    Total,
    Stopped,
}

/// A byte count, formatted in human-readable units.
struct Size(u64);

impl fmt::Display for Size {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
        match units.into_iter().find(|(shift, _)| self.0 >= 1 << shift && self.0.trailing_zeros() >= *shift) {
            Some((shift, unit)) => write!(formatter, "{} {unit}", self.0 >> shift),
            None => write!(formatter, "{} bytes", self.0),
        }
    }
}

/// The maximum number of bytes of a function's result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowance(pub(crate) u64);

impl Allowance {
    /// Returns true if a result of this many parts, each of this many bytes, is allowed.
    pub(crate) fn permits(self, parts: usize, bytes: u64) -> bool {
        u64::try_from(parts).unwrap_or(u64::MAX).saturating_mul(bytes) <= self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(expression: u64, total: u64) -> Budget {
        Budget::new(EvaluationLimits { expression, total, origin: "Set in p.hcl:1.".into() })
    }

    #[test]
    fn expression_and_total_limits_are_enforced() {
        let budget = budget(1 << 20, 3 << 20);
        assert_eq!(budget.exceeded(1 << 20), None);
        assert_eq!(budget.exceeded((1 << 20) + 1), Some(Exceeded::Expression));
        budget.record(5 << 19);
        assert_eq!(budget.remaining(0), 1 << 19);
        assert_eq!(budget.exceeded(1 << 20), Some(Exceeded::Total));
        budget.record(u64::MAX);
        assert_eq!(budget.used(), u64::MAX);
        budget.end_with(Arc::new(AtomicBool::new(true)));
        assert_eq!(budget.exceeded(0), Some(Exceeded::Stopped));
    }

    #[test]
    fn messages_name_the_limit_and_its_origin() {
        let budget = budget(3 << 19, 1 << 30);
        let text = |exceeded| budget.diagnostic(exceeded).detail;
        assert!(text(Exceeded::Expression).contains("1536 KiB"));
        assert!(text(Exceeded::Total).contains("1 GiB"));
        assert!(text(Exceeded::Value).ends_with("Set in p.hcl:1."));
    }
}
