//! Chains of methods: rotation, migration, and stored content that cannot be decrypted.

use proptest::prelude::*;
use wardian_state::{Decrypted, StateEncryption as _, StateIdentity};

use super::{STATE, decrypted, with_state};

const IDENTITY: StateIdentity<'_> = StateIdentity { lineage: "l", serial: 3 };

#[tokio::test]
async fn fallback_decrypts_former_method() {
    let old = with_state("method = method.aes_gcm.old");
    let document = old.encrypt(STATE.as_bytes(), Some(IDENTITY)).await.unwrap();
    assert!(!document.contains("secret text"));
    let rotated = with_state("method = method.aes_gcm.new\nfallback {\nmethod = method.aes_gcm.old\n}");
    assert_eq!(decrypted(&rotated, &document).await, Ok((STATE.to_owned(), true)));
    let document = rotated.encrypt(STATE.as_bytes(), Some(IDENTITY)).await.unwrap();
    assert_eq!(decrypted(&rotated, &document).await, Ok((STATE.to_owned(), false)));
    let new = with_state("method = method.aes_gcm.new");
    assert_eq!(decrypted(&new, &document).await, Ok((STATE.to_owned(), false)));
    let failure = decrypted(&old, &document).await.unwrap_err();
    assert!(failure.message.contains("no metadata of \"key_provider.pbkdf2.old\""), "{failure}");
}

#[tokio::test]
async fn documents_of_one_target_share_the_key_but_not_the_nonce() {
    let target = with_state("method = method.aes_gcm.new");
    let first = target.encrypt(STATE.as_bytes(), Some(IDENTITY)).await.unwrap();
    let second = target.encrypt(STATE.as_bytes(), Some(IDENTITY)).await.unwrap();
    let parts = |text: &str| {
        let value: serde_json::Value = serde_json::from_str(text).unwrap();
        (value["meta"].clone(), value["encrypted_data"].as_str().unwrap()[..16].to_owned())
    };
    assert_eq!(parts(&first).0, parts(&second).0);
    assert_ne!(parts(&first).1, parts(&second).1);
}

#[tokio::test]
async fn plain_content_needs_the_unencrypted_method() {
    let strict = with_state("enforced = true\nmethod = method.aes_gcm.new");
    assert_eq!(strict.decrypt(STATE.as_bytes()).await, Ok(Decrypted::Plain));
    assert!(strict.encrypts() && !strict.accepts_plain());
    let entering = with_state("method = method.aes_gcm.new\nfallback {\nmethod = method.unencrypted.none\n}");
    assert!(entering.encrypts() && entering.accepts_plain());
    let leaving = with_state("method = method.unencrypted.none\nfallback {\nmethod = method.aes_gcm.new\n}");
    assert!(!leaving.encrypts() && leaving.accepts_plain());
    let document = strict.encrypt(STATE.as_bytes(), Some(IDENTITY)).await.unwrap();
    assert_eq!(decrypted(&leaving, &document).await, Ok((STATE.to_owned(), true)));
}

#[tokio::test]
async fn wrong_passphrase_is_reported_without_secrets() {
    let right = with_state("method = method.aes_gcm.new");
    let document = right.encrypt(STATE.as_bytes(), Some(IDENTITY)).await.unwrap();
    let renamed = document.replace(&base64("key_provider.pbkdf2.new"), "");
    let swapped = renamed.replace("key_provider.pbkdf2.new", "key_provider.pbkdf2.old");
    let failure = decrypted(&with_state("method = method.aes_gcm.old"), &swapped).await.unwrap_err();
    let text = format!("{failure} {failure:?}");
    assert!(failure.message.starts_with("the state cannot be decrypted: method.aes_gcm.old"), "{text}");
    assert!(failure.message.contains("the key is not the one that encrypted the content"), "{text}");
    assert!(failure.advice.as_deref().is_some_and(|advice| advice.contains("passphrase")));
    assert!(!text.contains("passphrase\"") && !text.contains("former") || !text.contains("secret text"));
}

fn base64(text: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(text)
}

