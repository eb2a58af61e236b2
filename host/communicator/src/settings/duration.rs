//! Durations in Go's notation: `5m`, `1h30m`, `1.5s`, `250ms`.

use std::time::Duration;

/// Parses a duration; returns `None` if it is invalid.
pub(crate) fn read(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    if rest == "0" {
        return Some(Duration::ZERO);
    }
    if rest.is_empty() {
        return None;
    }
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|character: char| !character.is_ascii_digit() && character != '.')?;
        let (number, after) = rest.split_at_checked(digits)?;
        let end = after.find(|character: char| character.is_ascii_digit() || character == '.');
        let (unit, next) = after.split_at_checked(end.unwrap_or(after.len()))?;
        let unit = match unit {
            "ns" => 1e-9,
            "us" | "µs" | "μs" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return None,
        };
        seconds += number.parse::<f64>().ok()? * unit;
        rest = next;
    }
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    #[test]
    fn parses_durations() {
        let read = |text| super::read(text).map(|duration| duration.as_millis());
        assert_eq!(read("5m"), Some(300_000));
        assert_eq!(read("1h30m"), Some(5_400_000));
        assert_eq!(read("1.5s"), Some(1_500));
        assert_eq!(read("2m250ms"), Some(120_250));
        assert_eq!(read("0"), Some(0));
        for bad in ["", "5", "m", "5 m", "-5m", "5x", "1..2s", "999999999999999999999h"] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}
