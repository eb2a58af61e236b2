//! NTLM version 2, client side: three messages on one HTTP connection.
//!
//! The response is a MAC of the machine's challenge, keyed with a hash of the password; the
//! password itself is not sent. Neither signing nor sealing is requested.

use std::time::{SystemTime, UNIX_EPOCH};

use hmac::{Hmac, KeyInit as _, Mac as _};
use md4::{Digest as _, Md4};
use md5::Md5;

const SIGNATURE: &[u8; 8] = b"NTLMSSP\0";
/// Unicode, request target, NTLM, always sign (which enables this kind of session security),
/// extended session security, target info, 128 and 56 bits.
const FLAGS: u32 = 0x0000_0001
    | 0x0000_0004
    | 0x0000_0200
    | 0x0000_8000
    | 0x0008_0000
    | 0x0080_0000
    | 0x2000_0000
    | 0x8000_0000;
/// The type of the target info entry with the time.
const TIMESTAMP: u16 = 7;
const END: u16 = 0;
/// Seconds from 1601 to 1970.
const EPOCH: u64 = 11_644_473_600;

/// Builds the first message, which lists the supported options.
pub(super) fn negotiate() -> Vec<u8> {
    let mut message = Vec::with_capacity(32);
    message.extend(SIGNATURE);
    message.extend(1_u32.to_le_bytes());
    message.extend(FLAGS.to_le_bytes());
    // The message contains neither a domain nor a workstation.
    message.extend([0; 16]);
    message
}

/// The machine's challenge.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Challenge {
    nonce: [u8; 8],
    facts: Vec<u8>,
}

impl Challenge {
    /// Parses the second message; returns `None` if it is invalid.
    pub(super) fn read(message: &[u8]) -> Option<Self> {
        if message.get(..8)? != SIGNATURE || number(message, 8)? != 2 {
            return None;
        }
        let nonce = message.get(24..32)?.try_into().ok()?;
        let length = usize::from(u16::from_le_bytes(message.get(40..42)?.try_into().ok()?));
        let offset = usize::try_from(number(message, 44)?).ok()?;
        let facts = message.get(offset..offset.checked_add(length)?)?.to_vec();
        Some(Self { nonce, facts })
    }

    /// Returns the machine's time.
    fn time(&self) -> Option<[u8; 8]> {
        let mut rest = self.facts.as_slice();
        loop {
            let (head, after) = rest.split_at_checked(4)?;
            let kind = u16::from_le_bytes(head.get(..2)?.try_into().ok()?);
            let length = u16::from_le_bytes(head.get(2..)?.try_into().ok()?);
            let (value, next) = after.split_at_checked(length.into())?;
            match kind {
                END => return None,
                TIMESTAMP => return value.try_into().ok(),
                _ => rest = next,
            }
        }
    }
}

fn number(message: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(message.get(at..at + 4)?.try_into().ok()?))
}

/// A user with a password: `user`, `DOMAIN\user` or `user@domain`.
pub(super) struct Account<'a> {
    domain: &'a str,
    user: &'a str,
    password: &'a str,
}

impl<'a> Account<'a> {
    pub(super) fn new(user: &'a str, password: &'a str) -> Self {
        let (domain, user) = user.split_once('\\').unwrap_or(("", user));
        Self { domain, user, password }
    }

    /// Builds the third message, which contains the response to the challenge.
    pub(super) fn authenticate(&self, challenge: &Challenge) -> Option<Vec<u8>> {
        let mut nonce = [0; 8];
        getrandom::fill(&mut nonce).ok()?;
        let time = challenge.time().unwrap_or_else(|| {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            ((now.as_secs() + EPOCH) * 10_000_000).to_le_bytes()
        });
        let response = self.response(challenge, nonce, time)?;
        Some(self.message(&response))
    }

