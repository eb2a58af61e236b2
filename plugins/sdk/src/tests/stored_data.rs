use serde::{Deserialize, Serialize};

use crate::testing::{ProviderHarness, json};
use crate::{Context, Import, Object, Provider, Resource, Result, Schema};

#[derive(Serialize, Deserialize, Schema)]
#[schema(version = 2)]
struct Record {
    #[attr(force_new)]
    name: String,
    #[attr(default = "plain", force_new)]
    kind: String,
    #[attr(write_only, required)]
    secret: Option<String>,
    #[attr(computed, use_state_for_unknown)]
    id: Option<String>,
}

struct Records;

impl Resource for Records {
    type State = Record;

    fn schema(&self) -> Schema {
        Schema::for_type::<Record>()
    }

    fn create(&self, plan: Record, context: &mut Context<'_>) -> Result<Record> {
        let config = context.config_as::<Record>()?;
        context.set_private_value("revision", &1)?;
        context.set_private_value("etag", "\"7\"")?;
        context.remove_private_value("revision")?;
        let id = format!("{}/{}/{}", config.name, config.kind, config.secret.unwrap_or_default());
        Ok(Record { id: Some(id), ..plan })
    }

    fn read(&self, state: Record, context: &mut Context<'_>) -> Result<Option<Record>> {
        let etag: Option<String> = context.private_value("etag")?;
        let revision: Option<i64> = context.private_value("revision")?;
        assert_eq!((etag.as_deref(), revision), (Some("\"7\""), None));
        Ok(Some(state))
    }

    fn import(&self, import: &mut Import, context: &mut Context<'_>) -> Result<()> {
        context.set_private_value("etag", "\"7\"")?;
        match import.id()? {
            "passthrough" => import.passthrough("id"),
            "twice" => Err(import.not_unique(2)),
            _ => import.with_key(|(name, number): (String, u32)| {
                let id = Some(number.to_string());
                Ok((number != 0).then_some(Record { name, kind: "plain".to_owned(), secret: None, id }))
            }),
        }
    }

    fn state_upgraders(&self) -> Vec<crate::StateUpgrader> {
        (0..2).map(|version| crate::StateUpgrader::json(version, |_| Ok(()))).collect()
    }
}

fn harness() -> ProviderHarness {
    ProviderHarness::new(Provider::new("test").resource("test_record", Records))
}

#[test]
fn configuration_has_write_only_and_default_values() {
    let state = harness().create("test_record", json!({ "name": "a", "secret": "s" })).unwrap();
    assert_eq!(state.get::<String>("id"), "a/plain/s");
    assert!(state.object().is_null("secret"));
}

#[test]
fn private_values_are_stored_by_key() {
    let harness = harness();
    let state = harness.create("test_record", json!({ "name": "a", "secret": "s" })).unwrap();
    assert_eq!(state.private(), br#"{"etag":"\"7\""}"#);
    harness.read("test_record", &state).unwrap();
}

#[test]
fn import_with_key_sets_required_attributes() {
    let harness = harness();
    let state = harness.import("test_record", "a/7").unwrap();
    assert_eq!((state.get::<String>("name"), state.get::<String>("id")), ("a".to_owned(), "7".to_owned()));
    let error = |id: &str| harness.import("test_record", id).unwrap_err().diagnostics.to_string();
    assert!(error("a").contains("must be two parts, separated by a slash, got: \"a\""));
    assert!(error("a/0").contains("Cannot import non-existent remote object"));
    assert!(error("twice").contains("2 objects of type test_record match \"twice\""));
}

#[test]
fn state_that_does_not_fit_names_attribute_version_and_remedy() {
    let harness = harness();
    let imported = harness.import("test_record", "passthrough").unwrap_err().diagnostics.to_string();
    let old = harness.load_state("test_record", 2, &json!({ "name": "a", "id": "1" })).unwrap();
    let old = harness.read("test_record", &old).unwrap_err().diagnostics.to_string();
    for message in [imported, old] {
        for part in [
            "kind: string is required, but the value is null",
            "schema version 2",
            "StateUpgrader",
            "Import::with_key",
        ] {
            assert!(message.contains(part), "{part}: {message}");
        }
    }
}

#[test]
fn private_data_without_keys_is_reported() {
    struct Raw;

    impl Resource for Raw {
        type State = Object;

        fn schema(&self) -> Schema {
            Schema::new()
        }

        fn create(&self, plan: Object, context: &mut Context<'_>) -> Result<Object> {
            context.set_private(vec![1, 2]);
            context.private_value::<String>("etag")?;
            Ok(plan)
        }
    }

    let harness = ProviderHarness::new(Provider::new("test").resource("test_raw", Raw));
    let error = harness.create("test_raw", json!({})).unwrap_err().diagnostics.to_string();
    assert!(error.contains("Private data has no keys"), "{error}");
}
