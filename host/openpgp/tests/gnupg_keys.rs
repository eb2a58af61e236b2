//! Keys and signatures that GnuPG 2.2 created (`data/generate`).

mod support;

use support::{data, keys, text};
use wardian_openpgp::{
    PARTNER_KEY, PublicKeys, RevocationReason, SignatureError, Verified, verify_armored, verify_detached,
};

fn verify(signature: &str, key: &str) -> Result<Verified, SignatureError> {
    verify_detached(&data(signature), &data("document"), &[keys(key)])
}

#[test]
fn accepts_supported_algorithms() {
    for (signature, key) in [
        ("rsa2048.sig", "rsa2048.asc"),
        ("rsa2048-SHA384.sig", "rsa2048.asc"),
        ("rsa2048-SHA512.sig", "rsa2048.asc"),
        ("rsa4096.sig", "rsa4096.asc"),
        ("ed25519.sig", "ed25519.asc"),
        ("ed25519-SHA384.sig", "ed25519.asc"),
        ("ed25519-SHA512.sig", "ed25519.asc"),
        ("nistp256.sig", "nistp256.asc"),
        ("nistp256-SHA384.sig", "nistp256.asc"),
        ("nistp256-SHA512.sig", "nistp256.asc"),
        ("nistp384.sig", "nistp384.asc"),
        ("nistp384-SHA512.sig", "nistp384.asc"),
        ("nistp521.sig", "nistp521.asc"),
        ("nistp256.sig", "certified.asc"),
        ("old.sig", "old.asc"),
        ("subkeys.sig", "subkeys.asc"),
    ] {
        let verified = verify(signature, key).unwrap_or_else(|error| panic!("{signature}: {error}"));
        let fingerprint = keys(key).fingerprints().next().unwrap();
        assert_eq!(
            verified,
            Verified { key_id: fingerprint.key_id(), fingerprint, key_index: 0, expired: None }
        );
        assert!(verify_detached(&data(signature), b"another document", &[keys(key)]).is_err());
    }
}

#[test]
fn reports_the_primary_key_of_a_signing_subkey() {
    let verified = verify("subkeys.sig", "subkeys.asc").unwrap();
    let shown = verified.fingerprint.to_string();
    assert_eq!((shown.len(), &shown[24..]), (40, verified.key_id.to_string().as_str()));
    let wrong = verify_detached(&data("subkeys.sig"), b"other", &[keys("subkeys.asc")]).unwrap_err();
    let SignatureError::Invalid { key } = wrong else { panic!("{wrong}") };
    assert_ne!(key, verified.key_id);
}

#[test]
fn rejects_signatures_over_other_data() {
    for name in ["rsa2048", "ed25519", "nistp256", "nistp384", "nistp521"] {
        let id = keys(&format!("{name}.asc")).fingerprints().next().unwrap().key_id();
        let result =
            verify_detached(&data(&format!("{name}.sig")), b"other", &[keys(&format!("{name}.asc"))]);
        assert_eq!(result, Err(SignatureError::Invalid { key: id }));
    }
}

#[test]
fn error_names_key_and_unsupported_algorithm() {
    let message = |signature: &str, key: &str| verify(signature, key).unwrap_err().to_string();
    for (name, algorithm) in [
        ("dsa2048", "DSA"),
        ("brainpoolP256r1", "ECDSA with the curve brainpoolP256r1"),
        ("secp256k1", "ECDSA with the curve secp256k1"),
    ] {
        let id = keys(&format!("{name}.asc")).fingerprints().next().unwrap().key_id();
        assert_eq!(
            message(&format!("{name}.sig"), &format!("{name}.asc")),
            format!("the signature by key {id} uses {algorithm}, which is not supported")
        );
    }
    for (digest, part) in [
        ("SHA1", "uses SHA-1, which is not secure"),
        ("MD5", "uses MD5, which is not secure"),
        ("RIPEMD160", "uses RIPEMD-160, which is not secure"),
        ("SHA224", "uses the hash algorithm SHA-224, which is not supported"),
    ] {
        let message = message(&format!("rsa2048-{digest}.sig"), "rsa2048.asc");
        assert!(message.contains(part), "{message}");
    }
    assert!(message("rsa1024.sig", "rsa1024.asc").contains("1024 bits, but at least 2048"));
    assert!(message("ed25519-text.sig", "ed25519.asc").contains("of type 0x01"));
    assert!(message("ed25519-notation.sig", "ed25519.asc").contains("critical property (subpacket 20)"));
}

