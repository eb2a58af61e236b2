//! Splits chunks of output into lines.

/// Maximum length of a line in bytes. A longer line is split into several lines.
const MAX_LINE: usize = 64 << 10;

/// The line that is not finished yet.
#[derive(Default)]
pub(super) struct Lines {
    begun: Vec<u8>,
    /// Whether the last byte was a carriage return that ended a line. A line feed that immediately
    /// follows is part of the same line break.
    after_return: bool,
}

impl Lines {
    /// Adds bytes, and emits each complete line without its line break.
    pub(super) fn add(&mut self, bytes: &[u8], on_line: &mut dyn FnMut(&str)) {
        let mut rest = bytes;
        if let (true, [b'\n', behind @ ..]) = (self.after_return, rest) {
            rest = behind;
        }
        if !bytes.is_empty() {
            self.after_return = false;
        }
        while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let (line, behind) = rest.split_at(end);
            self.begun.extend_from_slice(line);
            self.emit(on_line);
            rest = match behind {
                [b'\r', b'\n', behind @ ..] | [_, behind @ ..] => behind,
                [] => behind,
            };
            self.after_return = behind == b"\r";
        }
        for piece in rest.chunks(MAX_LINE) {
            self.begun.extend_from_slice(piece);
            if self.begun.len() >= MAX_LINE {
                self.emit(on_line);
            }
        }
    }

    /// Emits the remaining bytes as a line.
    pub(super) fn finish(mut self, on_line: &mut dyn FnMut(&str)) {
        if !self.begun.is_empty() {
            self.emit(on_line);
        }
    }

    fn emit(&mut self, on_line: &mut dyn FnMut(&str)) {
        on_line(&String::from_utf8_lossy(&self.begun));
        self.begun.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(pieces: &[&[u8]]) -> Vec<String> {
        let mut found = Vec::new();
        let mut lines = Lines::default();
        for piece in pieces {
            lines.add(piece, &mut |line| found.push(line.to_owned()));
        }
        lines.finish(&mut |line| found.push(line.to_owned()));
        found
    }

    #[test]
    fn lines_are_joined_across_chunks() {
        assert_eq!(lines(&[b"on", b"e\ntwo\n\nla", b"st"]), ["one", "two", "", "last"]);
        assert_eq!(lines(&[b"10%\r20%\r\nx\r", b"\ny"]), ["10%", "20%", "x", "y"]);
        assert_eq!(lines(&[b"", b"\xff\n"]), ["\u{fffd}"]);
        assert!(lines(&[b""]).is_empty());
    }

    #[test]
    fn long_line_is_emitted_in_chunks() {
        let found = lines(&[&vec![b'x'; 3 * MAX_LINE + 1]]);
        assert_eq!(found.iter().map(String::len).collect::<Vec<_>>(), [MAX_LINE, MAX_LINE, MAX_LINE, 1]);
    }
}
