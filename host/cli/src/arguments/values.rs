//! Texts of options as values.

use std::time::Duration;

/// A count that is not zero.
pub(super) fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("it must be at least 1".to_owned()),
        Ok(number) => Ok(number),
        Err(_) => Err("it must be a whole number".to_owned()),
    }
}

/// `10s`, `1m30s`, `0`: as Go writes them.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    const UNITS: [(&str, f64); 6] =
        [("ns", 1e-9), ("us", 1e-6), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0), ("m", 60.0)];
    let wrong = || "it must be a duration such as 30s, 5m or 1h30m".to_owned();
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let mut rest = text;
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(wrong)?;
        let (number, behind) = rest.split_at(digits);
        let number: f64 = number.parse().map_err(|_| wrong())?;
        let letters = behind.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(behind.len());
        let (unit, behind) = behind.split_at(letters);
        let unit = match UNITS.iter().find(|(name, _)| *name == unit) {
            Some((_, unit)) => *unit,
            None if unit == "h" => 3600.0,
            None => return Err(wrong()),
        };
        seconds += number * unit;
        rest = behind;
    }
    if text.is_empty() { Err(wrong()) } else { Duration::try_from_secs_f64(seconds).map_err(|_| wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_writes_them() {
        let check = |text: &str, milliseconds: u64| {
            assert_eq!(duration(text), Ok(Duration::from_millis(milliseconds)), "{text}");
        };
        check("0", 0);
        check("0s", 0);
        check("1m30s", 90_000);
        check("1.5h", 5_400_000);
        check("250ms", 250);
        for bad in ["", "10", "s", "1d", "-1s", "1 s"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }
}
