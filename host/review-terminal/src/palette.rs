//! The styles of text.

use ratatui_core::style::{Color, Modifier, Style};
use wardian_review::ChangeClass;

/// The meaning of a text's style.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Dim,
    Bold,
    Class(ChangeClass),
    Warning,
    Link,
}

/// The styles for a terminal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Palette {
    pub(crate) has_color: bool,
}

impl Palette {
    pub(crate) fn style(self, tone: Tone) -> Style {
        let style = Style::new();
        let color = |color| if self.has_color { style.fg(color) } else { style };
        match tone {
            Tone::Plain => style,
            Tone::Dim => style.add_modifier(Modifier::DIM),
            Tone::Bold => style.add_modifier(Modifier::BOLD),
            Tone::Warning => color(Color::Yellow).add_modifier(Modifier::BOLD),
            Tone::Link => color(Color::Blue).add_modifier(Modifier::UNDERLINED),
            Tone::Class(class) => match class {
                ChangeClass::Destroy => color(Color::Red).add_modifier(Modifier::BOLD),
                ChangeClass::Replace => color(Color::Magenta).add_modifier(Modifier::BOLD),
                ChangeClass::Update => color(Color::Yellow),
                ChangeClass::Create => color(Color::Green),
                ChangeClass::Move | ChangeClass::Import | ChangeClass::Forget | ChangeClass::Read => {
                    color(Color::Cyan)
                }
            },
        }
    }

    /// Returns the style of the selected line.
    pub(crate) fn selected() -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// Returns the style of the first and the last line of the screen.
    pub(crate) fn bar() -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }
}
