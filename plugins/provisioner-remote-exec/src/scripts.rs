//! What is to be run: lines of the configuration, or files of this machine.

use std::env;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use super::Config;

/// What is to be run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Scripts {
    /// Lines, as one script.
    Inline(String),
    /// Files, by name.
    Files(Vec<(String, Vec<u8>)>),
}

/// Reads all of it.
pub(crate) fn collect(
    config: Config,
    read: &dyn Fn(&Path) -> io::Result<Vec<u8>>,
) -> Result<Scripts, String> {
    let Config { inline, script, scripts } = config;
    let paths = match (inline, script, scripts) {
        (Some(lines), _, _) => return text(lines).map(Scripts::Inline),
        (None, Some(script), _) => vec![("script", Some(script))],
        (None, None, Some(scripts)) => scripts.into_iter().map(|path| ("scripts", path)).collect(),
        (None, None, None) => {
            return Err("there is nothing to run: inline, script and scripts are null".into());
        }
    };
    let files = paths.into_iter().map(|(argument, path)| {
        let path = said(argument, path)?;
        let text = read(&absolute(&path)).map_err(|error| unreadable(&path, &error))?;
        Ok((path, text))
    });
    files.collect::<Result<_, String>>().map(Scripts::Files)
}

fn text(lines: Vec<Option<String>>) -> Result<String, String> {
    if lines.is_empty() {
        return Err("there is nothing to run: the list inline is empty".into());
    }
    let mut text = String::new();
    for line in lines {
        // Writing to a text does not fail.
        let _ = writeln!(text, "{}", said("inline", line)?);
    }
    Ok(text)
}

fn said(argument: &str, text: Option<String>) -> Result<String, String> {
    match text {
        None => Err(format!("there is null in the argument {argument}, where a text is wanted")),
        Some(text) if text.is_empty() => {
            Err(format!("there is an empty text in the argument {argument}, which says nothing to run"))
        }
        Some(text) => Ok(text),
    }
}

/// A path from the root module's directory.
fn absolute(path: &str) -> PathBuf {
    env::var_os("PWD").map(PathBuf::from).unwrap_or_default().join(path)
}

fn unreadable(path: &str, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => format!("there is no script {path:?}"),
        io::ErrorKind::PermissionDenied => {
            format!("the script {path:?} cannot be read: policy, or the system, does not permit it")
        }
        _ => format!("the script {path:?} cannot be read: {error}"),
    }
}
