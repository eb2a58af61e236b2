//! Records the operations of the process for the crash report: the names of spans with the
//! addresses and functions in their fields, and the shape of the configuration. Events are not
//! recorded, because their messages can contain values.
//!
//! Without log settings, [`start`] installs a subscriber that does nothing else. Only spans of the
//! level INFO are enabled, and recording one does not allocate memory.

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

/// The operations of the process so far.
struct Recorded {
    started: Instant,
    configuration: String,
    /// A ring buffer of the last operations. It reuses the memory of their texts.
    operations: Vec<Operation>,
    /// The number of operations so far.
    count: usize,
}

struct Operation {
    at: Instant,
    name: &'static str,
    fields: String,
}

impl Recorded {
    fn new() -> Self {
        let started = Instant::now();
        let operations =
            (0..MAX_OPERATIONS).map(|_| Operation { at: started, name: "", fields: String::new() }).collect();
        Self { started, configuration: String::new(), operations, count: 0 }
    }

    fn add(&mut self, attributes: &Attributes<'_>) {
        let Some(operation) = self.operations.get_mut(self.count % MAX_OPERATIONS) else { return };
        self.count += 1;
        operation.at = Instant::now();
        operation.name = attributes.metadata().name();
        operation.fields.clear();
        attributes.record(&mut Fields(&mut operation.fields));
    }

    /// Returns the last operations as text, the oldest first.
    fn text(&self) -> String {
        let (newer, older) = self.operations.split_at(self.count % MAX_OPERATIONS);
        let mut text = String::new();
        for Operation { at, name, fields } in older.iter().chain(newer).filter(|one| !one.name.is_empty()) {
            let seconds = at.duration_since(self.started).as_secs_f64();
            // Writing to a string does not fail.
            let _ = writeln!(text, "{seconds:.3} s: {name}{fields}");
        }
        text
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
        // If the crash occurred while the record was locked, waiting for the lock could deadlock.
        let Ok(recorded) = RECORDED.try_lock() else { return Self::default() };
        let Some(recorded) = recorded.as_ref() else { return Self::default() };
        Self { configuration: recorded.configuration.clone(), operations: recorded.text() }
    }
}

fn record(change: impl FnOnce(&mut Recorded)) {
    let mut recorded: MutexGuard<'_, Option<Recorded>> =
        RECORDED.lock().unwrap_or_else(PoisonError::into_inner);
    change(recorded.get_or_insert_with(Recorded::new));
}

fn record_span(attributes: &Attributes<'_>) {
    record(|recorded| recorded.add(attributes));
}

fn record_event(event: &Event<'_>) {
    record(|recorded| {
        recorded.configuration.clear();
        event.record(&mut Fields(&mut recorded.configuration));
    });
}

fn is_recorded(metadata: &Metadata<'_>) -> bool {
    let is_ours = metadata.target().starts_with("wardian") && *metadata.level() <= Level::INFO;
    is_ours && (metadata.is_span() || metadata.target() == CONFIGURATION_TARGET)
}

/// Appends fields to a text.
struct Fields<'text>(&'text mut String);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() != "shape" {
            self.record_str(field, "");
        }
        // Writing to a string does not fail.
        let _ = write!(self.0, "{value:?}");
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.push(' ');
        self.0.push_str(field.name());
        self.0.push('=');
        self.0.push_str(value);
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
        assert!(recorded.operations.ends_with("last node=a.b\n"), "{}", recorded.operations);
        assert!(!recorded.operations.contains("a value"));
        assert_eq!(recorded.configuration, "1 resource");
    }
}
