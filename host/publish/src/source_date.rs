//! The timestamp of the files in a release.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::error::PublishError;

/// The time that is stored in packages and artifacts, instead of the current time. Its source is
/// the environment variable `SOURCE_DATE_EPOCH`: seconds since 1970, usually the commit's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceDate(Timestamp);

impl SourceDate {
    /// Parses the value of `SOURCE_DATE_EPOCH`.
    ///
    /// # Errors
    /// Returns an error if the value is not a number of seconds, or if the time is after the year 9999.
    pub fn parse(text: &str) -> Result<Self, PublishError> {
        let invalid = || PublishError::SourceDate { text: text.to_owned() };
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let seconds = text.parse().ok().filter(|_| is_number).ok_or_else(invalid)?;
        Timestamp::from_second(seconds).map(Self).map_err(|_| invalid())
    }

    /// Returns the time in RFC 3339 format.
    pub fn to_rfc3339(self) -> String {
        self.0.to_string()
    }

    /// Returns the time in the format of zip files: UTC with a precision of two seconds, not before
    /// 1980 and not after 2107.
    pub(crate) fn zip_time(self) -> zip::DateTime {
        let time = self.0.to_zoned(TimeZone::UTC).datetime();
        let part = |value: i8| u8::try_from(value).unwrap_or(0);
        let year = u16::try_from(time.year()).unwrap_or(0);
        let converted = zip::DateTime::from_date_and_time(
            year,
            part(time.month()),
            part(time.day()),
            part(time.hour()),
            part(time.minute()),
            part(time.second()),
        );
        let latest = || zip::DateTime::from_date_and_time(2107, 12, 31, 23, 59, 58);
        match converted {
            Ok(converted) => converted,
            Err(_) if year > 2107 => latest().unwrap_or_default(),
            Err(_) => zip::DateTime::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_date_is_parsed_as_seconds_since_1970() {
        assert_eq!(SourceDate::parse("1700000000").unwrap().to_rfc3339(), "2023-11-14T22:13:20Z");
        assert_eq!(SourceDate::parse("0").unwrap().to_rfc3339(), "1970-01-01T00:00:00Z");
        for bad in ["", "-1", "+1", "1.5", "now", "99999999999999999999", "999999999999"] {
            assert!(SourceDate::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn zip_times_are_clamped_to_the_supported_range() {
        let shown = |text: &str| {
            let time = SourceDate::parse(text).unwrap().zip_time();
            (time.year(), time.month(), time.day(), time.hour(), time.minute(), time.second())
        };
        assert_eq!(shown("1700000001"), (2023, 11, 14, 22, 13, 20));
        assert_eq!(shown("0"), (1980, 1, 1, 0, 0, 0));
        assert_eq!(shown("5000000000"), (2107, 12, 31, 23, 59, 58));
    }
}
