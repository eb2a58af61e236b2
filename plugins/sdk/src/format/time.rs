//! Times in the format of RFC 3339.

/// A moment: the seconds since 1970-01-01T00:00:00Z, and nanoseconds.
///
/// ```
/// let time = wardian_sdk::Timestamp::parse("1970-01-01T00:01:00.5Z").unwrap();
/// assert_eq!((time.seconds(), time.nanoseconds()), (60, 500_000_000));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp {
    seconds: i64,
    nanoseconds: u32,
}

impl Timestamp {
    /// Parses an RFC 3339 time; `None` if it is not valid. Digits after the ninth of a fraction are
    /// ignored.
    ///
    /// ```
    /// use wardian_sdk::Timestamp;
    ///
    /// let moment = Timestamp::parse("1970-01-01T01:00:00+01:00").unwrap();
    /// assert_eq!(moment.seconds(), 0);
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let separators = [(4, b'-'), (7, b'-'), (13, b':'), (16, b':')];
        if separators.iter().any(|(position, byte)| bytes.get(*position) != Some(byte))
            || !matches!(bytes.get(10)?, b'T' | b't')
        {
            return None;
        }
        let number = |from: usize, to: usize| digits(bytes.get(from..to)?);
        let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
        let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
        let rest = bytes.get(19..)?;
        let (fraction, zone) = match rest.strip_prefix(b".") {
            Some(rest) => {
                let length = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
                (Some(&rest[..length]), &rest[length..])
            }
            None => (None, rest),
        };
        let offset = match zone {
            b"Z" | b"z" => 0,
            [sign @ (b'+' | b'-'), zone @ ..] if zone.len() == 5 && zone[2] == b':' => {
                let (hours, minutes) = (digits(&zone[..2])?, digits(&zone[3..])?);
                if hours > 23 || minutes > 59 {
                    return None;
                }
                (hours * 3600 + minutes * 60) * if *sign == b'-' { -1 } else { 1 }
            }
            _ => return None,
        };
        // A leap second is the same moment as the next second.
        if !(1..=12).contains(&month)
            || !(1..=days_in(year, month)).contains(&day)
            || hour > 23
            || minute > 59
            || second > 60
        {
            return None;
        }
        let nanoseconds = match fraction {
            Some([]) => return None,
            Some(fraction) => {
                let kept = &fraction[..fraction.len().min(9)];
                let scale = 10_u32.checked_pow(u32::try_from(9 - kept.len()).ok()?)?;
                u32::try_from(digits(kept)?).ok()?.checked_mul(scale)?
            }
            None => 0,
        };
        let seconds =
            days_since_epoch(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset;
        Some(Self { seconds, nanoseconds })
    }

    /// Returns the seconds since 1970-01-01T00:00:00Z.
    pub fn seconds(&self) -> i64 {
        self.seconds
    }

    /// Returns the nanoseconds after the second.
    pub fn nanoseconds(&self) -> u32 {
        self.nanoseconds
    }
}

fn digits(bytes: &[u8]) -> Option<i64> {
    bytes
        .iter()
        .try_fold(0_i64, |number, byte| byte.is_ascii_digit().then(|| number * 10 + i64::from(byte - b'0')))
}

fn days_in(year: i64, month: i64) -> i64 {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Returns the number of days from 1970-01-01 in the Gregorian calendar. Years start in March, so a
/// leap day is the last day of its year.
fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_parsed_with_offsets_and_fractions() {
        let at = |text: &str| Timestamp::parse(text).map(|moment| (moment.seconds, moment.nanoseconds));
        assert_eq!(at("1970-01-01T00:00:00Z"), Some((0, 0)));
        assert_eq!(at("2020-02-29T12:30:00.5Z"), Some((1_582_979_400, 500_000_000)));
        assert_eq!(at("2020-02-29T12:30:00.1234567899+02:00"), Some((1_582_972_200, 123_456_789)));
        assert_eq!(at("0000-03-01t00:00:00z"), Some((-62_162_035_200, 0)));
        assert_eq!(at("9999-12-31T23:59:60Z"), Some((253_402_300_800, 0)));
        for invalid in [
            "",
            "2020-02-30T00:00:00Z",
            "2021-02-29T00:00:00Z",
            "2020-13-01T00:00:00Z",
            "2020-01-01T24:00:00Z",
            "2020-01-01T00:00:00",
            "2020-01-01 00:00:00Z",
            "2020-01-01T00:00:00.Z",
            "2020-01-01T00:00:00+24:00",
            "2020-01-01T00:00:00+0100",
            "2020-1-01T00:00:00Z",
            "é020-01-01T00:00:00Z",
        ] {
            assert_eq!(at(invalid), None, "{invalid}");
        }
    }
}
