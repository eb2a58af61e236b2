use std::collections::BTreeMap;

use wardian_digest::Sha256Digest;
use wardian_oci::media_type::{IMAGE_INDEX, IMAGE_MANIFEST};
use wardian_oci::{Descriptor, ImageIndex, ImageManifest};

use crate::fake_registry::{FakeRegistry, Response, within_time_limit};

const BUNDLE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";

fn subject() -> Sha256Digest {
    Sha256Digest::hash(b"index")
}

fn referrer(name: &str, subject: Sha256Digest, layers: Vec<Descriptor>) -> Vec<u8> {
    ImageManifest {
        artifact_type: Some(BUNDLE.to_owned()),
        config: Descriptor::for_empty_config(),
        layers,
        subject: Some(Descriptor::new(IMAGE_INDEX, subject, 5)),
        annotations: BTreeMap::from([
            ("name".to_owned(), name.to_owned()),
            ("dev.sigstore.bundle.predicateType".to_owned(), "https://slsa.dev/provenance/v1".to_owned()),
        ]),
    }
    .to_bytes()
}

fn bundle(content: &[u8]) -> Descriptor {
    Descriptor::for_bytes(BUNDLE, content)
}

fn index(manifests: &[Vec<u8>]) -> Vec<u8> {
    let manifests = manifests.iter().map(|bytes| Descriptor::for_bytes(IMAGE_MANIFEST, bytes)).collect();
    ImageIndex { manifests, ..ImageIndex::default() }.to_bytes()
}

/// Returns a registry with these manifests; `list` is the response to the request for the referrers.
fn registry(
    manifests: Vec<Vec<u8>>,
    list: impl Fn(&str) -> Response + Send + Sync + 'static,
    fallback: Option<Vec<u8>>,
) -> FakeRegistry {
    FakeRegistry::start(move |request| {
        if request.path() == format!("/v2/x/referrers/sha256:{}", subject()) {
            return list(&request.target);
        }
        if request.path() == format!("/v2/x/manifests/sha256-{}", subject()) {
            return fallback
                .clone()
                .map_or_else(Response::not_found, |body| Response::manifest(IMAGE_INDEX, body));
        }
        let is_requested =
            |bytes: &&Vec<u8>| request.path().ends_with(&format!("sha256:{}", Sha256Digest::hash(bytes)));
        let found = manifests.iter().find(is_requested);
        found.map_or_else(Response::not_found, |body| Response::manifest(IMAGE_MANIFEST, body.clone()))
    })
}

#[tokio::test]
async fn bundles_are_found_by_their_layers() {
    let manifests = vec![
        referrer("spdx", subject(), vec![Descriptor::for_bytes("application/spdx+json", b"s")]),
        referrer("good", subject(), vec![bundle(b"one")]),
        referrer("other subject", Sha256Digest::hash(b"other"), vec![bundle(b"two")]),
        referrer("large", subject(), vec![Descriptor { size: 2 << 20, ..bundle(b"three") }]),
    ];
    let missing = referrer("missing", subject(), vec![bundle(b"four")]);
    let (first, second) =
        (index(&manifests[..2]), index(&[manifests[2].clone(), manifests[3].clone(), missing]));
    let list = move |target: &str| {
        if target.ends_with("page=2") {
            return Response::manifest(IMAGE_INDEX, second.clone());
        }
        let next = format!("</v2/x/referrers/sha256:{}?page=2>; rel=\"next\"", subject());
        Response::manifest(IMAGE_INDEX, first.clone()).header("Link", next)
    };
    let registry = registry(manifests.clone(), list, None);
    within_time_limit(async {
        let found = registry.client().sigstore_bundles(&registry.repository("x"), subject()).await.unwrap();
        let [only] = found.bundles.as_slice() else { panic!("{found:?}") };
        assert_eq!(only.blob.digest, Sha256Digest::hash(b"one"));
        assert_eq!(only.manifest, Sha256Digest::hash(&manifests[1]));
        assert_eq!(only.media_type, BUNDLE);
        assert_eq!(only.predicate_type.as_deref(), Some("https://slsa.dev/provenance/v1"));
        assert_eq!((found.unusable, found.unexamined), (2, 0));
    })
    .await;
}

#[tokio::test]
async fn fallback_tag_is_used_if_registry_has_no_referrers_list() {
    let manifest = referrer("good", subject(), vec![bundle(b"one")]);
    let not_found = |_: &str| Response::new(404, "404 page not found\n");
    let with_tag = registry(vec![manifest.clone()], not_found, Some(index(&[manifest])));
    let without_tag = registry(vec![], not_found, None);
    let other_content = registry(vec![], not_found, Some(b"{}".to_vec()));
    within_time_limit(async {
        let found = with_tag.client().sigstore_bundles(&with_tag.repository("x"), subject()).await.unwrap();
        assert_eq!(found.bundles.len(), 1);
        let none = without_tag.client().referrers(&without_tag.repository("x"), subject()).await.unwrap();
        assert!(none.is_empty());
        let invalid = other_content.client().referrers(&other_content.repository("x"), subject()).await;
        assert!(invalid.is_err());
    })
    .await;
}

#[tokio::test]
async fn empty_and_invalid_lists_are_distinguished() {
    let empty = registry(vec![], |_| Response::manifest(IMAGE_INDEX, index(&[])), None);
    let invalid = registry(vec![], |_| Response::new(200, "<html>"), None);
    let failing = registry(vec![], |_| Response::new(501, ""), None);
    within_time_limit(async {
        let found = empty.client().sigstore_bundles(&empty.repository("x"), subject()).await.unwrap();
        assert!(found.bundles.is_empty());
        for registry in [invalid, failing] {
            assert!(registry.client().sigstore_bundles(&registry.repository("x"), subject()).await.is_err());
        }
    })
    .await;
}

#[tokio::test]
async fn number_of_examined_referrers_is_limited() {
    let manifests: Vec<_> =
        (0..40).map(|number| referrer(&number.to_string(), subject(), vec![bundle(b"one")])).collect();
    let list = index(&manifests);
    let registry = registry(manifests, move |_| Response::manifest(IMAGE_INDEX, list.clone()), None);
    within_time_limit(async {
        let found = registry.client().sigstore_bundles(&registry.repository("x"), subject()).await.unwrap();
        assert_eq!((found.bundles.len(), found.unexamined), (32, 8));
        assert_eq!(registry.requests().len(), 33);
    })
    .await;
}
