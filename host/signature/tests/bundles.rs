//! Bundles from a Sigstore instance that belongs to the test.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends there")]

use proptest::prelude::*;
use serde_json::{Value, json};
use wardian_digest::Sha256Digest;
use wardian_policy::IdentityPart;
use wardian_signature::{
    BundleError, MAX_BUNDLE_SIZE, MAX_TRUST_ROOT_SIZE, TrustRoot, TrustRootError, VerifiedIdentity,
    verify_bundle,
};
use wardian_test_sigstore::{Claims, Content, GITHUB, REPOSITORY, SIGNED_AT, Sigstore, base64};

const ARTIFACT: &[u8] = b"the component of a provider";
const SIGNATURE: &str = "https://sigstore.dev/cosign/sign/v1";

fn trust_root(sigstore: &Sigstore) -> TrustRoot {
    TrustRoot::from_json(sigstore.trust_root_json().to_string().as_bytes()).unwrap()
}

fn verify(bundle: &Value, trust: &TrustRoot) -> Result<VerifiedIdentity, BundleError> {
    verify_bundle(bundle.to_string().as_bytes(), Sha256Digest::hash(ARTIFACT), trust)
}

fn release(sigstore: &Sigstore) -> Value {
    sigstore.sign(&Claims::of_release("v1.2.3"), Content::Artifact(ARTIFACT), SIGNED_AT + 5)
}

#[test]
fn valid_bundle_identifies_the_publisher() {
    let sigstore = Sigstore::new();
    let identity = verify(&release(&sigstore), &trust_root(&sigstore)).unwrap();
    let parts: Vec<(IdentityPart, &str)> = identity.publisher.parts().collect();
    assert_eq!(
        parts,
        [
            (IdentityPart::Issuer, GITHUB),
            (IdentityPart::Repository, REPOSITORY),
            (IdentityPart::RepositoryId, "1234"),
            (IdentityPart::OwnerId, "56"),
            (IdentityPart::Workflow, ".github/workflows/release.yml"),
        ]
    );
    assert_eq!(
        &*identity.subject,
        "https://github.com/acme/terraform-provider-dns/.github/workflows/release.yml@refs/tags/v1.2.3"
    );
    assert_eq!(identity.git_ref.as_deref(), Some("refs/tags/v1.2.3"));
    assert_eq!(identity.commit.as_deref(), Some("0123456789abcdef0123456789abcdef01234567"));
    assert_eq!(identity.signed_at.unwrap().to_string(), "2024-05-01T00:00:05Z");
}

#[test]
fn only_publisher_statements_count_as_signatures() {
    let sigstore = Sigstore::new();
    let trust = trust_root(&sigstore);
    let signed = |kind: &str| {
        let content = Content::Statement(ARTIFACT, kind);
        verify(&sigstore.sign(&Claims::of_release("v1"), content, SIGNED_AT), &trust)
    };
    for kind in wardian_signature::PUBLISHER_STATEMENTS {
        assert!(signed(kind).is_ok(), "{kind}");
    }
    for kind in
        ["https://cosign.sigstore.dev/attestation/vuln/v1", "https://in-toto.io/attestation/release/v0.1", ""]
    {
        assert_eq!(signed(kind), Err(BundleError::OtherStatement(kind.into())));
    }
    let mut other = sigstore.sign(
        &Claims::of_release("v1"),
        Content::Statement(b"another artifact", SIGNATURE),
        SIGNED_AT,
    );
    assert_eq!(verify(&other, &trust), Err(BundleError::OtherArtifact));
    other["dsseEnvelope"]["payloadType"] = json!("text/plain");
    assert!(matches!(verify(&other, &trust), Err(BundleError::Unsupported(_))));
}

#[test]
fn later_releases_have_the_same_publisher() {
    let sigstore = Sigstore::new();
    let trust = trust_root(&sigstore);
    let publisher = |claims: &Claims| {
        verify(&sigstore.sign(claims, Content::Artifact(ARTIFACT), SIGNED_AT), &trust).unwrap().publisher
    };
    let first = publisher(&Claims::of_release("v1.0.0"));
    assert_eq!(first.changes(&publisher(&Claims::of_release("v1.0.1"))), []);
    let moved = Claims::of_release("v1.1.0")
        .with(12, "https://github.com/evil/terraform-provider-dns")
        .with(17, "66");
    let changes: Vec<String> = first.changes(&publisher(&moved)).iter().map(ToString::to_string).collect();
    assert_eq!(
        changes,
        [
            format!("repository changed from {REPOSITORY} to https://github.com/evil/terraform-provider-dns"),
            "owner_id changed from 56 to 66".to_owned(),
            format!(
                "workflow changed from .github/workflows/release.yml to {REPOSITORY}/.github/workflows/release.yml"
            ),
        ]
    );
    let other_workflow = Claims::of_release("v1.1.0")
        .with(18, &format!("{REPOSITORY}/.github/workflows/test.yml@refs/tags/v1.1.0"));
    assert_eq!(first.changes(&publisher(&other_workflow)).len(), 1);
    let person = publisher(&Claims::of_person("ada@example.com"));
    assert_eq!(person.to_string(), "ada@example.com, confirmed by https://accounts.example.com");
    assert_eq!(first.changes(&person).len(), 6);
}

