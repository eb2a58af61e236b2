//! HashiCorp's keys, by which Terraform distinguishes HashiCorp's providers and partners' providers.
//!
//! A provider is published by HashiCorp if the verifying key has the fingerprint
//! [`HASHICORP_FINGERPRINT`]. A provider is published by a partner if [`PARTNER_KEY`] made the
//! trust signature on the author's key.
//!
//! HashiCorp publishes the partner key in the source of Terraform
//! (`internal/getproviders/public_keys.go`). The file in this repository was exported from that key
//! with GnuPG, without the encryption subkey.

use crate::key::Fingerprint;

/// The fingerprint of HashiCorp's signing key.
pub const HASHICORP_FINGERPRINT: Fingerprint = Fingerprint::from_bytes([
    0xc8, 0x74, 0x01, 0x1f, 0x0a, 0xb4, 0x05, 0x11, 0x0d, 0x02, 0x10, 0x55, 0x34, 0x36, 0x5d, 0x94, 0x72,
    0xd7, 0x46, 0x8f,
]);

/// The fingerprint of the key with which HashiCorp signs the keys of partners.
pub const PARTNER_FINGERPRINT: Fingerprint = Fingerprint::from_bytes([
    0x51, 0x89, 0x06, 0x57, 0xc5, 0xac, 0xdb, 0x4b, 0x82, 0x30, 0x86, 0x56, 0x7d, 0x72, 0xd4, 0x26, 0x8e,
    0x46, 0x60, 0xfc,
]);

/// The armored key with the fingerprint [`PARTNER_FINGERPRINT`].
pub const PARTNER_KEY: &str = include_str!("../keys/hashicorp-partner.asc");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PublicKeys;

    #[test]
    fn partner_key_has_the_expected_fingerprint() {
        let keys = PublicKeys::from_armored(PARTNER_KEY).unwrap();
        assert_eq!(keys.fingerprints().collect::<Vec<_>>(), [PARTNER_FINGERPRINT]);
        assert_eq!(PARTNER_FINGERPRINT.key_id().to_string(), "7D72D4268E4660FC");
        assert_eq!(HASHICORP_FINGERPRINT.to_string(), "C874011F0AB405110D02105534365D9472D7468F");
    }
}
