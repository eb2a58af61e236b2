//! A bundle: one file that any host can run as a plugin. It consists of the `wardian` binary with a
//! component appended to it.
//!
//! | section | content |
//! |---|---|
//! | program | unchanged; the system does not load the data after it |
//! | component | the component's bytes |
//! | address | the provider's address as a string |
//! | trailer, 32 bytes | magic; length of the component (8 bytes) and of the address (4), little endian; protocol (4): 0 for both, 5, 6 |
//!
//! A binary whose name is `terraform-provider-…` checks its own file for a trailer.

use std::fs::File;
use std::io::{self, Read, Seek as _, SeekFrom, Write};
use std::path::Path;

use wardian_address::ProviderAddress;
use wardian_install::package::MAX_COMPONENT_BYTES;

use crate::arguments::Protocol;

/// Identifies the format and its version.
const MAGIC: &[u8; 16] = b"wardian bundle1\n";
const TRAILER: u64 = 32;
const MAX_ADDRESS_BYTES: u32 = 1000;

/// The contents of a bundle except the program.
pub(crate) struct Bundle {
    pub(crate) address: ProviderAddress,
    /// The protocol to serve; `None` for both.
    pub(crate) protocol: Option<Protocol>,
    pub(crate) component: Vec<u8>,
}

impl Bundle {
    /// Reads the bundle that is appended to a program; `None` if the program has none.
    pub(crate) fn read(path: &Path) -> io::Result<Option<Self>> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        let Some(trailer_start) = length.checked_sub(TRAILER) else { return Ok(None) };
        file.seek(SeekFrom::Start(trailer_start))?;
        let mut trailer = [0; 32];
        file.read_exact(&mut trailer)?;
        let (magic, numbers) = trailer.split_at(MAGIC.len());
        if magic != MAGIC {
            return Ok(None);
        }
        let damaged = || io::Error::new(io::ErrorKind::InvalidData, "the bundle is damaged");
        let number = |range: std::ops::Range<usize>| {
            let bytes = numbers.get(range).and_then(|bytes| <[u8; 4]>::try_from(bytes).ok());
            bytes.map(u32::from_le_bytes).ok_or_else(damaged)
        };
        let component_length = u64::from(number(0..4)?) | u64::from(number(4..8)?) << 32;
        let (address_length, protocol) = (number(8..12)?, number(12..16)?);
        if component_length > MAX_COMPONENT_BYTES || address_length > MAX_ADDRESS_BYTES {
            return Err(damaged());
        }
        let start = trailer_start.checked_sub(component_length + u64::from(address_length));
        file.seek(SeekFrom::Start(start.ok_or_else(damaged)?))?;
        let mut component = Vec::new();
        Read::by_ref(&mut file).take(component_length).read_to_end(&mut component)?;
        let mut address = String::new();
        file.take(address_length.into()).read_to_string(&mut address)?;
        let address = ProviderAddress::parse(&address).map_err(|_| damaged())?;
        let protocol = match protocol {
            0 => None,
            5 => Some(Protocol::Five),
            6 => Some(Protocol::Six),
            _ => return Err(damaged()),
        };
        Ok(Some(Self { address, protocol, component }))
    }

    /// Writes a program followed by the bundle. The program must not be a bundle itself.
    pub(crate) fn write(&self, program: &mut dyn Read, out: &mut dyn Write) -> io::Result<()> {
        io::copy(program, out)?;
        let address = self.address.to_string();
        out.write_all(&self.component)?;
        out.write_all(address.as_bytes())?;
        out.write_all(MAGIC)?;
        out.write_all(&(self.component.len() as u64).to_le_bytes())?;
        let length = u32::try_from(address.len()).map_err(io::Error::other)?;
        out.write_all(&length.to_le_bytes())?;
        let protocol: u32 = match self.protocol {
            None => 0,
            Some(Protocol::Five) => 5,
            Some(Protocol::Six) => 6,
        };
        out.write_all(&protocol.to_le_bytes())?;
        out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bundle_appended_to_a_program_is_read_back() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("terraform-provider-dns_v1.0.0");
        for protocol in [None, Some(Protocol::Five), Some(Protocol::Six)] {
            let address = ProviderAddress::parse("acme/dns").unwrap();
            let bundle = Bundle { address, protocol, component: b"\0asm component".to_vec() };
            let mut file = File::create(&path).unwrap();
            bundle.write(&mut &b"the program"[..], &mut file).unwrap();
            let found = Bundle::read(&path).unwrap().unwrap();
            assert_eq!((found.address, found.protocol), (bundle.address, protocol));
            assert_eq!(found.component, bundle.component);
        }
    }

    #[test]
    fn damaged_bundle_is_distinguished_from_plain_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        for plain in [&b""[..], b"short", &[0; 200]] {
            std::fs::write(&path, plain).unwrap();
            assert!(Bundle::read(&path).unwrap().is_none());
        }
        for numbers in [[0xff; 16], [1; 16], [9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0]] {
            std::fs::write(&path, [&MAGIC[..], &numbers].concat()).unwrap();
            assert!(Bundle::read(&path).is_err(), "{numbers:?}");
        }
    }
}
