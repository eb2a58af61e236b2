//! Formats lines like `wardian fmt`: indents them by their open brackets, and aligns the equals
//! signs of adjacent lines.
//!
//! A line that opens several brackets indents the following lines by one step only, and the step
//! ends only when all of its brackets are closed. Therefore, a line `}, {` between the objects of a
//! list is indented like their attributes.

use wardian_value::graphemes;

#[derive(Default)]
struct Line {
    /// The text before the equals sign, or the complete line.
    head: String,
    /// The text after the equals sign, if the line has one.
    value: Option<String>,
    /// The number of opened brackets, minus the number of closed ones.
    opened: i64,
    /// The same difference for the text after the equals sign.
    opened_in_value: i64,
}

/// The lines so far. The last line is incomplete.
#[derive(Default)]
pub(super) struct Lines {
    done: Vec<Line>,
    current: Line,
}

impl Lines {
    /// Adds text without brackets.
    pub(super) fn push(&mut self, text: &str) {
        match &mut self.current.value {
            Some(value) => value.push_str(text),
            None => self.current.head.push_str(text),
        }
    }

    pub(super) fn open(&mut self, bracket: &str) {
        self.push(bracket);
        self.count(1);
    }

    /// Adds a closing bracket.
    pub(super) fn close(&mut self, bracket: &str) {
        self.push(bracket);
        self.count(-1);
    }

    fn count(&mut self, change: i64) {
        self.current.opened += change;
        if self.current.value.is_some() {
            self.current.opened_in_value += change;
        }
    }

    /// Adds the equals sign of the line.
    pub(super) fn assign(&mut self) {
        self.current.value = Some(String::new());
    }

    pub(super) fn end_line(&mut self) {
        self.done.push(std::mem::take(&mut self.current));
    }

    pub(super) fn finish(self) -> String {
        let Self { done, current } = self;
        let mut text = String::new();
        let mut open: Vec<i64> = Vec::new();
        // For each line, the width of the longest text before the equals sign in its group of
        // adjacent lines.
        let widths = aligned_widths(&done);
        for (line, width) in done.iter().zip(widths) {
            write_line(line, width, &mut open, &mut text);
            text.push('\n');
        }
        if !current.head.is_empty() {
            write_line(&current, None, &mut open, &mut text);
        }
        text
    }
}

fn write_line(line: &Line, width: Option<usize>, open: &mut Vec<i64>, text: &mut String) {
    if line.opened < 0 {
        close(open, -line.opened);
    }
    for _ in 0..open.len() {
        text.push_str("  ");
    }
    if line.opened > 0 {
        open.push(line.opened);
    }
    text.push_str(&line.head);
    if let Some(value) = &line.value {
        let padding = width.map_or(0, |width| width.saturating_sub(columns(&line.head)));
        text.extend(std::iter::repeat_n(' ', padding));
        text.push_str(" = ");
        text.push_str(value);
    }
}

/// Ends the indentation steps whose brackets are now all closed.
fn close(open: &mut Vec<i64>, mut closed: i64) {
    while closed > 0
        && let Some(last) = open.last_mut()
    {
        if closed < *last {
            *last -= closed;
            return;
        }
        closed -= *last;
        open.pop();
    }
}

/// Returns the column of the equals sign of each line that is aligned with adjacent lines. A line
/// whose value continues on the next line is not aligned.
fn aligned_widths(lines: &[Line]) -> Vec<Option<usize>> {
    let mut widths = Vec::with_capacity(lines.len());
    let is_aligned = |line: &Line| line.value.is_some() && line.opened_in_value == 0;
    for group in lines.chunk_by(|one, other| is_aligned(one) && is_aligned(other)) {
        let widest = group.iter().map(|line| columns(&line.head)).max();
        let aligned = group.first().is_some_and(is_aligned);
        widths.extend(group.iter().map(|_| widest.filter(|_| aligned)));
    }
    widths
}

/// Returns the width in columns, as `wardian fmt` counts it: one for each grapheme.
fn columns(text: &str) -> usize {
    graphemes(text).count()
}
