//! Edits a policy's syntax tree, which preserves comments and layout.
//!
//! A request extends a list of an existing `allow` block if that list is the only difference
//! between the block and the request: the extended rule then grants exactly the accesses of both.
//! Otherwise the request becomes a new block. A list is not extended either if a comment would then
//! be next to a different item.

use hcl_edit::Decorate as _;
use hcl_edit::expr::{Array, Expression};
use hcl_edit::structure::{Block, Body, Structure};
use wardian_address::ProviderAddress;

use super::is_for;
use crate::capability_request::CapabilityRequest;

/// Arguments that are lists whose items are granted independently of each other.
const EXTENSIBLE: [&str; 3] = ["hosts", "directories", "names"];

/// Returns the edited text. `None` if there is no block for the plugin, or if the text cannot be
/// edited without changing its layout.
pub(super) fn add_grants(
    text: &str,
    plugin: &ProviderAddress,
    requests: &[&CapabilityRequest],
) -> Option<String> {
    // The encoder writes only line feeds, so Windows line endings are restored at the end.
    let lines = text.replace("\r\n", "\n");
    let has_crlf = lines.len() < text.len();
    if has_crlf && lines.replace('\n', "\r\n") != text {
        return None;
    }
    let mut body: Body = lines.parse().ok()?;
    if body.to_string() != lines {
        return None;
    }
    let block = body.get_blocks_mut("plugin").filter(|block| is_block_for(block, plugin)).last()?;
    for request in requests {
        if !extend_rule(block, request) {
            push_rule(block, request)?;
        }
    }
    let new = body.to_string();
    Some(if has_crlf { new.replace('\n', "\r\n") } else { new })
}

fn is_block_for(block: &Block, plugin: &ProviderAddress) -> bool {
    matches!(block.labels.as_slice(), [label] if is_for(label.as_str(), plugin))
}

/// Extends the list of an existing rule, if possible.
fn extend_rule(block: &mut Block, request: &CapabilityRequest) -> bool {
    let arguments: Option<Vec<(&str, Expression)>> =
        request.arguments().map(|(name, value)| Some((name, value.parse().ok()?))).collect();
    let Some(arguments) = arguments else { return false };
    let rules = block.body.get_blocks_mut("allow");
    let mut rules = rules.filter(|rule| rule.has_exact_labels(&[request.capability()]));
    rules.any(|rule| {
        let Some((name, added)) = only_difference(rule, &arguments) else { return false };
        let Some(mut attribute) = rule.body.get_attribute_mut(name) else { return false };
        attribute.value_mut().as_array_mut().is_some_and(|list| extend_list(list, added))
    })
}

