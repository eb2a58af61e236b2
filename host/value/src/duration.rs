//! Durations in Go's syntax (`1h30m`, `-1.5s`, `250ms`), as used in configurations and options.

use std::fmt;
use std::time::Duration;

/// A duration with a sign, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GoDuration(i64);

/// The reason why a string is not a duration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DurationError {
    /// The text is not a sequence of numbers with units, or the duration is too long.
    Invalid(String),
    /// A number has no unit.
    MissingUnit(String),
    /// A unit is not one of `ns`, `us`, `ms`, `s`, `m` and `h`.
    UnknownUnit {
        /// The unknown unit.
        unit: String,
        /// The text that was parsed.
        text: String,
    },
}

const UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

impl GoDuration {
    /// Parses a duration exactly, except that fractions of a nanosecond are dropped.
    ///
    /// # Errors
    /// Returns an error if the text is not a duration, or the number of nanoseconds exceeds 64 bits.
    pub fn parse(text: &str) -> Result<Self, DurationError> {
        let invalid = || DurationError::Invalid(text.to_owned());
        let (negative, mut rest) = match text.as_bytes().first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            _ => (false, text),
        };
        if rest == "0" {
            return Ok(Self(0));
        }
        if rest.is_empty() {
            return Err(invalid());
        }
        let mut total: u64 = 0;
        while !rest.is_empty() {
            let (part, after) = component(rest, text)?;
            total = total.checked_add(part).filter(|total| *total <= 1 << 63).ok_or_else(invalid)?;
            rest = after;
        }
        let nanoseconds = if negative { 0i64.checked_sub_unsigned(total) } else { i64::try_from(total).ok() };
        nanoseconds.map(Self).ok_or_else(invalid)
    }

    /// Creates a duration from a number of nanoseconds.
    pub const fn from_nanoseconds(nanoseconds: i64) -> Self {
        Self(nanoseconds)
    }

    /// Returns the duration in nanoseconds.
    pub const fn nanoseconds(self) -> i64 {
        self.0
    }

    /// Returns the duration, or `None` if it is negative.
    pub fn to_std(self) -> Option<Duration> {
        u64::try_from(self.0).ok().map(Duration::from_nanos)
    }
}

/// Parses one number with its unit. Returns the nanoseconds and the remaining text.
fn component<'a>(rest: &'a str, text: &str) -> Result<(u64, &'a str), DurationError> {
    let invalid = || DurationError::Invalid(text.to_owned());
    let (whole, after) = digits(rest);
    let (fraction, after) = match after.strip_prefix('.') {
        Some(after) => digits(after),
        None => ("", after),
    };
    if whole.is_empty() && fraction.is_empty() {
        return Err(invalid());
    }
    let end = after.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(after.len());
    let (unit, after) = after.split_at(end);
    if unit.is_empty() {
        return Err(DurationError::MissingUnit(text.to_owned()));
    }
    let Some((_, scale)) = UNITS.iter().find(|(name, _)| *name == unit) else {
        return Err(DurationError::UnknownUnit { unit: unit.to_owned(), text: text.to_owned() });
    };
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| invalid())? };
    let nanoseconds =
        whole.checked_mul(*scale).and_then(|whole| whole.checked_add(part_of(fraction, *scale)));
    nanoseconds.filter(|total| *total <= 1 << 63).map(|total| (total, after)).ok_or_else(invalid)
}

fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

/// Returns the value in nanoseconds of a decimal fraction of a unit, rounded down.
fn part_of(fraction: &str, scale: u64) -> u64 {
    // The digits after the 18th represent less than a nanosecond for all units.
    let fraction = &fraction[..fraction.len().min(18)];
    let Ok(value) = fraction.parse::<u128>() else { return 0 };
    let divisor = 10u128.pow(u32::try_from(fraction.len()).unwrap_or(0));
    u64::try_from(value * u128::from(scale) / divisor).unwrap_or(0)
}

/// Writes the duration as Go does: `1h15m30.5s`, `1.5ms`, `0s`.
impl fmt::Display for GoDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = self.0.unsigned_abs();
        if self.0 < 0 {
            f.write_str("-")?;
        }
        match total {
            0 => f.write_str("0s"),
            1..1_000 => write!(f, "{total}ns"),
            1_000..1_000_000 => decimal(f, total, 1_000, "\u{b5}s"),
            1_000_000..1_000_000_000 => decimal(f, total, 1_000_000, "ms"),
            _ => {
                let (seconds, minutes) = (total % 60_000_000_000, total / 60_000_000_000);
                if minutes >= 60 {
                    write!(f, "{}h", minutes / 60)?;
                }
                if minutes > 0 {
                    write!(f, "{}m", minutes % 60)?;
                }
                decimal(f, seconds, 1_000_000_000, "s")
            }
        }
    }
}

fn decimal(f: &mut fmt::Formatter<'_>, value: u64, scale: u64, unit: &str) -> fmt::Result {
    write!(f, "{}", value / scale)?;
    let fraction = value % scale;
    if fraction > 0 {
        let width = scale.ilog10() as usize;
        let digits = format!("{fraction:0width$}");
        write!(f, ".{}", digits.trim_end_matches('0'))?;
    }
    f.write_str(unit)
}

impl fmt::Display for DurationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(text) => write!(f, "time: invalid duration {text:?}"),
            Self::MissingUnit(text) => write!(f, "time: missing unit in duration {text:?}"),
            Self::UnknownUnit { unit, text } => write!(f, "time: unknown unit {unit:?} in duration {text:?}"),
        }
    }
}

impl std::error::Error for DurationError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_and_prints_durations_as_go() {
        let cases = [
            ("0", "0s"),
            ("1s", "1s"),
            ("90m", "1h30m0s"),
            ("-1.5h", "-1h30m0s"),
            ("1h15m30.918273645s", "1h15m30.918273645s"),
            ("+5ms", "5ms"),
            ("1.5us", "1.5\u{b5}s"),
            ("100ns", "100ns"),
            (".5s", "500ms"),
            ("1.s", "1s"),
            ("2m250ms", "2m0.25s"),
            ("1\u{3bc}s", "1\u{b5}s"),
            ("2540400h10m10.000000000s", "2540400h10m10s"),
        ];
        for (text, expected) in cases {
            assert_eq!(GoDuration::parse(text).unwrap().to_string(), expected, "{text}");
        }
    }

    #[test]
    fn rejects_durations_that_go_rejects() {
        let cases = [
            ("", "time: invalid duration \"\""),
            ("-", "time: invalid duration \"-\""),
            ("3", "time: missing unit in duration \"3\""),
            ("1d", "time: unknown unit \"d\" in duration \"1d\""),
            ("s", "time: invalid duration \"s\""),
            ("1s.", "time: invalid duration \"1s.\""),
            ("9223372036854775808ns", "time: invalid duration \"9223372036854775808ns\""),
            ("1..2s", "time: missing unit in duration \"1..2s\""),
            ("5 m", "time: unknown unit \" m\" in duration \"5 m\""),
            ("3000000h", "time: invalid duration \"3000000h\""),
        ];
        for (text, message) in cases {
            assert_eq!(GoDuration::parse(text).unwrap_err().to_string(), message, "{text}");
        }
        assert_eq!(GoDuration::parse("-9223372036854775808ns").unwrap().nanoseconds(), i64::MIN);
    }
}
