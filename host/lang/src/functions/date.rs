//! The date and time functions.

use wardian_value::duration::{DurationError, GoDuration};
use wardian_value::{Type, Value};

use super::{Body, Failure, Function, Outcome, ResultType};
use super::{string, text};
use crate::Scope;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new(
        "formatdate",
        &[string("format"), string("time")],
        ResultType::String,
        Body::Pure(formatdate),
    ),
    Function::new("plantimestamp", &[], ResultType::String, Body::Scoped(plantimestamp)),
    Function::new(
        "timeadd",
        &[string("timestamp"), string("duration")],
        ResultType::String,
        Body::Pure(timeadd),
    )
    .nullable(),
    Function::new(
        "timecmp",
        &[string("timestamp_a"), string("timestamp_b")],
        ResultType::Number,
        Body::Pure(timecmp),
    ),
    Function::new("timestamp", &[], ResultType::String, Body::Scoped(timestamp)),
];

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = ["Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday"];
const NANOSECONDS: i128 = 1_000_000_000;

/// A point in time, with the offset of its source text.
#[derive(Clone, Copy)]
struct Moment {
    /// Nanoseconds since 1970-01-01T00:00:00Z.
    nanoseconds: i128,
    offset_minutes: i64,
}

/// A point in time as clock and calendar fields.
struct Civil {
    year: i64,
    month: usize,
    day: i64,
    weekday: usize,
    hour: i64,
    minute: i64,
    second: i64,
}

