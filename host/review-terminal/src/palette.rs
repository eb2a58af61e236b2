//! The styles of text.
//!
//! Each color is a pair of text and background from the fixed part of the 256 colors, so its contrast
//! does not depend on the user's theme. Colors are only on symbols and short words, which state the same.

use ratatui_core::style::{Color, Modifier, Style};
use wardian_review::ChangeClass;

/// The meaning of a text's style.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Dim,
    Bold,
    /// The symbol of a class.
    Class(ChangeClass),
    /// A word that a reviewer must not miss, such as "denied".
    Warning,
    Link,
}

/// The styles for a terminal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Palette {
    pub(crate) has_color: bool,
}

/// The numbers of a text color and a background color in the 256 colors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pair {
    text: u8,
    background: u8,
}

const BLACK: u8 = 16;
const WHITE: u8 = 231;
const WARNING: Pair = Pair { text: BLACK, background: 220 };

fn pair(class: ChangeClass) -> Pair {
    match class {
        ChangeClass::Destroy => Pair { text: WHITE, background: 160 },
        ChangeClass::Replace => Pair { text: BLACK, background: 219 },
        ChangeClass::Update => Pair { text: WHITE, background: 26 },
        ChangeClass::Create => Pair { text: BLACK, background: 121 },
        ChangeClass::Move | ChangeClass::Import | ChangeClass::Forget | ChangeClass::Read => {
            Pair { text: BLACK, background: 245 }
        }
    }
}

impl Palette {
    pub(crate) fn style(self, tone: Tone) -> Style {
        let style = Style::new();
        let colored = |pair: Pair| {
            let style = style.add_modifier(Modifier::BOLD);
            if self.has_color {
                style.fg(Color::Indexed(pair.text)).bg(Color::Indexed(pair.background))
            } else {
                style
            }
        };
        match tone {
            Tone::Plain => style,
            Tone::Dim => style.add_modifier(Modifier::DIM),
            Tone::Bold => style.add_modifier(Modifier::BOLD),
            Tone::Warning => colored(WARNING),
            Tone::Link => style.add_modifier(Modifier::UNDERLINED),
            Tone::Class(class) => colored(pair(class)),
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

#[cfg(test)]
mod tests {
    use wardian_review::testing::{MIN_COLOR_DISTANCE, MIN_CONTRAST, Rgb, Vision};

    use super::*;

    /// Returns a color of the cube or of the grays, which are the same on every terminal.
    fn fixed_color(number: u8) -> Rgb {
        const LEVELS: [u8; 6] = [0, 95, 135, 175, 215, 255];
        if number >= 232 {
            let level = 8 + 10 * (number - 232);
            return Rgb([level; 3]);
        }
        let number = number.checked_sub(16).expect("a color of the user's theme");
        Rgb([number / 36, number / 6 % 6, number % 6].map(|level| LEVELS[usize::from(level)]))
    }

    #[test]
    fn text_has_contrast() {
        for pair in ChangeClass::ALL.into_iter().map(pair).chain([WARNING]) {
            let contrast = fixed_color(pair.text).contrast(fixed_color(pair.background));
            assert!(contrast >= MIN_CONTRAST, "{pair:?}: {contrast}");
        }
    }

    #[test]
    fn color_blind_readers_can_tell_classes_apart() {
        use ChangeClass::{Create, Destroy, Move, Replace, Update};
        let classes = [Destroy, Replace, Update, Create, Move];
        for vision in Vision::ALL {
            for (index, one) in classes.into_iter().enumerate() {
                for other in &classes[..index] {
                    let [first, second] = [one, *other].map(|class| fixed_color(pair(class).background));
                    let distance = first.distance(second, vision);
                    assert!(distance >= MIN_COLOR_DISTANCE, "{vision:?} {one:?} {other:?}: {distance}");
                }
            }
        }
    }

    #[test]
    fn symbols_differ_without_color() {
        let symbols: std::collections::HashSet<&str> =
            ChangeClass::ALL.into_iter().map(ChangeClass::symbol).collect();
        assert_eq!(symbols.len(), ChangeClass::ALL.len());
    }
}
