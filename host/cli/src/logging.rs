//! Log lines for diagnosing internal problems. Logging is off by default: without a log setting,
//! only the names of spans are recorded, for the crash report.
//!
//! A log line consists of printable text, both on a terminal and in a file, and contains no line
//! breaks.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::sync::Arc;

use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::fmt::writer::BoxMakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer, Registry, fmt};
use wardian_app::ProcessEnvironment;
use wardian_printable::escape::{Extent, escape, escape_json};
use wardian_telemetry::SpanCollector;

use crate::crash;

pub(crate) mod traces;

/// Starts logging and traces if environment variables request them. Returns the collector of
/// traces.
///
/// # Errors
/// Returns an error if a setting is invalid or the log file cannot be opened.
pub(crate) fn start(environment: &ProcessEnvironment) -> Result<Option<SpanCollector>, String> {
    let traces = traces::collector(environment)?;
    let lines = LogSettings::from_environment(environment)
        .map(|settings| lines(settings, environment))
        .transpose()?;
    if lines.is_none() && traces.is_none() {
        crash::start();
        return Ok(None);
    }
    let subscriber =
        Registry::default().with(lines).with(traces.as_ref().map(SpanCollector::layer)).with(crash::layer());
    subscriber.try_init().map_err(|error| error.to_string())?;
    Ok(traces)
}

/// Returns the layer that writes log lines.
fn lines(
    LogSettings { filter, is_json }: LogSettings,
    environment: &ProcessEnvironment,
) -> Result<impl Layer<Registry> + use<>, String> {
    let filter = EnvFilter::try_new(&filter)
        .map_err(|error| format!("the log setting \"{filter}\" cannot be read: {error}"))?;
    let writer = match environment.log_path() {
        None => BoxMakeWriter::new(move || LogLines { out: io::stderr(), is_json }),
        Some(path) => {
            let file = OpenOptions::new()
                .create(true)
                .append(true)
                .open(&path)
                .map_err(|error| format!("the log file {} cannot be opened: {error}", path.display()))?;
            let file = Arc::new(file);
            BoxMakeWriter::new(move || LogLines { out: Arc::clone(&file), is_json })
        }
    };
    // The end of a span is logged with its duration.
    let lines = fmt::layer().with_writer(writer).with_ansi(false).with_span_events(FmtSpan::CLOSE);
    let lines = if is_json { lines.json().boxed() } else { lines.boxed() };
    Ok(lines.with_filter(filter))
}

/// Writes log lines. Each call receives a complete line.
struct LogLines<W> {
    out: W,
    is_json: bool,
}

