//! Timestamps with their UTC offset, in the proleptic Gregorian calendar. Additions overflow as in
//! Go: January 31 plus one month is in March.

use std::fmt;
use std::time::UNIX_EPOCH;

const DAY: i64 = 86_400;
/// Maximum year of a sum. Later years are considered a mistake.
const MAX_YEAR: i64 = 999_999;

/// A point in time with a UTC offset. Only the point in time is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timestamp {
    seconds: i64,
    nanoseconds: u32,
    offset: i64,
}

/// The components of a timestamp, in its own UTC offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Civil {
    pub(crate) year: i64,
    pub(crate) month: i64,
    pub(crate) day: i64,
    pub(crate) hour: i64,
    pub(crate) minute: i64,
    pub(crate) second: i64,
}

impl Timestamp {
    /// Returns the current time in UTC.
    pub(crate) fn now() -> Self {
        // If the clock shows a time before 1970, it was not set.
        let since = wardian_sdk::clock::system_time().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            seconds: i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
            nanoseconds: since.subsec_nanos(),
            offset: 0,
        }
    }

    /// Creates a timestamp from seconds since 1970, in UTC.
    pub(crate) const fn from_unix(seconds: i64) -> Self {
        Self { seconds, nanoseconds: 0, offset: 0 }
    }

    /// Parses an RFC 3339 timestamp.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut rest = text.as_bytes();
        let year = digits(&mut rest, 4)?;
        let month = after(&mut rest, b'-', 1..=12)?;
        let day = after(&mut rest, b'-', 1..=days_in(year, month))?;
        let hour = after(&mut rest, b'T', 0..=23)?;
        let minute = after(&mut rest, b':', 0..=59)?;
        let second = after(&mut rest, b':', 0..=59)?;
        let nanoseconds = fraction(&mut rest)?;
        let offset = match rest {
            b"Z" => 0,
            [sign @ (b'+' | b'-'), zone @ ..] => {
                let mut zone = zone;
                // Go accepts the same range.
                let hours = digits(&mut zone, 2).filter(|hours| *hours <= 24)?;
                let minutes = after(&mut zone, b':', 0..=60)?;
                if !zone.is_empty() {
                    return None;
                }
                (hours * 60 + minutes) * if *sign == b'-' { -60 } else { 60 }
            }
            _ => return None,
        };
        let local = days_from_civil(year, month, day) * DAY + hour * 3600 + minute * 60 + second;
        Some(Self { seconds: local - offset, nanoseconds, offset })
    }

    /// Returns the seconds since 1970.
    pub(crate) const fn unix(self) -> i64 {
        self.seconds
    }

    /// Returns whether this timestamp is later than `other`.
    pub(crate) fn is_after(self, other: Self) -> bool {
        (self.seconds, self.nanoseconds) > (other.seconds, other.nanoseconds)
    }

    /// Adds seconds to the timestamp.
    pub(crate) fn plus_seconds(self, seconds: i64) -> Option<Self> {
        Self { seconds: self.seconds.checked_add(seconds)?, ..self }.in_supported_range()
    }

    /// Adds years, months and days to the timestamp.
    pub(crate) fn plus_date(self, years: i64, months: i64, days: i64) -> Option<Self> {
        let civil = self.civil();
        let months = civil
            .year
            .checked_add(years)?
            .checked_mul(12)?
            .checked_add(civil.month - 1)?
            .checked_add(months)?;
        let year = months.div_euclid(12);
        if year.abs() > MAX_YEAR {
            return None;
        }
        let days = days_from_civil(year, months.rem_euclid(12) + 1, 1)
            .checked_add(civil.day - 1)?
            .checked_add(days)?;
        let time = (self.seconds + self.offset).rem_euclid(DAY);
        let local = days.checked_mul(DAY)?.checked_add(time)?;
        Self { seconds: local.checked_sub(self.offset)?, ..self }.in_supported_range()
    }

    fn in_supported_range(self) -> Option<Self> {
        (self.civil().year.abs() <= MAX_YEAR).then_some(self)
    }

    fn local_days(self) -> i64 {
        self.seconds.saturating_add(self.offset).div_euclid(DAY)
    }

    /// Returns the components of the timestamp.
    pub(crate) fn civil(self) -> Civil {
        let (year, month, day) = civil_from_days(self.local_days());
        let time = self.seconds.saturating_add(self.offset).rem_euclid(DAY);
        Civil { year, month, day, hour: time / 3600, minute: time / 60 % 60, second: time % 60 }
    }

    /// Returns the day of the year, from 1.
    pub(crate) fn year_day(self) -> i64 {
        let (year, _, _) = civil_from_days(self.local_days());
        self.local_days() - days_from_civil(year, 1, 1) + 1
    }

    /// Returns the day of the week, from 0 for Sunday.
    pub(crate) fn weekday(self) -> i64 {
        // 1970-01-01 was a Thursday.
        (self.local_days() + 4).rem_euclid(7)
    }

    /// Returns the ISO 8601 week-numbering year and week number.
    pub(crate) fn iso_week(self) -> (i64, i64) {
        // A week belongs to the year that contains its Thursday.
        let thursday = self.local_days() - (self.weekday() + 6) % 7 + 3;
        let (year, _, _) = civil_from_days(thursday);
        (year, (thursday - days_from_civil(year, 1, 1)) / 7 + 1)
    }
}