#[test]
fn rejects_signatures_for_other_artifacts() {
    let sigstore = Sigstore::new();
    let bundle = release(&sigstore).to_string();
    let other = Sha256Digest::hash(b"another artifact");
    assert_eq!(
        verify_bundle(bundle.as_bytes(), other, &trust_root(&sigstore)),
        Err(BundleError::OtherArtifact)
    );
}

#[test]
fn rejects_bundles_signed_under_other_trust_roots() {
    let sigstore = Sigstore::new();
    let bundle = release(&sigstore);
    let embedded = TrustRoot::embedded().unwrap();
    for trust in [trust_root(&Sigstore::new()), embedded] {
        let error = verify(&bundle, &trust).unwrap_err();
        assert!(matches!(error, BundleError::LogEntry(_) | BundleError::UntrustedCertificate(_)), "{error}");
    }
    // A trust root with the same logs, but with another certificate authority.
    let mut json = sigstore.trust_root_json();
    json["certificateAuthorities"] = Sigstore::new().trust_root_json()["certificateAuthorities"].take();
    let trust = TrustRoot::from_json(json.to_string().as_bytes()).unwrap();
    let error = verify(&bundle, &trust).unwrap_err();
    assert!(matches!(error, BundleError::UntrustedCertificate(_)), "{error}");
    assert!(error.to_string().contains("may be outdated"), "{error}");
    // A trust root with another certificate transparency log.
    let mut json = sigstore.trust_root_json();
    json["ctlogs"] = Sigstore::new().trust_root_json()["ctlogs"].take();
    let trust = TrustRoot::from_json(json.to_string().as_bytes()).unwrap();
    assert!(matches!(verify(&bundle, &trust), Err(BundleError::UntrustedCertificate(_))));
}

#[test]
fn certificate_must_be_valid_at_the_log_time() {
    let sigstore = Sigstore::new();
    let trust = trust_root(&sigstore);
    let at = |time: u64| {
        verify(&sigstore.sign(&Claims::of_release("v1"), Content::Artifact(ARTIFACT), time), &trust)
    };
    assert!(at(SIGNED_AT).is_ok() && at(SIGNED_AT + 600).is_ok());
    for time in [SIGNED_AT - 1, SIGNED_AT + 601] {
        let error = at(time).unwrap_err();
        assert!(
            matches!(error, BundleError::CertificateNotValidThen(_) | BundleError::UntrustedCertificate(_)),
            "{error}"
        );
    }
    assert!(matches!(at(4_000_000_000), Err(BundleError::LogEntry(_))));
}

/// Returns the JSON pointers to all strings and lists in a value.
fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(entries) => {
            for (name, value) in entries {
                pointers(value, &format!("{at}/{name}"), found);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                pointers(value, &format!("{at}/{index}"), found);
            }
        }
        _ => found.push(at.to_owned()),
    }
}

/// Every value in a bundle is verified: a bundle that contains a value from another valid bundle is
/// rejected.
#[test]
fn rejects_bundles_with_swapped_values() {
    let sigstore = Sigstore::new();
    let trust = trust_root(&sigstore);
    for content in [Content::Artifact(ARTIFACT), Content::Statement(ARTIFACT, SIGNATURE)] {
        let bundle = sigstore.sign(&Claims::of_release("v1.2.3"), content, SIGNED_AT + 5);
        let other = match content {
            Content::Artifact(_) => Content::Artifact(b"other"),
            Content::Statement(..) => Content::Statement(b"other", SIGNATURE),
        };
        let other = sigstore.sign(&Claims::of_release("v9"), other, SIGNED_AT + 7);
        let mut found = Vec::new();
        pointers(&bundle, "", &mut found);
        let mut exchanged = 0;
        for pointer in &found {
            let mut changed = bundle.clone();
            let (to, from) = (changed.pointer_mut(pointer).unwrap(), other.pointer(pointer).unwrap());
            if to == from {
                continue;
            }
            to.clone_from(from);
            exchanged += 1;
            assert!(verify(&changed, &trust).is_err(), "{pointer}");
        }
        assert!(exchanged >= 7, "{exchanged}");
    }
}

