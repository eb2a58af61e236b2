//! Reads the top-level blocks of a configuration file.

use std::borrow::Cow;

use wardian_diagnostic::Diagnostics;
use wardian_lang::{Block, Body, Expected};
use wardian_value::Str;

use crate::content::{label_count, refuse_unread, unsupported_argument};

/// The block types that are allowed at the top level of a configuration file.
pub(super) const BLOCKS: [&str; 14] = [
    "action",
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

/// The block types that are allowed at the top level of a query file.
pub(super) const QUERY_BLOCKS: [&str; 4] = ["list", "locals", "provider", "variable"];

/// Returns the body of a configuration file with its blocks, and reports all other content.
pub(super) fn file_body<'a>(body: &'a Body, problems: &mut Diagnostics) -> Cow<'a, Body> {
    body_with_blocks(body, "a configuration file", &BLOCKS, problems)
}

/// Returns the body of a query file with its blocks, and reports all other content.
pub(super) fn query_file_body<'a>(body: &'a Body, problems: &mut Diagnostics) -> Cow<'a, Body> {
    body_with_blocks(body, "a query file", &QUERY_BLOCKS, problems)
}

fn body_with_blocks<'a>(
    body: &'a Body,
    noun: &'static str,
    blocks: &[&'static str],
    problems: &mut Diagnostics,
) -> Cow<'a, Body> {
    let expected = |name: &str| blocks.contains(&name).then(|| Expected::Block { labels: label_count(name) });
    let body = body.interpreted(&expected, problems);
    refuse_unread(&body, noun, || blocks.iter().copied(), problems);
    for attribute in &body.attributes {
        problems.push(unsupported_argument(attribute, noun, [].into_iter(), blocks.iter().copied()));
    }
    body
}

/// Returns a block's header as it is displayed in diagnostics: `resource "a" "b"`.
pub(super) fn title(block: &Block) -> String {
    let labels: Vec<&Str> = block.labels.iter().map(|label| &label.text).collect();
    labels.iter().fold(block.kind.to_string(), |title, label| format!("{title} \"{label}\""))
}
