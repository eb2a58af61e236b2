//! Output as it comes from the network, handed on as whole lines where lines are written.

/// The largest piece of output. A longer line is cut.
const PIECE: usize = 32 << 10;

/// What came of one output and was not handed on.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    held: Vec<u8>,
}

impl Lines {
    /// Takes some more, and gives the whole lines that there are.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        let searched = self.held.len();
        self.held.extend_from_slice(bytes);
        let end = match bytes.iter().rposition(|byte| *byte == b'\n') {
            Some(last) => searched + last + 1,
            None if self.held.len() >= PIECE => self.held.len(),
            None => return None,
        };
        let rest = self.held.get(end..).map(<[u8]>::to_vec).unwrap_or_default();
        let mut piece = std::mem::replace(&mut self.held, rest);
        piece.truncate(end);
        Some(piece)
    }

    /// The line that was not ended.
    pub(crate) fn finish(&mut self) -> Option<Vec<u8>> {
        (!self.held.is_empty()).then(|| std::mem::take(&mut self.held))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_whole_and_bounded() {
        let mut lines = Lines::default();
        assert_eq!(lines.push(b"a"), None);
        assert_eq!(lines.push(b"b\nc\nd"), Some(b"ab\nc\n".to_vec()));
        assert_eq!(lines.push(&vec![b'x'; PIECE]).map(|piece| piece.len()), Some(PIECE + 1));
        assert_eq!(lines.push(b"e"), None);
        assert_eq!(lines.finish(), Some(b"e".to_vec()));
        assert_eq!(lines.finish(), None);
    }
}
