use std::hash::{DefaultHasher, Hash, Hasher};

use proptest::prelude::*;

use super::*;

fn number(text: &str) -> Number {
    Number::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn hash(number: &Number) -> u64 {
    let mut hasher = DefaultHasher::new();
    number.hash(&mut hasher);
    hasher.finish()
}

/// Output of `terraform console` 1.11.4.
#[test]
fn literals_are_printed_as_in_terraform() {
    for (text, printed) in [
        ("1.50", "1.5"),
        ("1e3", "1000"),
        ("1.", "1"),
        (".5", "0.5"),
        ("+5", "5"),
        ("00012", "12"),
        ("1p4", "16"),
        ("1P3", "8"),
        ("1p-1", "0.5"),
        ("1e+5", "100000"),
        ("0.0e5", "0"),
        ("-0", "-0"),
        ("Inf", "+Inf"),
        ("+inf", "+Inf"),
        ("-Inf", "-Inf"),
        ("9007199254740993", "9007199254740993"),
        ("1e21", "1000000000000000000000"),
        ("1e-30", "0.000000000000000000000000000001"),
        ("123456789012345678901234567890.123", "123456789012345678901234567890.123"),
        (
            "1606938044258990275541962092341162602522202993782792835301376",
            "1606938044258990275541962092341162602522202993782792835301376",
        ),
    ] {
        assert_eq!(number(text).to_string(), printed);
    }
    assert_eq!(number("1e400").to_string(), format!("1{}", "0".repeat(400)));
}

#[test]
fn rejects_text_that_is_not_a_number() {
    for text in [
        "", " ", ".", "-", "+", "--1", "1e", "1e+", "1_0", "0x1", "0b1", "Infinity", "iNF", "nan", "1e5p3",
        "1.5.2", "1 ", " 1", "e5", ".e5", "1e5.0", "١",
    ] {
        assert_eq!(Number::parse(text), Err(NumberError::NotANumber), "{text:?}");
    }
}

#[test]
fn rejects_huge_magnitudes_quickly() {
    let long = "9".repeat(10_000_000);
    for text in [
        "1e1000000000",
        "-1e1000000000",
        "1e-1000000000",
        "1p99999999",
        "1e9223372036854775807",
        "1e99999999999999999999",
        "1p-99999999999999999999",
        &long,
    ] {
        assert_eq!(Number::parse(text), Err(NumberError::OutOfRange));
    }
    assert_eq!(number("1e19000").to_string().len(), 19_001);
    assert_eq!(number("1e-19000").to_string().len(), 19_002);
    let mut square = number("1e400");
    let error = loop {
        match square.mul(&square) {
            Ok(next) => square = next,
            Err(error) => break error,
        }
    };
    assert_eq!(error, NumberError::OutOfRange);
}

/// Output of `terraform console` 1.11.4.
#[test]
fn arithmetic_matches_terraform() {
    let check = |result: Result<Number, NumberError>, printed: &str| {
        assert_eq!(result.unwrap().to_string(), printed);
    };
    let third = format!("0.{}5", "3".repeat(154));
    let two_thirds = format!("0.{}7", "6".repeat(153));
    check(number("1").div(&number("3")), &third);
    check(number("2").div(&number("3")), &two_thirds);
    check(number("10").div(&number("3")), &format!("3.{}2", "3".repeat(153)));
    check(number("1e100").div(&number("3")), &format!("{}.{}4", "3".repeat(100), "3".repeat(54)));
    check(
        number("1e200").div(&number("7")),
        &format!("{}{}", "142857".repeat(26).trim_end_matches('7'), "0".repeat(45)),
    );
    check(number("5e-300").div(&number("3")), &format!("0.{}1{}", "0".repeat(299), "6".repeat(154)));
    check(Number::from_f64(3f64.powi(40)), "12157665459056929000");
    check(Number::from_f64(7f64.powi(25)), "1341068619663965000000");
    check(number("0.1").add(&number("0.2")), "0.3");
    check(number("2").div(&number("3")).unwrap().mul(&number("3")), "2");
    check(number("1").div(&number("0")), "+Inf");
    check(number("-1").div(&number("0")), "-Inf");
    check(number("0").mul(&number("-1")), "-0");
    check(number("5").sub(&number("5")), "0");
    check(number("-5").add(&number("5")), "0");
    check(number("-5").rem(&number("3")), "-2");
    check(number("-5.5").rem(&number("3")), "-2.5");
    check(number("-6").rem(&number("3")), "0");
    check(number("0.1").rem(&number("1")), "0.1");
    check(number("1e30").rem(&number("7")), "1");
    check(number("1").rem(&number("0")), "1");
    check(number("1.3").rem(&number("0.4")), &format!("0.0{}88", "9".repeat(152)));
    check(Number::from(1i64).div(&Number::from(3i64)), "0.33333333333333333334");
    check(
        Number::from_f64(0.630_929_753_571_457_5).unwrap().mul(&number("3")),
        "1.8927892607143725900442632337217219173908233642578125",
    );
    assert_eq!(
        number("1e30").div(&number("7")).unwrap().floor().to_string(),
        "142857142857142857142857142857"
    );
    assert_eq!(number("0").div(&number("0")), Err(NumberError::Undefined));
    assert_eq!(Number::INFINITY.sub(&Number::INFINITY), Err(NumberError::Undefined));
    assert_eq!(Number::INFINITY.div(&Number::INFINITY), Err(NumberError::Undefined));
}

#[test]
fn floor_ceil_and_truncate_round_to_integers() {
    for (text, floor, ceil, truncated) in [
        ("1.5", "1", "2", "1"),
        ("-1.5", "-2", "-1", "-1"),
        ("0.5", "0", "1", "0"),
        ("-0.5", "-1", "0", "0"),
        ("7", "7", "7", "7"),
    ] {
        let number = number(text);
        let all = [number.floor(), number.ceil(), number.truncate()].map(|n| n.to_string());
        assert_eq!(all, [floor, ceil, truncated]);
    }
    assert_eq!(Number::INFINITY.floor(), Number::INFINITY);
}

#[test]
fn equality_and_hash_use_decimal_text() {
    let tenth = Number::from_f64(0.1).unwrap();
    assert_eq!(tenth, number("0.1"));
    assert_eq!(hash(&tenth), hash(&number("0.1")));
    assert_eq!(number("-0"), number("0"));
    assert_eq!(hash(&number("-0")), hash(&number("0")));
    assert_eq!(Number::from(7u64), number("7.0"));
    assert_ne!(number("9007199254740993"), number("9007199254740992"));
    assert!(number("0.3") > tenth && number("-0.3") < tenth && number("1") > tenth);
    assert!(Number::INFINITY > number("1e400") && Number::NEGATIVE_INFINITY < number("-1e400"));
}

#[test]
fn converts_to_machine_integers_if_they_fit() {
    assert_eq!(Number::from(u64::MAX).as_u64(), Some(u64::MAX));
    assert_eq!(Number::from(u64::MAX).as_i64(), None);
    assert_eq!(number("18446744073709551615").as_u64(), Some(u64::MAX));
    assert_eq!(number("18446744073709551616").as_u64(), None);
    assert_eq!(number("-9223372036854775808").as_i64(), Some(i64::MIN));
    assert_eq!(number("9223372036854775808").as_i64(), None);
    assert_eq!(number("9223372036854775808").neg().as_i64(), Some(i64::MIN));
    assert_eq!(Number::from(i64::MIN).neg().as_u64(), Some(1 << 63));
    assert_eq!(number("1.5").as_i64(), None);
    assert_eq!(number("-0").as_u64(), Some(0));
}

#[test]
fn integers_in_other_bases_are_exact() {
    assert_eq!(Number::parse_integer("ff", 16).unwrap().as_i64(), Some(255));
    assert_eq!(Number::parse_integer("-FF", 16).unwrap().as_i64(), Some(-255));
    assert_eq!(Number::parse_integer("Zz", 62).unwrap().as_i64(), Some(61 * 62 + 35));
    let big = format!("1{}1", "0".repeat(1000));
    assert_eq!(Number::parse_integer(&big, 10).unwrap().to_string(), big);
    for (text, base) in [("", 10), ("-", 10), ("2", 2), ("1", 1), ("1", 63), ("1.0", 10)] {
        assert_eq!(Number::parse_integer(text, base), Err(NumberError::NotANumber));
    }
}

#[test]
fn formats_as_printf() {
    assert_eq!(number("2.5").to_fixed(0), "2");
    assert_eq!(number("3.14159").to_fixed(2), "3.14");
    assert_eq!(number("0.0001").to_fixed(2), "0.00");
    assert_eq!(number("9.99").to_fixed(1), "10.0");
    assert_eq!(number("12345").to_exponent(2), "1.23e+04");
    assert_eq!(number("0").to_exponent(1), "0.0e+00");
    assert_eq!(number("1e21").to_general(None), "1e+21");
    assert_eq!(number("100").to_general(None), "100");
    assert_eq!(number("12345678901234").to_general(Some(10)), "1.23456789e+13");
    assert_eq!(number("0.00001").to_general(Some(10)), "1e-05");
    assert_eq!(number("10").to_general(Some(10)), "10");
    assert_eq!(number("1.5").to_general(Some(10)), "1.5");
    assert_eq!(number("0").to_general(Some(10)), "0");
}

proptest! {
    #[test]
    fn doubles_round_trip(bits: u64) {
        let value = f64::from_bits(bits);
        prop_assume!(!value.is_nan());
        let number = Number::from_f64(value).unwrap();
        prop_assert_eq!(number.to_f64().to_bits(), bits);
        if value.is_finite() {
            // The output has as many digits as Rust's shortest representation; if two candidates
            // are equally close, either is correct. A power of two can have one digit fewer. A
            // subnormal double has more digits, because `Number` prints it with full precision.
            let (ours, theirs) = (number.to_string(), format!("{value}"));
            prop_assert!(ours.len() == theirs.len() || bits.trailing_zeros() >= 52 || !value.is_normal(), "{ours} {theirs}");
            prop_assert_eq!(number.to_string().parse::<f64>().unwrap().to_bits(), bits);
        }
    }

    #[test]
    fn short_decimals_print_as_written(digits in "[1-9][0-9]{0,60}\\.[0-9]{0,60}[1-9]") {
        prop_assert_eq!(number(&digits).to_string(), digits);
    }

    #[test]
    fn printing_and_parsing_round_trip(mantissa in "[0-9]{1,300}", exponent in -700i32..700) {
        let first = number(&format!("{mantissa}e{exponent}"));
        let text = first.to_string();
        let second = number(&text);
        prop_assert_eq!(second.to_string(), text);
        prop_assert_eq!(first, second);
    }

    #[test]
    fn both_shortest_digit_algorithms_match(mantissa in "[1-9][0-9]{0,200}", exponent in -400i32..0) {
        let number = number(&format!("{mantissa}e{exponent}"));
        if let Repr::Wide(float) = &number.0
            && let Some(short) = float.short_decimal()
        {
            prop_assert_eq!(short, float.shortest_digits_by_interval());
        }
    }

    #[test]
    fn integer_arithmetic_is_exact(a: i64, b: i64) {
        let (x, y) = (number(&a.to_string()), number(&b.to_string()));
        let (a, b) = (i128::from(a), i128::from(b));
        prop_assert_eq!(x.add(&y).unwrap().to_string(), (a + b).to_string());
        prop_assert_eq!(x.sub(&y).unwrap().to_string(), (a - b).to_string());
        prop_assert_eq!(x.cmp(&y), a.cmp(&b));
        if a != 0 && b != 0 {
            prop_assert_eq!(x.mul(&y).unwrap().to_string(), (a * b).to_string());
            prop_assert_eq!(x.rem(&y).unwrap().to_string(), (a % b).to_string());
        }
    }

    #[test]
    fn parser_accepts_any_text_without_panic(text in "\\PC{0,40}") {
        if let Ok(number) = Number::parse(&text) {
            let _ = number.to_string();
        }
    }

    #[test]
    fn order_is_total_and_consistent_with_hash(a: f64, b in -1000i64..1000, c in "[0-9]{1,3}\\.[0-9]{1,20}") {
        prop_assume!(!a.is_nan());
        let all = [Number::from_f64(a).unwrap(), Number::from(b), number(&c), number(&format!("-{c}")), Number::from_f64(c.parse().unwrap()).unwrap()];
        for x in &all {
            for y in &all {
                prop_assert_eq!(x.cmp(y), y.cmp(x).reverse());
                if x == y {
                    prop_assert_eq!(hash(x), hash(y));
                }
                for z in &all {
                    if x <= y && y <= z {
                        prop_assert!(x <= z);
                    }
                }
            }
        }
    }
}
