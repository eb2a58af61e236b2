use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use wardian_digest::Sha256Digest;
use wardian_oci::media_type::IMAGE_INDEX;
use wardian_oci::{
    BlobDescriptor, Descriptor, ImageIndex, ImageManifest, OciError, PushedBlob, Tag, UploadSource,
};

use crate::fake_registry::{FakeRegistry, Request, Response, within_time_limit};

type Contents = Arc<Mutex<HashMap<String, Vec<u8>>>>;

fn blob(bytes: &[u8]) -> BlobDescriptor {
    BlobDescriptor { digest: Sha256Digest::hash(bytes), size: bytes.len() as u64 }
}

/// Returns a registry that stores blobs and manifests, and fails the first `failures` uploads at their end.
fn storing_registry(failures: usize) -> (FakeRegistry, Contents) {
    let contents = Contents::default();
    let stored = Arc::clone(&contents);
    let failures = AtomicUsize::new(failures);
    let registry = FakeRegistry::start(move |request: &Request| {
        let mut stored = stored.lock().unwrap();
        match (request.method.as_str(), request.path()) {
            ("HEAD", path) => Response::new(if stored.contains_key(path) { 200 } else { 404 }, ""),
            ("POST", "/v2/x/blobs/uploads/") => {
                stored.insert("upload".to_owned(), Vec::new());
                Response::new(202, "").header("Location", "/v2/x/blobs/uploads/1?_state=a")
            }
            ("PATCH", "/v2/x/blobs/uploads/1") => {
                let upload = stored.get_mut("upload").unwrap();
                let expected = format!("{}-{}", upload.len(), upload.len() + request.body.len() - 1);
                if request.header("content-range") != Some(&expected) {
                    return Response::new(416, "");
                }
                upload.extend(&request.body);
                Response::new(202, "").header("Location", "/v2/x/blobs/uploads/1?_state=b")
            }
            ("PUT", "/v2/x/blobs/uploads/1") => {
                if failures.load(Ordering::SeqCst) > 0 {
                    failures.fetch_sub(1, Ordering::SeqCst);
                    return Response::new(503, "");
                }
                let mut upload = stored.remove("upload").unwrap();
                upload.extend(&request.body);
                let digest = Sha256Digest::hash(&upload);
                assert!(
                    request.target.ends_with(&format!("&digest=sha256%3A{digest}")),
                    "{}",
                    request.target
                );
                stored.insert(format!("/v2/x/blobs/sha256:{digest}"), upload);
                Response::new(201, "")
            }
            ("PUT", path) => {
                stored.insert(path.to_owned(), request.body.clone());
                Response::new(201, "")
                    .header("Docker-Content-Digest", format!("sha256:{}", Sha256Digest::hash(&request.body)))
            }
            ("GET", path) => match stored.get(path) {
                Some(body) => Response::manifest(
                    request.header("accept").unwrap().split(',').next().unwrap(),
                    body.clone(),
                ),
                None => Response::new(404, ""),
            },
            _ => Response::new(405, ""),
        }
    });
    (registry, contents)
}

#[tokio::test]
async fn blob_is_uploaded_once() {
    let (registry, contents) = storing_registry(0);
    within_time_limit(async {
        let (client, repository) = (registry.client(), registry.repository("x"));
        let source = UploadSource::Bytes("content".into());
        let push = || client.push_blob(&repository, blob(b"content"), &source, &|_| {});
        assert_eq!(push().await.unwrap(), PushedBlob::Uploaded);
        assert_eq!(push().await.unwrap(), PushedBlob::AlreadyPresent);
        let path = format!("/v2/x/blobs/sha256:{}", blob(b"content").digest);
        assert_eq!(contents.lock().unwrap()[&path], b"content");
        assert_eq!(registry.requests().len(), 4);
    })
    .await;
}

#[tokio::test]
async fn large_file_is_uploaded_in_chunks() {
    let (registry, contents) = storing_registry(1);
    let content: Vec<u8> = (0..(40_u32 << 20)).map(|index| u8::try_from(index % 251).unwrap()).collect();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("blob");
    std::fs::write(&path, &content).unwrap();
    within_time_limit(async {
        let (client, repository) = (registry.client(), registry.repository("x"));
        let sent = Mutex::new(Vec::new());
        let progress = |bytes| sent.lock().unwrap().push(bytes >> 20);
        let source = UploadSource::File(path);
        client.push_blob(&repository, blob(&content), &source, &progress).await.unwrap();
        // The first attempt failed after the last chunk.
        assert_eq!(*sent.lock().unwrap(), [16_u64, 32, 40, 16, 32, 40]);
        let key = format!("/v2/x/blobs/sha256:{}", blob(&content).digest);
        assert!(contents.lock().unwrap()[&key] == content);
    })
    .await;
}

#[tokio::test]
async fn rejected_and_changed_blobs_are_errors() {
    let registry = FakeRegistry::start(|request| match request.method.as_str() {
        "HEAD" => Response::new(404, ""),
        "POST" => Response::new(202, "").header("Location", "/v2/x/blobs/uploads/1"),
        _ => Response::new(400, r#"{"errors":[{"code":"DIGEST_INVALID","message":"wrong"}]}"#),
    });
    let denied = FakeRegistry::start(|request| match request.method.as_str() {
        "HEAD" => Response::new(404, ""),
        _ => Response::new(403, r#"{"errors":[{"code":"DENIED","message":"read only"}]}"#),
    });
    within_time_limit(async {
        let client = registry.client();
        let push = async |source: UploadSource| {
            client.push_blob(&registry.repository("x"), blob(b"content"), &source, &|_| {}).await.unwrap_err()
        };
        let error = push(UploadSource::Bytes("content".into())).await;
        assert!(error.to_string().contains("DIGEST_INVALID: wrong"), "{error}");
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("blob");
        std::fs::write(&path, "short").unwrap();
        assert!(matches!(push(UploadSource::File(path)).await, OciError::Changed { .. }));
        let missing = directory.path().join("missing");
        assert!(push(UploadSource::File(missing)).await.to_string().contains("missing"));
        let source = UploadSource::Bytes("content".into());
        let error =
            denied.client().push_blob(&denied.repository("x"), blob(b"content"), &source, &|_| {}).await;
        assert!(error.unwrap_err().to_string().contains("read only"));
    })
    .await;
}

#[tokio::test]
async fn referrer_is_added_to_the_fallback_index() {
    let (registry, contents) = storing_registry(0);
    within_time_limit(async {
        let (client, repository) = (registry.client(), registry.repository("x"));
        let index = ImageIndex::default();
        let subject = Sha256Digest::hash(&index.to_bytes());
        let tag = repository.with_tag(Tag::parse("1.0.0").unwrap());
        client.push_index(&tag, &index).await.unwrap();
        for name in ["one", "two", "one"] {
            let image = ImageManifest {
                artifact_type: Some("application/vnd.example".to_owned()),
                config: Descriptor::for_empty_config(),
                layers: vec![Descriptor::for_bytes("text/plain", name.as_bytes())],
                subject: Some(Descriptor::new(IMAGE_INDEX, subject, 5)),
                annotations: [].into(),
            };
            client.push_referrer(&repository, &image).await.unwrap();
        }
        let fallback = contents.lock().unwrap()[&format!("/v2/x/manifests/sha256-{subject}")].clone();
        assert_eq!(String::from_utf8(fallback).unwrap().matches("application/vnd.example").count(), 2);
        assert_eq!(client.referrers(&repository, subject).await.unwrap().len(), 2);
    })
    .await;
}
