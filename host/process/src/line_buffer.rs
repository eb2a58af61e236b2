//! Splits output into complete lines, with bounded memory.

/// Maximum size of a chunk of output. A longer line is split.
pub(crate) const MAX_PIECE_SIZE: usize = 32 << 10;

/// Output that was received but has not been returned yet.
#[derive(Debug, Default)]
pub struct LineBuffer {
    bytes: Vec<u8>,
    /// Number of leading bytes that do not contain a line break.
    searched: usize,
}

impl LineBuffer {
    /// Adds bytes and returns the complete lines, or all bytes if a full chunk contains no line
    /// break.
    pub fn push(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        self.bytes.extend_from_slice(bytes);
        self.take_lines()
    }

    /// Returns the last line if it is not terminated.
    pub fn finish(&mut self) -> Option<Vec<u8>> {
        self.searched = 0;
        (!self.bytes.is_empty()).then(|| std::mem::take(&mut self.bytes))
    }

    /// Returns the buffer, to which bytes can be appended, and its free capacity up to the maximum
    /// size of a chunk.
    pub(crate) fn free_space(&mut self) -> (&mut Vec<u8>, usize) {
        let free = MAX_PIECE_SIZE.saturating_sub(self.bytes.len());
        self.bytes.reserve_exact(free);
        (&mut self.bytes, free)
    }

    /// Returns the complete lines, or all bytes if a full chunk contains no line break.
    pub(crate) fn take_lines(&mut self) -> Option<Vec<u8>> {
        let unsearched = self.bytes.get(self.searched..).unwrap_or_default();
        let end = match unsearched.iter().rposition(|byte| *byte == b'\n') {
            Some(last) => self.searched + last + 1,
            None if self.bytes.len() >= MAX_PIECE_SIZE => self.bytes.len(),
            None => {
                self.searched = self.bytes.len();
                return None;
            }
        };
        let rest = self.bytes.get(end..).map(<[u8]>::to_vec).unwrap_or_default();
        self.searched = rest.len();
        let mut lines = std::mem::replace(&mut self.bytes, rest);
        lines.truncate(end);
        Some(lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_complete_and_bounded() {
        let mut lines = LineBuffer::default();
        assert_eq!(lines.push(b"a"), None);
        assert_eq!(lines.push(b"b\nc\nd"), Some(b"ab\nc\n".to_vec()));
        assert_eq!(
            lines.push(&vec![b'x'; MAX_PIECE_SIZE]).map(|piece| piece.len()),
            Some(MAX_PIECE_SIZE + 1)
        );
        assert_eq!(lines.push(b"e"), None);
        assert_eq!(lines.finish(), Some(b"e".to_vec()));
        assert_eq!(lines.finish(), None);
    }
}