#[test]
fn rejects_changed_log_entries() {
    let sigstore = Sigstore::new();
    let trust = trust_root(&sigstore);
    let bundle = release(&sigstore);
    let with = |change: &dyn Fn(&mut Value)| {
        let mut changed = bundle.clone();
        change(&mut changed["verificationMaterial"]["tlogEntries"]);
        verify(&changed, &trust).unwrap_err()
    };
    let error = with(&|entries| entries[0]["integratedTime"] = json!((SIGNED_AT + 6).to_string()));
    assert!(matches!(error, BundleError::LogEntry(_)), "{error}");
    let error = with(&|entries| entries[0]["inclusionProof"]["hashes"][0] = json!(base64([1; 32])));
    assert!(matches!(error, BundleError::LogEntry(_)), "{error}");
    let error = with(&|entries| entries[0]["inclusionProof"]["logIndex"] = json!("1"));
    assert!(matches!(error, BundleError::LogEntry(_)), "{error}");
    let error = with(&|entries| entries[0]["inclusionPromise"] = json!(null));
    assert!(matches!(error, BundleError::Time(_)), "{error}");
    assert_eq!(with(&|entries| entries[0]["inclusionProof"] = json!(null)), BundleError::NoInclusionProof);
    assert_eq!(with(&|entries| *entries = json!([])), BundleError::NoLogEntry);
    let error = with(&|entries| {
        let entry = entries[0].clone();
        *entries = Value::Array(vec![entry; 17]);
    });
    assert_eq!(error, BundleError::TooManyEntries(16));
    // A valid entry does not compensate for an entry without a proof.
    let error = with(&|entries| {
        let mut entry = entries[0].clone();
        entry["inclusionProof"] = json!(null);
        entries.as_array_mut().unwrap().push(entry);
    });
    assert_eq!(error, BundleError::NoInclusionProof);
}

#[test]
fn signature_without_identity_is_rejected() {
    let sigstore = Sigstore::new();
    let trust = trust_root(&sigstore);
    let with = |claims: &Claims| {
        verify(&sigstore.sign(claims, Content::Artifact(ARTIFACT), SIGNED_AT), &trust).unwrap_err()
    };
    let error = with(&Claims { issuer: None, ..Claims::of_release("v1") });
    assert!(error.to_string().ends_with("the identity has no issuer"), "{error}");
    let error = with(&Claims::of_release("v1").with(12, "https://github.com/acme/\u{1b}[2J"));
    assert!(matches!(error, BundleError::Identity(_)), "{error}");
    // A signature with a key that has no certificate.
    let mut bundle = release(&sigstore);
    bundle["verificationMaterial"].as_object_mut().unwrap().remove("certificate");
    bundle["verificationMaterial"]["publicKey"] = json!({"hint": "key"});
    assert_eq!(verify(&bundle, &trust), Err(BundleError::NoCertificate));
}

#[test]
fn rejects_input_that_is_not_a_bundle() {
    let trust = trust_root(&Sigstore::new());
    let verify = |bytes: &[u8]| verify_bundle(bytes, Sha256Digest::hash(b""), &trust).unwrap_err();
    assert_eq!(verify(&vec![b' '; MAX_BUNDLE_SIZE + 1]), BundleError::TooLarge);
    for bytes in [&b""[..], b"not JSON", b"{}", b"[]", b"\xff", "[".repeat(100_000).as_bytes()] {
        let error = verify(bytes);
        assert!(matches!(error, BundleError::Malformed(_)), "{error}");
    }
    let error = verify(b"{\"mediaType\": \"\\u001b[2J\\u202e\"}").to_string();
    assert!(error.is_ascii() && !error.contains('\u{1b}'), "{error}");
}

#[test]
fn rejects_unusable_trust_roots() {
    let error = |json: &[u8]| TrustRoot::from_json(json).unwrap_err();
    assert_eq!(error(&vec![b' '; MAX_TRUST_ROOT_SIZE + 1]), TrustRootError::TooLarge);
    assert!(matches!(error(b"not JSON"), TrustRootError::Invalid(_)));
    let sigstore = Sigstore::new();
    let without = |name: &str| {
        let mut json = sigstore.trust_root_json();
        json[name] = json!([]);
        TrustRoot::from_json(json.to_string().as_bytes())
    };
    assert_eq!(without("certificateAuthorities").unwrap_err(), TrustRootError::NoCertificateAuthority);
    assert_eq!(without("tlogs").unwrap_err(), TrustRootError::NoTimeSource);
    // If the trust root has no certificate log, certificates need no timestamp from a log.
    let trust = without("ctlogs").unwrap();
    assert!(verify(&release(&sigstore), &trust).is_ok());
    let mut json = sigstore.trust_root_json();
    json["tlogs"][0]["publicKey"]["rawBytes"] = json!("AAAA");
    assert!(matches!(error(json.to_string().as_bytes()), TrustRootError::Invalid(_)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// A bundle with a changed byte is rejected, or has the same meaning.
    #[test]
    fn damaged_bundles_do_not_verify(index in any::<prop::sample::Index>(), byte in any::<u8>()) {
        thread_local! {
            static ORIGINAL: (Value, TrustRoot) = {
                let sigstore = Sigstore::new();
                (release(&sigstore), trust_root(&sigstore))
            };
        }
        ORIGINAL.with(|(bundle, trust)| {
            let mut bytes = bundle.to_string().into_bytes();
            let index = index.index(bytes.len());
            bytes[index] = byte;
            let artifact = Sha256Digest::hash(ARTIFACT);
            if let Ok(identity) = verify_bundle(&bytes, artifact, trust) {
                let expected = verify(bundle, trust).unwrap();
                prop_assert_eq!(identity, expected);
            }
            bytes.truncate(index);
            prop_assert!(verify_bundle(&bytes, artifact, trust).is_err());
            Ok(())
        })?;
    }
}
