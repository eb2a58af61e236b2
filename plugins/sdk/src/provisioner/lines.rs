//! Bytes in pieces as lines of text.

/// The most bytes that are held back for the end of their line.
const LONGEST_LINE: usize = 64 << 10;

/// What came so far of the next line.
#[derive(Default)]
pub(super) struct Lines {
    begun: Vec<u8>,
    /// What came last ended a line as old terminals do; a line feed behind it is part of
    /// that end.
    after_return: bool,
}

impl Lines {
    /// Adds bytes, and hands on each line that is whole, without its end.
    pub(super) fn add(&mut self, bytes: &[u8], hear: &mut dyn FnMut(&str)) {
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
            self.say(hear);
            rest = match behind {
                [b'\r', b'\n', behind @ ..] | [_, behind @ ..] => behind,
                [] => behind,
            };
            self.after_return = behind == b"\r";
        }
        for piece in rest.chunks(LONGEST_LINE) {
            self.begun.extend_from_slice(piece);
            if self.begun.len() >= LONGEST_LINE {
                self.say(hear);
            }
        }
    }

    /// What is left is a line, too.
    pub(super) fn finish(mut self, hear: &mut dyn FnMut(&str)) {
        if !self.begun.is_empty() {
            self.say(hear);
        }
    }

    fn say(&mut self, hear: &mut dyn FnMut(&str)) {
        hear(&String::from_utf8_lossy(&self.begun));
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
    fn lines_are_put_together_from_pieces() {
        assert_eq!(lines(&[b"on", b"e\ntwo\n\nla", b"st"]), ["one", "two", "", "last"]);
        assert_eq!(lines(&[b"10%\r20%\r\nx\r", b"\ny"]), ["10%", "20%", "x", "y"]);
        assert_eq!(lines(&[b"", b"\xff\n"]), ["\u{fffd}"]);
        assert!(lines(&[b""]).is_empty());
    }

    #[test]
    fn a_line_without_end_is_handed_on_in_pieces() {
        let found = lines(&[&vec![b'x'; 3 * LONGEST_LINE + 1]]);
        assert_eq!(
            found.iter().map(String::len).collect::<Vec<_>>(),
            [LONGEST_LINE, LONGEST_LINE, LONGEST_LINE, 1]
        );
    }
}
