//! Keys and signatures with properties that GnuPG 2.2 does not produce.

mod support;

use jiff::Timestamp;
use support::{CERTIFY, CREATED, Draft, Notation, SIGN_DATA, SIGNED, Signer, armor, packet, parse, user_id};
use wardian_openpgp::{
    KeyError, MAX_KEY_SIZE, MAX_SIGNATURE_SIZE, MalformedData, PublicKeys, RevocationReason, SignatureError,
    Verified, verify_detached, verify_detached_at,
};

const DOCUMENT: &[u8] = b"a document";

fn verify(signature: &[u8], key: &[u8]) -> Result<Verified, SignatureError> {
    verify_detached(signature, DOCUMENT, &[parse(key)])
}

fn signer() -> Signer {
    Signer::new(1, Notation::Current)
}

fn document(draft: Draft<'_>) -> Vec<u8> {
    draft.sign(DOCUMENT)
}

/// Returns a primary key that only certifies, and its subkey with a binding.
fn with_subkey(primary: &Signer, subkey: &Signer, binding: Draft<'_>) -> Vec<u8> {
    let binding = binding.created(CREATED).sign(&[primary.signed(), subkey.signed()].concat());
    [primary.public_key(CERTIFY), subkey.subkey_packet(), binding].concat()
}

#[test]
fn accepts_both_ed25519_encodings() {
    for notation in [Notation::Legacy, Notation::Current] {
        let signer = Signer::new(1, notation);
        let key = signer.public_key(CERTIFY | SIGN_DATA);
        assert!(verify(&document(signer.signature(0)), &key).is_ok());
        assert!(matches!(
            verify(&signer.signature(0).sign(b"other"), &key),
            Err(SignatureError::Invalid { .. })
        ));
    }
}

#[test]
fn signing_requires_the_signing_key_flag() {
    let signer = signer();
    let signature = document(signer.signature(0));
    assert!(matches!(
        verify(&signature, &signer.public_key(CERTIFY)),
        Err(SignatureError::NotASigningKey { .. })
    ));
    // Without flags, the key may be used for everything.
    let certification = signer.signature(0x10).sign(&signer.signed_user(b"user"));
    let key = [signer.primary_packet(), user_id(b"user"), certification].concat();
    assert!(verify(&signature, &key).is_ok());
}

#[test]
fn self_signature_is_required() {
    let signer = signer();
    let other = Signer::new(2, Notation::Current);
    let signature = document(signer.signature(0));
    let by_other = other.signature(0x13).sign(&signer.signed_user(b"user"));
    let of_other_user = signer.signature(0x13).sign(&signer.signed_user(b"other"));
    let expired = signer.signature(0x13).hashed(3, &[0, 0, 0, 1]).sign(&signer.signed_user(b"user"));
    let future = signer.signature(0x13).created(u32::MAX).sign(&signer.signed_user(b"user"));
    for certification in [vec![], by_other, of_other_user, expired, future] {
        let key = [signer.primary_packet(), user_id(b"user"), certification].concat();
        assert!(matches!(verify(&signature, &key), Err(SignatureError::NoSelfSignature { .. })));
    }
    let direct = signer.signature(0x1f).hashed(27, &[SIGN_DATA]).sign(&signer.signed());
    assert!(verify(&signature, &[signer.primary_packet(), direct].concat()).is_ok());
}

#[test]
fn newest_self_signature_takes_precedence() {
    let signer = signer();
    let signature = document(signer.signature(0));
    let expiring = |created: u32, seconds: u32| {
        signer
            .signature(0x13)
            .created(created)
            .hashed(27, &[SIGN_DATA])
            .hashed(9, &seconds.to_be_bytes())
            .sign(&signer.signed_user(b"user"))
    };
    let (older, newer) = (expiring(CREATED, 60), expiring(CREATED + 1, 0));
    let key = |first: &[u8], second: &[u8]| {
        [&signer.primary_packet()[..], &user_id(b"user"), first, second].concat()
    };
    assert_eq!(verify(&signature, &key(&older, &newer)).unwrap().expired, None);
    assert_eq!(verify(&signature, &key(&newer, &older)).unwrap().expired, None);
    let shorter = expiring(CREATED + 2, 60);
    let expired = verify(&signature, &key(&newer, &shorter)).unwrap().expired;
    assert_eq!(expired, Timestamp::from_second(i64::from(CREATED) + 60).ok());
}

