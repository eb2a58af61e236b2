//! The environment variables of the OpenTelemetry specification that select traces.
//!
//! Source: "Environment Variable Specification" and "OpenTelemetry Protocol Exporter" of the
//! OpenTelemetry specification 1.40, and W3C Trace Context for `TRACEPARENT`.

use std::time::Duration;

use http::{HeaderName, HeaderValue, Uri};
use wardian_network::proxy::percent_decode;

/// The path of traces below a general endpoint.
const TRACES_PATH: &str = "v1/traces";
const DEFAULT_ENDPOINT: &str = "http://localhost:4318";
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);
const DEFAULT_SERVICE: &str = "wardian";

/// An environment variable with an invalid or unsupported value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{variable} is \"{value}\", {problem}")]
pub struct TraceSettingsError {
    pub variable: &'static str,
    pub value: String,
    pub problem: &'static str,
}

/// The destination of traces and the attributes that identify the sender.
#[derive(Clone)]
pub struct TraceSettings {
    pub(crate) endpoint: Uri,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) timeout: Duration,
    /// `service.name` and other attributes of the resource.
    pub(crate) resource: Vec<(String, String)>,
    pub(crate) parent: Option<TraceParent>,
}

/// The span of the process that started this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceParent {
    pub trace: u128,
    pub span: u64,
}

