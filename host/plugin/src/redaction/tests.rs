use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use wardian_value::{Marks, Type};

use super::*;
use crate::schema::{
    Attribute, AttributeType, Block, BlockNesting, Deprecation, Description, NestedBlock, NestedObject,
    ObjectNesting, Setting,
};

fn secrets(texts: &[&str]) -> SensitiveValues {
    let secrets = SensitiveValues::default();
    for text in texts {
        secrets.add_text(*text);
    }
    secrets
}

#[test]
fn secret_is_found_in_all_encodings() {
    let secrets = secrets(&["s3cr\"t/ü <x>"]);
    for said in [
        "s3cr\"t/ü <x>",
        "s3cr\\\"t/ü <x>",
        "s3cr\\\"t/ü \\u003cx\\u003e",
        "s3cr%22t%2F%C3%BC%20%3Cx%3E",
        "s3cr%22t%2f%c3%bc%20%3cx%3e",
        "s3cr%22t/%C3%BC%20%3Cx%3E",
        "s3cr%22t%2F%C3%BC+%3Cx%3E",
        &URL_SAFE_NO_PAD.encode("s3cr\"t/ü <x>"),
    ] {
        assert_eq!(secrets.redact(&format!("it is {said}!")), "it is (sensitive value)!", "{said}");
    }
    assert!(matches!(secrets.redact("nothing of it"), Cow::Borrowed("nothing of it")));
}

#[test]
fn secret_is_found_at_any_offset_in_base64() {
    let secrets = secrets(&["correct horse"]);
    for user in ["a", "ab", "abc", "abcd"] {
        let header = STANDARD.encode(format!("{user}:correct horse"));
        let masked = secrets.redact(&header).into_owned();
        assert!(masked.contains(REDACTED), "{masked}");
        assert!(masked.len() <= user.len() + 6 + REDACTED.len(), "{header} became {masked}");
    }
}

#[test]
fn overlapping_secrets_are_redacted_as_one() {
    assert_eq!(
        secrets(&["hunter", "hunter22"]).redact("hunter22 hunter"),
        "(sensitive value) (sensitive value)"
    );
    assert_eq!(secrets(&["abcdef", "efghij"]).redact("abcdefghij"), REDACTED);
    let two = SensitiveValues::chain([secrets(&["hunter22"])]);
    two.add_text("hunter");
    assert_eq!(two.redact("hunter22"), REDACTED, "by either owner");
    two.add_text("hunter2233");
    assert_eq!(two.redact("hunter2233"), REDACTED, "also after the first redaction");
}

#[test]
fn only_marked_values_are_secret() {
    let secrets = SensitiveValues::default();
    let list = Value::tuple([Value::from("inner secret"), Value::from(1_234_567_i64), Value::from(12_i64)]);
    secrets.add_marked(&Value::object([
        ("name", Value::from("not secret")),
        ("list", list.with_marks(Marks::SENSITIVE)),
        ("text", Value::object([("x", Value::from("outer secret").with_marks(Marks::SENSITIVE))])),
        ("token", Value::from("short-lived").with_marks(Marks::EPHEMERAL)),
    ]));
    assert_eq!(
        secrets.redact("not secret; inner secret; outer secret; short-lived; 1234567; 12"),
        "not secret; (sensitive value); (sensitive value); (sensitive value); (sensitive value); 12"
    );
}

#[test]
fn lines_of_a_secret_are_secret_but_short_strings_are_not() {
    let secrets = secrets(&["-----BEGIN-----\r\nfirst\"line\r\n}\r\n", "abc", "", "true", "null"]);
    assert_eq!(secrets.redact("first\"line"), REDACTED);
    assert_eq!(secrets.redact("first\\\"line"), REDACTED);
    assert_eq!(secrets.redact("} abc true null"), "} abc true null");
}

#[test]
fn long_secret_is_redacted_completely() {
    let long = "0123456789".repeat(10_000);
    assert_eq!(secrets(&[&long]).redact(&format!("<{long}>")), "<(sensitive value)>");
}

#[test]
fn all_output_is_redacted_if_secrets_exceed_limit() {
    let secrets = SensitiveValues::default();
    (0..10_000).for_each(|number| secrets.add_text(format!("{number}").repeat(500)));
    assert_eq!(secrets.redact("hello"), ALL_REDACTED);
    assert_eq!(format!("{secrets:?}"), "SensitiveValues");
}

