//! Lines that a person types, with a history that is kept.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{
    Cmd, ConditionalEventHandler, Config, Editor, Event, EventContext, EventHandler, KeyEvent, RepeatCount,
};

/// The most lines that are kept.
const MAX_HISTORY_LINES: usize = 1000;

/// What a person did.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// Typed a line.
    Text(String),
    /// Gave up what was typed.
    Abandoned,
    /// As that, where nothing was typed in this line.
    AbandonedEmpty,
    /// Wants to leave.
    End,
}

/// The editor of lines.
pub(super) struct Lines {
    editor: Editor<(), FileHistory>,
    history: Option<PathBuf>,
    /// Nothing was typed when Control-C was pressed.
    left_empty: Arc<AtomicBool>,
}

impl Lines {
    /// An editor whose history is kept in a file. Without one, or where it cannot be
    /// read, the history begins anew.
    ///
    /// # Errors
    /// Where the terminal cannot be used.
    pub(super) fn new(history: Option<PathBuf>) -> Result<Self, ReadlineError> {
        let config = Config::builder().max_history_size(MAX_HISTORY_LINES)?.auto_add_history(false).build();
        let mut editor: Editor<(), FileHistory> = Editor::with_config(config)?;
        if let Some(path) = &history {
            // There is none the first time.
            let _ = editor.load_history(path);
        }
        let left_empty = Arc::new(AtomicBool::new(false));
        editor.bind_sequence(
            KeyEvent::ctrl('C'),
            EventHandler::Conditional(Box::new(NoteOnInterrupt(Arc::clone(&left_empty)))),
        );
        Ok(Self { editor, history, left_empty })
    }

    /// The next line.
    ///
    /// # Errors
    /// Where the terminal cannot be read.
    pub(super) fn next(&mut self, prompt: &str) -> Result<Line, ReadlineError> {
        self.left_empty.store(false, Ordering::Relaxed);
        match self.editor.readline(prompt) {
            Ok(text) => Ok(Line::Text(text)),
            Err(ReadlineError::Eof) => Ok(Line::End),
            Err(ReadlineError::Interrupted) if self.left_empty.load(Ordering::Relaxed) => {
                Ok(Line::AbandonedEmpty)
            }
            Err(ReadlineError::Interrupted) => Ok(Line::Abandoned),
            Err(error) => Err(error),
        }
    }

    /// Remembers what was typed.
    pub(super) fn remember(&mut self, typed: &str) {
        // A history that cannot be kept is no reason to stop.
        let _ = self.editor.add_history_entry(typed);
    }

    /// Keeps the history for the next time.
    pub(super) fn save(&mut self) {
        let Some(path) = &self.history else { return };
        let is_there = path.parent().is_some_and(|directory| std::fs::create_dir_all(directory).is_ok());
        if is_there {
            // As above.
            let _ = self.editor.save_history(path);
        }
    }
}

/// Notes whether anything was typed, and leaves the rest to the editor.
struct NoteOnInterrupt(Arc<AtomicBool>);

impl ConditionalEventHandler for NoteOnInterrupt {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, context: &EventContext<'_>) -> Option<Cmd> {
        self.0.store(context.line().is_empty(), Ordering::Relaxed);
        Some(Cmd::Interrupt)
    }
}
