//! Adds rules to a policy file without changing its other lines.
//!
//! The file is edited in place ([`in_place`]), which preserves comments and layout. The result is
//! used only if it contains exactly the old and the new rules. Otherwise the new rules are inserted
//! as text, before the closing brace of the plugin's block or as a block at the end of the file.

mod in_place;

use std::collections::BTreeSet;
use std::path::Path;

use wardian_address::ProviderAddress;
use wardian_diagnostic::{Diagnostics, SourceFile};
use wardian_lang::parse_body;

use crate::capability_request::CapabilityRequest;
use crate::explain::GrantedAccess;
use crate::level::Level;
use crate::plugin_pattern::PluginPattern;
use crate::policy::{POLICY_FILE_NAME, PluginRules, PolicyFile};
use crate::rule::Effect;

/// The beginning of a policy file that is created for a grant. The file defers, and therefore does
/// not narrow the grants of other files.
const NEW_FILE: &str = "# The access of this configuration's plugins. `wardian policy explain` shows the \
                        effective policy.\n\n\
                        otherwise = \"defer\" # other policies determine all other access\n";

/// Renders the block that grants capability requests to a plugin.
pub fn grant_block(plugin: &ProviderAddress, requests: &[&CapabilityRequest]) -> String {
    format!("plugin \"{}\" {{\n{}}}\n", plugin.for_display(), render_rules(requests))
}

/// Adds rules that grant capability requests to the root module's policy: in the last block for
/// this plugin only, or in a new block at the end. If `text` is `None`, the result is a new file.
///
/// # Errors
/// Returns an error if the text is not a valid policy, before or after the change.
pub fn add_grants(
    text: Option<&str>,
    plugin: &ProviderAddress,
    requests: &[&CapabilityRequest],
    root_module: &Path,
) -> Result<String, Diagnostics> {
    let old = text.unwrap_or(NEW_FILE);
    let read = |text: &str| {
        PolicyFile::parse(Level::RootModule, &SourceFile::new(POLICY_FILE_NAME, text), root_module)
    };
    let old_policy = read(old)?;
    let is_exact = |new: &str| read(new).is_ok_and(|new| has_added(&old_policy, &new, plugin, requests));
    if let Some(new) = in_place::add_grants(old, plugin, requests).filter(|new| is_exact(new)) {
        return Ok(new);
    }
    let new = insert_text(old, plugin, requests);
    read(&new)?;
    Ok(new)
}

/// Adds a `plugin` block at the end of the root module's policy. If `text` is `None`, the result is a
/// new file. Blocks of the same plugin are combined, so a separate block can only narrow the settings
/// of other blocks.
///
/// # Errors
/// Returns an error if the text is not a valid policy, before or after the change.
pub fn add_block(text: Option<&str>, block: &str, root_module: &Path) -> Result<String, Diagnostics> {
    let old = text.unwrap_or(NEW_FILE);
    let read = |text: &str| {
        PolicyFile::parse(Level::RootModule, &SourceFile::new(POLICY_FILE_NAME, text), root_module)
    };
    read(old)?;
    let new = append(old, block);
    read(&new)?;
    Ok(new)
}

/// Adds rules, rendered with the indentation of a `plugin` block, to the last block for this plugin
/// only, or in a new block at the end.
///
/// # Errors
/// Returns an error if the text is not a valid policy after the change.
pub(crate) fn add_rules(
    old: &str,
    plugin: &ProviderAddress,
    rules: &str,
    root_module: &Path,
) -> Result<String, Diagnostics> {
    let new = match insertion_point(old, plugin) {
        Some(at) => insert_at(old, at, rules),
        None => append(old, &format!("plugin \"{}\" {{\n{rules}}}\n", plugin.for_display())),
    };
    PolicyFile::parse(Level::RootModule, &SourceFile::new(POLICY_FILE_NAME, &*new), root_module)?;
    Ok(new)
}

