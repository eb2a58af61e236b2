//! Divides a state into chunks.

use bytes::Bytes;

/// A part of a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateChunk {
    /// The bytes, at most the chunk size.
    pub bytes: Vec<u8>,
    /// The offset of the first byte.
    pub start: u64,
    /// The length of the complete state.
    pub total: u64,
}

/// Returns the chunks of a state with these parts. An empty state has one empty chunk.
pub fn state_chunks(parts: &[Bytes], chunk_size: u64) -> impl Iterator<Item = StateChunk> + use<'_> {
    let total: usize = parts.iter().map(Bytes::len).sum();
    let most = usize::try_from(chunk_size).unwrap_or(usize::MAX).max(1);
    let mut rest = parts.iter().map(|part| &**part).filter(|part| !part.is_empty());
    let mut part: &[u8] = &[];
    let mut start = 0;
    let mut is_first = true;
    std::iter::from_fn(move || {
        let length = most.min(total - start);
        if length == 0 && !is_first {
            return None;
        }
        is_first = false;
        let mut bytes = Vec::with_capacity(length);
        while bytes.len() < length {
            if part.is_empty() {
                part = rest.next()?;
            }
            let taken = part.len().min(length - bytes.len());
            let (now, later) = part.split_at_checked(taken)?;
            bytes.extend_from_slice(now);
            part = later;
        }
        let chunk = StateChunk { bytes, start: start as u64, total: total as u64 };
        start += length;
        Some(chunk)
    })
}

#[cfg(test)]
mod tests {
    use super::super::StateAssembly;
    use super::*;

    #[test]
    fn chunks_of_every_size_assemble_to_the_state() {
        let parts = ["", "abc", "", "d", "efghij", ""].map(|part| Bytes::from_static(part.as_bytes()));
        for size in 1..12 {
            let mut assembly = StateAssembly::new(size);
            for chunk in state_chunks(&parts, size) {
                assert!(chunk.bytes.len() as u64 <= size);
                assembly.push(&chunk.bytes, chunk.start, chunk.total).unwrap();
            }
            assert_eq!(assembly.finish().unwrap(), b"abcdefghij");
        }
    }

    #[test]
    fn empty_state_has_one_chunk() {
        let chunks: Vec<_> = state_chunks(&[], 4).collect();
        assert_eq!(chunks, [StateChunk { bytes: Vec::new(), start: 0, total: 0 }]);
    }
}
