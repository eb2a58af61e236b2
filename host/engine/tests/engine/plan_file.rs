//! Plan files.

use std::collections::BTreeMap;

use proptest::prelude::*;
use wardian_engine::plan_file::{self, PlanFileError};

use crate::fixture::{Fixture, actions};

#[test]
fn a_plan_comes_back_as_it_was() {
    let mut fixture = Fixture::new();
    fixture.apply(r#"resource "memory_thing" "old" { name = "old" }"#);
    let plan = fixture.plan(
        r#"
        resource "memory_thing" "a" {
          name   = "a"
          secret = "s"
        }
        output "id" { value = memory_thing.a.id }
        "#,
    );
    let files = BTreeMap::from([("main.tf".to_owned(), b"# text".to_vec())]);
    let bytes = plan_file::encode(&plan, &files, Some(b"lock")).unwrap();
    let file = plan_file::decode(&bytes).unwrap();
    assert_eq!(file.configuration, files);
    assert_eq!(file.lock_file.as_deref(), Some(b"lock".as_slice()));
    let schema = std::sync::Arc::new(wardian_plugin::ProviderSchema {
        resources: [("memory_thing".into(), plan.changes[0].schema.clone())].into(),
        ..Default::default()
    });
    let back = file.into_plan(|_| Some(&schema)).unwrap();
    assert_eq!(actions(&back), actions(&plan));
    assert_eq!(back.prior_state, plan.prior_state);
    for (a, b) in back.changes.iter().zip(&plan.changes) {
        assert_eq!((&a.before, &a.after), (&b.before, &b.after));
        assert_eq!(a.planned_private, b.planned_private);
    }
    assert!(!back.outputs["id"].after.is_known());
}

#[test]
fn another_format_is_refused_by_its_version() {
    let plan = Fixture::new().plan("");
    let bytes = plan_file::encode(&plan, &BTreeMap::new(), None).unwrap();
    // Stored entries can be changed in place; the check sum of the archive then
    // says so, which is an error as well.
    let damaged: Vec<u8> = bytes.iter().map(|b| b ^ 1).collect();
    assert!(matches!(plan_file::decode(&damaged), Err(PlanFileError::NotAPlan(_))));
}

proptest! {
    #[test]
    fn any_bytes_give_an_error_or_a_plan_file(bytes: Vec<u8>) {
        let _ = plan_file::decode(&bytes);
    }

    #[test]
    fn a_damaged_file_never_panics(at in 0usize..2000, value: u8) {
        let plan = Fixture::new().plan("");
        let mut bytes = plan_file::encode(&plan, &BTreeMap::new(), None).unwrap();
        let at = at % bytes.len();
        bytes[at] = value;
        let _ = plan_file::decode(&bytes);
    }
}
