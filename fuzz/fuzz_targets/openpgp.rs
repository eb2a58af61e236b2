//! OpenPGP keys and signatures: the first byte selects whether the rest is a signature or a public
//! key without ASCII armor.
//!
//! Properties: a signature verifies only with the key that made it, and a damaged key verifies a
//! signature only if it has the fingerprint and the expiry of the original.

#![no_main]

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use libfuzzer_sys::fuzz_target;
use wardian_openpgp::{PublicKeys, Verified, verify_armored, verify_detached};

const DOCUMENT: &[u8] = include_bytes!("../../host/openpgp/tests/data/document");

/// A key, its signature, and the result of the verification.
struct Original {
    keys: PublicKeys,
    signature: &'static [u8],
    verified: Verified,
}

macro_rules! original {
    ($name:literal) => {{
        let signature = include_bytes!(concat!("../../host/openpgp/tests/data/", $name, ".sig"));
        let armored = include_str!(concat!("../../host/openpgp/tests/data/", $name, ".asc"));
        let keys = match PublicKeys::from_armored(armored) {
            Ok(keys) => keys,
            Err(error) => panic!("{error}"),
        };
        match verify_detached(signature, DOCUMENT, std::slice::from_ref(&keys)) {
            Ok(verified) => Original { keys, signature, verified },
            Err(error) => panic!("{error}"),
        }
    }};
}

static ORIGINALS: LazyLock<[Original; 5]> = LazyLock::new(|| {
    [original!("ed25519"), original!("nistp256"), original!("subkeys"), original!("expired"), original!("old")]
});

fuzz_target!(|data: &[u8]| {
    let Some((first, rest)) = data.split_first() else { return };
    if first % 2 == 0 {
        let keys: Vec<PublicKeys> = ORIGINALS.iter().map(|original| original.keys.clone()).collect();
        if let Ok(verified) = verify_detached(rest, DOCUMENT, &keys) {
            assert_eq!(Some(verified.fingerprint), keys[verified.key_index].fingerprints().next());
        }
        // No key has signed this document.
        assert!(verify_detached(rest, b"another document", &keys).is_err());
        if let Ok(text) = std::str::from_utf8(rest) {
            assert!(verify_armored(text, b"another document", &keys).is_err());
            let _ = PublicKeys::from_armored(text);
        }
        return;
    }
    let armored = format!(
        "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n{}\n-----END PGP PUBLIC KEY BLOCK-----\n",
        STANDARD.encode(rest)
    );
    let Ok(keys) = PublicKeys::from_armored(&armored) else { return };
    for original in ORIGINALS.iter() {
        if let Ok(verified) = verify_detached(original.signature, DOCUMENT, std::slice::from_ref(&keys)) {
            assert_eq!(verified.fingerprint, original.verified.fingerprint);
            assert_eq!(verified.expired, original.verified.expired);
        }
    }
});
