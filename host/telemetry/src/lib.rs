//! Traces for OpenTelemetry: collects the spans of a run, and sends them to a collector.
//!
//! [`TraceSettings`] contains the standard environment variables. [`SpanCollector::layer`] collects
//! spans while a command runs; [`SpanCollector::export`] sends them in OTLP, encoded as JSON, over
//! the HTTP client of `wardian-network`. `docs/design/012-traces.md` explains why no OpenTelemetry
//! library is used.
//!
//! Invariants:
//! - only fields of spans are sent, never messages of events, which can contain values;
//! - an export never delays a command by more than its time limit, and a failure is returned as an
//!   error that does not change the result of the command;
//! - at most [`MAX_SPANS`] spans are collected; for all other spans, only their number is sent.

mod collector;
mod export;
mod otlp;
mod settings;

pub use collector::{MAX_SPANS, SpanCollector};
pub use export::ExportError;
pub use settings::{TraceParent, TraceSettings, TraceSettingsError};
