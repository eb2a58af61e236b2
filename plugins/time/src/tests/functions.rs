use wardian_sdk::Value;

use super::{harness, part};

#[test]
fn duration_parse_returns_all_units() {
    let answer = harness().call_function("duration_parse", &[Value::string("1h30m0.25s")]).unwrap();
    assert_eq!(part(&answer, "seconds"), "5400.25");
    assert_eq!(part(&answer, "milliseconds"), "5400250");
    assert_eq!(part(&answer, "nanoseconds"), "5400250000000");
    assert!(part(&answer, "hours").starts_with("1.50006944444444"));
}

#[test]
fn rfc3339_parse_uses_timestamp_offset() {
    let answer =
        harness().call_function("rfc3339_parse", &[Value::string("2023-07-25T23:43:16-04:00")]).unwrap();
    for (name, expected) in [
        ("year", "2023"),
        ("year_day", "206"),
        ("month_name", "July"),
        ("weekday", "2"),
        ("weekday_name", "Tuesday"),
        ("hour", "23"),
        ("iso_week", "30"),
        ("unix", "1690342996"),
    ] {
        assert_eq!(part(&answer, name), expected, "{name}");
    }
    assert!(answer.get("rfc3339").is_none());
}

#[test]
fn unix_timestamp_parse_uses_utc() {
    let answer = harness().call_function("unix_timestamp_parse", &[Value::number(1_690_328_596i64)]).unwrap();
    assert_eq!(part(&answer, "rfc3339"), "2023-07-25T23:43:16Z");
    assert_eq!(part(&answer, "iso_year"), "2023");
}

#[test]
fn errors_name_the_argument() {
    let calls = [
        ("duration_parse", Value::string("1 hour")),
        ("rfc3339_parse", Value::string("2023-07-25")),
        ("unix_timestamp_parse", Value::number(wardian_sdk::Number::parse("1.5").unwrap())),
    ];
    for (name, argument) in calls {
        assert_eq!(harness().call_function(name, &[argument]).unwrap_err().argument, Some(0), "{name}");
    }
}
