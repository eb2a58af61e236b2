//! Parses and formats sizes and durations with units: `256 MiB`, `30s`.
//!
//! | kind | units |
//! |---|---|
//! | sizes | `B`; `KiB`, `MiB`, `GiB` (powers of 1024); `kB`, `MB`, `GB` (powers of 1000) |
//! | durations | `ms`, `s`, `m`, `h` |
//!
//! Numbers are integers, and the unit is required: without it, readers would have to look up the
//! meaning of `memory = 256`.

use std::time::Duration;

use wardian_diagnostic::closest;

const SIZES: [(&str, u64); 7] = [
    ("B", 1),
    ("kB", 1_000),
    ("KiB", 1 << 10),
    ("MB", 1_000_000),
    ("MiB", 1 << 20),
    ("GB", 1_000_000_000),
    ("GiB", 1 << 30),
];

const TIMES: [(&str, u64); 4] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)];

/// The reason why a size or duration is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UnitError {
    #[error("it does not start with an integer; use a value such as {example}")]
    Number { example: &'static str },
    #[error("the unit is missing; use one of {units}")]
    NoUnit { units: String },
    #[error("\"{unit}\" is not a supported unit{meant}; use one of {units}")]
    Unit { unit: String, meant: String, units: String },
    #[error("the value is too large")]
    TooLarge,
}

/// Parses a size into bytes.
pub(crate) fn parse_size(text: &str) -> Result<u64, UnitError> {
    quantity(text, &SIZES, "\"256 MiB\"")
}

pub(crate) fn parse_duration(text: &str) -> Result<Duration, UnitError> {
    quantity(text, &TIMES, "\"30s\"").map(Duration::from_millis)
}

fn quantity(text: &str, known: &[(&str, u64)], example: &'static str) -> Result<u64, UnitError> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    if number.is_empty() || unit.starts_with('.') {
        return Err(UnitError::Number { example });
    }
    let unit = unit.strip_prefix(' ').unwrap_or(unit);
    let units = || known.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    if unit.is_empty() {
        return Err(UnitError::NoUnit { units: units() });
    }
    let Some((_, factor)) = known.iter().find(|(name, _)| *name == unit) else {
        let shown: String = unit.chars().take(20).collect();
        let near = known.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)).map(|(name, _)| *name);
        let meant = near
            .or_else(|| closest(&shown, known.iter().map(|(name, _)| *name)))
            .map_or(String::new(), |near| format!(" (did you mean \"{near}\"?)"));
        return Err(UnitError::Unit { unit: shown, meant, units: units() });
    };
    number.parse::<u64>().ok().and_then(|number| number.checked_mul(*factor)).ok_or(UnitError::TooLarge)
}

/// Formats a size in the largest unit that divides it.
pub(crate) fn format_size(bytes: u64) -> String {
    let binary = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match binary.into_iter().find(|(_, factor)| bytes > 0 && bytes.is_multiple_of(*factor)) {
        Some((unit, factor)) => format!("{} {unit}", bytes / factor),
        None => format!("{bytes} B"),
    }
}

/// Formats a duration in the largest unit that divides it.
pub(crate) fn format_duration(time: Duration) -> String {
    let milliseconds = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let found =
        TIMES.iter().rev().find(|(_, factor)| milliseconds > 0 && milliseconds.is_multiple_of(*factor));
    match found {
        Some((unit, factor)) => format!("{}{unit}", milliseconds / factor),
        None => format!("{milliseconds}ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parses_sizes_and_durations() {
        for (text, bytes) in [("0 B", 0), ("1B", 1), ("256 MiB", 256 << 20), ("3GB", 3_000_000_000)] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        for (text, milliseconds) in [("250ms", 250), ("30s", 30_000), ("5 m", 300_000), ("2h", 7_200_000)] {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(milliseconds)), "{text}");
        }
    }

    #[test]
    fn invalid_value_is_explained() {
        let error = |text| parse_size(text).unwrap_err().to_string();
        assert_eq!(error("many"), "it does not start with an integer; use a value such as \"256 MiB\"");
        assert_eq!(error("1.5 GiB"), error("many"));
        assert!(error("256").starts_with("the unit is missing"));
        assert!(error("256 mib").starts_with("\"mib\" is not a supported unit (did you mean \"MiB\"?)"));
        assert_eq!(error("18446744073709551615 GiB"), "the value is too large");
        assert_eq!(error("99999999999999999999999 B"), "the value is too large");
        assert!(
            parse_duration("30 sec").unwrap_err().to_string().contains("\"sec\" is not a supported unit")
        );
    }

    proptest! {
        #[test]
        fn formatted_value_parses_to_the_same(bytes in 0_u64..=1 << 50, milliseconds in 0_u64..1 << 40) {
            prop_assert_eq!(parse_size(&format_size(bytes)), Ok(bytes));
            let duration = Duration::from_millis(milliseconds);
            prop_assert_eq!(parse_duration(&format_duration(duration)), Ok(duration));
        }

        #[test]
        fn arbitrary_policy_text_never_panics(text in ".{0,40}") {
            let _ = (parse_size(&text), parse_duration(&text));
        }
    }
}
