//! An acceptance test whose requests are recorded and replayed.

use wardian_acceptance::{AcceptanceTest, StateCheck, Step, json, recorded_http};

use crate::cloud::{FakeCloud, TOKEN, provider, server};

fn test(size: i64) -> AcceptanceTest {
    AcceptanceTest::new(provider).step(
        Step::apply(server(&format!("name = \"a\"\nsize = {size}"))).check(StateCheck::value(
            "cloud_server.web",
            "size",
            json!(size),
        )),
    )
}

#[test]
fn test_is_recorded_and_replayed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("server.json");
    let cloud = FakeCloud::default();
    let served = cloud.clone();
    let recording = || recorded_http(&path);
    test(8).http(recording().record(true).servers(move |request| served.respond(request))).run();
    assert!(cloud.lock().all.is_empty());
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("(masked)") && !text.contains(TOKEN), "{text}");

    test(8).http(recording().record(false)).run();
    let failure = test(9).http(recording().record(false)).try_run().unwrap_err().to_string();
    assert!(failure.contains("/size is recorded as 8, and sent as 9"), "{failure}");
}

#[test]
fn failed_test_keeps_the_old_recording() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("server.json");
    let cloud = FakeCloud::default();
    let failing = test(8).step(Step::apply("x = 1"));
    let recording = recorded_http(&path).record(true).servers(move |request| cloud.respond(request));
    assert!(failing.http(recording).try_run().is_err());
    assert!(!path.exists());
    let missing = test(8).http(recorded_http(&path).record(false)).try_run().unwrap_err().to_string();
    assert!(missing.contains("WARDIAN_RECORD_HTTP=1"), "{missing}");
}
