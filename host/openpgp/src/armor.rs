//! Decodes ASCII armor: base64 between a header line and a tail line, which contain the type of the data.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::error::ArmorError;

/// The content of an armored text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArmorKind {
    PublicKey,
    Signature,
}

impl ArmorKind {
    /// Returns the type in the header line and the tail line.
    const fn label(self) -> &'static str {
        match self {
            Self::PublicKey => "PGP PUBLIC KEY BLOCK",
            Self::Signature => "PGP SIGNATURE",
        }
    }
}

/// Whether bytes are armored OpenPGP data of any kind.
pub(crate) fn is_armored(bytes: &[u8]) -> bool {
    bytes.trim_ascii_start().starts_with(b"-----BEGIN PGP")
}

/// Decodes the first block of a text. Text before and after it is ignored, as Terraform does.
pub(crate) fn decode(text: &str, kind: ArmorKind) -> Result<Vec<u8>, ArmorError> {
    let mut lines = text.lines().map(|line| line.trim_ascii());
    let label = lines.find_map(|line| boundary(line, "BEGIN")).ok_or(ArmorError::NotArmored)?;
    if label != kind.label() {
        return Err(ArmorError::OtherContent { expected: kind.label() });
    }
    let mut encoded = String::with_capacity(text.len());
    let mut checksum = None;
    let mut is_header = true;
    for line in lines {
        if let Some(end) = boundary(line, "END") {
            if end != label {
                return Err(ArmorError::Truncated);
            }
            let bytes = STANDARD.decode(&encoded).map_err(|_| ArmorError::NotBase64)?;
            return match checksum {
                Some(checksum) if checksum != crc24(&bytes) => Err(ArmorError::Checksum),
                _ => Ok(bytes),
            };
        }
        // Headers end with an empty line. Base64 has no colon, so the line may also be missing.
        is_header = is_header && !line.is_empty() && line.contains(':');
        if is_header || line.is_empty() {
            continue;
        }
        match (line.strip_prefix('='), checksum) {
            (Some(digits), None) if digits.len() == 4 => {
                let bytes = STANDARD.decode(digits).map_err(|_| ArmorError::NotBase64)?;
                let [first, second, third] = bytes.as_slice() else { return Err(ArmorError::NotBase64) };
                checksum = Some(u32::from_be_bytes([0, *first, *second, *third]));
            }
            (_, Some(_)) => return Err(ArmorError::NotBase64),
            (_, None) => encoded.push_str(line),
        }
    }
    Err(ArmorError::Truncated)
}

/// Returns the type in a line such as `-----BEGIN PGP SIGNATURE-----`.
fn boundary<'a>(line: &'a str, word: &str) -> Option<&'a str> {
    line.strip_prefix("-----")?.strip_prefix(word)?.strip_prefix(' ')?.strip_suffix("-----")
}

/// Computes the CRC-24 checksum of RFC 4880, section 6.1.
fn crc24(bytes: &[u8]) -> u32 {
    let mut crc = 0x00b7_04ce_u32;
    for byte in bytes {
        crc ^= u32::from(*byte) << 16;
        for _ in 0..8 {
            crc <<= 1;
            if crc & 0x0100_0000 != 0 {
                crc ^= 0x0186_4cfb;
            }
        }
    }
    crc & 0x00ff_ffff
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(text: &str) -> Result<Vec<u8>, ArmorError> {
        decode(text, ArmorKind::Signature)
    }

    #[test]
    fn decodes_common_armor_layouts() {
        let plain = "-----BEGIN PGP SIGNATURE-----\n\nYWJj\nZGVm\n=Nag/\n-----END PGP SIGNATURE-----\n";
        for text in [
            plain.to_owned(),
            plain.replace('\n', "\r\n"),
            plain.replace("=Nag/\n", ""),
            plain.replace("\n\nYWJj", "\nVersion: GnuPG v2\nComment: a: b\n\nYWJj"),
            plain.replace("\n\nYWJj", "\nComment:\n \t\nYWJj"),
            plain.replace("\n\nYWJj", "\nYWJj"),
            format!("A key:\n\n{plain}\nand more\n"),
            plain.replace("ZGVm\n", "  ZGVm  \n\n"),
        ] {
            assert_eq!(decoded(&text).as_deref(), Ok(&b"abcdef"[..]), "{text}");
        }
    }

    #[test]
    fn rejects_damaged_armor() {
        let plain = "-----BEGIN PGP SIGNATURE-----\n\nYWJj\nZGVm\n=Nag/\n-----END PGP SIGNATURE-----\n";
        for (text, error) in [
            (String::new(), ArmorError::NotArmored),
            ("junk".to_owned(), ArmorError::NotArmored),
            (
                plain.replace("PGP SIGNATURE", "PGP MESSAGE"),
                ArmorError::OtherContent { expected: "PGP SIGNATURE" },
            ),
            (plain.replace("END PGP SIGNATURE", "END PGP MESSAGE"), ArmorError::Truncated),
            (plain.replace("-----END", "----END"), ArmorError::NotBase64),
            (plain[..41].to_owned(), ArmorError::Truncated),
            (plain.replace("YWJj", "YWJk"), ArmorError::Checksum),
            (plain.replace("YWJj", "YW*j"), ArmorError::NotBase64),
            (plain.replace("YWJj", "YWJ"), ArmorError::NotBase64),
            (plain.replace("=Nag/", "=N*g/"), ArmorError::NotBase64),
            (plain.replace("=Nag/", "=Nag/\nYWJj"), ArmorError::NotBase64),
        ] {
            assert_eq!(decoded(&text), Err(error), "{text}");
        }
    }
}
