//! The JSON encoding of an `ExportTraceServiceRequest`.
//!
//! According to the OpenTelemetry protocol 1.7, identifiers are hexadecimal, 64-bit integers are
//! strings, and enumerations are numbers.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::collector::{AttributeValue, Span};

/// The kind of a span within one process.
const SPAN_KIND_INTERNAL: u8 = 1;

/// Returns the body of one request.
pub(crate) fn request(trace: u128, resource: &[(String, String)], version: &str, spans: &[Span]) -> Vec<u8> {
    let resource: Vec<Value> = resource
        .iter()
        .map(|(name, value)| json!({ "key": name, "value": { "stringValue": value } }))
        .collect();
    let spans: Vec<Value> = spans.iter().map(|one| span(trace, one)).collect();
    let request = json!({
        "resourceSpans": [{
            "resource": { "attributes": resource },
            "scopeSpans": [{ "scope": { "name": "wardian", "version": version }, "spans": spans }],
        }],
    });
    request.to_string().into_bytes()
}

fn span(trace: u128, span: &Span) -> Value {
    let attributes: Vec<Value> = span
        .attributes
        .iter()
        .map(|(name, value)| json!({ "key": format!("wardian.{name}"), "value": attribute(value) }))
        .collect();
    let mut encoded = json!({
        "traceId": format!("{trace:032x}"),
        "spanId": format!("{:016x}", span.id),
        "name": span.name,
        "kind": SPAN_KIND_INTERNAL,
        "startTimeUnixNano": nanoseconds(span.start),
        "endTimeUnixNano": nanoseconds(span.end),
        "attributes": attributes,
    });
    if let Some(parent) = span.parent {
        encoded["parentSpanId"] = Value::String(format!("{parent:016x}"));
    }
    encoded
}

fn attribute(value: &AttributeValue) -> Value {
    match value {
        AttributeValue::Text(text) => json!({ "stringValue": text }),
        AttributeValue::Integer(number) => json!({ "intValue": number.to_string() }),
        AttributeValue::Bool(value) => json!({ "boolValue": value }),
        AttributeValue::Float(number) => json!({ "doubleValue": number }),
    }
}

fn nanoseconds(time: SystemTime) -> String {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_has_the_otlp_json_format() {
        let time = UNIX_EPOCH + std::time::Duration::from_nanos(5);
        let span = Span {
            id: 0xab,
            parent: Some(1),
            name: "call",
            start: time,
            end: time,
            attributes: vec![("bytes_sent", AttributeValue::Integer(3))],
        };
        let body = request(0xcd, &[("service.name".into(), "wardian".into())], "1.0", &[span]);
        let body: Value = serde_json::from_slice(&body).unwrap();
        let sent = &body["resourceSpans"][0]["scopeSpans"][0]["spans"][0];
        assert_eq!(sent["traceId"], "000000000000000000000000000000cd");
        assert_eq!(sent["spanId"], "00000000000000ab");
        assert_eq!(sent["parentSpanId"], "0000000000000001");
        assert_eq!(sent["startTimeUnixNano"], "5");
        assert_eq!(
            sent["attributes"][0],
            json!({ "key": "wardian.bytes_sent", "value": { "intValue": "3" } })
        );
    }
}