#[test]
fn accepts_and_reports_expired_keys() {
    for (name, expected) in
        [("expired", "2021-01-01T"), ("extended-before", "2021-01-01T"), ("subkey-expired", "2024-03-01T")]
    {
        let signature = if name == "extended-before" { "extended.sig" } else { &format!("{name}.sig") };
        let expired = verify(signature, &format!("{name}.asc")).unwrap().expired.unwrap();
        assert!(expired.to_string().starts_with(expected), "{name}: {expired}");
    }
    assert_eq!(verify("extended.sig", "extended.asc").unwrap().expired, None);
}

#[test]
fn rejects_expired_signatures() {
    let error = verify("ed25519-expired.sig", "ed25519.asc").unwrap_err().to_string();
    assert!(error.ends_with("expired at 2024-02-02T00:00:00Z"), "{error}");
}

#[test]
fn rejects_revoked_keys() {
    assert!(verify("revoked.sig", "revoked-before.asc").is_ok());
    let reason = |name: &str| match verify(&format!("{name}.sig"), &format!("{name}.asc")) {
        Err(SignatureError::Revoked { reason, .. }) => reason,
        other => panic!("{name}: {other:?}"),
    };
    assert_eq!(reason("revoked"), RevocationReason::Unspecified);
    assert_eq!(reason("subkey-revoked"), RevocationReason::Superseded);
    // One of the key's two user IDs is revoked.
    assert!(verify("user-revoked.sig", "user-revoked.asc").is_ok());
}

#[test]
fn tries_all_keys() {
    let all = [keys("rsa2048.asc"), keys("nistp256.asc"), keys("two.asc"), keys("subkeys.asc")];
    let index = |name: &str| verify_detached(&data(name), &data("document"), &all).unwrap().key_index;
    assert_eq!(index("rsa2048.sig"), 0);
    assert_eq!(index("nistp256.sig"), 1);
    assert_eq!(index("ed25519.sig"), 2);
    assert_eq!(index("subkeys.sig"), 3);
    let unknown = verify_detached(&data("nistp384.sig"), &data("document"), &all).unwrap_err();
    let issuer = keys("nistp384.asc").fingerprints().next().unwrap().key_id();
    assert_eq!(unknown, SignatureError::UnknownIssuer { issuer });
    assert_eq!(
        verify_detached(&data("nistp384.sig"), &data("document"), &[]),
        Err(SignatureError::UnknownIssuer { issuer })
    );
    let many: Vec<PublicKeys> = (0..17).map(|_| keys("ed25519.asc")).collect();
    assert_eq!(
        verify_detached(&data("ed25519.sig"), &data("document"), &many),
        Err(SignatureError::TooManyKeys)
    );
}

#[test]
fn armored_signatures_are_accepted_only_by_verify_armored() {
    let armored = text("ed25519.armored.asc");
    let keys = [keys("ed25519.asc")];
    assert_eq!(verify_detached(armored.as_bytes(), &data("document"), &keys), Err(SignatureError::Armored));
    assert!(verify_armored(&armored, &data("document"), &keys).is_ok());
    assert!(matches!(verify_armored("junk", b"", &keys), Err(SignatureError::Armor(_))));
    assert!(matches!(verify_armored(PARTNER_KEY, b"", &keys), Err(SignatureError::Armor(_))));
}

#[test]
fn keys_keep_the_bytes_that_trust_signatures_sign() {
    let keys = keys("ed25519.asc");
    assert_eq!(keys.as_bytes().first(), Some(&0x98));
    assert_eq!(PublicKeys::from_armored(&support::armor(keys.as_bytes())).unwrap(), keys);
}