/// Returns the extensible list that is the only difference between a rule and a request.
fn only_difference<'a>(rule: &Block, arguments: &'a [(&'a str, Expression)]) -> Option<(&'a str, &'a Array)> {
    if rule.body.blocks().next().is_some() || rule.body.attributes().count() != arguments.len() {
        return None;
    }
    let mut difference = None;
    for (name, value) in arguments {
        let existing = &rule.body.get_attribute(name)?.value;
        if values(existing) == values(value) {
            continue;
        }
        if difference.is_some() || !EXTENSIBLE.contains(name) {
            return None;
        }
        difference = Some((*name, value.as_array()?));
    }
    difference
}

/// Returns the values of an argument without their layout.
fn values(expression: &Expression) -> Vec<String> {
    let plain = |item: &Expression| {
        let mut item = item.clone();
        item.decor_mut().clear();
        item.to_string()
    };
    match expression.as_array() {
        Some(list) => list.iter().map(plain).collect(),
        None => vec![plain(expression)],
    }
}

/// Appends the items that are missing, in the layout of the list.
fn extend_list(list: &mut Array, added: &Array) -> bool {
    let known: Vec<String> = list.iter().flat_map(values).collect();
    let missing: Vec<Expression> = added
        .iter()
        .filter(|item| values(item).iter().any(|value| !known.contains(value)))
        .cloned()
        .collect();
    let Some(last) = list.len().checked_sub(1).and_then(|index| list.get_mut(index)) else { return false };
    // The text between the last item and the bracket.
    let after_last = last.decor().suffix().map(|text| text.to_string()).unwrap_or_default();
    let has_comma = list.trailing_comma();
    let end = if has_comma { list.trailing().to_string() } else { after_last.clone() };
    let has_comment = !end.trim().is_empty();
    if has_comment && !has_comma || has_comma && !after_last.trim().is_empty() {
        return false;
    }
    let first = list.get(0).and_then(|item| item.decor().prefix()).map(|text| text.to_string());
    let first = first.unwrap_or_default();
    let Some((_, indent)) = first.rsplit_once('\n') else {
        return extend_line(list, missing, &end, has_comment);
    };
    let indent = indent.to_owned();
    let (before_break, closing) = end.rsplit_once('\n').unwrap_or(("", ""));
    let mut prefix = format!("{before_break}\n{indent}");
    let trailing = format!("\n{closing}");
    if let Some(last) = list.len().checked_sub(1).and_then(|index| list.get_mut(index)) {
        last.decor_mut().set_suffix("");
    }
    for mut item in missing {
        item.decorate((prefix.as_str(), ""));
        list.push(item);
        prefix = format!("\n{indent}");
    }
    list.set_trailing(trailing);
    true
}

/// Appends items to a list on one line.
fn extend_line(list: &mut Array, missing: Vec<Expression>, end: &str, has_comment: bool) -> bool {
    if has_comment || end.contains('\n') {
        return false;
    }
    if let Some(last) = list.len().checked_sub(1).and_then(|index| list.get_mut(index)) {
        last.decor_mut().set_suffix("");
    }
    for mut item in missing {
        item.decorate((" ", ""));
        list.push(item);
    }
    list.set_trailing(end);
    true
}

/// Appends a rule to the plugin's block.
fn push_rule(block: &mut Block, request: &CapabilityRequest) -> Option<()> {
    let body = &mut block.body;
    let end = body.decor().suffix().map(|text| text.to_string()).unwrap_or_default();
    if body.prefer_oneline() {
        if !end.trim().is_empty() {
            return None;
        }
        body.set_prefer_oneline(false);
        body.decor_mut().set_suffix("");
        if let Some(only) = body.get_mut(0) {
            only.decorate(("  ", ""));
        }
        return push_rule(block, request);
    }
    let indent = body.get(0).and_then(|first| first.decor().prefix()).map(|prefix| {
        let prefix = prefix.to_string();
        prefix.rsplit_once('\n').map_or(prefix.clone(), |(_, last)| last.to_owned())
    });
    let indent = indent
        .filter(|indent| !indent.is_empty() && indent.trim().is_empty())
        .unwrap_or_else(|| "  ".to_owned());
    let unit = if indent.contains('\t') { "\t" } else { "  " };
    let rule: Vec<String> = request
        .block("allow")
        .lines()
        .map(|line| match line.strip_prefix("  ") {
            Some(argument) => format!("{indent}{unit}{argument}\n"),
            None => format!("{indent}{line}\n"),
        })
        .collect();
    let mut parsed: Body = rule.concat().parse().ok()?;
    let mut rule: Structure = (!parsed.is_empty()).then(|| parsed.remove(0))?;
    // Comments before the closing brace remain in place, before the new rule.
    let (comments, closing) = match end.rsplit_once('\n') {
        Some((comments, closing)) => (format!("{comments}\n"), closing.to_owned()),
        None => (String::new(), end),
    };
    let gap = if body.is_empty() && comments.trim().is_empty() { "" } else { "\n" };
    rule.decor_mut().set_prefix(format!("{comments}{gap}{indent}"));
    body.decor_mut().set_suffix(closing);
    body.push(rule);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_text_that_cannot_be_preserved() {
        let plugin = ProviderAddress::parse("acme/dns").unwrap();
        for text in [
            "plugin \"acme/dns\" {",
            "\u{feff}plugin \"acme/dns\" {\n}\n",
            "plugin \"acme/dns\" {\r\n}\n",
            "plugin \"acme/other\" {\n}\n",
        ] {
            assert_eq!(add_grants(text, &plugin, &[]), None, "{text:?}");
        }
    }
}