impl<W: Write> Write for LogLines<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        let text = text.strip_suffix('\n').unwrap_or(&text);
        let shown = if self.is_json { escape_json(text) } else { escape(text, Extent::Line) };
        self.out.write_all(format!("{shown}\n").as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// The target of plugins' log lines. All other targets of Wardian also begin with `wardian`.
const PLUGINS: &str = "wardian::plugin";

/// The filter, format and destination of log lines.
#[derive(Debug, PartialEq, Eq)]
struct LogSettings {
    filter: String,
    is_json: bool,
}

impl LogSettings {
    /// Reads the settings; `None` if logging is not requested.
    fn from_environment(environment: &ProcessEnvironment) -> Option<Self> {
        let (all, core) = (environment.log(), environment.core_log());
        // A log level that is set only for the core does not apply to plugins.
        let unsaid = core.filter(|_| all.is_none()).map(|_| "off");
        let (of_core, of_plugins) = (all.or(core), environment.provider_log().or(unsaid));
        let is_json = of_core.into_iter().chain(of_plugins).any(|text| text.eq_ignore_ascii_case("json"));
        let (of_core, of_plugins) =
            (of_core.and_then(level_for_all), of_plugins.map(|text| level(text).unwrap_or(text)));
        if of_core.is_none() && of_plugins.is_none_or(|level| level == "off") {
            return None;
        }
        let of_plugins = of_plugins.map(|level| format!("{PLUGINS}={level}"));
        let filter = of_core.into_iter().chain(of_plugins).collect::<Vec<_>>().join(",");
        Some(Self { filter, is_json })
    }
}

/// Converts a log filter. A level without a target applies to Wardian and its plugins. To select
/// log lines of libraries, a filter must contain the libraries' names.
fn level_for_all(text: &str) -> Option<String> {
    match level(text) {
        Some("off") => None,
        Some(level) => Some(format!("warn,wardian={level}")),
        None => Some(text.to_owned()),
    }
}

/// Parses a log level. `json` is the most detailed level in a different format.
fn level(text: &str) -> Option<&'static str> {
    const LEVELS: [(&str, &str); 8] = [
        ("off", "off"),
        ("0", "off"),
        ("json", "trace"),
        ("trace", "trace"),
        ("debug", "debug"),
        ("info", "info"),
        ("warn", "warn"),
        ("error", "error"),
    ];
    LEVELS.into_iter().find(|(name, _)| name.eq_ignore_ascii_case(text)).map(|(_, level)| level)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(variables: &[(&str, &str)]) -> Option<(String, bool)> {
        let environment: ProcessEnvironment =
            variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        LogSettings::from_environment(&environment).map(|wanted| (wanted.filter, wanted.is_json))
    }

    #[test]
    fn log_line_stays_one_printable_line() {
        for (is_json, expected) in [(false, "a\\nb\\u{1b}[2J\\u{202e}\n"), (true, "{\"a\":\"\\u202e\"}\n")] {
            let mut lines = LogLines { out: Vec::new(), is_json };
            let line = if is_json { "{\"a\":\"\u{202e}\"}\n" } else { "a\nb\u{1b}[2J\u{202e}\n" };
            lines.write_all(line.as_bytes()).unwrap();
            assert_eq!(String::from_utf8(lines.out).unwrap(), expected);
        }
    }

    #[test]
    fn environment_variables_determine_log_level() {
        let some = |filter: &str, is_json| Some((filter.to_owned(), is_json));
        for (variables, expected) in [
            (&[][..], None),
            (&[("TF_LOG", "off")], None),
            (&[("TF_LOG", "Debug")], some("warn,wardian=debug", false)),
            (&[("TF_LOG", "json")], some("warn,wardian=trace", true)),
            (&[("WARDIAN_LOG", "wardian_engine=debug")], some("wardian_engine=debug", false)),
            (&[("WARDIAN_LOG", "info,hyper=off")], some("info,hyper=off", false)),
            (&[("WARDIAN_LOG", "wardian=off")], some("wardian=off", false)),
            (&[("TF_LOG_CORE", "trace")], some("warn,wardian=trace,wardian::plugin=off", false)),
            (&[("TF_LOG_CORE", "off")], None),
            (&[("TF_LOG_PROVIDER", "INFO")], some("wardian::plugin=info", false)),
            (&[("TF_LOG_PROVIDER", "off")], None),
            (&[("TF_LOG_PROVIDER", "json")], some("wardian::plugin=trace", true)),
            (
                &[("TF_LOG", "trace"), ("TF_LOG_PROVIDER", "off")],
                some("warn,wardian=trace,wardian::plugin=off", false),
            ),
            (
                &[("TF_LOG", "warn"), ("TF_LOG_CORE", "trace"), ("TF_LOG_PROVIDER", "debug")],
                some("warn,wardian=warn,wardian::plugin=debug", false),
            ),
            (
                &[("TF_LOG_CORE", "error"), ("TF_LOG_PROVIDER", "debug")],
                some("warn,wardian=error,wardian::plugin=debug", false),
            ),
        ] {
            let found = wanted(variables);
            assert_eq!(found, expected, "{variables:?}");
            if let Some((filter, _)) = found {
                assert!(EnvFilter::try_new(filter).is_ok(), "{variables:?}");
            }
        }
    }
}
