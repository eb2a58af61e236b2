//! Packages in buckets: the S3 protocol with a scripted server and with moto, and the Google Cloud
//! Storage protocol with a scripted server.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use url::Url;
use wardian_modules::{GcsSettings, InstallMode, S3Settings};

use crate::fixture::{Fixture, files};
use crate::repositories::zip;
use crate::server::{Answer, Server};

fn page(keys: &[(&str, usize)], continuation: Option<&str>) -> Answer {
    let mut objects = String::new();
    for (key, size) in keys {
        write!(objects, "<Contents><Key>{key}</Key><Size>{size}</Size></Contents>").unwrap();
    }
    let continuation = continuation.map_or_else(
        || "<IsTruncated>false</IsTruncated>".to_owned(),
        |token| {
            format!("<IsTruncated>true</IsTruncated><NextContinuationToken>{token}</NextContinuationToken>")
        },
    );
    Answer::bytes(format!("<ListBucketResult>{continuation}{objects}</ListBucketResult>"))
}

async fn s3() -> (Fixture, Server, String) {
    let mut fixture = Fixture::new();
    fixture.settings.mode = InstallMode::Upgrade;
    let server = Server::start().await;
    let source = format!("s3::{}", server.url("/bucket"));
    (fixture, server, source)
}

#[tokio::test]
async fn s3_directory_becomes_a_module() {
    let (mut fixture, server, source) = s3().await;
    server.answer(
        "/bucket/?list-type=2&prefix=mods%2Fvpc%2F",
        page(&[("mods/vpc/main.tf", 1), ("mods/vpc/", 0)], Some("t/1")),
    );
    server.answer(
        "/bucket/?continuation-token=t%2F1&list-type=2&prefix=mods%2Fvpc%2F",
        page(&[("mods/vpc/sub/a b.tf", 1)], None),
    );
    server.answer("/bucket/mods/vpc/main.tf", Answer::bytes("x"));
    server.answer("/bucket/mods/vpc/sub/a%20b.tf", Answer::bytes("y"));
    fixture.install(&format!("{source}/mods/vpc")).await.unwrap();
    assert_eq!(files(&fixture.module("m")).into_keys().collect::<Vec<_>>(), ["main.tf", "sub/a b.tf"]);
    assert!(server.received().iter().all(|request| !request.headers.contains_key("authorization")));
    server.take_lines();
    let with_key =
        format!("{source}/mods/vpc?aws_access_key_id=AKID&aws_access_key_secret=s3cret&region=eu-west-1");
    let installed = fixture.install(&with_key).await.unwrap();
    for request in server.received() {
        let authorization = &request.headers["authorization"];
        assert!(
            authorization.contains("Credential=AKID/") && authorization.contains("/eu-west-1/s3/"),
            "{authorization}"
        );
        assert!(request.headers.contains_key("x-amz-date"));
    }
    assert!(!installed.pin.unwrap().package.contains("s3cret"));
    assert!(!format!("{:?}", fixture.take_lines()).contains("s3cret"));
}

#[tokio::test]
async fn s3_archives_and_versions_are_fetched() {
    let (mut fixture, server, source) = s3().await;
    server.answer("/bucket/m.zip", Answer::bytes(zip(&[("main.tf", "latest")])));
    server.answer("/bucket/m.zip?versionId=v%2F1", Answer::bytes(zip(&[("main.tf", "versioned")])));
    fixture.install(&format!("{source}/m.zip")).await.unwrap();
    assert_eq!(fs::read_to_string(fixture.module("m/main.tf")).unwrap(), "latest");
    fixture.install(&format!("{source}/m.zip?version=v/1")).await.unwrap();
    assert_eq!(fs::read_to_string(fixture.module("m/main.tf")).unwrap(), "versioned");
    server.take_lines();
    fixture.install(&format!("{source}/m.zip?version=v/1")).await.unwrap();
    assert_eq!(server.take_lines(), Vec::<String>::new(), "a version never changes");
}

#[tokio::test]
async fn s3_region_is_corrected() {
    let (mut fixture, server, source) = s3().await;
    fixture.settings.s3 = S3Settings {
        access_key_id: Some("AKID".into()),
        secret_access_key: Some("s3cret".into()),
        ..S3Settings::default()
    };
    let moved = Answer::status(301).header("x-amz-bucket-region", "eu-central-1");
    server.answer("/bucket/?list-type=2&prefix=vpc%2F", moved.clone());
    server.answer("/bucket/", moved);
    let (summary, detail) = Fixture::failure(fixture.install(&format!("{source}/vpc")).await);
    assert_eq!(summary, "Failed to download module");
    assert!(detail.contains("s3://bucket/vpc") && detail.contains("301"), "{detail}");
    let regions: Vec<bool> = server
        .received()
        .iter()
        .map(|request| request.headers["authorization"].contains("/eu-central-1/"))
        .collect();
    assert_eq!(regions.first(), Some(&false));
    assert_eq!(regions.last(), Some(&true));
}

