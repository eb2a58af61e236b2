//! Names that users choose, and their validation.

use wardian_address::ResourceMode;
use wardian_diagnostic::{Diagnostic, Diagnostics, Span};
use wardian_lang::{Label, ReferenceMode};
use wardian_value::Str;

/// The mode, type and name of a resource. Together, they are unique in the resource's module.
pub type ResourceKey = (ResourceMode, Str, Str);

/// Returns true if the text is a valid name.
pub(crate) fn is_identifier(text: &str) -> bool {
    let mut characters = text.chars();
    characters.next().is_some_and(|first| first.is_alphabetic() || first == '_')
        && characters.all(|character| character.is_alphanumeric() || matches!(character, '_' | '-'))
}

/// Checks that a label is a valid name; otherwise reports a problem with the summary `summary`.
pub(crate) fn check_name(label: &Label, summary: &str, problems: &mut Diagnostics) -> bool {
    check_identifier(&label.text, &label.span, summary, problems)
}

/// Checks text that is not a label, like [`check_name`].
pub(crate) fn check_identifier(text: &str, span: &Span, summary: &str, problems: &mut Diagnostics) -> bool {
    let valid = is_identifier(text);
    if !valid {
        let detail = format!(
            "\"{text}\" is not a valid name: names begin with a letter or an underscore, and the rest are \
             letters, digits, underscores and dashes."
        );
        problems.push(Diagnostic::error(summary, detail).at(span.clone()));
    }
    valid
}

/// Converts the resource mode of a reference to the resource mode of an address.
pub fn resource_mode(mode: ReferenceMode) -> ResourceMode {
    match mode {
        ReferenceMode::Managed => ResourceMode::Managed,
        ReferenceMode::Data => ResourceMode::Data,
        ReferenceMode::Ephemeral => ResourceMode::Ephemeral,
    }
}

/// Returns the keyword of the block that declares a resource.
pub(crate) fn block_kind(mode: ResourceMode) -> &'static str {
    match mode {
        ResourceMode::Managed => "resource",
        ResourceMode::Data => "data",
        ResourceMode::Ephemeral => "ephemeral",
    }
}

/// Returns the diagnostic for a second declaration of an object.
pub(crate) fn duplicate(summary: String, what: &str, first: &Span, second: &Span) -> Diagnostic {
    Diagnostic::error(
        summary,
        format!("{what} is already declared at {first}. Each must have a unique name in its module."),
    )
    .at(second.clone())
}
