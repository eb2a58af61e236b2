use wardian_plugin::{Attribute, AttributeType, Block, Deprecation, Description, PluginDiagnostic, Setting};
use wardian_value::Str;

use super::*;

fn attribute(ty: Type, sensitive: bool) -> Attribute {
    Attribute {
        ty: AttributeType::Value(ty),
        description: Description::default(),
        setting: Setting::Optional,
        sensitive,
        write_only: false,
        deprecation: Deprecation::None,
    }
}

/// A schema with a secret string, a secret number and a secret list.
fn schema() -> Arc<Schema> {
    let attributes = [
        ("name", attribute(Type::String, false)),
        ("token", attribute(Type::String, true)),
        ("pin", attribute(Type::Number, true)),
        ("codes", attribute(Type::list(Type::String), true)),
    ];
    let attributes = attributes.into_iter().map(|(name, attribute)| (Str::new(name), attribute)).collect();
    Arc::new(Schema::new(0, Block { attributes, ..Block::default() }))
}

fn object(token: Value) -> Value {
    Value::object([
        ("name", Value::from("a")),
        ("token", token),
        ("pin", Value::from(1234)),
        ("codes", Value::list(Type::String, vec![Value::from("x-1")])),
    ])
}

fn fields(schema: Option<Arc<Schema>>) -> Fields {
    Fields::new(&SensitiveValues::default(), schema)
}

/// Returns the fields as they are read from a file.
fn read(fields: Fields) -> BTreeMap<String, RecordedValue> {
    let text = serde_json::to_string(&fields.finish()).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn values_are_read_with_their_types() {
    let set = Value::set(Type::Number, vec![Value::from(1), Value::from(2)]);
    let value = Value::object([("id", Value::unknown(Type::String)), ("ports", set)]);
    let mut fields = fields(None);
    fields.value("config", &value);
    fields.value("config", &Value::from("second"));
    let read = read(fields);
    assert_eq!(read["config"].decode(), Some(value));
    assert_eq!(*read["config"].json(), json!({ "id": "(unknown)", "ports": [1, 2] }));
    assert_eq!(read["config_2"].decode(), Some(Value::from("second")));
}

#[test]
fn sensitive_attributes_are_masked() {
    let mut recorded = fields(Some(schema()));
    recorded.value("new_state", &object(Value::from("hunter2-hunter2")));
    // The token is masked in other values of the call, too.
    recorded.text("message", "signed in with hunter2-hunter2");
    let mut response = recorded.following();
    response.diagnostics(&vec![PluginDiagnostic::error("Failed", "hunter2-hunter2 is wrong")]);
    let text = serde_json::to_string(&(recorded.finish(), response.finish())).unwrap();
    assert_eq!(text.matches("(sensitive value)").count(), 3, "{text}");
    for secret in ["hunter2", "1234", "x-1", &BASE64_STANDARD.encode("hunter2-hunter2")] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
}

#[test]
fn masked_values_keep_their_types() {
    let mut fields = fields(Some(schema()));
    fields.value("known", &object(Value::from("a-token")));
    fields.value("unknown", &object(Value::unknown(Type::String)));
    let read = read(fields);
    let decoded = |name: &str| read[name].decode().unwrap();
    let part = |value: &Value, name: &str| value.as_mapping().unwrap().get(name).unwrap().clone();
    assert_eq!(part(&decoded("known"), "name"), Value::from("a"));
    assert_eq!(part(&decoded("known"), "token"), Value::from(REDACTED));
    assert!(part(&decoded("known"), "pin").is_null());
    assert!(part(&decoded("known"), "codes").is_null());
    assert_eq!(part(&decoded("unknown"), "token"), Value::unknown(Type::String));
}

#[test]
fn private_data_is_repeated_unless_it_contains_a_secret() {
    let secrets = SensitiveValues::default();
    secrets.add_text("hunter2-hunter2");
    let mut fields = Fields::new(&secrets, None);
    fields.private("none", b"");
    fields.private("text", b"{\"etag\":\"7\"}");
    fields.private("bytes", &[0xff, 0x00]);
    fields.private("secret", b"\xffhunter2-hunter2");
    let read = read(fields);
    assert!(!read.contains_key("none"));
    assert_eq!(read["text"].bytes().as_deref(), Some(&b"{\"etag\":\"7\"}"[..]));
    assert_eq!(read["bytes"].bytes().as_deref(), Some(&[0xff, 0x00][..]));
    assert_eq!(*read["secret"].json(), json!("16 bytes"));
}

#[test]
fn values_are_the_same_only_with_the_same_types() {
    let recorded = |value: &Value| {
        let mut fields = fields(None);
        fields.value("a", value);
        read(fields).remove("a").unwrap()
    };
    let unknown = recorded(&Value::unknown(Type::String));
    assert!(unknown.is_same(&recorded(&Value::unknown(Type::String))));
    assert!(!unknown.is_same(&recorded(&Value::from("(unknown)"))));
    assert!(!unknown.is_same(&recorded(&Value::from("b"))));
}

#[test]
fn damaged_values_are_not_decoded() {
    for value in [json!({ "value": 1, "exact": "!" }), json!({ "value": 1, "exact": "wQ==" }), json!(1)] {
        let value: RecordedValue = serde_json::from_value(value).unwrap();
        assert_eq!(value.decode(), None);
    }
}