impl TraceSettings {
    /// Reads the settings; `None` if no traces are requested.
    ///
    /// # Errors
    /// Returns an error if a variable has an invalid or unsupported value.
    pub fn from_variables(
        variable: impl Fn(&'static str) -> Option<String>,
    ) -> Result<Option<Self>, TraceSettingsError> {
        let variable = |name| variable(name).filter(|value| !value.is_empty());
        if variable("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
            return Ok(None);
        }
        let error = |variable, value: &str, problem| TraceSettingsError {
            variable,
            value: value.to_owned(),
            problem,
        };
        match variable("OTEL_TRACES_EXPORTER").as_deref() {
            None | Some("none") => return Ok(None),
            Some("otlp") => {}
            Some(other) => {
                return Err(error(
                    "OTEL_TRACES_EXPORTER",
                    other,
                    "and only \"otlp\" and \"none\" are supported",
                ));
            }
        }
        let protocol = variable("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL")
            .or_else(|| variable("OTEL_EXPORTER_OTLP_PROTOCOL"));
        if let Some(protocol) =
            protocol.filter(|protocol| protocol != "http/json" && protocol != "http/protobuf")
        {
            let problem = "and only \"http/json\" and \"http/protobuf\" are supported; both send JSON";
            return Err(error("OTEL_EXPORTER_OTLP_PROTOCOL", &protocol, problem));
        }
        let (name, endpoint) = match variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") {
            Some(endpoint) => ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", endpoint),
            None => {
                let base =
                    variable("OTEL_EXPORTER_OTLP_ENDPOINT").unwrap_or_else(|| DEFAULT_ENDPOINT.to_owned());
                ("OTEL_EXPORTER_OTLP_ENDPOINT", format!("{}/{TRACES_PATH}", base.trim_end_matches('/')))
            }
        };
        let uri = endpoint.parse::<Uri>().ok();
        let uri =
            uri.filter(|uri| matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some());
        let uri = uri.ok_or_else(|| error(name, &endpoint, "which is not an http or https URL"))?;
        let headers =
            variable("OTEL_EXPORTER_OTLP_TRACES_HEADERS").or_else(|| variable("OTEL_EXPORTER_OTLP_HEADERS"));
        let headers = pairs(&headers.unwrap_or_default())
            .map(|(name, value)| Some((name.parse().ok()?, HeaderValue::from_str(&value).ok()?)))
            .collect::<Option<Vec<_>>>()
            // The value is a secret.
            .ok_or_else(|| error("OTEL_EXPORTER_OTLP_HEADERS", "...", "which is not a list of headers"))?;
        let timeout =
            variable("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT").or_else(|| variable("OTEL_EXPORTER_OTLP_TIMEOUT"));
        let timeout = match timeout {
            None => DEFAULT_TIMEOUT,
            Some(text) => text.parse().map(Duration::from_millis).map_err(|_| {
                error("OTEL_EXPORTER_OTLP_TIMEOUT", &text, "which is not a number of milliseconds")
            })?,
        };
        let mut resource: Vec<_> = pairs(&variable("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default()).collect();
        let named = resource.iter().any(|(name, _)| name == "service.name");
        if let Some(name) = variable("OTEL_SERVICE_NAME") {
            resource.retain(|(other, _)| other != "service.name");
            resource.push(("service.name".to_owned(), name));
        } else if !named {
            resource.push(("service.name".to_owned(), DEFAULT_SERVICE.to_owned()));
        }
        let parent = variable("TRACEPARENT").and_then(|text| TraceParent::parse(&text));
        Ok(Some(Self { endpoint: uri, headers, timeout, resource, parent }))
    }
}

impl TraceParent {
    /// Parses `00-<32 hexadecimal digits>-<16 hexadecimal digits>-<2 hexadecimal digits>`. An
    /// invalid value starts a new trace, as W3C Trace Context requires.
    pub fn parse(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.trim().split('-').collect();
        let [_version, trace, span, _flags] = parts[..] else { return None };
        if trace.len() != 32 || span.len() != 16 {
            return None;
        }
        let (trace, span) = (u128::from_str_radix(trace, 16).ok()?, u64::from_str_radix(span, 16).ok()?);
        (trace != 0 && span != 0).then_some(Self { trace, span })
    }
}

/// Splits `name=value,name=value`, with percent-encoded values.
fn pairs(text: &str) -> impl Iterator<Item = (String, String)> {
    let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| {
        let value = percent_decode(value.trim());
        (name.trim().to_owned(), String::from_utf8_lossy(&value).into_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(variables: &[(&str, &str)]) -> Result<Option<TraceSettings>, TraceSettingsError> {
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        TraceSettings::from_variables(variable)
    }

    #[test]
    fn traces_are_off_by_default() {
        for variables in [
            &[][..],
            &[("OTEL_TRACES_EXPORTER", "none")],
            &[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://a:1")],
            &[("OTEL_TRACES_EXPORTER", "otlp"), ("OTEL_SDK_DISABLED", "true")],
        ] {
            assert!(settings(variables).unwrap().is_none(), "{variables:?}");
        }
    }

    #[test]
    fn traces_path_is_appended_to_general_endpoint() {
        let endpoint = |variables: &[(&str, &str)]| {
            let all = [&[("OTEL_TRACES_EXPORTER", "otlp")], variables].concat();
            settings(&all).unwrap().unwrap().endpoint.to_string()
        };
        assert_eq!(endpoint(&[]), "http://localhost:4318/v1/traces");
        assert_eq!(endpoint(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "https://a/b/")]), "https://a/b/v1/traces");
        assert_eq!(endpoint(&[("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://a:1/x")]), "http://a:1/x");
    }

    #[test]
    fn headers_and_resource_are_decoded() {
        let all = [
            ("OTEL_TRACES_EXPORTER", "otlp"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20x, b=1"),
            ("OTEL_RESOURCE_ATTRIBUTES", "service.name=a,team=b%2Cc"),
            ("OTEL_SERVICE_NAME", "ci"),
            ("TRACEPARENT", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
        ];
        let read = settings(&all).unwrap().unwrap();
        assert_eq!(read.headers[0].1, "Bearer x");
        assert_eq!(read.resource, [("team".into(), "b,c".into()), ("service.name".into(), "ci".into())]);
        assert_eq!(read.parent.unwrap().span, 0xb7ad_6b71_6920_3331);
    }

    #[test]
    fn invalid_settings_are_errors_without_secrets() {
        for (name, value) in [
            ("OTEL_TRACES_EXPORTER", "zipkin"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "soon"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "a b=SECRET"),
        ] {
            let mut all = vec![(name, value)];
            if name != "OTEL_TRACES_EXPORTER" {
                all.push(("OTEL_TRACES_EXPORTER", "otlp"));
            }
            let error = settings(&all).map(|_| ()).unwrap_err();
            assert_eq!(error.variable, name);
            assert!(!error.to_string().contains("SECRET"), "{error}");
        }
    }

    #[test]
    fn invalid_parent_is_ignored() {
        for text in ["", "00-0-0-00", "00-00000000000000000000000000000000-0000000000000000-00", "x"] {
            assert_eq!(TraceParent::parse(text), None, "{text}");
        }
    }
}
