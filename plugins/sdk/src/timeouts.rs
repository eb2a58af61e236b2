//! Operation timeouts that users configure.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::duration::GoDuration;
use crate::{Attribute, Block, Diagnostic, Diagnostics, Result, clock, run, validate};

/// The `timeouts` of a resource: an optional nested attribute or block with a duration for each
/// operation, such as `"30m"`.
///
/// The type of the state has the field `timeouts: Option<Timeouts>`. In an operation,
/// `Timeouts::create(state.timeouts.as_ref(), default)?` returns the [`Deadline`].
///
/// ```
/// use std::time::Duration;
///
/// use serde::{Deserialize, Serialize};
/// use wardian_sdk::{Schema, Timeouts};
///
/// #[derive(Serialize, Deserialize, Schema)]
/// struct Server {
///     name: String,
///     #[attr(timeouts(create))]
///     timeouts: Option<Timeouts>,
/// }
///
/// fn deadline(plan: &Server) -> wardian_sdk::Result<wardian_sdk::Deadline> {
///     Timeouts::create(plan.timeouts.as_ref(), Duration::from_secs(600))
/// }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeouts {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    create: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    read: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    update: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    delete: Option<String>,
}

impl Timeouts {
    /// Creates the nested attribute `timeouts = { create = "30m" }`. `operations` contains any of
    /// `create`, `read`, `update` and `delete`.
    pub fn attribute(operations: &[&str]) -> Attribute {
        Attribute::nested("timeouts", members(operations))
    }

    /// Creates the block `timeouts { create = "30m" }` for these operations.
    pub fn block(operations: &[&str]) -> Block {
        Block::single("timeouts").attributes(members(operations))
    }

    /// Returns the deadline of a create operation.
    pub fn create(timeouts: Option<&Self>, default: Duration) -> Result<Deadline> {
        deadline(timeouts.and_then(|t| t.create.as_deref()), "create", default)
    }

    /// Returns the deadline of a read operation.
    pub fn read(timeouts: Option<&Self>, default: Duration) -> Result<Deadline> {
        deadline(timeouts.and_then(|t| t.read.as_deref()), "read", default)
    }

    /// Returns the deadline of an update operation.
    pub fn update(timeouts: Option<&Self>, default: Duration) -> Result<Deadline> {
        deadline(timeouts.and_then(|t| t.update.as_deref()), "update", default)
    }

    /// Returns the deadline of a delete operation.
    pub fn delete(timeouts: Option<&Self>, default: Duration) -> Result<Deadline> {
        deadline(timeouts.and_then(|t| t.delete.as_deref()), "delete", default)
    }
}

fn members(operations: &[&str]) -> Vec<Attribute> {
    let duration = validate::custom(|value| {
        let text = value.as_str().unwrap_or_default();
        match GoDuration::parse(text).map(GoDuration::to_std) {
            Ok(Some(_)) => Ok(()),
            Ok(None) => Err("must not be negative".to_owned()),
            Err(error) => Err(format!("must be a duration such as \"30s\" or \"2h45m\" ({error})")),
        }
    });
    let duration = std::rc::Rc::new(duration);
    operations
        .iter()
        .map(|operation| {
            let duration = std::rc::Rc::clone(&duration);
            Attribute::string(*operation)
                .description(format!("How long {operation} may take, such as `30s` or `2h45m`."))
                .validate(validate::custom_with_context(move |check, diagnostics| {
                    duration.run(check, diagnostics);
                }))
        })
        .collect()
}

fn deadline(text: Option<&str>, operation: &str, default: Duration) -> Result<Deadline> {
    let Some(text) = text else { return Ok(Deadline::after(default)) };
    let parsed = GoDuration::parse(text).map(GoDuration::to_std);
    match parsed {
        Ok(Some(duration)) => Ok(Deadline::after(duration)),
        _ => Err(Diagnostic::error("Invalid timeout", format!("The timeout of {operation} is {text:?}."))
            .at_attribute("timeouts")
            .into()),
    }
}

/// The time by which an operation must finish.
///
/// ```
/// use std::time::Duration;
/// use wardian_sdk::Deadline;
/// use wardian_sdk::testing::{TestClock, with_clock};
///
/// with_clock(&TestClock::new(), || {
///     let deadline = Deadline::after(Duration::from_secs(60));
///     assert!(deadline.sleep(Duration::from_secs(30), "waiting for the server").is_ok());
///     assert!(deadline.remaining() <= Duration::from_secs(30));
/// });
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    start: Instant,
    allowed: Duration,
}

impl Deadline {
    /// Creates a deadline that passes after the given duration.
    pub fn after(allowed: Duration) -> Self {
        Self { start: clock::now(), allowed }
    }

    /// Returns the remaining time.
    pub fn remaining(&self) -> Duration {
        self.allowed.saturating_sub(clock::now().saturating_duration_since(self.start))
    }

    /// Returns an error if the deadline has passed. `doing` describes the current step in the
    /// message.
    pub fn check(&self, doing: &str) -> Result<()> {
        if self.remaining().is_zero() { Err(self.over(doing)) } else { Ok(()) }
    }

    /// Sleeps, but not beyond the deadline. Returns an error if the deadline has passed, or if the run is
    /// interrupted.
    pub fn sleep(&self, duration: Duration, doing: &str) -> Result<()> {
        let remaining = self.remaining();
        run::sleep(duration.min(remaining))?;
        if duration < remaining { Ok(()) } else { Err(self.over(doing)) }
    }

    fn over(&self, doing: &str) -> Diagnostics {
        let allowed =
            GoDuration::from_nanoseconds(i64::try_from(self.allowed.as_nanos()).unwrap_or(i64::MAX));
        Diagnostics::error("Timeout", format!("Timed out after {allowed} while {doing}."))
    }
}
