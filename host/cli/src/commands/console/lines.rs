//! Reads lines with a line editor that stores its history.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{
    Cmd, ConditionalEventHandler, Config, Editor, Event, EventContext, EventHandler, KeyEvent, RepeatCount,
};

/// The maximum number of stored lines.
const MAX_HISTORY_LINES: usize = 1000;

/// The user's input.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A typed line.
    Text(String),
    /// Control-C in a line with text.
    Abandoned,
    /// Control-C in an empty line.
    AbandonedEmpty,
    /// The end of the input.
    End,
}

pub(super) struct Lines {
    editor: Editor<(), FileHistory>,
    history: Option<PathBuf>,
    /// The remaining lines of a pasted text.
    pasted: VecDeque<String>,
    /// Whether the line was empty when Control-C was pressed.
    left_empty: Arc<AtomicBool>,
}

impl Lines {
    /// Returns an editor that stores its history in a file. If no file is given, or the file cannot
    /// be read, the history is empty.
    ///
    /// # Errors
    /// Returns an error if the terminal cannot be used.
    pub(super) fn new(history: Option<PathBuf>) -> Result<Self, ReadlineError> {
        let config = Config::builder().max_history_size(MAX_HISTORY_LINES)?.auto_add_history(false).build();
        let mut editor: Editor<(), FileHistory> = Editor::with_config(config)?;
        if let Some(path) = &history {
            // The file does not exist before the first use.
            let _ = editor.load_history(path);
        }
        let left_empty = Arc::new(AtomicBool::new(false));
        editor.bind_sequence(
            KeyEvent::ctrl('C'),
            EventHandler::Conditional(Box::new(NoteOnInterrupt(Arc::clone(&left_empty)))),
        );
        Ok(Self { editor, history, pasted: VecDeque::new(), left_empty })
    }

    /// Reads the next line.
    ///
    /// # Errors
    /// Returns an error if the terminal cannot be read.
    pub(super) fn next(&mut self, prompt: &str) -> Result<Line, ReadlineError> {
        if let Some(line) = self.pasted.pop_front() {
            return Ok(Line::Text(line));
        }
        self.left_empty.store(false, Ordering::Relaxed);
        match self.editor.readline(prompt) {
            Ok(text) => {
                self.pasted.extend(text.lines().map(str::to_owned));
                Ok(Line::Text(self.pasted.pop_front().unwrap_or_default()))
            }
            Err(ReadlineError::Eof) => Ok(Line::End),
            Err(ReadlineError::Interrupted) if self.left_empty.load(Ordering::Relaxed) => {
                Ok(Line::AbandonedEmpty)
            }
            Err(ReadlineError::Interrupted) => Ok(Line::Abandoned),
            Err(error) => Err(error),
        }
    }

    /// Adds a line to the history.
    pub(super) fn remember(&mut self, typed: &str) {
        // A history error must not end the console.
        let _ = self.editor.add_history_entry(typed);
    }

    /// Saves the history.
    pub(super) fn save(&mut self) {
        let Some(path) = &self.history else { return };
        let is_there = path.parent().is_some_and(|directory| std::fs::create_dir_all(directory).is_ok());
        if is_there {
            // A history error must not end the console.
            let _ = self.editor.save_history(path);
        }
    }
}

/// A handler that records whether the line is empty when the user interrupts it. The editor handles
/// everything else.
struct NoteOnInterrupt(Arc<AtomicBool>);

impl ConditionalEventHandler for NoteOnInterrupt {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, context: &EventContext<'_>) -> Option<Cmd> {
        self.0.store(context.line().is_empty(), Ordering::Relaxed);
        Some(Cmd::Interrupt)
    }
}
