//! Damaged and arbitrary input: it never verifies, and never causes a panic.

mod support;

use proptest::prelude::*;
use support::{Notation, SIGN_DATA, Signer, armor, data, keys, packet, text};
use wardian_openpgp::{PublicKeys, SignatureError, Verified, verify_armored, verify_detached};

/// Signatures with their keys.
const PAIRS: [(&str, &str); 8] = [
    ("rsa2048.sig", "rsa2048.asc"),
    ("ed25519.sig", "ed25519.asc"),
    ("nistp256.sig", "nistp256.asc"),
    ("nistp384.sig", "nistp384.asc"),
    ("nistp521.sig", "nistp521.asc"),
    ("subkeys.sig", "subkeys.asc"),
    ("old.sig", "old.asc"),
    ("expired.sig", "expired.asc"),
];

fn verify(signature: &[u8], keys: &PublicKeys) -> Result<Verified, SignatureError> {
    verify_detached(signature, &data("document"), std::slice::from_ref(keys))
}

/// Returns the range of a signature's bytes that the signature does not cover: the issuer's key ID.
fn unsigned_area(signature: &[u8]) -> std::ops::Range<usize> {
    let body = if signature[0] & 3 == 1 { 3 } else { 2 };
    let number = |at: usize| usize::from(u16::from_be_bytes([signature[at], signature[at + 1]]));
    let start = body + 6 + number(body + 4);
    start + 2..start + 2 + number(start)
}

#[test]
fn truncated_signatures_are_rejected() {
    for (signature, key) in PAIRS {
        let (signature, keys) = (data(signature), keys(key));
        assert!(verify(&signature, &keys).is_ok());
        for length in 0..signature.len() {
            assert!(verify(&signature[..length], &keys).is_err(), "{key} {length}");
        }
    }
}

#[test]
fn changed_signatures_are_rejected() {
    for (name, key) in PAIRS {
        let (signature, keys) = (data(name), keys(key));
        let unsigned = unsigned_area(&signature);
        for index in 0..signature.len() {
            for bit in 0..8 {
                let mut changed = signature.clone();
                changed[index] ^= 1 << bit;
                match verify(&changed, &keys) {
                    Ok(_) if unsigned.contains(&index) || is_bit_count(&signature, index) => {}
                    Ok(_) => panic!("{name}: byte {index}, bit {bit}"),
                    Err(_) => {}
                }
            }
        }
    }
}

/// Whether a byte belongs to the bit count of an integer in a signature. The count may change
/// without changing the bytes that it selects.
fn is_bit_count(signature: &[u8], index: usize) -> bool {
    let first = unsigned_area(signature).end + 2;
    let bits = usize::from(u16::from_be_bytes([signature[first], signature[first + 1]]));
    let second = first + 2 + bits.div_ceil(8);
    index == first + 1 || index == second + 1
}

#[test]
fn damaged_key_never_verifies_as_another_key() {
    for (name, key) in PAIRS {
        let (signature, keys) = (data(name), keys(key));
        let expected = verify(&signature, &keys).unwrap();
        let check = |bytes: &[u8], what: &str| {
            let Ok(damaged) = PublicKeys::from_armored(&armor(bytes)) else { return };
            match verify(&signature, &damaged) {
                Ok(found)
                    if found.fingerprint == expected.fingerprint && found.expired == expected.expired => {}
                Ok(found) => panic!("{name}: {what}: {found:?}"),
                Err(_) => {}
            }
        };
        let bytes = keys.as_bytes();
        for index in 0..bytes.len() {
            check(&bytes[..index], "truncated");
            let mut changed = bytes.to_vec();
            changed[index] ^= 1 << (index % 8);
            check(&changed, "changed");
            changed.remove(index);
            check(&changed, "removed");
        }
    }
}

#[test]
fn truncated_armor_is_rejected() {
    let (key, signature) = (text("ed25519.asc"), text("ed25519.armored.asc"));
    for length in 0..key.trim_end().len() {
        assert!(PublicKeys::from_armored(&key[..length]).is_err(), "{length}");
    }
    let keys = [keys("ed25519.asc")];
    for length in 0..signature.trim_end().len() {
        assert!(verify_armored(&signature[..length], &data("document"), &keys).is_err(), "{length}");
    }
}

#[test]
fn keys_with_many_forged_signatures_are_verified() {
    let signer = Signer::new(1, Notation::Current);
    let user = vec![b'x'; 100_000];
    let certification = signer.signature(0x13).hashed(27, &[SIGN_DATA]).sign(&signer.signed_user(&user));
    let mut forged = certification.clone();
    *forged.last_mut().unwrap() ^= 1;
    let key = [signer.primary_packet(), packet(13, &user), certification, forged.repeat(511)].concat();
    let keys = PublicKeys::from_armored(&armor(&key)).unwrap();
    assert!(verify_detached(&signer.signature(0).sign(b"data"), b"data", &[keys]).is_ok());
}

proptest! {
    #[test]
    fn arbitrary_input_is_rejected(bytes in prop::collection::vec(any::<u8>(), 0..400), tag in 0_u8..64) {
        let keys = [keys("ed25519.asc"), keys("rsa2048.asc")];
        prop_assert!(verify_detached(&bytes, b"", &keys).is_err());
        prop_assert!(verify_detached(&packet(tag, &bytes), b"", &keys).is_err());
        let _ = PublicKeys::from_armored(&armor(&bytes));
        let key = [Signer::new(1, Notation::Current).public_key(SIGN_DATA), packet(tag, &bytes)].concat();
        let _ = PublicKeys::from_armored(&armor(&key));
        let _ = PublicKeys::from_armored(&armor(&packet(6, &[&[4, 0, 0, 0, 0], &bytes[..]].concat())));
    }

    #[test]
    fn arbitrary_text_is_not_a_key(text in "\\PC{0,200}", lines in "[-A-Za-z0-9+/=: \\n]{0,300}") {
        let _ = PublicKeys::from_armored(&text);
        let enclosed =
            format!("-----BEGIN PGP PUBLIC KEY BLOCK-----\n{lines}\n-----END PGP PUBLIC KEY BLOCK-----");
        let _ = PublicKeys::from_armored(&enclosed);
    }

    #[test]
    fn only_critical_and_known_subpackets_affect_verification(
        area in prop::collection::vec(any::<u8>(), 0..60), tag in any::<u8>()
    ) {
        let signer = Signer::new(1, Notation::Current);
        let keys = [support::parse(&signer.public_key(SIGN_DATA))];
        let signed = signer.signature(0).hashed(tag, &area).sign(b"data");
        // A signature with unknown properties that need not be understood is valid.
        if verify_detached(&signed, b"data", &keys).is_err() {
            prop_assert!(tag & 0x80 != 0 || matches!(tag, 2 | 3 | 9 | 16 | 25 | 29 | 33), "{tag}");
        }
        let _ = verify_detached(&signer.signature(0).unhashed(tag, &area).sign(b"data"), b"data", &keys);
    }
}
