//! Sizes and times with their units: `256 MiB`, `30s`.
//!
//! | what | units |
//! |---|---|
//! | sizes | `B`, `KiB`, `MiB`, `GiB` (of 1024), `kB`, `MB`, `GB` (of 1000) |
//! | times | `ms`, `s`, `m`, `h` |
//!
//! A number is whole, and a unit is always there: what `memory = 256` means should
//! not have to be looked up by anybody.

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

/// Why a text is no size or time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UnitProblem {
    #[error("it begins with no whole number; write it as {example}")]
    Number { example: &'static str },
    #[error("the unit is missing; it is one of {units}")]
    NoUnit { units: String },
    #[error("there is no unit \"{unit}\"{meant}; it is one of {units}")]
    Unit { unit: String, meant: String, units: String },
    #[error("it is larger than anything can be")]
    TooLarge,
}

/// Bytes.
pub(crate) fn size(text: &str) -> Result<u64, UnitProblem> {
    quantity(text, &SIZES, "\"256 MiB\"")
}

/// A time.
pub(crate) fn time(text: &str) -> Result<Duration, UnitProblem> {
    quantity(text, &TIMES, "\"30s\"").map(Duration::from_millis)
}

fn quantity(text: &str, known: &[(&str, u64)], example: &'static str) -> Result<u64, UnitProblem> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    if number.is_empty() || unit.starts_with('.') {
        return Err(UnitProblem::Number { example });
    }
    let unit = unit.strip_prefix(' ').unwrap_or(unit);
    let units = || known.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    if unit.is_empty() {
        return Err(UnitProblem::NoUnit { units: units() });
    }
    let Some((_, factor)) = known.iter().find(|(name, _)| *name == unit) else {
        let shown: String = unit.chars().take(20).collect();
        let near = known.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)).map(|(name, _)| *name);
        let meant = near
            .or_else(|| closest(&shown, known.iter().map(|(name, _)| *name)))
            .map_or(String::new(), |near| format!(" (did you mean \"{near}\"?)"));
        return Err(UnitProblem::Unit { unit: shown, meant, units: units() });
    };
    number.parse::<u64>().ok().and_then(|number| number.checked_mul(*factor)).ok_or(UnitProblem::TooLarge)
}

/// A size as people write it, in the largest unit that it is whole in.
pub(crate) fn size_text(bytes: u64) -> String {
    let binary = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match binary.into_iter().find(|(_, factor)| bytes > 0 && bytes.is_multiple_of(*factor)) {
        Some((unit, factor)) => format!("{} {unit}", bytes / factor),
        None => format!("{bytes} B"),
    }
}

/// A time as people write it, in the largest unit that it is whole in.
pub(crate) fn time_text(time: Duration) -> String {
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
    fn units_count() {
        for (text, bytes) in [("0 B", 0), ("1B", 1), ("256 MiB", 256 << 20), ("3GB", 3_000_000_000)] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for (text, milliseconds) in [("250ms", 250), ("30s", 30_000), ("5 m", 300_000), ("2h", 7_200_000)] {
            assert_eq!(time(text), Ok(Duration::from_millis(milliseconds)), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        let told = |text| size(text).unwrap_err().to_string();
        assert_eq!(told("many"), "it begins with no whole number; write it as \"256 MiB\"");
        assert_eq!(told("1.5 GiB"), told("many"));
        assert!(told("256").starts_with("the unit is missing"));
        assert!(told("256 mib").starts_with("there is no unit \"mib\" (did you mean \"MiB\"?)"));
        assert_eq!(told("18446744073709551615 GiB"), "it is larger than anything can be");
        assert_eq!(told("99999999999999999999999 B"), "it is larger than anything can be");
        assert!(time("30 sec").unwrap_err().to_string().contains("no unit \"sec\""));
    }

    proptest! {
        #[test]
        fn what_is_shown_is_read_back(bytes in 0_u64..=1 << 50, milliseconds in 0_u64..1 << 40) {
            prop_assert_eq!(size(&size_text(bytes)), Ok(bytes));
            let duration = Duration::from_millis(milliseconds);
            prop_assert_eq!(time(&time_text(duration)), Ok(duration));
        }

        #[test]
        fn any_text_is_answered(text in ".{0,40}") {
            let _ = (size(&text), time(&text));
        }
    }
}
