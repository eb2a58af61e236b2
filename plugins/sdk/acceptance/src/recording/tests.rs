//! Records the responses of a function, and replays them.

use std::path::Path;

use wardian_sdk::http::{self, Response};

use super::{RecordedHttp, RecordingError, recorded_http};

fn recording(directory: &Path) -> RecordedHttp {
    recorded_http(directory.join("recordings/x.json"))
        .mask_header("X-Session")
        .mask_json("/auth/token")
        .mask_query("key")
}

/// Logs in, and sends the token in a header, a URL and a body.
fn requests() -> Vec<Result<Response, http::Error>> {
    let login = http::post("https://api.example/login?key=very-secret-key&zone=a", "")
        .header("Authorization", "Basic dXNlcjpodW50ZXIyMg==")
        .json(&serde_json::json!({ "name": "ada", "note": "hunter22 is the password" }))
        .send();
    let token = login.as_ref().map_or(String::new(), |response| {
        response.json::<serde_json::Value>().unwrap()["auth"]["token"].as_str().unwrap().to_owned()
    });
    let by_url =
        http::get(format!("https://api.example/sessions/{token}")).header("X-Session", token.as_str()).send();
    let again = http::get(format!("https://api.example/sessions/{token}")).send();
    let binary = http::post("https://api.example/upload", vec![0xff, 0x00]).send();
    vec![login, by_url, again, binary]
}

#[allow(clippy::unnecessary_wraps, reason = "the type of a server")]
fn server(request: &http::Request) -> Result<Response, http::Error> {
    Ok(match request.url().split('?').next() {
        Some("https://api.example/login") => {
            let body = serde_json::json!({ "auth": { "token": "token-4711" }, "id": 1.0 }).to_string();
            Response::new(201, body).with_header("Set-Cookie", "session=abcdef")
        }
        Some("https://api.example/upload") => Response::new(200, vec![0xfe]),
        _ => Response::new(200, "the token is token-4711"),
    })
}

#[test]
fn recording_is_replayed_without_secrets() {
    let directory = tempfile::tempdir().unwrap();
    let recorded = recording(directory.path()).record(true).servers(server).run(requests).unwrap();
    assert_eq!(recorded[2].as_ref().unwrap().text(), Ok("the token is token-4711"));
    let text = std::fs::read_to_string(directory.path().join("recordings/x.json")).unwrap();
    for secret in ["hunter22", "dXNlcjp", "token-4711", "very-secret-key", "abcdef"] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
    insta::assert_snapshot!(text);

    let replayed = recording(directory.path()).record(false).run(requests).unwrap();
    let statuses: Vec<u16> = replayed.iter().map(|response| response.as_ref().unwrap().status()).collect();
    assert_eq!(statuses, [201, 200, 200, 200]);
    assert_eq!(replayed[2].as_ref().unwrap().text(), Ok("the token is (masked)"));
    assert_eq!(replayed[3].as_ref().unwrap().body(), [0xfe]);
}

fn replay_error(request: http::Request) -> String {
    let directory = tempfile::tempdir().unwrap();
    let ignoring = || recording(directory.path()).ignore_json("/request_id");
    let send = |request: http::Request| move || request.send();
    let create = |size: u32, id: &str| {
        http::post("https://api.example/servers", "")
            .json(&serde_json::json!({ "size": size, "request_id": id }))
    };
    ignoring()
        .record(true)
        .servers(|_| Ok(Response::new(201, "")))
        .run(send(create(8, "a")))
        .unwrap()
        .unwrap();
    ignoring().record(false).run(send(create(8, "b"))).unwrap().unwrap();
    ignoring().record(false).run(send(request)).unwrap_err().to_string()
}

#[test]
fn request_without_recording_shows_nearest() {
    let create = |size: u32| {
        http::post("https://api.example/servers", "")
            .json(&serde_json::json!({ "size": size, "request_id": "c" }))
    };
    insta::assert_snapshot!(replay_error(create(16)));
    insta::assert_snapshot!(replay_error(http::get("https://api.example/server")));
}

#[test]
fn each_exchange_is_replayed_once() {
    let directory = tempfile::tempdir().unwrap();
    let get = || http::get("https://api.example/").send();
    recording(directory.path())
        .record(true)
        .servers(|_| Ok(Response::new(204, "")))
        .run(get)
        .unwrap()
        .unwrap();
    let error = recording(directory.path()).record(false).run(|| (get(), get())).unwrap_err().to_string();
    assert!(error.contains("an equal request is recorded 1 times, and each was replayed"), "{error}");
}

#[test]
fn damaged_recordings_are_rejected() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.json");
    let read = |content: &str| {
        std::fs::write(&path, content).unwrap();
        match recorded_http(&path).record(false).run(|| ()) {
            Err(RecordingError::Damaged { line, problem, .. }) => (line, problem),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(read("").0, 1);
    assert_eq!(read("{\n\"version\": 1,\n\"exchanges\": [}").0, 3);
    assert_eq!(
        read(r#"{"version": 2, "exchanges": []}"#),
        (1, "its version is 2, but only 1 can be read".to_owned())
    );
    let body = r#"{"version": 1, "exchanges": [{"request": {"method": "GET", "url": "u"},
        "response": {"status": 200, "body": {"base64": "?"}}}]}"#;
    assert!(read(body).1.contains("a body of GET u is not valid"));
    assert!(read(r#"{"version": 1, "exchanges": [], "extra": 1}"#).1.contains("unknown field"));
    assert!(read(r#"{"version": 1, "exchanges": [{"request": {}}]}"#).1.contains("missing field"));
}

#[test]
fn failed_function_writes_no_recording() {
    let directory = tempfile::tempdir().unwrap();
    let failed = std::panic::catch_unwind(|| {
        recording(directory.path()).record(true).servers(server).run(|| panic!("the test failed")).map(drop)
    });
    assert!(failed.is_err());
    assert!(!directory.path().join("recordings/x.json").exists());
}
