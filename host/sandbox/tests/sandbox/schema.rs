//! Schemas with each kind of error that can occur in a component's response.

use std::fs;
use std::time::{Duration, Instant};

use wardian_plugin::CallContext;
use wardian_sandbox::{Grants, SandboxLimits};

use crate::guest::{allow, granted, load, short};

/// Requests the schema of a variant of the hostile provider.
async fn schema_error(variant: &str) -> String {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("variant"), variant).unwrap();
    let grants = granted(place.path(), &allow("read", &["."]));
    let computation = Duration::from_secs(if variant == "loop" { 1 } else { 20 });
    let limits = SandboxLimits { computation, local_call: Duration::from_mins(1), ..short() };
    let provider = load(limits).provider(grants);
    let started = Instant::now();
    let diagnostics = match provider.schema(&CallContext::default()).await {
        Ok(schema) => panic!("{variant} was taken: {schema:?}"),
        Err(diagnostics) => diagnostics,
    };
    assert!(started.elapsed() < Duration::from_secs(20), "{variant}: {:?}", started.elapsed());
    assert_eq!(diagnostics.len(), 1, "{diagnostics:?}");
    assert!(diagnostics[0].is_error());
    let detail = diagnostics[0].detail.clone();
    assert!(detail.contains("acme/hostile in get-provider-schema"), "{detail}");
    detail
}

#[tokio::test]
async fn valid_schema_is_decoded_once() {
    let provider = load(short()).provider(Grants::nothing());
    let schema = provider.schema(&CallContext::default()).await.unwrap();
    assert!(schema.resources.contains_key("hostile_honest"));
    assert!(schema.identities.contains_key("hostile_identity"));
    assert!(schema.capabilities.plan_destroy);
    assert_eq!(*schema.provider.implied_type(), crate::guest::object_type());
}

#[tokio::test]
async fn indices_must_refer_forward_to_an_entry() {
    for (variant, part) in [
        ("no-root", "there is no root block"),
        ("block-range", "there is no block 4000000000"),
        ("block-cycle", "refers back to block 0"),
        ("block-back", "refers back to block 1"),
        ("object-range", "there is no object 0"),
        ("object-cycle", "refers back to object 0"),
    ] {
        let error = schema_error(variant).await;
        assert!(error.contains("hostile_wrong"), "{variant}: {error}");
        assert!(error.contains(part), "{variant}: {error}");
    }
}

#[tokio::test]
async fn excessive_schema_expansion_is_rejected() {
    for (variant, part) in [
        ("block-bomb", "the schemas exceed"),
        ("object-bomb", "the schemas exceed"),
        ("deep", "nested deeper than"),
    ] {
        let error = schema_error(variant).await;
        assert!(error.contains(part), "{variant}: {error}");
    }
}

#[tokio::test]
async fn types_flags_and_names_must_be_valid() {
    for (variant, part) in [
        ("type-json", "attribute \"a\""),
        ("type-name", "attribute \"a\""),
        ("type-deep", "attribute \"a\""),
        ("flags", "contradict each other"),
        ("same-name", "attribute \"a\" is defined twice"),
        ("no-name", "attribute without a name"),
        ("items", "the minimum number of blocks is 2, but the maximum is 1"),
        ("twice", "resource \"hostile_honest\": defined twice"),
        ("identity", "an identity attribute must be"),
        ("function", "parameter \"value\""),
    ] {
        let error = schema_error(variant).await;
        assert!(error.contains(part), "{variant}: {error}");
    }
}

#[tokio::test]
async fn missing_schema_times_out() {
    assert!(schema_error("loop").await.contains("of CPU time"));
}
