//! Splits a sequence of OpenPGP packets, whose headers have the old or the new format.

use std::borrow::Cow;

use crate::bytes::ByteReader;
use crate::error::MalformedData;

/// The packet types that this crate distinguishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PacketKind {
    Signature,
    PublicKey,
    PublicSubkey,
    SecretKey,
    UserId,
    UserAttribute,
    /// A packet that this crate ignores: a marker, trust, padding or experimental packet.
    Ignored,
    Other(u8),
}

impl PacketKind {
    fn from_tag(tag: u8) -> Self {
        match tag {
            2 => Self::Signature,
            5 | 7 => Self::SecretKey,
            6 => Self::PublicKey,
            13 => Self::UserId,
            14 => Self::PublicSubkey,
            17 => Self::UserAttribute,
            10 | 12 | 21 | 60..=63 => Self::Ignored,
            other => Self::Other(other),
        }
    }
}

/// A packet. The body is copied only if it consists of partial bodies.
pub(crate) struct Packet<'a> {
    pub(crate) kind: PacketKind,
    pub(crate) body: Cow<'a, [u8]>,
}

/// Iterates over packets. After an error there are no more packets.
pub(crate) struct Packets<'a> {
    reader: ByteReader<'a>,
}

impl<'a> Packets<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { reader: ByteReader::new(bytes) }
    }

    fn read(&mut self) -> Result<Packet<'a>, MalformedData> {
        let header = self.reader.u8()?;
        if header & 0x80 == 0 {
            return Err(MalformedData::NotAPacket);
        }
        if header & 0x40 == 0 {
            let kind = PacketKind::from_tag((header >> 2) & 0x0f);
            let length = match header & 0x03 {
                0 => u32::from(self.reader.u8()?),
                1 => u32::from(self.reader.u16()?),
                2 => self.reader.u32()?,
                // The packet has no length, and extends to the end.
                _ => {
                    let body = self.reader.remaining();
                    self.reader = ByteReader::new(&[]);
                    return Ok(Packet { kind, body: body.into() });
                }
            };
            return Ok(Packet { kind, body: self.reader.take_u32(length)?.into() });
        }
        let kind = PacketKind::from_tag(header & 0x3f);
        let body = match self.body_part()? {
            BodyPart::Last(body) => body.into(),
            BodyPart::More(first) => {
                let mut body = first.to_vec();
                loop {
                    match self.body_part()? {
                        BodyPart::More(part) => body.extend_from_slice(part),
                        BodyPart::Last(part) => {
                            body.extend_from_slice(part);
                            break body.into();
                        }
                    }
                }
            }
        };
        Ok(Packet { kind, body })
    }

    fn body_part(&mut self) -> Result<BodyPart<'a>, MalformedData> {
        let first = self.reader.u8()?;
        let length = match first {
            0..192 => u32::from(first),
            192..224 => ((u32::from(first) - 192) << 8) + u32::from(self.reader.u8()?) + 192,
            224..255 => return Ok(BodyPart::More(self.reader.take_u32(1 << (first & 0x1f))?)),
            255 => self.reader.u32()?,
        };
        Ok(BodyPart::Last(self.reader.take_u32(length)?))
    }
}

enum BodyPart<'a> {
    More(&'a [u8]),
    Last(&'a [u8]),
}

impl<'a> Iterator for Packets<'a> {
    type Item = Result<Packet<'a>, MalformedData>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.reader.is_empty() {
            return None;
        }
        let packet = self.read();
        if packet.is_err() {
            self.reader = ByteReader::new(&[]);
        }
        Some(packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(bytes: &[u8]) -> Result<Vec<(PacketKind, Vec<u8>)>, MalformedData> {
        Packets::new(bytes).map(|packet| packet.map(|one| (one.kind, one.body.into_owned()))).collect()
    }

    #[test]
    fn reads_all_length_encodings() {
        let body = vec![7; 300];
        let with = |header: &[u8], body: &[u8]| [header, body].concat();
        let long = (PacketKind::Signature, body.clone());
        assert_eq!(split(&with(&[0x88, 3], &body[..3])), Ok(vec![(PacketKind::Signature, vec![7; 3])]));
        assert_eq!(split(&with(&[0x89, 1, 44], &body)), Ok(vec![long.clone()]));
        assert_eq!(split(&with(&[0x8a, 0, 0, 1, 44], &body)), Ok(vec![long.clone()]));
        assert_eq!(split(&with(&[0x8b], &body)), Ok(vec![long.clone()]));
        assert_eq!(split(&with(&[0xc2, 3], &body[..3])), Ok(vec![(PacketKind::Signature, vec![7; 3])]));
        assert_eq!(split(&with(&[0xc2, 192, 108], &body)), Ok(vec![long.clone()]));
        assert_eq!(split(&with(&[0xc2, 255, 0, 0, 1, 44], &body)), Ok(vec![long.clone()]));
        let partial = [&[0xc2, 0xe8][..], &body[..256], &[0xe1], &body[..2], &[42], &body[..42]].concat();
        assert_eq!(split(&partial), Ok(vec![long]));
        let two = split(&[0xcd, 1, b'a', 0xce, 0]);
        assert_eq!(two, Ok(vec![(PacketKind::UserId, vec![b'a']), (PacketKind::PublicSubkey, vec![])]));
        assert_eq!(split(&[]), Ok(vec![]));
    }

    #[test]
    fn rejects_truncated_packets() {
        for bytes in [
            &[0x88][..],
            &[0x88, 2, 0],
            &[0x89, 1],
            &[0x8a, 255, 255, 255, 255],
            &[0xc2],
            &[0xc2, 5, 0],
            &[0xc2, 223, 255],
            &[0xc2, 255, 255, 255, 255, 255],
            &[0xc2, 254, 0],
            &[0xc2, 0xe0, 0],
        ] {
            assert_eq!(split(bytes), Err(MalformedData::Truncated), "{bytes:?}");
        }
        assert_eq!(split(b"text"), Err(MalformedData::NotAPacket));
    }
}
