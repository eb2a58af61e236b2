//! Plan files: round trips, and damaged or incompatible files.

use std::collections::BTreeMap;
use std::io::{Cursor, Write as _};

use proptest::prelude::*;
use wardian_engine::plan_file::{self, PlanFileError, PlanOrigin};

use crate::fixture::{Fixture, actions};

#[test]
fn plan_round_trips_through_plan_file() {
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
    let origin = PlanOrigin {
        configuration: BTreeMap::from([("main.tf".to_owned(), b"# text".to_vec())]),
        lock_file: Some(b"lock".to_vec()),
        workspace: "blue".to_owned(),
        plugins: BTreeMap::from([("example.com/test/memory".to_owned(), "00".to_owned())]),
    };
    let bytes = plan_file::encode(&plan, &origin).unwrap();
    let file = plan_file::decode(&bytes).unwrap();
    assert_eq!(file.origin, origin);
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
fn plan_file_with_wrong_checksum_is_rejected() {
    let plan = Fixture::new().plan("");
    let bytes = plan_file::encode(&plan, &PlanOrigin::default()).unwrap();
    // Stored entries are not compressed, so their bytes can be changed; the archive's checksum
    // detects the change.
    let damaged: Vec<u8> = bytes.iter().map(|b| b ^ 1).collect();
    assert!(matches!(plan_file::decode(&damaged), Err(PlanFileError::NotAPlan(_))));
}

/// Returns an archive of these entries.
fn archive(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in entries {
        archive.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        archive.write_all(content).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

#[test]
fn file_with_excessive_unpacked_size_is_rejected() {
    let zeros = vec![b' '; 80 << 20];
    let bytes =
        archive(&[("configuration/a.tf", &zeros[..40 << 20]), ("configuration/b.tf", &zeros[..40 << 20])]);
    assert!(bytes.len() < 1 << 20);
    let Err(PlanFileError::NotAPlan(problem)) = plan_file::decode(&bytes) else { panic!("it was read") };
    assert!(problem.contains("its unpacked size is larger"), "{problem}");
}

#[test]
fn file_without_required_entries_is_rejected() {
    let refused = |entries: &[(&str, &[u8])]| match plan_file::decode(&archive(entries)) {
        Ok(_) => panic!("it was read"),
        Err(error) => error.to_string(),
    };
    assert!(refused(&[]).contains("no plan.json"));
    assert!(refused(&[("plan.json", b"{}")]).contains("format"));
    assert!(refused(&[("plan.json", br#"{"format":1}"#)]).contains("format is version 1"));
    assert!(refused(&[("plan.json", br#"{"format":7}"#)]).contains("missing field"));
}

#[test]
fn large_plan_takes_linear_time() {
    let size = |count: u32| {
        let plan = Fixture::new().plan(&format!(
            "resource \"memory_thing\" \"a\" {{\n count = {count}\n name = \"a${{count.index}}\"\n}}"
        ));
        let started = std::time::Instant::now();
        let bytes = plan_file::encode(&plan, &PlanOrigin::default()).unwrap();
        plan_file::decode(&bytes).unwrap();
        (bytes.len(), started.elapsed())
    };
    let ((small, _), (large, elapsed)) = (size(200), size(4000));
    assert!(large < small * 24, "{small} and {large} bytes");
    assert!(elapsed.as_secs() < 20, "{elapsed:?}");
}

proptest! {
    #[test]
    fn arbitrary_bytes_are_decoded_or_rejected(bytes: Vec<u8>) {
        let _ = plan_file::decode(&bytes);
    }

    #[test]
    fn damaged_file_never_panics(at in 0usize..2000, value: u8) {
        let plan = Fixture::new().plan("");
        let mut bytes = plan_file::encode(&plan, &PlanOrigin::default()).unwrap();
        let at = at % bytes.len();
        bytes[at] = value;
        let _ = plan_file::decode(&bytes);
    }
}
