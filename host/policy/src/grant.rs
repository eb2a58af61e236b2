//! Rules that are added to a policy's text: the person's own lines stay as they are.

use std::path::Path;

use wardian_address::ProviderAddress;
use wardian_diagnostic::{Diagnostics, SourceFile};
use wardian_lang::parse_body;

use crate::asked::Asked;
use crate::plugin_pattern::PluginPattern;
use crate::policy::{Level, POLICY_FILE_NAME, PolicyFile};

/// What a file says that is made for a grant: it takes nothing away from what is granted
/// elsewhere.
const NEW_FILE: &str = "# What plugins of this configuration may touch; `wardian policy explain` says what it comes to.\n\n\
                        otherwise = \"defer\" # what is not mentioned here, other policies decide\n";

/// The block that grants a plugin what it asks for.
pub fn granting_block(plugin: &ProviderAddress, asked: &[&Asked]) -> String {
    format!("plugin \"{}\" {{\n{}}}\n", plugin.for_display(), rules(asked))
}

/// The text of the root module's policy with rules that grant a plugin what it asks for:
/// in the block that is for this plugin alone, or in a new one at the end. Without a text
/// there is no file yet.
///
/// # Errors
/// Where the text is no policy, or is none any more with the rules in it.
pub fn with_grants(
    text: Option<&str>,
    plugin: &ProviderAddress,
    asked: &[&Asked],
    root_module: &Path,
) -> Result<String, Diagnostics> {
    let old = text.unwrap_or(NEW_FILE);
    let read = |text: &str| {
        PolicyFile::parse(Level::RootModule, &SourceFile::new(POLICY_FILE_NAME, text), root_module)
    };
    read(old)?;
    let line_end = if old.contains("\r\n") { "\r\n" } else { "\n" };
    let ended = |added: String| if line_end == "\n" { added } else { added.replace('\n', line_end) };
    let new = match end_of_block(old, plugin) {
        Some(at) => {
            let (before, after) = old.split_at(at);
            let is_first = before.trim_end().ends_with('{');
            let gap = if is_first { "" } else { "\n" };
            format!("{before}{}{after}", ended(format!("{gap}{}", rules(asked))))
        }
        None => {
            let gap = if old.is_empty() || old.ends_with('\n') { "\n" } else { "\n\n" };
            format!("{old}{}", ended(format!("{gap}{}", granting_block(plugin, asked))))
        }
    };
    read(&new)?;
    Ok(new)
}

fn rules(asked: &[&Asked]) -> String {
    let mut text = String::new();
    for one in asked {
        for line in one.block("allow").lines() {
            text.push_str("  ");
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

/// Where the line of the closing brace begins, of the last block that is for this plugin
/// alone. A block whose brace shares its line is left alone.
fn end_of_block(text: &str, plugin: &ProviderAddress) -> Option<usize> {
    let (body, problems) = parse_body(&SourceFile::new(POLICY_FILE_NAME, text));
    if problems.has_errors() {
        return None;
    }
    let is_for_it = |label: &str| PluginPattern::parse(label).is_ok_and(|pattern| pattern.is_alone(plugin));
    let block = body
        .blocks_of("plugin")
        .filter(|block| matches!(block.labels.as_slice(), [label] if is_for_it(&label.text)))
        .last()?;
    let brace = block.span.end.checked_sub(1)?;
    let before = text.get(..brace)?;
    let line_start = before.rfind('\n')? + 1;
    let is_alone = text.get(brace..)?.starts_with('}') && before.get(line_start..)?.trim().is_empty();
    is_alone.then_some(line_start)
}
