//! Collects the spans of a run.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use crate::settings::TraceSettings;

/// Maximum number of spans that a run collects.
pub const MAX_SPANS: usize = 100_000;

/// Collects spans for one export. Clones share the spans.
#[derive(Clone)]
pub struct SpanCollector {
    pub(crate) settings: Arc<TraceSettings>,
    pub(crate) trace: u128,
    pub(crate) collected: Arc<Mutex<Collected>>,
}

/// The spans that have ended.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    pub(crate) spans: Vec<Span>,
    /// The number of spans that exceed the maximum.
    pub(crate) dropped: u64,
}

/// A span, with the times of its start and end.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    pub(crate) id: u64,
    pub(crate) parent: Option<u64>,
    pub(crate) name: &'static str,
    pub(crate) start: SystemTime,
    pub(crate) end: SystemTime,
    pub(crate) attributes: Vec<(&'static str, AttributeValue)>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum AttributeValue {
    Text(String),
    Integer(i64),
    Bool(bool),
    Float(f64),
}

impl SpanCollector {
    /// Creates a collector for a new trace, or for the trace of the process that started this process.
    ///
    /// # Errors
    /// Returns an error if the system has no source of randomness.
    pub fn new(settings: TraceSettings) -> Result<Self, getrandom::Error> {
        let trace = match settings.parent {
            Some(parent) => parent.trace,
            None => {
                let mut bytes = [0; 16];
                getrandom::fill(&mut bytes)?;
                // The identifier zero is invalid.
                u128::from_be_bytes(bytes).max(1)
            }
        };
        Ok(Self { settings: Arc::new(settings), trace, collected: Arc::default() })
    }

    /// Returns the layer that collects the spans of Wardian.
    pub fn layer<S: Subscriber + for<'span> LookupSpan<'span>>(&self) -> impl Layer<S> + use<S> {
        SpanLayer { collector: self.clone() }.with_filter(filter_fn(|metadata| {
            metadata.is_span()
                && metadata.target().starts_with("wardian")
                && *metadata.level() <= Level::DEBUG
        }))
    }

    /// Removes and returns the collected spans.
    pub(crate) fn take(&self) -> Collected {
        std::mem::take(&mut *self.collected.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn add(&self, span: Span) {
        let mut collected = self.collected.lock().unwrap_or_else(PoisonError::into_inner);
        if collected.spans.len() < MAX_SPANS {
            collected.spans.push(span);
        } else {
            collected.dropped += 1;
        }
    }
}

struct SpanLayer {
    collector: SpanCollector,
}

impl<S: Subscriber + for<'span> LookupSpan<'span>> Layer<S> for SpanLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let parent = span.parent().and_then(|parent| Some(parent.extensions().get::<Span>()?.id));
        let parent = parent.or(self.collector.settings.parent.map(|parent| parent.span));
        let now = SystemTime::now();
        let mut bytes = [0; 8];
        // Without randomness, the span ID is unique only within the run.
        let random = getrandom::fill(&mut bytes).map_or(id.into_u64(), |()| u64::from_be_bytes(bytes));
        let mut collected = Span {
            id: random.max(1),
            parent,
            name: attributes.metadata().name(),
            start: now,
            end: now,
            attributes: Vec::new(),
        };
        attributes.record(&mut Fields(&mut collected.attributes));
        span.extensions_mut().insert(collected);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(collected) = span.extensions_mut().get_mut::<Span>()
        {
            values.record(&mut Fields(&mut collected.attributes));
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        if let Some(span) = context.span(&id)
            && let Some(mut collected) = span.extensions_mut().remove::<Span>()
        {
            collected.end = SystemTime::now();
            self.collector.add(collected);
        }
    }
}

/// Appends fields to attributes.
struct Fields<'span>(&'span mut Vec<(&'static str, AttributeValue)>);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.push((field.name(), AttributeValue::Text(format!("{value:?}"))));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.push((field.name(), AttributeValue::Text(value.to_owned())));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.push((field.name(), AttributeValue::Integer(value)));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.push((field.name(), AttributeValue::Integer(i64::try_from(value).unwrap_or(i64::MAX))));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.push((field.name(), AttributeValue::Bool(value)));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.0.push((field.name(), AttributeValue::Float(value)));
    }
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    #[test]
    fn spans_have_parents_and_attributes() {
        let variable = |name: &str| match name {
            "OTEL_TRACES_EXPORTER" => Some("otlp".to_owned()),
            "TRACEPARENT" => Some("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".to_owned()),
            _ => None,
        };
        let settings = TraceSettings::from_variables(variable).unwrap().unwrap();
        let collector = SpanCollector::new(settings).unwrap();
        let subscriber = tracing_subscriber::registry().with(collector.layer());
        tracing::subscriber::with_default(subscriber, || {
            let outer =
                tracing::info_span!(target: "wardian::a", "outer", text = "x", bytes = tracing::field::Empty);
            outer.record("bytes", 7_u64);
            let _outer = outer.enter();
            drop(tracing::info_span!(target: "wardian::a", "inner"));
            drop(tracing::info_span!(target: "another", "foreign"));
        });
        let spans = collector.take().spans;
        let [inner, outer] = &spans[..] else { panic!("{spans:?}") };
        assert_eq!((inner.name, inner.parent), ("inner", Some(outer.id)));
        assert_eq!(outer.parent, Some(0xb7ad_6b71_6920_3331));
        let expected = [("text", AttributeValue::Text("x".into())), ("bytes", AttributeValue::Integer(7))];
        assert_eq!(outer.attributes, expected);
    }
}
