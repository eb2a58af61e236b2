//! The text of a crash report, and its file.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use wardian_app::compatibility::VERSION;
use wardian_cache::create_private;
use wardian_diagnostic::system_reason;

use super::recorder::LastOperations;

/// The text of a crash report.
pub(super) struct Report(String);

impl Report {
    /// Formats a report. `command` contains no values; `what` is the position of the crash and its
    /// reason.
    pub(super) fn new(command: &str, what: &str, backtrace: &str) -> Self {
        let recorded = LastOperations::recorded();
        let mut text = String::from("Crash report of Wardian\n\n");
        // Writing to a string does not fail.
        let _ = write!(
            text,
            "version: {VERSION}\nsystem:  {} {}\ntime:    {}\ncommand: {command}\ncrash:   {what}\n",
            std::env::consts::OS,
            std::env::consts::ARCH,
            jiff::Timestamp::now(),
        );
        let _ = write!(text, "\nConfiguration, without values\n{}", indented(&recorded.configuration));
        let _ = write!(text, "\nLast operations\n{}", indented(&recorded.operations));
        let _ = write!(text, "\nBacktrace\n{}", indented(backtrace));
        Self(text)
    }

    /// Writes a new file to the working directory or, if that fails, to the directory for temporary
    /// files. Returns its path.
    pub(super) fn write(&self) -> Result<PathBuf, String> {
        let name = format!(
            "wardian-crash-{}-{}.log",
            jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ"),
            std::process::id()
        );
        let path = PathBuf::from(&name);
        match self.write_to(&path) {
            Ok(()) => Ok(path),
            Err(first) => {
                let path = std::env::temp_dir().join(name);
                self.write_to(&path).map_err(|_| system_reason(&first))?;
                Ok(path)
            }
        }
    }

    fn write_to(&self, path: &Path) -> io::Result<()> {
        create_private(path)?.write_all(self.0.as_bytes())
    }
}

fn indented(text: &str) -> String {
    if text.trim().is_empty() {
        return "  (none)\n".to_owned();
    }
    text.lines().fold(String::new(), |mut indented, line| {
        // Writing to a string does not fail.
        let _ = writeln!(indented, "  {line}");
        indented
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crash_report_contains_every_section() {
        let Report(text) = Report::new("plan -out", "thread 'main' panicked at a.rs:1:2: reason", "0: main");
        for expected in [
            "version: ",
            "command: plan -out\n",
            "crash:   thread 'main'",
            "Last operations\n",
            "Backtrace\n  0: main\n",
        ] {
            assert!(text.contains(expected), "{text}");
        }
    }

    #[test]
    fn existing_file_is_not_overwritten() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("report");
        let report = Report("new".to_owned());
        report.write_to(&path).unwrap();
        assert!(report.write_to(&path).is_err());
    }
}