#[tokio::test]
async fn s3_errors_are_reported() {
    let (mut fixture, server, source) = s3().await;
    let list = "/bucket/?list-type=2&prefix=vpc%2F";
    let many: Vec<(&str, usize)> = vec![("vpc/big", 3 << 30), ("vpc/bigger", 3 << 30)];
    for (answer, expected) in [
        (Answer::status(403), "no credentials were found"),
        (Answer::bytes("<Error/>"), "contains Error instead of objects"),
        (page(&[], None), "contains no objects"),
        (page(&[("vpc/../evil", 1)], None), "its name is unsafe"),
        (page(&[("other/evil", 1)], None), "its name is unsafe"),
        (page(&many, None), "bytes in total"),
        (page(&[("vpc/missing.tf", 1)], None), "404"),
        (page(&[("vpc/longer.tf", 1)], None), "expected size is 1 bytes"),
        (Answer::endless(), "larger than the limit"),
    ] {
        server.answer(list, answer);
        server.answer("/bucket/vpc/longer.tf", Answer::bytes("longer"));
        let (summary, detail) = Fixture::failure(fixture.install(&format!("{source}/vpc")).await);
        let is_empty = expected == "contains no objects";
        let expected_summary =
            if is_empty { "Failed to expand subdir globs" } else { "Failed to download module" };
        assert_eq!(summary, expected_summary);
        assert!(detail.contains(expected), "{expected}: {detail}");
        fixture.assert_nothing_installed();
    }
}

#[tokio::test]
async fn instance_credentials_are_used_if_allowed() {
    let (mut fixture, server, source) = s3().await;
    server.answer("/latest/api/token", Answer::bytes("token"));
    server.answer("/latest/meta-data/iam/security-credentials/", Answer::bytes("role\n"));
    server.answer(
        "/latest/meta-data/iam/security-credentials/role",
        Answer::bytes("{\"AccessKeyId\":\"MACHINE\",\"SecretAccessKey\":\"s\",\"Token\":\"session\"}"),
    );
    server.answer("/bucket/m.zip", Answer::bytes(zip(&[("main.tf", "x")])));
    fixture.install(&format!("{source}/m.zip")).await.unwrap();
    assert_eq!(server.take_lines(), ["GET /bucket/m.zip"]);
    fixture.settings.s3.instance_metadata = Some(Url::parse(&server.url("/")).unwrap());
    fixture.install(&format!("{source}/m.zip")).await.unwrap();
    let request = server.received().pop().unwrap();
    assert!(request.headers["authorization"].contains("Credential=MACHINE/"));
    assert_eq!(request.headers["x-amz-security-token"], "session");
}

#[tokio::test]
async fn gcs_directories_and_archives_are_fetched() {
    let mut fixture = Fixture::new();
    fixture.settings.mode = InstallMode::Upgrade;
    let server = Server::start().await;
    fixture.settings.gcs = GcsSettings {
        access_token: Some("t0ken".into()),
        endpoint: Some(Url::parse(&server.url("/")).unwrap()),
        ..GcsSettings::default()
    };
    server.answer(
        "/storage/v1/b/bucket/o?prefix=vpc%2F",
        Answer::bytes("{\"items\":[{\"name\":\"vpc/main.tf\",\"size\":\"1\"}],\"nextPageToken\":\"p/2\"}"),
    );
    server.answer(
        "/storage/v1/b/bucket/o?prefix=vpc%2F&pageToken=p%2F2",
        Answer::bytes(
            "{\"items\":[{\"name\":\"vpc/sub/a.tf\",\"size\":\"1\"},{\"name\":\"vpc/sub/\",\"size\":\"0\"}]}",
        ),
    );
    server.answer("/storage/v1/b/bucket/o/vpc%2Fmain.tf?alt=media", Answer::bytes("x"));
    server.answer("/storage/v1/b/bucket/o/vpc%2Fsub%2Fa.tf?alt=media", Answer::bytes("y"));
    server.answer(
        "/storage/v1/b/bucket/o/m.zip?alt=media&generation=7",
        Answer::bytes(zip(&[("main.tf", "zip")])),
    );
    let base = "gcs::https://www.googleapis.com/storage/v1/bucket";
    fixture.install(&format!("{base}/vpc")).await.unwrap();
    assert_eq!(files(&fixture.module("m")).into_keys().collect::<Vec<_>>(), ["main.tf", "sub/a.tf"]);
    fixture.install(&format!("{base}/m.zip#7")).await.unwrap();
    assert_eq!(fs::read_to_string(fixture.module("m/main.tf")).unwrap(), "zip");
    assert!(server.received().iter().all(|request| request.headers["authorization"] == "Bearer t0ken"));
    // Without a token, requests are anonymous; with the credentials of a user, a token is requested.
    server.take_lines();
    fixture.settings.gcs.access_token = None;
    fixture.install(&format!("{base}/vpc")).await.unwrap();
    assert!(server.received().iter().all(|request| !request.headers.contains_key("authorization")));
    let file = fixture.path("credentials.json");
    let uri = server.url("/token");
    fs::write(
        &file,
        format!("{{\"type\":\"authorized_user\",\"client_id\":\"i\",\"client_secret\":\"s\",\"refresh_token\":\"r\",\"token_uri\":\"{uri}\"}}"),
    )
    .unwrap();
    server.answer("/token", Answer::bytes("{\"access_token\":\"fresh\"}"));
    fixture.settings.gcs.credentials_file = Some(file);
    fixture.install(&format!("{base}/vpc")).await.unwrap();
    assert_eq!(server.received().pop().unwrap().headers["authorization"], "Bearer fresh");
}

