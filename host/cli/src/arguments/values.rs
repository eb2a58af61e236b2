//! Parses option values.

use std::time::Duration;

use wardian_access::AddressKind;
use wardian_policy::Learning;
use wardian_value::duration::GoDuration;

/// The number of concurrent operations, unless an option changes it.
pub(super) const DEFAULT_PARALLELISM: usize = 10;

/// Parses a number of concurrent operations. Zero means the default.
pub(super) fn parallelism(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Ok(DEFAULT_PARALLELISM),
        Ok(number) => Ok(number),
        Err(_) => Err("it must be a non-negative integer".to_owned()),
    }
}

/// Parses a duration in Go's syntax, such as `10s`, `1m30s` or `0`.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let parsed = GoDuration::parse(text).ok().and_then(GoDuration::to_std);
    parsed.ok_or_else(|| "it must be a duration such as 30s, 5m or 1h30m".to_owned())
}

/// Parses a kind of addresses that a policy can learn.
pub(super) fn learnt_address(text: &str) -> Result<AddressKind, String> {
    let known = Learning::ADDRESSES;
    known.into_iter().find(|kind| kind.word() == text).ok_or_else(|| {
        let words: Vec<&str> = known.iter().map(|kind| kind.word()).collect();
        format!("the valid values are: {}", words.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_addresses_cannot_be_learnt() {
        assert_eq!(learnt_address("link-local"), Ok(AddressKind::LinkLocal));
        for bad in ["metadata", "public", "10.0.0.0/8", ""] {
            assert!(learnt_address(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn parallelism_zero_selects_the_default() {
        assert_eq!(parallelism("0"), Ok(10));
        assert_eq!(parallelism("3"), Ok(3));
        assert!(parallelism("-1").is_err() && parallelism("x").is_err());
    }

    #[test]
    fn durations_are_parsed_like_go_durations() {
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
