//! Lines at the bottom of a terminal that change while a command runs. All other output is written
//! above them.
//!
//! The shell erases the footer before it writes anything else, and draws it again afterwards. The
//! cursor is always on the line below the footer, so a process that ends early leaves the terminal
//! in a usable state.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use wardian_printable::PrintableText;

use super::{Shell, columns};

/// The time between updates of the footer.
const INTERVAL: Duration = Duration::from_millis(500);

/// Moves the cursor to the line above.
const CURSOR_UP: &str = "\u{1b}[1A";

/// Erases everything from the cursor to the end of the screen.
const ERASE_BELOW: &str = "\u{1b}[J";

/// Provides the lines of a footer.
pub(crate) trait FooterContent: Send + Sync {
    /// Returns the lines, none of which may be wider than this number of columns. Empty if nothing
    /// is shown at this time.
    fn lines(&self, columns: usize) -> Vec<PrintableText>;
}

/// The footer of standard output.
#[derive(Default)]
pub(super) struct Footer {
    content: Option<Arc<dyn FooterContent>>,
    /// The number of lines on the terminal.
    height: usize,
}

impl fmt::Debug for Footer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Footer").field("height", &self.height).finish_non_exhaustive()
    }
}

impl Footer {
    /// Returns the text that erases the footer; empty if it is not shown.
    pub(super) fn erase(&mut self) -> PrintableText {
        let mut text = PrintableText::new();
        if self.height > 0 {
            text.push_repeated(CURSOR_UP, std::mem::take(&mut self.height));
            text.push(ERASE_BELOW);
        }
        text
    }

    /// Returns the text that draws the footer below the cursor, which must be at the start of a
    /// line.
    pub(super) fn draw(&mut self, columns: usize) -> PrintableText {
        let lines = self.content.as_ref().map(|content| content.lines(columns)).unwrap_or_default();
        self.height = lines.len();
        let mut text = PrintableText::new();
        for line in &lines {
            text.append(line);
            text.push("\n");
        }
        text
    }
}

impl Shell {
    /// Shows a footer until the guard is dropped. Returns `None` if the output has no footer: it is
    /// not a terminal that can move its cursor, or progress is not shown.
    pub(crate) fn show_footer(self: &Arc<Self>, content: Arc<dyn FooterContent>) -> Option<FooterGuard> {
        if !self.has_footer() {
            return None;
        }
        let (stop, stopped) = channel();
        let shell = Arc::clone(self);
        let update = move || {
            while stopped.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                shell.update_footer();
            }
        };
        std::thread::Builder::new().name("footer".to_owned()).spawn(update).ok()?;
        self.footer().content = Some(content);
        Some(FooterGuard { shell: Arc::clone(self), _stop: stop })
    }

    fn update_footer(&self) {
        // Writing nothing erases the footer and draws it again.
        self.write(true, &PrintableText::new());
    }

    /// Returns the number of columns of the terminal, which can change at any time.
    pub(super) fn current_columns(&self) -> usize {
        columns(&io::stdout()).unwrap_or(self.out.width)
    }
}

/// Removes the footer when it is dropped.
pub(crate) struct FooterGuard {
    shell: Arc<Shell>,
    /// Ends the thread that updates the footer.
    _stop: Sender<()>,
}

impl Drop for FooterGuard {
    fn drop(&mut self) {
        self.shell.footer().content = None;
        self.shell.update_footer();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Lines(&'static [&'static str]);

    impl FooterContent for Lines {
        fn lines(&self, _columns: usize) -> Vec<PrintableText> {
            self.0.iter().map(|line| PrintableText::from(*line)).collect()
        }
    }

    #[test]
    fn each_drawn_line_is_erased() {
        let mut footer = Footer { content: Some(Arc::new(Lines(&["a", "b"]))), height: 0 };
        assert_eq!(footer.erase().as_str(), "");
        assert_eq!(footer.draw(80).as_str(), "a\nb\n");
        footer.content = Some(Arc::new(Lines(&["c"])));
        assert_eq!(footer.erase().as_str(), "\u{1b}[1A\u{1b}[1A\u{1b}[J");
        assert_eq!(footer.draw(80).as_str(), "c\n");
        footer.content = None;
        assert_eq!(footer.erase().as_str(), "\u{1b}[1A\u{1b}[J");
        assert_eq!(footer.draw(80).as_str(), "");
        assert_eq!(footer.erase().as_str(), "");
    }
}
