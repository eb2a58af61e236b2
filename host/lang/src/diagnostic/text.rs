//! The form for people.

/// What a stretch of rendered text is, for whoever colours it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// The word "Error" and the rule beside it.
    Error,
    /// The word "Warning" and the rule beside it.
    Warning,
    /// The summary.
    Bold,
    /// The marked part of the source line.
    Mark,
    /// Less important: the notes on values.
    Dim,
}

/// Puts colour around text. Rendering stays readable without.
pub trait Style {
    /// What to write before and after text of that tone.
    fn around(&self, tone: Tone) -> (&str, &str);
}

/// No colour.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoStyle;

impl Style for NoStyle {
    fn around(&self, _tone: Tone) -> (&str, &str) {
        ("", "")
    }
}

use crate::Diagnostic;

impl Diagnostic {
    /// Renders for a terminal `width` columns wide, with a line break at the end.
    pub fn to_text(&self, width: usize, style: &dyn Style) -> String {
        let _ = (width, style);
        format!("{self}\n")
    }
}
