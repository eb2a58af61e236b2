//! Character sets of text that is encoded as bytes, by their names in the IANA registry.
//!
//! Characters that are not in the character set, and bytes that do not represent text, cause errors
//! and are never replaced. The tables of `encoding_rs` follow the WHATWG standard. This module
//! restricts them to the registered character sets: single-byte sets have no C1 controls, and in
//! Japanese sets the yen sign and the overline do not replace the ASCII backslash and tilde.

mod names;

use std::collections::HashMap;
use std::sync::LazyLock;

use encoding_rs as rs;

/// A character set.
#[derive(Clone, Copy)]
pub(super) enum Charset {
    Ascii,
    Utf8,
    /// Big-endian with a byte order mark. In decoding, the byte order mark determines the byte
    /// order.
    Utf16,
    Utf16Be,
    Utf16Le,
    Latin1,
    Latin5,
    SingleByte(&'static rs::Encoding),
    /// ASCII, and the characters of the bytes 128 to 255.
    Upper(&'static str),
    /// The characters of all 256 bytes.
    All(&'static str),
    Big5,
    EucJp,
    EucKr,
    Gbk,
    Gb18030,
    Hz,
    Iso2022Jp,
    ShiftJis,
}

/// The differences between ISO 8859-9 and ISO 8859-1.
const LATIN5: [(u8, char); 6] =
    [(0xD0, 'Ğ'), (0xDD, 'İ'), (0xDE, 'Ş'), (0xF0, 'ğ'), (0xFD, 'ı'), (0xFE, 'ş')];

impl Charset {
    /// Returns the character set with a name. Case is ignored.
    pub(super) fn by_name(name: &str) -> Option<Self> {
        names::by_name(&name.trim().to_ascii_lowercase())
    }

    /// Encodes text as bytes. Returns `None` if the character set lacks one of its characters.
    pub(super) fn encode(self, text: &str) -> Option<Vec<u8>> {
        match self {
            Self::Utf8 => Some(text.as_bytes().to_vec()),
            Self::Ascii => text.is_ascii().then(|| text.as_bytes().to_vec()),
            Self::Utf16 => {
                let units = std::iter::once(0xFEFF).chain(text.encode_utf16());
                Some(units.flat_map(u16::to_be_bytes).collect())
            }
            Self::Utf16Be => Some(text.encode_utf16().flat_map(u16::to_be_bytes).collect()),
            Self::Utf16Le => Some(text.encode_utf16().flat_map(u16::to_le_bytes).collect()),
            Self::Latin1 | Self::Latin5 | Self::SingleByte(_) | Self::Upper(_) | Self::All(_) => {
                let bytes: HashMap<char, u8> =
                    (0..=u8::MAX).filter_map(|byte| Some((self.single(byte)?, byte))).collect();
                text.chars().map(|character| bytes.get(&character).copied()).collect()
            }
            Self::EucKr => whole(rs::EUC_KR, text),
            Self::Gbk => whole(rs::GBK, text),
            Self::Gb18030 => whole(rs::GB18030, text),
            Self::Big5 => each(text, |character| {
                one(rs::BIG5, character)
                    .or_else(|| BIG5_SUPPLEMENT.get(&character).map(|bytes| bytes.to_vec()))
            }),
            Self::ShiftJis => each(text, |character| japanese(rs::SHIFT_JIS, character)),
            Self::EucJp => each(text, |character| {
                japanese(rs::EUC_JP, character)
                    .or_else(|| JIS_SUPPLEMENT.get(&character).map(|bytes| bytes.to_vec()))
            }),
            Self::Iso2022Jp => iso_2022_jp(text),
            Self::Hz => hz(text),
        }
    }

    /// Returns the decoded text, or `None` if the bytes are not valid in this set.
    pub(super) fn decode(self, bytes: &[u8]) -> Option<String> {
        let standard = |encoding: &'static rs::Encoding| {
            encoding.decode_without_bom_handling_and_without_replacement(bytes).map(Into::into)
        };
        match self {
            Self::Utf8 => String::from_utf8(bytes.to_vec()).ok(),
            Self::Ascii => bytes.is_ascii().then(|| bytes.iter().copied().map(char::from).collect()),
            Self::Utf16 => match bytes {
                [0xFF, 0xFE, rest @ ..] => utf_16(rest, u16::from_le_bytes),
                [0xFE, 0xFF, rest @ ..] | rest => utf_16(rest, u16::from_be_bytes),
            },
            Self::Utf16Be => utf_16(bytes, u16::from_be_bytes),
            Self::Utf16Le => utf_16(bytes, u16::from_le_bytes),
            Self::Latin1 | Self::Latin5 | Self::SingleByte(_) | Self::Upper(_) | Self::All(_) => {
                let characters: Vec<Option<char>> = (0..=u8::MAX).map(|byte| self.single(byte)).collect();
                bytes.iter().map(|byte| characters[usize::from(*byte)]).collect()
            }
            Self::EucKr => standard(rs::EUC_KR),
            Self::Gbk | Self::Gb18030 => standard(rs::GB18030),
            Self::Big5 => standard(rs::BIG5),
            Self::ShiftJis => standard(rs::SHIFT_JIS),
            Self::EucJp => standard(rs::EUC_JP),
            Self::Iso2022Jp => standard(rs::ISO_2022_JP),
            Self::Hz => from_hz(bytes),
        }
    }

    /// Returns the character for a byte in a single-byte set.
    fn single(self, byte: u8) -> Option<char> {
        let latin1 = char::from(byte);
        match self {
            Self::Latin1 => Some(latin1),
            Self::Latin5 => {
                let replaced = LATIN5.iter().find(|(known, _)| *known == byte);
                Some(replaced.map_or(latin1, |(_, character)| *character))
            }
            Self::SingleByte(encoding) => {
                let bytes = [byte];
                let decoded = encoding.decode_without_bom_handling_and_without_replacement(&bytes)?;
                decoded.chars().next().filter(|character| !('\u{80}'..='\u{9f}').contains(character))
            }
            Self::Upper(upper) => match byte.checked_sub(128) {
                None => Some(latin1),
                Some(index) => upper.chars().nth(usize::from(index)),
            },
            Self::All(all) => all.chars().nth(usize::from(byte)),
            _ => None,
        }
    }
}

fn utf_16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Option<String> {
    let pairs = bytes.chunks_exact(2);
    if !pairs.remainder().is_empty() {
        return None;
    }
    let units: Vec<u16> = pairs.map(|pair| unit([pair[0], pair[1]])).collect();
    String::from_utf16(&units).ok()
}

fn whole(encoding: &'static rs::Encoding, text: &str) -> Option<Vec<u8>> {
    let (bytes, _, has_unmappable) = encoding.encode(text);
    (!has_unmappable).then(|| bytes.into_owned())
}

fn one(encoding: &'static rs::Encoding, character: char) -> Option<Vec<u8>> {
    whole(encoding, character.encode_utf8(&mut [0; 4]))
}

/// Like [`one`], for Japanese sets. ASCII bytes in these sets represent only ASCII characters.
fn japanese(encoding: &'static rs::Encoding, character: char) -> Option<Vec<u8>> {
    one(encoding, character).filter(|bytes| bytes.len() > 1 || character.is_ascii() || !bytes.is_ascii())
}

fn each(text: &str, encode: impl Fn(char) -> Option<Vec<u8>>) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    for character in text.chars() {
        bytes.extend(encode(character)?);
    }
    Some(bytes)
}

/// The characters of the Hong Kong supplement, which `encoding_rs` decodes but does not encode.
static BIG5_SUPPLEMENT: LazyLock<HashMap<char, [u8; 2]>> = LazyLock::new(|| {
    let pairs = (0x87..=0xFE).flat_map(|lead| (0x40..=0xFE).map(move |trail| [lead, trail]));
    first_of_each(rs::BIG5, pairs)
});

/// The characters of JIS X 0212, which `encoding_rs` decodes but does not encode.
static JIS_SUPPLEMENT: LazyLock<HashMap<char, [u8; 3]>> = LazyLock::new(|| {
    let triples = (0xA1..=0xFE).flat_map(|row| (0xA1..=0xFE).map(move |cell| [0x8F, row, cell]));
    first_of_each(rs::EUC_JP, triples)
});

/// Returns the first sequence for each character.
fn first_of_each<const LENGTH: usize>(
    encoding: &'static rs::Encoding,
    sequences: impl Iterator<Item = [u8; LENGTH]>,
) -> HashMap<char, [u8; LENGTH]> {
    let mut found = HashMap::new();
    for sequence in sequences {
        let decoded = encoding.decode_without_bom_handling_and_without_replacement(&sequence);
        let Some(decoded) = decoded else { continue };
        let mut characters = decoded.chars();
        if let (Some(character), None) = (characters.next(), characters.next()) {
            found.entry(character).or_insert(sequence);
        }
    }
    found
}

/// Encodes text with escape sequences between ASCII, katakana and JIS X 0208.
fn iso_2022_jp(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut mode = b"(B";
    for character in text.chars() {
        let encoded = japanese(rs::EUC_JP, character)?;
        let (wanted, encoded) = match encoded.as_slice() {
            [0x8E, katakana] => (b"(I", vec![katakana & 0x7F]),
            [first, second] => (b"$B", vec![first & 0x7F, second & 0x7F]),
            _ => (b"(B", encoded),
        };
        if mode != wanted {
            mode = wanted;
            bytes.push(0x1B);
            bytes.extend(mode);
        }
        bytes.extend(encoded);
    }
    if mode != b"(B" {
        bytes.extend(b"\x1B(B");
    }
    Some(bytes)
}

/// Encodes text with `~{` before GB 2312 characters, and `~}` before ASCII.
fn hz(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut is_ascii = true;
    for character in text.chars() {
        // A tilde is written in the same way in both modes.
        if character == '~' {
            bytes.extend(b"~~");
            continue;
        }
        if character.is_ascii() != is_ascii {
            is_ascii = character.is_ascii();
            bytes.extend(if is_ascii { b"~}" } else { b"~{" });
        }
        match one(rs::GBK, character)?.as_slice() {
            [byte] if is_ascii => bytes.push(*byte),
            [first @ 0xA1..=0xFE, second @ 0xA1..=0xFE] => bytes.extend([first & 0x7F, second & 0x7F]),
            _ => return None,
        }
    }
    Some(bytes)
}

fn from_hz(bytes: &[u8]) -> Option<String> {
    let mut gbk = Vec::with_capacity(bytes.len());
    let mut is_ascii = true;
    let mut rest = bytes;
    loop {
        rest = match rest {
            [] => break,
            [b'~', b'{', rest @ ..] => {
                is_ascii = false;
                rest
            }
            [b'~', b'}', rest @ ..] => {
                is_ascii = true;
                rest
            }
            [b'~', b'~', rest @ ..] => {
                gbk.push(b'~');
                rest
            }
            [b'~', b'\n', rest @ ..] => rest,
            [b'~', ..] => return None,
            [byte, rest @ ..] if is_ascii && byte.is_ascii() => {
                gbk.push(*byte);
                rest
            }
            [first @ 0x21..0x7E, second @ 0x21..=0x7E, rest @ ..] if !is_ascii => {
                gbk.extend([first | 0x80, second | 0x80]);
                rest
            }
            _ => return None,
        }
    }
    rs::GBK.decode_without_bom_handling_and_without_replacement(&gbk).map(Into::into)
}
