//! The full-screen mode of a terminal.
//!
//! The mode changes settings of the terminal that outlive the process. Therefore, [`restore`] is also
//! called when a part of the process panics and when a signal arrives, and other output is held back
//! until the mode ends. A killed process (`SIGKILL`) cannot restore anything.

use std::io::{self, Stdout};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ratatui_core::terminal::Terminal;
use ratatui_crossterm::CrosstermBackend;
use ratatui_crossterm::crossterm::cursor::Show;
use ratatui_crossterm::crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, poll, read};
use ratatui_crossterm::crossterm::execute;
use ratatui_crossterm::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use wardian_review_terminal::{ReviewView, ViewKey};

use super::Shell;

/// How often the screen checks whether a signal has ended it.
const CHECK_INTERVAL: Duration = Duration::from_millis(200);

/// Whether the terminal is in full-screen mode.
static IS_ACTIVE: AtomicBool = AtomicBool::new(false);

/// Restores the terminal if it is in full-screen mode, and returns whether it was. The mode then ends
/// at the next event.
pub(crate) fn restore() -> bool {
    let was_active = IS_ACTIVE.swap(false, Ordering::SeqCst);
    if was_active {
        // A terminal that no longer exists does not need to be restored.
        let _ = execute!(io::stdout(), LeaveAlternateScreen, Show);
        let _ = disable_raw_mode();
    }
    was_active
}

/// An event of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScreenEvent {
    Key(ViewKey),
    /// The screen must be drawn again, for example because its size has changed.
    Draw,
    /// The mode has ended because of a signal or a panic.
    Ended,
}

/// A terminal in full-screen mode, until it is dropped.
pub(crate) struct Screen {
    shell: Arc<Shell>,
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Shell {
    /// Returns whether the terminal has a full-screen mode: input and output are the terminal, and it can
    /// move its cursor.
    pub(crate) fn has_screen(&self) -> bool {
        self.can_ask() && self.is_terminal
    }

    /// Enters full-screen mode.
    ///
    /// # Errors
    /// Returns an error if the terminal's settings cannot be changed.
    pub(crate) fn enter_screen(self: &Arc<Self>) -> io::Result<Screen> {
        let terminal = Terminal::new(CrosstermBackend::new(io::stdout()))?;
        self.hold_output();
        let screen = Screen { shell: Arc::clone(self), terminal };
        enter()?;
        Ok(screen)
    }
}

fn enter() -> io::Result<()> {
    IS_ACTIVE.store(true, Ordering::SeqCst);
    enable_raw_mode()?;
    execute!(io::stdout(), EnterAlternateScreen)
}

impl Screen {
    /// Draws the view. Only the cells that have changed are written.
    ///
    /// # Errors
    /// Returns an error if the terminal cannot be written.
    pub(crate) fn draw(&mut self, view: &mut ReviewView) -> io::Result<()> {
        self.terminal.draw(|frame| {
            if let Some(position) = view.draw(frame.buffer_mut()) {
                frame.set_cursor_position(position);
            }
        })?;
        Ok(())
    }

    /// Waits for an event.
    ///
    /// # Errors
    /// Returns an error if the terminal cannot be read.
    pub(crate) fn next_event() -> io::Result<ScreenEvent> {
        loop {
            let is_ready = poll(CHECK_INTERVAL)?;
            if !IS_ACTIVE.load(Ordering::SeqCst) {
                return Ok(ScreenEvent::Ended);
            }
            if !is_ready {
                continue;
            }
            match read()? {
                Event::Key(key) => {
                    if let Some(key) = view_key(key) {
                        return Ok(ScreenEvent::Key(key));
                    }
                }
                Event::Resize(..) => return Ok(ScreenEvent::Draw),
                _ => {}
            }
        }
    }

    /// Runs a function in the normal mode of the terminal.
    ///
    /// # Errors
    /// Returns an error if the terminal's settings cannot be changed.
    pub(crate) fn suspended<T>(&mut self, run: impl FnOnce() -> T) -> io::Result<T> {
        restore();
        let result = run();
        enter()?;
        self.terminal.clear()?;
        Ok(result)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
        self.shell.release_output();
    }
}

fn view_key(event: KeyEvent) -> Option<ViewKey> {
    if event.kind == KeyEventKind::Release {
        return None;
    }
    let has_control = event.modifiers.contains(KeyModifiers::CONTROL);
    Some(match event.code {
        KeyCode::Char('c') if has_control => ViewKey::Interrupt,
        KeyCode::Char('z') if has_control => ViewKey::Suspend,
        KeyCode::Char('d') if has_control => ViewKey::PageDown,
        KeyCode::Char('u') if has_control => ViewKey::PageUp,
        KeyCode::Char('h') if has_control => ViewKey::Backspace,
        KeyCode::Char(_) if has_control || event.modifiers.contains(KeyModifiers::ALT) => return None,
        KeyCode::Char(character) => ViewKey::Char(character),
        KeyCode::Enter => ViewKey::Enter,
        KeyCode::Esc => ViewKey::Escape,
        KeyCode::Backspace => ViewKey::Backspace,
        KeyCode::Tab | KeyCode::BackTab => ViewKey::Tab,
        KeyCode::Up => ViewKey::Up,
        KeyCode::Down => ViewKey::Down,
        KeyCode::Left => ViewKey::Left,
        KeyCode::Right => ViewKey::Right,
        KeyCode::PageUp => ViewKey::PageUp,
        KeyCode::PageDown => ViewKey::PageDown,
        KeyCode::Home => ViewKey::Home,
        KeyCode::End => ViewKey::End,
        _ => return None,
    })
}