#[tokio::test]
async fn identity_outside_must_be_the_identity_inside() {
    let target = with_state("method = method.aes_gcm.new");
    let document = target.encrypt(STATE.as_bytes(), Some(IDENTITY)).await.unwrap();
    for (text, replacement, problem) in [
        ("\"serial\":3", "\"serial\":4", "the serial in the encrypted state"),
        ("\"lineage\":\"l\"", "\"lineage\":\"m\"", "the lineage in the encrypted state"),
    ] {
        let changed = document.replacen(text, replacement, 1);
        assert_ne!(changed, document);
        let failure = decrypted(&target, &changed).await.unwrap_err();
        assert!(failure.message.contains(problem), "{failure}");
    }
    // The first versions of the format had no identity.
    let without = document.replacen("\"serial\":3,\"lineage\":\"l\",", "", 1);
    assert_eq!(decrypted(&target, &without).await, Ok((STATE.to_owned(), false)));
}

#[tokio::test]
async fn stored_metadata_cannot_request_unlimited_work() {
    let target = with_state("method = method.aes_gcm.new");
    for metadata in [
        r#"{"salt":"","iterations":4294967295,"hash_function":"sha512","key_length":32}"#,
        r#"{"salt":"","iterations":200000,"hash_function":"sha512","key_length":4294967295}"#,
        r#"{"salt":"","iterations":0,"hash_function":"sha512","key_length":32}"#,
        r#"{"salt":"","iterations":200000,"hash_function":"sha512","key_length":0}"#,
        r#"{"salt":"","iterations":-1,"hash_function":"sha512","key_length":32}"#,
        r#"{"salt":"","iterations":200000,"hash_function":"sha1","key_length":32}"#,
        r#"{"salt":"?","iterations":200000,"hash_function":"sha512","key_length":32}"#,
        r#"{"ciphertext_blob":""}"#,
        "null",
        "",
    ] {
        let document = format!(
            r#"{{"meta":{{"key_provider.pbkdf2.new":"{}"}},"encrypted_data":"AAAA","encryption_version":"v0"}}"#,
            base64(metadata)
        );
        let failure = decrypted(&target, &document).await.unwrap_err();
        assert!(failure.message.contains("key_provider.pbkdf2.new"), "{metadata}: {failure}");
    }
}

#[tokio::test]
async fn journal_records_are_bound_to_their_key_and_context() {
    let target = with_state("method = method.aes_gcm.new");
    let (encrypted_key, cipher) = target.new_record_cipher().await.unwrap();
    let sealed = cipher.seal(b"first", b"record").unwrap();
    let same = target.record_cipher(&encrypted_key).await.unwrap();
    assert_eq!(same.open(b"first", sealed.clone()).unwrap(), b"record");
    assert!(same.open(b"second", sealed.clone()).is_err());
    let (_, other) = target.new_record_cipher().await.unwrap();
    assert!(other.open(b"first", sealed).is_err());
    let other = with_state("method = method.aes_gcm.old");
    assert!(other.record_cipher(&encrypted_key).await.is_err());
    assert!(target.record_cipher("{}").await.is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn changed_documents_are_never_decrypted(
        position in any::<prop::sample::Index>(),
        bit in 0_u8..7,
        end in any::<prop::sample::Index>(),
        is_truncated: bool,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (target, document) = &*SHARED;
        let mut bytes = document.clone().into_bytes();
        if is_truncated {
            bytes.truncate(end.index(bytes.len()));
        } else {
            let position = position.index(bytes.len());
            bytes[position] ^= 1 << bit;
        }
        let result = runtime.block_on(target.decrypt(&bytes));
        // Some members are not authenticated, but the content is.
        if let Ok(Decrypted::Text { plain, .. }) = result {
            prop_assert_eq!(plain, STATE.as_bytes());
        }
    }
}

static SHARED: std::sync::LazyLock<(std::sync::Arc<wardian_encryption::TargetEncryption>, String)> =
    std::sync::LazyLock::new(|| {
        let target = with_state("method = method.aes_gcm.new");
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let document = runtime.block_on(target.encrypt(STATE.as_bytes(), Some(IDENTITY))).unwrap();
        (target, document)
    });
