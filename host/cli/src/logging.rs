//! Log lines, for whoever looks for what went wrong inside. Off unless asked for:
//! nothing is set up then, and nothing is paid.

use std::fs::OpenOptions;
use std::sync::Mutex;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::writer::BoxMakeWriter;

use crate::environment::Environment;

/// Starts logging, where the environment asks for it. Returns what is wrong with
/// what it asks for.
pub(crate) fn start(environment: &Environment) -> Result<(), String> {
    let Some(wanted) = environment.log() else { return Ok(()) };
    let is_json = wanted.eq_ignore_ascii_case("json");
    let filter = match wanted.to_ascii_lowercase().as_str() {
        "off" | "0" => return Ok(()),
        "json" => of_ours("trace"),
        level @ ("trace" | "debug" | "info" | "warn" | "error") => of_ours(level),
        _ => wanted.to_owned(),
    };
    let filter = EnvFilter::try_new(&filter)
        .map_err(|error| format!("the log setting \"{wanted}\" cannot be read: {error}"))?;
    let writer = match environment.log_path() {
        None => BoxMakeWriter::new(std::io::stderr),
        Some(path) => {
            let file = OpenOptions::new()
                .create(true)
                .append(true)
                .open(&path)
                .map_err(|error| format!("the log file {} cannot be opened: {error}", path.display()))?;
            BoxMakeWriter::new(Mutex::new(file))
        }
    };
    let subscriber = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer).with_ansi(false);
    let started = if is_json { subscriber.json().try_init() } else { subscriber.try_init() };
    started.map_err(|error| error.to_string())
}

/// A bare level is about this program and its plugins; what the libraries below
/// have to say is asked for by their names.
fn of_ours(level: &str) -> String {
    format!("warn,wardian={level}")
}
