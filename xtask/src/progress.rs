//! Progress messages of xtask: one line when a step starts, and one when it ends.

use std::io::Write as _;
use std::time::{Duration, Instant};

/// Prints a line. A closed pipe (`| head`) is not an error.
pub(crate) fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}");
    let _ = out.flush();
}

/// Prints a line that belongs to the preceding step.
pub(crate) fn note(text: &str) {
    say(&format!("    {text}"));
}

/// A named step, which prints its start and its end.
pub(crate) struct Step {
    started: Instant,
}

impl Step {
    pub(crate) fn start(title: &str) -> Self {
        say(&format!("==> {title}"));
        Self { started: Instant::now() }
    }

    pub(crate) fn done(self, result: &str) {
        note(&format!("{result}, {}", elapsed(self.started.elapsed())));
    }
}

/// Formats a duration in human-readable units: `0.4 s`, `3 min 12 s`.
pub(crate) fn elapsed(duration: Duration) -> String {
    let seconds = duration.as_secs();
    if seconds < 60 {
        format!("{:.1} s", duration.as_secs_f64())
    } else {
        format!("{} min {} s", seconds / 60, seconds % 60)
    }
}

/// Formats a size in bytes in human-readable units: `412 kB`, `3.1 MB` (powers of ten).
pub(crate) fn size(bytes: u64) -> String {
    let thousands = (bytes + 500) / 1000;
    if thousands < 1000 {
        format!("{thousands} kB")
    } else {
        format!("{}.{} MB", thousands / 1000, thousands % 1000 / 100)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_sizes_are_human_readable() {
        assert_eq!(elapsed(Duration::from_millis(400)), "0.4 s");
        assert_eq!(elapsed(Duration::from_secs(192)), "3 min 12 s");
        assert_eq!(size(412_499), "412 kB");
        assert_eq!(size(3_149_000), "3.1 MB");
    }
}
