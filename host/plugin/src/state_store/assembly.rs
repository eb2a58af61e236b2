//! Assembles a state from the chunks in which a state store returns it.

use super::MAX_STORED_STATE_BYTES;

/// A state that is received in chunks. Chunks that are too large, overlap or leave gaps are errors,
/// and so is a state that is too large or incomplete.
#[derive(Debug)]
pub struct StateAssembly {
    bytes: Vec<u8>,
    chunk_size: u64,
    total: Option<u64>,
}

impl StateAssembly {
    /// Returns an assembly for chunks of at most this many bytes.
    pub fn new(chunk_size: u64) -> Self {
        Self { bytes: Vec::new(), chunk_size, total: None }
    }

    /// Adds the next chunk.
    ///
    /// # Errors
    /// Returns a description of the problem if the chunk is not valid.
    pub fn push(&mut self, chunk: &[u8], start: u64, total: u64) -> Result<(), String> {
        let (length, received) = (chunk.len() as u64, self.bytes.len() as u64);
        if total > MAX_STORED_STATE_BYTES {
            return Err(format!(
                "the state has {total} bytes, but a state in a state store has at most {MAX_STORED_STATE_BYTES} bytes"
            ));
        }
        match self.total {
            None => self.total = Some(total),
            Some(first) if first != total => {
                return Err(format!(
                    "a chunk gives the length of the state as {total} bytes, an earlier one as {first} bytes"
                ));
            }
            Some(_) if length == 0 => return Err("a chunk after the first is empty".to_owned()),
            Some(_) => {}
        }
        if length == 0 && total != 0 {
            return Err("a chunk is empty, but the state is not".to_owned());
        }
        if length > self.chunk_size {
            return Err(format!(
                "a chunk has {length} bytes, but the state store chose chunks of at most {} bytes",
                self.chunk_size
            ));
        }
        if length != 0 && start != received {
            return Err(format!(
                "a chunk starts at byte {start}, but the previous ones end at byte {received}"
            ));
        }
        if received + length > total {
            return Err(format!("the chunks exceed the length of the state, which is {total} bytes"));
        }
        self.bytes.extend_from_slice(chunk);
        Ok(())
    }

    /// Returns the state; empty if there was no chunk.
    ///
    /// # Errors
    /// Returns a description of the problem if chunks are missing.
    pub fn finish(self) -> Result<Vec<u8>, String> {
        let (received, total) = (self.bytes.len() as u64, self.total.unwrap_or_default());
        if received == total {
            return Ok(self.bytes);
        }
        Err(format!("the state is incomplete: {received} of {total} bytes were received"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes of a chunk, its start and the total length.
    type Chunk<'a> = (&'a [u8], u64, u64);

    fn assemble(chunks: &[Chunk<'_>]) -> Result<Vec<u8>, String> {
        let mut assembly = StateAssembly::new(4);
        for (chunk, start, total) in chunks {
            assembly.push(chunk, *start, *total)?;
        }
        assembly.finish()
    }

    #[test]
    fn valid_chunks_are_concatenated() {
        assert_eq!(assemble(&[(b"abcd", 0, 7), (b"efg", 4, 7)]), Ok(b"abcdefg".to_vec()));
        assert_eq!(assemble(&[]), Ok(Vec::new()));
        assert_eq!(assemble(&[(b"", 0, 0)]), Ok(Vec::new()));
    }

    #[test]
    fn invalid_chunks_are_errors() {
        let cases: [(&[Chunk<'_>], &str); 9] = [
            (&[(b"abcde", 0, 5)], "at most 4 bytes"),
            (&[(b"ab", 1, 3)], "starts at byte 1"),
            (&[(b"ab", 0, 4), (b"cd", 3, 4)], "starts at byte 3"),
            (&[(b"ab", 0, 4), (b"cd", 2, 5)], "an earlier one"),
            (&[(b"ab", 0, 4), (b"", 2, 4)], "is empty"),
            (&[(b"", 0, 4)], "is empty"),
            (&[(b"abc", 0, 2)], "exceed the length"),
            (&[(b"ab", 0, 4)], "2 of 4 bytes"),
            (&[(b"ab", 0, MAX_STORED_STATE_BYTES + 1)], "has at most"),
        ];
        for (chunks, expected) in cases {
            let problem = assemble(chunks).unwrap_err();
            assert!(problem.contains(expected), "{problem}");
        }
    }
}