/// Whether a block's label matches only the plugin.
fn is_for(label: &str, plugin: &ProviderAddress) -> bool {
    PluginPattern::parse(label).is_ok_and(|pattern| pattern.is_exactly(plugin))
}

/// Whether two policies differ only in the grants of the requests.
fn has_added(
    old: &PolicyFile,
    new: &PolicyFile,
    plugin: &ProviderAddress,
    requests: &[&CapabilityRequest],
) -> bool {
    let requested: BTreeSet<GrantedAccess> = requests.iter().flat_map(|request| request.pieces()).collect();
    let mut is_added = false;
    let is_unchanged = old.default_action == new.default_action
        && old.plugins.len() == new.plugins.len()
        && old.plugins.iter().zip(&new.plugins).all(|(before, after)| {
            let is_same = before.settings.has_same_values(&after.settings)
                && before.credentials.len() == after.credentials.len()
                && denied(before) == denied(after);
            let (old_grants, new_grants) = (granted(before), granted(after));
            let is_extended = before.pattern.is_exactly(plugin)
                && new_grants == old_grants.union(&requested).cloned().collect::<BTreeSet<_>>();
            is_added |= is_extended && is_same;
            is_same && (is_extended || new_grants == old_grants)
        });
    is_unchanged && is_added
}

fn granted(block: &PluginRules) -> BTreeSet<GrantedAccess> {
    let rules = block.rules.iter().filter(|rule| rule.effect == Effect::Allow);
    rules
        .flat_map(|rule| GrantedAccess::from_conditions(&rule.conditions))
        .flat_map(GrantedAccess::pieces)
        .collect()
}

fn denied(block: &PluginRules) -> Vec<GrantedAccess> {
    let rules = block.rules.iter().filter(|rule| rule.effect == Effect::Deny);
    rules.flat_map(|rule| GrantedAccess::from_denial(&rule.conditions)).collect()
}

fn insert_text(old: &str, plugin: &ProviderAddress, requests: &[&CapabilityRequest]) -> String {
    match insertion_point(old, plugin) {
        Some(at) => insert_at(old, at, &render_rules(requests)),
        None => append(old, &grant_block(plugin, requests)),
    }
}

fn insert_at(old: &str, at: usize, rules: &str) -> String {
    let (before, after) = old.split_at(at);
    let is_first = before.trim_end().ends_with('{');
    let gap = if is_first { "" } else { "\n" };
    let added = with_line_ends_of(old, format!("{gap}{rules}"));
    format!("{before}{added}{after}")
}

fn append(old: &str, block: &str) -> String {
    let gap = if old.is_empty() || old.ends_with('\n') { "\n" } else { "\n\n" };
    format!("{old}{}", with_line_ends_of(old, format!("{gap}{block}")))
}

fn with_line_ends_of(old: &str, added: String) -> String {
    if old.contains("\r\n") { added.replace('\n', "\r\n") } else { added }
}

fn render_rules(requests: &[&CapabilityRequest]) -> String {
    let mut text = String::new();
    for request in requests {
        for line in request.block("allow").lines() {
            text.push_str("  ");
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

/// Returns the start of the line with the closing brace of the last block whose label matches only
/// this plugin. `None` if the line has other content.
fn insertion_point(text: &str, plugin: &ProviderAddress) -> Option<usize> {
    let (body, problems) = parse_body(&SourceFile::new(POLICY_FILE_NAME, text));
    if problems.has_errors() {
        return None;
    }
    let block = body
        .blocks_of("plugin")
        .filter(|block| matches!(block.labels.as_slice(), [label] if is_for(&label.text, plugin)))
        .last()?;
    let brace = block.span.end.checked_sub(1)?;
    let before = text.get(..brace)?;
    let line_start = before.rfind('\n')? + 1;
    let is_only_brace = text.get(brace..)?.starts_with('}') && before.get(line_start..)?.trim().is_empty();
    is_only_brace.then_some(line_start)
}