impl Moment {
    /// Parses a time in RFC 3339 format.
    fn parse(text: &str) -> Result<Self, String> {
        let digits = |range: std::ops::Range<usize>, what: &str| -> Result<i64, String> {
            text.get(range)
                .filter(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
                .and_then(|part| part.parse().ok())
                .ok_or_else(|| format!("not an RFC 3339 time: the {what} is missing or not digits"))
        };
        let expect = |at: usize, accepted: &[u8]| -> Result<(), String> {
            match text.as_bytes().get(at) {
                Some(byte) if accepted.contains(byte) => Ok(()),
                _ => Err(format!(
                    "not an RFC 3339 time: {:?} is expected at position {at}",
                    char::from(accepted[0])
                )),
            }
        };
        let limit = |value: i64, range: std::ops::RangeInclusive<i64>, what: &str| {
            if range.contains(&value) {
                Ok(value)
            } else {
                Err(format!("not an RFC 3339 time: there is no {what} {value}"))
            }
        };
        let year = digits(0..4, "year")?;
        expect(4, b"-")?;
        let month = limit(digits(5..7, "month")?, 1..=12, "month")?;
        expect(7, b"-")?;
        let day = limit(digits(8..10, "day")?, 1..=days_in(year, month), "day")?;
        expect(10, b"T")?;
        let hour = limit(digits(11..13, "hour")?, 0..=23, "hour")?;
        expect(13, b":")?;
        let minute = limit(digits(14..16, "minute")?, 0..=59, "minute")?;
        expect(16, b":")?;
        let second = limit(digits(17..19, "second")?, 0..=59, "second")?;
        let mut at = 19;
        let mut fraction: i128 = 0;
        if text.as_bytes().get(at) == Some(&b'.') {
            let rest = &text[at + 1..];
            let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            if end == 0 {
                return Err("not an RFC 3339 time: digits are expected after the dot".into());
            }
            let nine: String = rest[..end].chars().chain("000000000".chars()).take(9).collect();
            fraction = nine.parse().unwrap_or(0);
            at += 1 + end;
        }
        let offset_minutes = match text.as_bytes().get(at) {
            Some(b'Z') if text.len() == at + 1 => 0,
            Some(sign @ (b'+' | b'-')) if text.len() == at + 6 => {
                let hours = limit(digits(at + 1..at + 3, "offset")?, 0..=23, "offset of hours")?;
                expect(at + 3, b":")?;
                let minutes = limit(digits(at + 4..at + 6, "offset")?, 0..=59, "offset")?;
                let total = hours * 60 + minutes;
                if *sign == b'-' { -total } else { total }
            }
            _ => return Err("not an RFC 3339 time: it must end with Z or an offset".into()),
        };
        let days = days_from_civil(year, month, day);
        let seconds = ((days * 24 + hour) * 60 + minute - offset_minutes) * 60 + second;
        Ok(Self { nanoseconds: i128::from(seconds) * NANOSECONDS + fraction, offset_minutes })
    }

    fn civil(self) -> Civil {
        let seconds =
            i64::try_from(self.nanoseconds.div_euclid(NANOSECONDS)).unwrap_or(0) + self.offset_minutes * 60;
        let days = seconds.div_euclid(86_400);
        let of_day = seconds.rem_euclid(86_400);
        let (year, month, day) = civil_from_days(days);
        Civil {
            year,
            month: usize::try_from(month - 1).unwrap_or(0) % 12,
            day,
            weekday: usize::try_from(days.rem_euclid(7)).unwrap_or(0) % 7,
            hour: of_day / 3600,
            minute: of_day / 60 % 60,
            second: of_day % 60,
        }
    }

    fn offset(self, separator: &str) -> String {
        let sign = if self.offset_minutes < 0 { '-' } else { '+' };
        let minutes = self.offset_minutes.abs();
        format!("{sign}{:02}{separator}{:02}", minutes / 60, minutes % 60)
    }

    fn zone(self, separator: &str, utc: &str) -> String {
        if self.offset_minutes == 0 { utc.to_owned() } else { self.offset(separator) }
    }

    /// Formats the time in RFC 3339 format, truncated to whole seconds.
    fn rfc3339(self) -> String {
        let Civil { year, month, day, hour, minute, second, .. } = self.civil();
        format!(
            "{year:04}-{:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{}",
            month + 1,
            self.zone(":", "Z")
        )
    }
}

/// Returns a time in RFC 3339 format, in whole seconds; `None` if the text is not in that format.
pub(super) fn shown(text: &str) -> Option<String> {
    Moment::parse(text).ok().map(Moment::rfc3339)
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Returns the days since 1970-01-01. Here, years start in March, which makes a leap day the last
/// day of its year.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

/// Parses a duration such as `1h30m`, `-1.5s` or `10ms`, and returns its nanoseconds.
fn duration(text: &str) -> Result<i128, String> {
    match GoDuration::parse(text) {
        Ok(duration) => Ok(duration.nanoseconds().into()),
        Err(DurationError::UnknownUnit { unit, .. }) => {
            Err(format!("{unit:?} in {text:?} is not one of ns, us, ms, s, m and h"))
        }
        Err(_) => Err(format!("{text:?} is not a duration such as 1h30m or 10s")),
    }
}

fn moment(arguments: &[Value], position: usize) -> Result<Moment, Failure> {
    Moment::parse(text(arguments, position)).map_err(|reason| Failure::Argument(position, reason))
}

fn timeadd(arguments: &[Value]) -> Outcome {
    let mut moment = moment(arguments, 0)?;
    moment.nanoseconds += duration(text(arguments, 1)).map_err(|reason| Failure::Argument(1, reason))?;
    Ok(Value::string(moment.rfc3339()))
}

fn timecmp(arguments: &[Value]) -> Outcome {
    let (a, b) = (moment(arguments, 0)?, moment(arguments, 1)?);
    Ok(Value::number(a.nanoseconds.cmp(&b.nanoseconds) as i64))
}

fn given_or_unknown(time: Option<String>) -> Value {
    time.map_or_else(|| super::unknown_result(Type::String), Value::string)
}

fn timestamp(_arguments: &[Value], scope: &dyn Scope) -> Outcome {
    Ok(given_or_unknown(scope.timestamp()))
}

fn plantimestamp(_arguments: &[Value], scope: &dyn Scope) -> Outcome {
    Ok(given_or_unknown(scope.plan_timestamp()))
}

fn formatdate(arguments: &[Value]) -> Outcome {
    let format = text(arguments, 0);
    let moment = moment(arguments, 1)?;
    let mut result = String::new();
    let mut rest = format;
    while let Some(character) = rest.chars().next() {
        if character == '\'' {
            let (literal, after) = quoted(&rest[1..])
                .ok_or_else(|| Failure::argument(0, "a quote that starts literal text is not closed"))?;
            result.push_str(&literal);
            rest = after;
        } else if character.is_ascii_alphabetic() {
            let end = rest.find(|c| c != character).unwrap_or(rest.len());
            let (verb, after) = rest.split_at(end);
            result.push_str(&formatted(verb, moment).ok_or_else(|| {
                Failure::argument(
                    0,
                    format!("{verb:?} is not a date format verb; enclose literal letters in single quotes"),
                )
            })?);
            rest = after;
        } else {
            result.push(character);
            rest = &rest[character.len_utf8()..];
        }
    }
    Ok(Value::string(result))
}

/// Parses literal text up to its closing quote. Two consecutive quotes are one literal quote.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut literal = String::new();
    let mut rest = text;
    loop {
        let end = rest.find('\'')?;
        literal.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix('\'') {
            Some(after) => {
                literal.push('\'');
                rest = after;
            }
            None => return Some((literal, rest)),
        }
    }
}

fn formatted(verb: &str, moment: Moment) -> Option<String> {
    let Civil { year, month, day, weekday, hour, minute, second } = moment.civil();
    let twelve = if hour % 12 == 0 { 12 } else { hour % 12 };
    Some(match verb {
        "YY" => format!("{:02}", year.rem_euclid(100)),
        "YYYY" => format!("{year:04}"),
        "M" => format!("{}", month + 1),
        "MM" => format!("{:02}", month + 1),
        "MMM" => MONTHS[month][..3].to_owned(),
        "MMMM" => MONTHS[month].to_owned(),
        "D" => format!("{day}"),
        "DD" => format!("{day:02}"),
        "EEE" => DAYS[weekday][..3].to_owned(),
        "EEEE" => DAYS[weekday].to_owned(),
        "h" => format!("{hour}"),
        "hh" => format!("{hour:02}"),
        "H" => format!("{twelve}"),
        "HH" => format!("{twelve:02}"),
        "AA" => if hour < 12 { "AM" } else { "PM" }.to_owned(),
        "aa" => if hour < 12 { "am" } else { "pm" }.to_owned(),
        "m" => format!("{minute}"),
        "mm" => format!("{minute:02}"),
        "s" => format!("{second}"),
        "ss" => format!("{second:02}"),
        "Z" => moment.zone(":", "Z"),
        "ZZZ" => moment.zone("", "UTC"),
        "ZZZZ" => moment.offset(""),
        "ZZZZZ" => moment.offset(":"),
        _ => return None,
    })
}
