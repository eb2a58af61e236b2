//! Traces of a run, which are sent to an OpenTelemetry collector when the command ends.

use wardian_app::ProcessEnvironment;
use wardian_app::compatibility::VERSION;
use wardian_diagnostic::Diagnostic;
use wardian_network::proxy::{ProxyError, ProxySettings};
use wardian_telemetry::{MAX_SPANS, SpanCollector, TraceSettings};

use crate::shell::Shell;

/// Returns the collector of spans if the environment requests traces.
///
/// # Errors
/// Returns an error if a variable is invalid.
pub(super) fn collector(environment: &ProcessEnvironment) -> Result<Option<SpanCollector>, String> {
    let settings = TraceSettings::from_variables(|name| environment.get(name))
        .map_err(|error| format!("{error}. To run without traces, unset OTEL_TRACES_EXPORTER"))?;
    settings.map(SpanCollector::new).transpose().map_err(|error| error.to_string())
}

/// Sends the spans. A failure causes a warning, and does not change the result of the command.
pub(crate) async fn send(traces: &SpanCollector, proxies: Result<ProxySettings, ProxyError>, shell: &Shell) {
    let warning = match traces.export(VERSION, proxies).await {
        Ok(0) => return,
        Ok(dropped) => Diagnostic::warning(
            "Traces are incomplete",
            format!("A run sends at most {MAX_SPANS} spans. {dropped} more spans were not sent."),
        ),
        Err(error) => Diagnostic::warning("Traces were not sent", format!("{error}.")),
    };
    shell.diagnostics(&warning.into());
}