#[test]
fn signing_subkeys_require_binding_and_back_signatures() {
    let (primary, subkey) = (signer(), Signer::new(2, Notation::Legacy));
    let signature = document(subkey.signature(0));
    let binding = || primary.signature(0x18).hashed(27, &[SIGN_DATA]);
    let confirmation = subkey.confirmation(&primary);
    let good = with_subkey(&primary, &subkey, binding().unhashed(32, &confirmation));
    let verified = verify(&signature, &good).unwrap();
    assert_eq!(verified.fingerprint.as_bytes()[..], primary.fingerprint());
    let hashed = with_subkey(&primary, &subkey, binding().hashed(32, &confirmation));
    assert!(verify(&signature, &hashed).is_ok());

    let stranger = Signer::new(3, Notation::Legacy);
    let unconfirmed = [
        binding(),
        binding().unhashed(32, &stranger.confirmation(&primary)),
        binding().unhashed(32, &subkey.confirmation(&stranger)),
        binding().unhashed(32, &confirmation[..20]),
        binding().unhashed(32, b""),
    ];
    for binding in unconfirmed {
        let key = with_subkey(&primary, &subkey, binding);
        assert!(matches!(verify(&signature, &key), Err(SignatureError::UnboundSubkey { .. })));
    }
    // The subkey belongs to another primary key, which made the binding signature.
    let stolen = stranger.signature(0x18).hashed(27, &[SIGN_DATA]).unhashed(32, &confirmation);
    let key = with_subkey(&primary, &subkey, stolen);
    assert!(matches!(verify(&signature, &key), Err(SignatureError::UnboundSubkey { .. })));
    let encryption = primary.signature(0x18).hashed(27, &[0x0c]).unhashed(32, &confirmation);
    let key = with_subkey(&primary, &subkey, encryption);
    assert!(matches!(verify(&signature, &key), Err(SignatureError::NotASigningKey { .. })));
}

#[test]
fn primary_key_expiry_applies_to_subkeys() {
    let (primary, subkey) = (signer(), Signer::new(2, Notation::Current));
    let certification = primary
        .signature(0x13)
        .hashed(27, &[CERTIFY])
        .hashed(9, &60_u32.to_be_bytes())
        .sign(&primary.signed_user(b"user"));
    let binding = primary
        .signature(0x18)
        .hashed(27, &[SIGN_DATA])
        .unhashed(32, &subkey.confirmation(&primary))
        .sign(&[primary.signed(), subkey.signed()].concat());
    let key =
        [primary.primary_packet(), user_id(b"user"), certification, subkey.subkey_packet(), binding].concat();
    assert!(verify(&document(subkey.signature(0)), &key).unwrap().expired.is_some());
}

#[test]
fn only_the_owner_can_revoke_a_key() {
    let signer = signer();
    let signature = document(signer.signature(0));
    let key = signer.public_key(SIGN_DATA);
    let with_revocation = |revocation: Vec<u8>| {
        let (primary, rest) = key.split_at(signer.primary_packet().len());
        [primary, &revocation, rest].concat()
    };
    let by_owner = signer.signature(0x20).hashed(29, b"\x02lost").sign(&signer.signed());
    assert!(matches!(
        verify(&signature, &with_revocation(by_owner)),
        Err(SignatureError::Revoked { reason: RevocationReason::Compromised, .. })
    ));
    let forged = Signer::new(2, Notation::Current)
        .signature(0x20)
        .without_issuer()
        .hashed(33, &[&[4], &signer.fingerprint()[..]].concat())
        .sign(&signer.signed());
    assert!(verify(&signature, &with_revocation(forged)).is_ok());
    let by_other = Signer::new(2, Notation::Current).signature(0x20).sign(&signer.signed());
    assert!(verify(&signature, &with_revocation(by_other)).is_ok());

    let revoked_user = [&key[..], &signer.signature(0x30).sign(&signer.signed_user(b"user"))].concat();
    assert!(matches!(verify(&signature, &revoked_user), Err(SignatureError::Revoked { .. })));
    let renewed =
        [&revoked_user[..], &signer.signature(0x13).created(SIGNED + 1).sign(&signer.signed_user(b"user"))];
    assert!(verify(&signature, &renewed.concat()).is_ok());
}

#[test]
fn signature_times_are_verified() {
    let signer = signer();
    let keys = [parse(&signer.public_key(SIGN_DATA))];
    let at = |seconds: u32| Timestamp::from_second(i64::from(seconds)).unwrap();
    let verify = |draft: Draft<'_>, now: u32| {
        verify_detached_at(&document(draft), DOCUMENT, &keys, at(now)).map(|verified| verified.expired)
    };
    let limited = || signer.signature(0).hashed(3, &100_u32.to_be_bytes());
    assert_eq!(verify(limited(), SIGNED + 99), Ok(None));
    assert!(matches!(verify(limited(), SIGNED + 100), Err(SignatureError::Expired { .. })));
    // The local clock may be slow.
    assert_eq!(verify(signer.signature(0), SIGNED - 3600), Ok(None));
    assert!(matches!(verify(signer.signature(0), SIGNED - 3601), Err(SignatureError::FromFuture { .. })));
    assert!(matches!(
        verify(signer.signature(0).created(CREATED - 1), SIGNED),
        Err(SignatureError::OlderThanKey { .. })
    ));
    assert_eq!(verify(signer.signature(0).hashed(3, &[0; 4]), u32::MAX), Ok(None));
}

