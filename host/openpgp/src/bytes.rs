//! Reads numbers and byte strings from the body of a packet.

use crate::error::MalformedData;

/// The remaining bytes of a packet.
#[derive(Clone, Copy)]
pub(crate) struct ByteReader<'a> {
    rest: &'a [u8],
}

impl<'a> ByteReader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(crate) fn is_empty(self) -> bool {
        self.rest.is_empty()
    }

    /// Returns all remaining bytes without reading them.
    pub(crate) fn remaining(self) -> &'a [u8] {
        self.rest
    }

    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], MalformedData> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(MalformedData::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], MalformedData> {
        let (taken, rest) = self.rest.split_first_chunk::<N>().ok_or(MalformedData::Truncated)?;
        self.rest = rest;
        Ok(*taken)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, MalformedData> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, MalformedData> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, MalformedData> {
        self.array().map(u32::from_be_bytes)
    }

    /// Reads as many bytes as a length field of the packet specifies.
    pub(crate) fn take_u32(&mut self, count: u32) -> Result<&'a [u8], MalformedData> {
        self.take(usize::try_from(count).map_err(|_| MalformedData::Truncated)?)
    }

    /// Reads a multiprecision integer and returns its bytes without leading zeros. The bit count
    /// may be too high, because some programs count the bits of whole bytes.
    pub(crate) fn integer(&mut self) -> Result<&'a [u8], MalformedData> {
        let bits = self.u16()?;
        let bytes = self.take(usize::from(bits).div_ceil(8))?;
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
        Ok(bytes.get(zeros..).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leading_zeros_of_integers_are_removed() {
        let mut reader = ByteReader::new(&[0, 9, 1, 0xff, 0, 16, 0, 7, 0, 0, 0, 8]);
        assert_eq!(reader.integer().unwrap(), [1, 0xff]);
        assert_eq!(reader.integer().unwrap(), [7]);
        assert_eq!(reader.integer().unwrap(), []);
        assert_eq!(reader.integer(), Err(MalformedData::Truncated));
    }
}
