//! Compression of stored states.

use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use wardian_state::StorageError;

use crate::service::MAX_STATE_BYTES;

/// Returns whether bytes start with the signature of gzip. JSON never does.
pub(crate) fn is_compressed(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x1f, 0x8b])
}

pub(crate) fn compress(bytes: &[u8]) -> Result<Vec<u8>, StorageError> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder
        .write_all(bytes)
        .and_then(|()| encoder.finish())
        .map_err(|error| StorageError::new(format!("the state cannot be compressed: {error}")))
}

/// Returns the content of a gzip stream.
///
/// # Errors
/// Returns an error if the stream is damaged, or its content is larger than a state can be.
pub(crate) fn decompress(bytes: &[u8]) -> Result<Vec<u8>, StorageError> {
    let mut content = Vec::new();
    MultiGzDecoder::new(bytes).take(MAX_STATE_BYTES + 1).read_to_end(&mut content).map_err(|error| {
        StorageError::new(format!("the compressed state is damaged: {error}"))
            .with_advice("restore an older version of the state; nothing was changed")
    })?;
    if content.len() as u64 > MAX_STATE_BYTES {
        return Err(StorageError::new("the compressed state is too large"));
    }
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_restored_and_damage_is_reported() {
        let text = b"{\"version\":4}".repeat(1000);
        let packed = compress(&text).unwrap();
        assert!(is_compressed(&packed) && packed.len() < text.len() / 10 && !is_compressed(&text));
        assert_eq!(decompress(&packed).unwrap(), text);
        for end in [2, 10, packed.len() - 1] {
            let error = decompress(&packed[..end]).unwrap_err();
            assert!(error.message.contains("damaged"), "{end}: {error}");
        }
        let mut changed = packed.clone();
        let middle = changed.len() / 2;
        changed[middle] ^= 1;
        assert!(decompress(&changed).is_err());
    }
}