/// Starts moto, a server that implements the S3 protocol. Prints the reason if it cannot be started.
fn start_moto(port: u16, log: &Path) -> Option<Child> {
    let has_moto = Command::new("python3")
        .args(["-c", "import moto.server, boto3"])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !has_moto {
        println!("skipped: the Python packages moto and boto3 are not installed");
        return None;
    }
    let log = fs::File::create(log).unwrap();
    let mut child = Command::new("python3")
        .args(["-m", "moto.server", "-H", "127.0.0.1", "-p", &port.to_string()])
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .unwrap();
    for _ in 0..600 {
        if std::net::TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return Some(child);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    panic!("moto did not start");
}

#[tokio::test]
async fn packages_are_fetched_from_moto() {
    let (mut fixture, server, _) = s3().await;
    fixture.write("m.zip", "");
    fs::write(fixture.path("m.zip"), zip(&[("main.tf", "zip")])).unwrap();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    drop(server);
    let Some(mut moto) = start_moto(port, &fixture.path("moto.log")) else { return };
    let script = format!(
        "import boto3\n\
         s3 = boto3.client('s3', endpoint_url='http://127.0.0.1:{port}', region_name='us-east-1', aws_access_key_id='a', \
         aws_secret_access_key='b')\n\
         s3.create_bucket(Bucket='bucket')\n\
         s3.put_object(Bucket='bucket', Key='vpc/main.tf', Body=b'x')\n\
         s3.put_object(Bucket='bucket', Key='vpc/sub/a +&.tf', Body=b'y')\n\
         s3.put_object(Bucket='bucket', Key='vpc2/other.tf', Body=b'z')\n\
         for i in range(1100): s3.put_object(Bucket='bucket', Key='many/f%04d.tf' % i, Body=b'x')\n\
         s3.upload_file('{}', 'bucket', 'm.zip')\n",
        fixture.path("m.zip").display()
    );
    let filled = Command::new("python3").args(["-c", &script]).status().unwrap().success();
    fixture.settings.s3 = S3Settings {
        access_key_id: Some("a".into()),
        secret_access_key: Some("b".into()),
        ..S3Settings::default()
    };
    let source = format!("s3::http://127.0.0.1:{port}/bucket");
    let mut results = Vec::new();
    for (name, key) in [("vpc", "vpc"), ("zip", "m.zip"), ("many", "many"), ("missing", "missing")] {
        let result = fixture.install(&format!("{source}/{key}")).await;
        let found = result.as_ref().ok().map(|_| files(&fixture.module("m")));
        results.push((name, result, found));
    }
    moto.kill().unwrap();
    moto.wait().unwrap();
    assert!(filled);
    let found = |name: &str| {
        let (_, result, found) = results.iter().find(|(other, ..)| *other == name).unwrap();
        found.clone().unwrap_or_else(|| panic!("{name}: {result:?}"))
    };
    assert_eq!(found("vpc").into_keys().collect::<Vec<_>>(), ["main.tf", "sub/a +&.tf"]);
    assert_eq!(found("zip")["main.tf"], "zip");
    assert_eq!(found("many").len(), 1100);
    assert!(results[3].1.as_ref().unwrap_err().to_string().contains("contains no objects"));
}