#[test]
fn issuer_selects_the_key() {
    let signer = signer();
    let key = signer.public_key(SIGN_DATA);
    let id = signer.fingerprint()[12..].to_vec();
    let with = |draft: Draft<'_>| verify(&document(draft), &key);
    let draft = || signer.signature(0).without_issuer();
    assert_eq!(with(draft()), Err(SignatureError::NoIssuer));
    assert!(with(draft().hashed(16, &id)).is_ok());
    assert!(with(draft().unhashed(16, &id)).is_ok());
    assert!(with(draft().unhashed(33, &[&[4], &signer.fingerprint()[..]].concat())).is_ok());
    // The signed issuer takes precedence.
    assert!(with(signer.signature(0).unhashed(16, &[0; 8])).is_ok());
    assert!(matches!(
        with(draft().hashed(16, &[7; 8]).unhashed(16, &id)),
        Err(SignatureError::UnknownIssuer { issuer }) if issuer.to_string() == "0707070707070707"
    ));
    assert_eq!(with(draft().hashed(33, &[6; 33])), Err(SignatureError::NoIssuer));
}

#[test]
fn one_valid_signature_is_sufficient() {
    let (signer, other) = (signer(), Signer::new(2, Notation::Legacy));
    let key = signer.public_key(SIGN_DATA);
    let (good, unknown) = (document(signer.signature(0)), document(other.signature(0)));
    let version6 = packet(2, &[6, 0, 27, 8]);
    for file in [
        [&unknown[..], &good].concat(),
        [&good[..], &unknown].concat(),
        [&version6[..], &good].concat(),
        [&packet(10, b"PGP")[..], &good].concat(),
    ] {
        assert!(verify(&file, &key).is_ok());
    }
    assert_eq!(verify(&version6, &key), Err(SignatureError::UnsupportedVersion(6)));
    assert_eq!(verify(b"", &key), Err(SignatureError::Empty));
    assert_eq!(verify(b"text", &key), Err(SignatureError::Malformed(MalformedData::NotAPacket)));
    let with_data = [&good[..], &packet(11, b"data")].concat();
    assert_eq!(verify(&with_data, &key), Err(SignatureError::Malformed(MalformedData::UnexpectedPacket)));
    // The first signature of a known key determines the result.
    let bad = signer.signature(0).sign(b"other");
    assert!(matches!(verify(&[bad, good].concat(), &key), Err(SignatureError::Invalid { .. })));
}

#[test]
fn weak_unsupported_and_mismatched_hash_algorithms_are_rejected() {
    let signer = signer();
    let key = signer.public_key(SIGN_DATA);
    for (hash, is_weak) in [(1, true), (2, true), (3, true), (11, false), (12, false), (99, false)] {
        match verify(&document(signer.signature(0).with_hash(hash)), &key) {
            Err(SignatureError::WeakHash { .. }) if is_weak => {}
            Err(SignatureError::UnsupportedAlgorithm { .. }) if !is_weak => {}
            other => panic!("{hash}: {other:?}"),
        }
    }
    assert!(matches!(
        verify(&document(signer.signature(0).with_hash(10)), &key),
        Err(SignatureError::Invalid { .. })
    ));
    assert_eq!(
        verify(&document(signer.signature(0).without_creation_time()), &key),
        Err(SignatureError::Malformed(MalformedData::NoCreationTime))
    );
}

#[test]
fn rejects_unsupported_malformed_and_oversized_keys() {
    let signer = signer();
    let read = |packets: &[u8]| PublicKeys::from_armored(&armor(packets)).unwrap_err();
    let versioned = |version: u8| {
        let mut body = signer.body();
        body[0] = version;
        packet(6, &body)
    };
    assert_eq!(read(&versioned(3)), KeyError::UnsupportedVersion(3));
    assert_eq!(read(&versioned(6)), KeyError::UnsupportedVersion(6));
    assert_eq!(read(&packet(5, &signer.body())), KeyError::SecretKey);
    assert_eq!(read(&[]), KeyError::Empty);
    assert_eq!(read(&user_id(b"user")), KeyError::Malformed(MalformedData::UnexpectedPacket));
    assert_eq!(read(&signer.public_key(0).repeat(17)), KeyError::TooManyKeys);
    let long = [signer.primary_packet(), user_id(b"user")].concat();
    let certification = signer.signature(0x13).sign(&signer.signed_user(b"user"));
    assert_eq!(read(&[long, certification.repeat(513)].concat()), KeyError::TooManySignatures);
    let large = "x".repeat(MAX_KEY_SIZE + 1);
    assert_eq!(PublicKeys::from_armored(&large), Err(KeyError::TooLarge));
    let large = vec![0x88; MAX_SIGNATURE_SIZE + 1];
    assert_eq!(verify(&large, &signer.public_key(SIGN_DATA)), Err(SignatureError::TooLarge));
    // A subkey of another version has no effect on the other keys.
    let mut body = signer.body();
    body[0] = 6;
    let key = [&signer.public_key(SIGN_DATA)[..], &packet(14, &body), &packet(2, &[6, 0x18])].concat();
    assert!(verify(&document(signer.signature(0)), &key).is_ok());
}