#[test]
fn text_that_may_start_a_secret_is_held_back() {
    let secrets = secrets(&["0123456789"]);
    let (before, after) = ("x".repeat(200), "y".repeat(40));
    let said = format!("{before}01234");
    let settled = secrets.settled_length(&said);
    assert!(settled <= 200, "{settled}");
    let said = format!("{before}0123456789{after}");
    let settled = secrets.settled_length(&said);
    assert!(settled == 200 || settled >= 210, "never within: {settled}");
}

#[test]
fn secret_that_begins_before_the_kept_end_is_redacted() {
    let secrets = secrets(&["0123456789"]);
    assert_eq!(secrets.redact_end("before 0123456789 after", 12), "(sensitive value) after");
    assert_eq!(secrets.redact_end("before 0123456789 after", 6), " after");
    assert_eq!(secrets.redact_end("before 0123456789 after", 100), "before (sensitive value) after");
}

/// Tests the cost of five thousand secrets, each followed by output.
#[test]
fn many_secrets_are_redacted_in_linear_time() {
    let secrets = SensitiveValues::default();
    let began = std::time::Instant::now();
    for number in 0..5_000 {
        secrets.add_text(format!("secret number {number}"));
        assert_eq!(secrets.redact(&format!("it is secret number {number}.")), "it is (sensitive value).");
    }
    assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
}

fn attribute(ty: AttributeType, sensitive: bool, write_only: bool) -> Attribute {
    Attribute {
        ty,
        description: Description::default(),
        setting: Setting::Optional,
        sensitive,
        write_only,
        deprecation: Deprecation::None,
    }
}

fn text(sensitive: bool, write_only: bool) -> Attribute {
    attribute(AttributeType::Value(Type::String), sensitive, write_only)
}

fn schema() -> Arc<Schema> {
    let nested = NestedObject {
        attributes: BTreeMap::from([
            (Str::new("key"), text(true, false)),
            (Str::new("name"), text(false, false)),
        ]),
        nesting: ObjectNesting::Map,
    };
    let disk = Block {
        attributes: BTreeMap::from([
            (Str::new("passphrase"), text(false, true)),
            (Str::new("size"), text(false, false)),
        ]),
        ..Block::default()
    };
    let disk = NestedBlock { block: disk, nesting: BlockNesting::List, min_items: 0, max_items: 0 };
    let block = Block {
        attributes: BTreeMap::from([
            (Str::new("password"), text(true, false)),
            (Str::new("user"), text(false, false)),
            (Str::new("keys"), attribute(AttributeType::Nested(Arc::new(nested)), false, false)),
        ]),
        block_types: BTreeMap::from([(Str::new("disk"), disk)]),
        ..Block::default()
    };
    Arc::new(Schema::new(0, block))
}

const STORED: &str = r#"{"password":"pass-of-it","user":"user-of-it","disk":[{"passphrase":"phrase-of-it","size":"size-of-it"}],"keys":{"one":{"key":"key-of-it","name":"name-of-it"}},"gone":"gone-of-it"}"#;
const SAID: &str = "pass-of-it user-of-it phrase-of-it size-of-it key-of-it name-of-it gone-of-it";
const MASKED: &str =
    "(sensitive value) user-of-it (sensitive value) size-of-it (sensitive value) name-of-it gone-of-it";

#[test]
fn sensitive_and_write_only_attributes_are_secret() {
    let secrets = SensitiveValues::default();
    let object = wardian_value::json::decode_simple(STORED).unwrap();
    secrets.add_by_schema(&object, &schema());
    assert_eq!(secrets.redact(SAID), MASKED);
}

#[test]
fn sensitive_attributes_of_stored_objects_are_secret() {
    let secrets = SensitiveValues::default();
    secrets.add_stored(&RawState::Json(STORED.into()), &schema());
    assert_eq!(secrets.redact(SAID), MASKED);
    let secrets = SensitiveValues::default();
    let size = Path::root().attribute("disk").index(0).attribute("size");
    secrets.add_stored_parts(&RawState::Json(STORED.into()), &[size, Path::root().attribute("absent")]);
    assert_eq!(secrets.redact("phrase-of-it size-of-it"), "phrase-of-it (sensitive value)");
    let flat = [
        ("password", "pass-of-it"),
        ("user", "user-of-it"),
        ("disk.#", "1"),
        ("disk.0.passphrase", "phrase-of-it"),
        ("disk.0.size", "size-of-it"),
    ];
    let flat = flat.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    let secrets = SensitiveValues::default();
    secrets.add_stored(&RawState::Flatmap(Arc::new(flat)), &schema());
    assert_eq!(
        secrets.redact("pass-of-it user-of-it phrase-of-it size-of-it"),
        "(sensitive value) user-of-it (sensitive value) size-of-it"
    );
}
