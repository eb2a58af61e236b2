//! Reads the scripts to run: lines in the configuration, or local files.

use std::env;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use super::Config;

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Scripts {
    /// Lines that form one script.
    Inline(String),
    /// Local files with their paths and contents.
    Files(Vec<(String, Vec<u8>)>),
}

/// Reads all scripts.
pub(crate) fn collect(
    config: Config,
    read: &dyn Fn(&Path) -> io::Result<Vec<u8>>,
) -> Result<Scripts, String> {
    let Config { inline, script, scripts } = config;
    let paths = match (inline, script, scripts) {
        (Some(lines), _, _) => return inline_script(lines).map(Scripts::Inline),
        (None, Some(script), _) => vec![("script", Some(script))],
        (None, None, Some(scripts)) => scripts.into_iter().map(|path| ("scripts", path)).collect(),
        (None, None, None) => {
            return Err("there is nothing to run: inline, script and scripts are null".into());
        }
    };
    let files = paths.into_iter().map(|(argument, path)| {
        let path = required_string(argument, path)?;
        let text = read(&absolute(&path)).map_err(|error| unreadable(&path, &error))?;
        Ok((path, text))
    });
    files.collect::<Result<_, String>>().map(Scripts::Files)
}

fn inline_script(lines: Vec<Option<String>>) -> Result<String, String> {
    if lines.is_empty() {
        return Err("there is nothing to run: the \"inline\" list is empty".into());
    }
    let mut text = String::new();
    for line in lines {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}", required_string("inline", line)?);
    }
    Ok(text)
}

fn required_string(argument: &str, text: Option<String>) -> Result<String, String> {
    match text {
        None => Err(format!("the \"{argument}\" argument contains null; a string is required")),
        Some(text) if text.is_empty() => Err(format!("the \"{argument}\" argument contains an empty string")),
        Some(text) => Ok(text),
    }
}

/// Returns the absolute path, resolved against the root module's directory.
fn absolute(path: &str) -> PathBuf {
    env::var_os("PWD").map(PathBuf::from).unwrap_or_default().join(path)
}

fn unreadable(path: &str, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => format!("the script {path:?} does not exist"),
        io::ErrorKind::PermissionDenied => {
            format!("the script {path:?} cannot be read: access is denied by policy or by the system")
        }
        _ => format!("the script {path:?} cannot be read: {error}"),
    }
}