    fn message(&self, response: &[u8]) -> Vec<u8> {
        // If the challenge contains a timestamp, the LMv2 response consists of zeros.
        let parts: [&[u8]; 6] =
            [&[0; 24], response, &utf16le(self.domain), &utf16le(self.user), &utf16le("WARDIAN"), &[]];
        let mut message = Vec::new();
        message.extend(SIGNATURE);
        message.extend(3_u32.to_le_bytes());
        let mut offset = 64;
        for part in parts {
            let length = u16::try_from(part.len()).unwrap_or(u16::MAX);
            message.extend(length.to_le_bytes());
            message.extend(length.to_le_bytes());
            message.extend(u32::try_from(offset).unwrap_or(u32::MAX).to_le_bytes());
            offset += part.len();
        }
        message.extend(FLAGS.to_le_bytes());
        message.extend(parts.concat());
        message
    }

    fn response(&self, challenge: &Challenge, nonce: [u8; 8], time: [u8; 8]) -> Option<Vec<u8>> {
        let mut told = vec![1, 1, 0, 0, 0, 0, 0, 0];
        told.extend(time);
        told.extend(nonce);
        told.extend([0; 4]);
        told.extend(&challenge.facts);
        told.extend([0; 4]);
        let key = self.key()?;
        let proof = digest(&key, &[&challenge.nonce, &told])?;
        Some([&proof, told.as_slice()].concat())
    }

    fn key(&self) -> Option<[u8; 16]> {
        let password = Md4::digest(utf16le(self.password));
        digest(&password, &[&utf16le(&self.user.to_uppercase()), &utf16le(self.domain)])
    }
}

fn digest(key: &[u8], parts: &[&[u8]]) -> Option<[u8; 16]> {
    let mut digest = Hmac::<Md5>::new_from_slice(key).ok()?;
    for part in parts {
        digest.update(part);
    }
    Some(digest.finalize().into_bytes().into())
}

pub(super) fn utf16le(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Verifies the example in [MS-NLMP], section 4.2.4.
    #[test]
    fn response_matches_ms_nlmp_example() {
        let facts =
            [&[2, 0, 12, 0][..], &utf16le("Domain"), &[1, 0, 12, 0], &utf16le("Server"), &[0, 0, 0, 0]]
                .concat();
        let challenge = Challenge { nonce: [0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef], facts };
        let account = Account { domain: "Domain", user: "User", password: "Password" };
        assert_eq!(
            account.key().unwrap(),
            [0x0c, 0x86, 0x8a, 0x40, 0x3b, 0xfd, 0x7a, 0x93, 0xa3, 0x00, 0x1e, 0xf2, 0x2e, 0xf0, 0x2e, 0x3f]
        );
        let response = account.response(&challenge, [0xaa; 8], [0; 8]).unwrap();
        assert_eq!(
            response[..16],
            [0x68, 0xcd, 0x0a, 0xb8, 0x51, 0xe5, 0x1c, 0x96, 0xaa, 0xbc, 0x92, 0x7b, 0xeb, 0xef, 0x6a, 0x1c]
        );
    }

    #[test]
    fn parses_only_valid_challenges() {
        let facts = [&[7, 0, 8, 0, 1, 2, 3, 4, 5, 6, 7, 8][..], &[0; 4]].concat();
        let mut message = Vec::new();
        message.extend(SIGNATURE);
        message.extend(2_u32.to_le_bytes());
        message.extend([0; 12]);
        message.extend([9; 8]);
        message.extend([0; 8]);
        message.extend([16, 0, 16, 0, 48, 0, 0, 0]);
        message.extend(&facts);
        let challenge = Challenge::read(&message).unwrap();
        assert_eq!((challenge.nonce, &challenge.facts), ([9; 8], &facts));
        assert_eq!(challenge.time(), Some([1, 2, 3, 4, 5, 6, 7, 8]));
        for end in 0..message.len() {
            assert_eq!(Challenge::read(&message[..end]), None);
        }
        let cut = Challenge { nonce: [0; 8], facts: vec![7, 0, 200, 0, 1] };
        assert_eq!(cut.time(), None);
    }

    #[test]
    fn splits_domain_and_user() {
        let parts = |user| {
            let account = Account::new(user, "");
            (account.domain, account.user)
        };
        assert_eq!(parts(r"CORP\me"), ("CORP", "me"));
        assert_eq!(parts("me@corp.example"), ("", "me@corp.example"));
    }
}
