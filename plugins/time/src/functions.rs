//! Functions that split durations and timestamps into their components.

use serde::Serialize;
use wardian_sdk::duration::GoDuration;
use wardian_sdk::{Function, FunctionError, Parameter, Type};

use crate::timestamp::{Civil, Timestamp};

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
const WEEKDAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// A duration in several units.
#[derive(Serialize)]
struct DurationParts {
    hours: f64,
    minutes: f64,
    seconds: f64,
    milliseconds: i64,
    microseconds: i64,
    nanoseconds: i64,
}

impl DurationParts {
    fn new(duration: GoDuration) -> Self {
        let nanoseconds = duration.nanoseconds();
        Self {
            hours: in_units(nanoseconds, 3_600_000_000_000),
            minutes: in_units(nanoseconds, 60_000_000_000),
            seconds: in_units(nanoseconds, 1_000_000_000),
            milliseconds: nanoseconds / 1_000_000,
            microseconds: nanoseconds / 1_000,
            nanoseconds,
        }
    }
}

/// Converts the quotient and the remainder separately, to keep the fractions of long durations
/// exact.
#[expect(clippy::cast_precision_loss, reason = "the result is a binary fraction anyway")]
fn in_units(nanoseconds: i64, unit: i64) -> f64 {
    (nanoseconds / unit) as f64 + (nanoseconds % unit) as f64 / unit as f64
}

pub(crate) fn duration_parse() -> Function {
    let numbers = ["hours", "minutes", "seconds", "milliseconds", "microseconds", "nanoseconds"];
    Function::new("duration_parse", Type::object(numbers.map(|name| (name, Type::Number))))
        .summary("Converts a Go duration into units")
        .description(
            "Parses a [Go duration](https://pkg.go.dev/time#ParseDuration), such as `1h30m`, and returns it \
             in several units.",
        )
        .parameter(Parameter::string("duration").description("The duration."))
        .run(|(duration,): (String,)| {
            GoDuration::parse(&duration).map(DurationParts::new).map_err(|_| {
                FunctionError::argument(
                    0,
                    format!("Error parsing duration string: {duration:?} is not a valid duration string"),
                )
            })
        })
}

/// The components of a timestamp. Each function returns all components except one of the last two.
#[derive(Serialize)]
struct TimestampParts {
    year: i64,
    year_day: i64,
    day: i64,
    month: i64,
    month_name: &'static str,
    weekday: i64,
    weekday_name: &'static str,
    hour: i64,
    minute: i64,
    second: i64,
    iso_year: i64,
    iso_week: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    unix: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rfc3339: Option<String>,
}

impl TimestampParts {
    fn new(moment: Timestamp) -> Self {
        let Civil { year, month, day, hour, minute, second } = moment.civil();
        let (iso_year, iso_week) = moment.iso_week();
        Self {
            year,
            year_day: moment.year_day(),
            day,
            month,
            month_name: named(&MONTHS, month - 1),
            weekday: moment.weekday(),
            weekday_name: named(&WEEKDAYS, moment.weekday()),
            hour,
            minute,
            second,
            iso_year,
            iso_week,
            unix: None,
            rfc3339: None,
        }
    }
}

fn named(names: &[&'static str], index: i64) -> &'static str {
    usize::try_from(index).ok().and_then(|index| names.get(index)).copied().unwrap_or_default()
}

/// Returns the type of [`TimestampParts`] with one additional attribute.
fn parts_type(other: &'static str, ty: Type) -> Type {
    let numbers =
        ["year", "year_day", "day", "month", "weekday", "hour", "minute", "second", "iso_year", "iso_week"];
    let names = ["month_name", "weekday_name"].map(|name| (name, Type::String));
    Type::object(numbers.map(|name| (name, Type::Number)).into_iter().chain(names).chain([(other, ty)]))
}

pub(crate) fn rfc3339_parse() -> Function {
    Function::new("rfc3339_parse", parts_type("unix", Type::Number))
        .summary("Splits an RFC 3339 timestamp into parts")
        .description(
            "Parses an RFC 3339 timestamp and returns the parts of its date and time, in the timestamp's \
             UTC offset.",
        )
        .parameter(Parameter::string("timestamp").description("The timestamp."))
        .run(|(timestamp,): (String,)| {
            let moment = Timestamp::parse(&timestamp).ok_or_else(|| {
                FunctionError::argument(
                    0,
                    format!(
                        "Error parsing RFC3339 timestamp: {timestamp:?} is not a valid RFC3339 timestamp"
                    ),
                )
            })?;
            Ok(TimestampParts { unix: Some(moment.unix()), ..TimestampParts::new(moment) })
        })
}

pub(crate) fn unix_timestamp_parse() -> Function {
    Function::new("unix_timestamp_parse", parts_type("rfc3339", Type::String))
        .summary("Splits a Unix timestamp into parts")
        .description(
            "Converts the number of seconds since 1970-01-01T00:00:00Z into the parts of a date \
            and time in UTC.",
        )
        .parameter(Parameter::number("unix_timestamp").description("The number of seconds, a whole number."))
        .run(|(seconds,): (i64,)| {
            let moment = Timestamp::from_unix(seconds);
            Ok(TimestampParts { rfc3339: Some(moment.to_string()), ..TimestampParts::new(moment) })
        })
}
