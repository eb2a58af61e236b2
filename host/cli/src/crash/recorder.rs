//! Records what the process does, for the report of a crash: the names of spans with the addresses
//! and functions in their fields, and the shape of the configuration. Events are not recorded,
//! because their messages can contain values.
//!
//! Without log settings, [`start`] installs a subscriber that does nothing else. Only spans of the
//! level INFO are enabled, and each costs a few hundred nanoseconds.

use std::collections::VecDeque;
use std::fmt::{self, Write as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;
use wardian_app::CONFIGURATION_TARGET;

/// Maximum number of recorded operations.
const MAX_OPERATIONS: usize = 64;

static RECORDED: Mutex<Option<Recorded>> = Mutex::new(None);

/// What the process has done so far.
struct Recorded {
    started: Instant,
    configuration: String,
    operations: VecDeque<String>,
}

impl Recorded {
    fn new() -> Self {
        Self {
            started: Instant::now(),
            configuration: String::new(),
            operations: VecDeque::with_capacity(MAX_OPERATIONS),
        }
    }
}

/// A copy of the record.
#[derive(Debug, Default)]
pub(super) struct LastOperations {
    pub(super) configuration: String,
    pub(super) operations: String,
}

impl LastOperations {
    pub(super) fn recorded() -> Self {
        // A crash while the record is locked must not wait for itself.
        let Ok(recorded) = RECORDED.try_lock() else { return Self::default() };
        let Some(recorded) = recorded.as_ref() else { return Self::default() };
        let operations: Vec<&str> = recorded.operations.iter().map(String::as_str).collect();
        Self { configuration: recorded.configuration.clone(), operations: operations.join("\n") }
    }
}

fn record(change: impl FnOnce(&mut Recorded)) {
    let mut recorded: MutexGuard<'_, Option<Recorded>> =
        RECORDED.lock().unwrap_or_else(PoisonError::into_inner);
    change(recorded.get_or_insert_with(Recorded::new));
}

fn record_span(attributes: &Attributes<'_>) {
    let mut fields = Fields(String::new());
    attributes.record(&mut fields);
    let name = attributes.metadata().name();
    record(|recorded| {
        if recorded.operations.len() == MAX_OPERATIONS {
            recorded.operations.pop_front();
        }
        let seconds = recorded.started.elapsed().as_secs_f64();
        recorded.operations.push_back(format!("{seconds:.3} s: {name}{}", fields.0));
    });
}

fn record_event(event: &Event<'_>) {
    let mut fields = Fields(String::new());
    event.record(&mut fields);
    record(|recorded| recorded.configuration = fields.0);
}

fn is_recorded(metadata: &Metadata<'_>) -> bool {
    let is_ours = metadata.target().starts_with("wardian") && *metadata.level() <= Level::INFO;
    is_ours && (metadata.is_span() || metadata.target() == CONFIGURATION_TARGET)
}

/// Writes fields as text.
struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a string does not fail.
        let _ = if field.name() == "shape" {
            write!(self.0, "{value:?}")
        } else {
            write!(self.0, " {}={value:?}", field.name())
        };
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        let _ = write!(self.0, " {}={value}", field.name());
    }
}

/// Records spans, if no logging was requested.
pub(crate) fn start() {
    // Another subscriber has already been set only in tests.
    let _ = tracing::subscriber::set_global_default(Recorder { next: AtomicU64::new(1) });
}

/// Returns a layer that records spans, for the subscriber that writes a log.
pub(crate) fn layer<S: Subscriber + for<'span> LookupSpan<'span>>() -> impl Layer<S> {
    RecorderLayer.with_filter(tracing_subscriber::filter::filter_fn(is_recorded))
}

struct Recorder {
    next: AtomicU64,
}

impl Subscriber for Recorder {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        is_recorded(metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::INFO)
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        record_span(attributes);
        Id::from_u64(self.next.fetch_add(1, Ordering::Relaxed))
    }

    fn record(&self, _span: &Id, _values: &Record<'_>) {}

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn event(&self, event: &Event<'_>) {
        record_event(event);
    }

    fn enter(&self, _span: &Id) {}

    fn exit(&self, _span: &Id) {}
}

struct RecorderLayer;

impl<S: Subscriber> Layer<S> for RecorderLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, _id: &Id, _context: Context<'_, S>) {
        record_span(attributes);
    }

    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        record_event(event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_spans_are_recorded_without_events() {
        tracing::subscriber::with_default(Recorder { next: AtomicU64::new(1) }, || {
            for number in 0..MAX_OPERATIONS {
                let _span = tracing::info_span!(target: "wardian::graph", "operation", node = %number);
            }
            let _span = tracing::info_span!(target: "wardian::graph", "last", node = "a.b");
            tracing::info!(target: "wardian::graph", "a value");
            tracing::info!(target: CONFIGURATION_TARGET, shape = %"1 resource");
        });
        let recorded = LastOperations::recorded();
        assert_eq!(recorded.operations.lines().count(), MAX_OPERATIONS);
        assert!(recorded.operations.ends_with("last node=a.b"), "{}", recorded.operations);
        assert!(!recorded.operations.contains("a value"));
        assert_eq!(recorded.configuration, "1 resource");
    }
}