/// Formats the timestamp according to RFC 3339, without fractions of a second.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Civil { year, month, day, hour, minute, second } = self.civil();
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")?;
        if self.offset == 0 {
            return f.write_str("Z");
        }
        let sign = if self.offset < 0 { '-' } else { '+' };
        let minutes = self.offset.abs() / 60;
        write!(f, "{sign}{:02}:{:02}", minutes / 60, minutes % 60)
    }
}

fn digits(rest: &mut &[u8], count: usize) -> Option<i64> {
    let (number, after) = rest.split_at_checked(count)?;
    *rest = after;
    number
        .iter()
        .try_fold(0, |value, byte| byte.is_ascii_digit().then(|| value * 10 + i64::from(byte - b'0')))
}

fn after(rest: &mut &[u8], separator: u8, range: std::ops::RangeInclusive<i64>) -> Option<i64> {
    *rest = rest.strip_prefix(&[separator])?;
    digits(rest, 2).filter(|value| range.contains(value))
}

/// Parses a fraction of a second and returns it in nanoseconds; 0 if there is none.
fn fraction(rest: &mut &[u8]) -> Option<u32> {
    let [b'.' | b',', after @ ..] = *rest else { return Some(0) };
    let count = after.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if count == 0 {
        return None;
    }
    let (number, after) = after.split_at(count);
    *rest = after;
    let padded = number.iter().map(|byte| u32::from(byte - b'0')).chain(std::iter::repeat(0));
    Some(padded.take(9).fold(0, |value, digit| value * 10 + digit))
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

/// Returns the number of days since 1970. Here, years start in March, which makes a leap day the
/// last day of its year. An era is the period of 400 years after which the calendar repeats.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap_or_else(|| panic!("{text}"))
    }

    #[test]
    fn timestamps_round_trip() {
        for (text, unix) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2020-02-12T06:36:13Z", 1_581_489_373),
            ("2000-02-29T23:59:59Z", 951_868_799),
            ("1969-12-31T23:59:59Z", -1),
            ("2020-02-12T06:36:13-05:00", 1_581_507_373),
            ("0001-01-01T00:00:00Z", -62_135_596_800),
        ] {
            assert_eq!(moment(text).unix(), unix);
            assert_eq!(moment(text).to_string(), text);
        }
        assert_eq!(moment("2020-02-12T06:36:13.75+00:00").to_string(), "2020-02-12T06:36:13Z");
    }

    #[test]
    fn invalid_timestamps_are_rejected() {
        for text in [
            "",
            "2020-02-12",
            "2020-02-12T06:36:13",
            "2020-02-30T00:00:00Z",
            "2021-02-29T00:00:00Z",
            "2020-02-12T24:00:00Z",
            "2020-02-12 06:36:13Z",
            "2020-02-12T06:36:13.Z",
            "2020-02-12T06:36:13+0100",
            "2020-02-12T06:36:13Zx",
            "\u{661}\u{660}20-02-12T06:36:13Z",
        ] {
            assert_eq!(Timestamp::parse(text), None, "{text}");
        }
    }

    #[test]
    fn sums_overflow_into_next_month() {
        let start = moment("2021-01-31T12:00:00Z");
        assert_eq!(start.plus_date(0, 1, 0).unwrap().to_string(), "2021-03-03T12:00:00Z");
        assert_eq!(start.plus_date(-1, 0, 29).unwrap().to_string(), "2020-02-29T12:00:00Z");
        assert_eq!(start.plus_date(0, -13, 0).unwrap().to_string(), "2019-12-31T12:00:00Z");
        assert_eq!(start.plus_date(i64::MAX, 0, 0), None);
        assert_eq!(start.plus_seconds(i64::MAX), None);
    }

    #[test]
    fn iso_week_belongs_to_year_of_its_thursday() {
        for (text, week) in [
            ("2021-01-03T00:00:00Z", (2020, 53)),
            ("2021-01-04T00:00:00Z", (2021, 1)),
            ("2018-12-31T00:00:00Z", (2019, 1)),
            ("2023-07-25T23:43:16Z", (2023, 30)),
        ] {
            assert_eq!(moment(text).iso_week(), week, "{text}");
        }
        assert_eq!(moment("2023-07-25T23:43:16Z").weekday(), 2);
        assert_eq!(moment("2023-07-25T23:43:16Z").year_day(), 206);
    }

    #[test]
    fn calendar_conversion_round_trips() {
        for days in (-800_000..800_000).step_by(97) {
            let (year, month, day) = civil_from_days(days);
            assert_eq!(days_from_civil(year, month, day), days);
        }
    }
}
