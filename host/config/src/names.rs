//! Names that people choose.

use wardian_address::ResourceMode;
use wardian_diagnostic::{Diagnostic, Diagnostics, Span};
use wardian_lang::{Label, ResourceMode as ModeInLanguage};

/// Whether a text can be a name.
pub(crate) fn is_identifier(text: &str) -> bool {
    let mut characters = text.chars();
    characters.next().is_some_and(|first| first.is_alphabetic() || first == '_')
        && characters.all(|character| character.is_alphanumeric() || matches!(character, '_' | '-'))
}

/// Whether a label is a name; a problem with this summary if not.
pub(crate) fn check_name(label: &Label, summary: &str, problems: &mut Diagnostics) -> bool {
    check_identifier(&label.text, &label.span, summary, problems)
}

/// As [`check_name`] for a text from elsewhere.
pub(crate) fn check_identifier(text: &str, span: &Span, summary: &str, problems: &mut Diagnostics) -> bool {
    let valid = is_identifier(text);
    if !valid {
        let detail = format!(
            "\"{text}\" cannot be a name: names begin with a letter or an underscore, and the rest are letters, \
             digits, underscores and dashes."
        );
        problems.push(Diagnostic::error(summary, detail).at(span.clone()));
    }
    valid
}

/// The mode of a reference as addresses have it.
pub fn resource_mode(mode: ModeInLanguage) -> ResourceMode {
    match mode {
        ModeInLanguage::Managed => ResourceMode::Managed,
        ModeInLanguage::Data => ResourceMode::Data,
        ModeInLanguage::Ephemeral => ResourceMode::Ephemeral,
    }
}

/// The keyword of the block that declares a resource.
pub(crate) fn block_kind(mode: ResourceMode) -> &'static str {
    match mode {
        ResourceMode::Managed => "resource",
        ResourceMode::Data => "data",
        ResourceMode::Ephemeral => "ephemeral",
    }
}

/// The second declaration of something that can be declared once.
pub(crate) fn duplicate(summary: String, what: &str, first: &Span, second: &Span) -> Diagnostic {
    Diagnostic::error(
        summary,
        format!("{what} was declared at {first} already. Each must have a name of its own in its module."),
    )
    .at(second.clone())
}
