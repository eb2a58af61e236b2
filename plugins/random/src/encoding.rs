//! Encodes random bytes as hexadecimal, decimal, and both variants of base64.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// Accepts the same input as Go's decoders, which ignore the unused bits of the last character.
const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true);

/// Base64 with `+` and `/`, padded.
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);

/// Base64 with `-` and `_`, without padding.
const URL: GeneralPurpose = GeneralPurpose::new(
    &alphabet::URL_SAFE,
    LENIENT.with_encode_padding(false).with_decode_padding_mode(DecodePaddingMode::RequireNone),
);

pub(crate) fn base64_standard(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

pub(crate) fn from_base64_standard(text: &str) -> Result<Vec<u8>, base64::DecodeError> {
    STANDARD.decode(text)
}

pub(crate) fn base64_url(bytes: &[u8]) -> String {
    URL.encode(bytes)
}

/// Decodes URL-safe base64.
pub(crate) fn from_base64_url(text: &str) -> Result<Vec<u8>, base64::DecodeError> {
    URL.decode(text)
}

/// Encodes bytes as lower-case hexadecimal digits.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    hex::encode(bytes)
}

/// Returns the bytes as one big-endian decimal number without leading zeros.
pub(crate) fn decimal(bytes: &[u8]) -> String {
    const GROUP: u64 = 1_000_000_000;
    // The groups have nine digits each, the lowest group first.
    let mut groups: Vec<u64> = Vec::new();
    for byte in bytes {
        let mut carry = u64::from(*byte);
        for group in &mut groups {
            let shifted = (*group << 8) + carry;
            *group = shifted % GROUP;
            carry = shifted / GROUP;
        }
        if carry > 0 {
            groups.push(carry);
        }
    }
    let highest = groups.pop().unwrap_or(0).to_string();
    let lower = groups.iter().rev().map(|group| format!("{group:09}"));
    std::iter::once(highest).chain(lower).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_matches_known_numbers() {
        assert_eq!(decimal(&[]), "0");
        assert_eq!(decimal(&[0, 0, 0]), "0");
        assert_eq!(decimal(&[0, 1]), "1");
        assert_eq!(decimal(&1_000_000_000_u64.to_be_bytes()), "1000000000");
        assert_eq!(decimal(&u64::MAX.to_be_bytes()), u64::MAX.to_string());
        assert_eq!(decimal(&u128::MAX.to_be_bytes()), u128::MAX.to_string());
    }

    #[test]
    fn base64_supports_both_alphabets() {
        let bytes = [0xfb, 0xef, 0xff, 0x01];
        assert_eq!(base64_standard(&bytes), "++//AQ==");
        assert_eq!(base64_url(&bytes), "--__AQ");
        assert_eq!(from_base64_standard("++//AQ==").unwrap(), bytes);
        assert_eq!(from_base64_url("--__AQ").unwrap(), bytes);
        assert_eq!(from_base64_url("--__AR").unwrap(), bytes);
        assert!(from_base64_url("--__AQ==").is_err());
        assert!(from_base64_standard("++//AQ").is_err());
    }
}
