//! Reads the top-level blocks of a configuration file.

use std::borrow::Cow;

use wardian_diagnostic::Diagnostics;
use wardian_lang::{Block, Body, Expected};
use wardian_value::Str;

use crate::content::{label_count, refuse_unread, unsupported_argument};

/// The block types that are allowed at the top level of a configuration file.
pub(super) const BLOCKS: [&str; 13] = [
    "check",
    "data",
    "ephemeral",
    "import",
    "locals",
    "module",
    "moved",
    "output",
    "provider",
    "removed",
    "resource",
    "terraform",
    "variable",
];

/// Returns the body of a file with its blocks, and reports all other content.
pub(super) fn file_body<'a>(body: &'a Body, problems: &mut Diagnostics) -> Cow<'a, Body> {
    let expected = |name: &str| BLOCKS.contains(&name).then(|| Expected::Block { labels: label_count(name) });
    let body = body.interpreted(&expected, problems);
    refuse_unread(&body, "a configuration file", || BLOCKS.into_iter(), problems);
    for attribute in &body.attributes {
        problems.push(unsupported_argument(
            attribute,
            "a configuration file",
            [].into_iter(),
            BLOCKS.into_iter(),
        ));
    }
    body
}

/// Returns a block's header as it is displayed in diagnostics: `resource "a" "b"`.
pub(super) fn title(block: &Block) -> String {
    let labels: Vec<&Str> = block.labels.iter().map(|label| &label.text).collect();
    labels.iter().fold(block.kind.to_string(), |title, label| format!("{title} \"{label}\""))
}
