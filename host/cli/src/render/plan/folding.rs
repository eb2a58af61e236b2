//! Groups of equal changes, of which a plan shows only the first.
//!
//! No differing value is hidden: the note about a group contains the values of the members that differ from
//! the first one. If these are too long, only members with equal values are folded. The note also contains
//! the addresses of all objects that are destroyed.

use std::collections::{HashMap, HashSet};

use wardian_engine::ResourceChange;
use wardian_printable::{PrintableText, append};
use wardian_review::{AttributeChange, ChangeClass, ChangeGroup, ChangeId, Review, ReviewedChange};
use wardian_review_document::value_text;

use crate::render::isolation::isolated;

/// Maximum number of addresses that the note about a group contains.
const MAX_ADDRESSES: usize = 3;
/// Maximum number of attributes with different values in a note.
const MAX_DIFFERING: usize = 4;
/// Maximum length of a value in a note.
const MAX_VALUE_LENGTH: usize = 200;

/// The address of a change and the key of a deposed object.
type ChangeKey = (String, Option<String>);

/// The changes that a plan does not show, and the notes about them.
#[derive(Debug, Default)]
pub(crate) struct Folding {
    hidden: HashSet<ChangeKey>,
    notes: HashMap<ChangeKey, PrintableText>,
}

impl Folding {
    /// Returns the folding of all groups in the review of the plan.
    pub(crate) fn new(review: &Review) -> Self {
        let mut folding = Self::default();
        for group in review.groups.iter().filter(|group| group.members.len() > 1) {
            // The values of a destroyed object do not matter.
            if group.class() == ChangeClass::Destroy {
                folding.fold(review, group, &[&group.members]);
                continue;
            }
            let variants = review.variants(group);
            if are_values_short(review, group, &variants) {
                let is_first = |variant: &Vec<ChangeId>| variant.first() == group.members.first();
                let (first, others): (Vec<_>, Vec<_>) = variants.iter().partition(|one| is_first(one));
                let variants: Vec<&[ChangeId]> = first.into_iter().chain(others).map(Vec::as_slice).collect();
                folding.fold(review, group, &variants);
            } else {
                for variant in variants.iter().filter(|variant| variant.len() > 1) {
                    folding.fold(review, group, &[variant]);
                }
            }
        }
        folding
    }

    /// Folds members into the first one. `variants` are the members by their values.
    fn fold(&mut self, review: &Review, group: &ChangeGroup, variants: &[&[ChangeId]]) {
        let Some(([first, equal @ ..], others)) = variants.split_first().map(|(one, rest)| (*one, rest))
        else {
            return;
        };
        let Some(first) = review.change(*first) else { return };
        let mut note = PrintableText::new();
        if !equal.is_empty() {
            append!(note, "  # {} more {} in the same way:", equal.len(), verb(equal.len()));
            append_addresses(&mut note, review, group, equal);
        }
        for variant in others {
            note.push(if note.is_empty() { "" } else { "\n" });
            note.push("  # the same, but with");
            append_values(&mut note, review, group, variant);
            note.push(":");
            append_addresses(&mut note, review, group, variant);
        }
        for (index, action) in group.actions.iter().take(MAX_ADDRESSES).enumerate() {
            let verb = match index {
                0 if others.is_empty() => "; each of them invokes",
                0 => "\n  # each of these objects invokes",
                _ => ",",
            };
            note.push(verb);
            append!(note, " {} {}", isolated(&action.action), action.event.description());
        }
        if group.actions.len() > MAX_ADDRESSES {
            append!(note, " and {} more actions", group.actions.len() - MAX_ADDRESSES);
        }
        for id in equal.iter().chain(others.iter().copied().flatten()) {
            self.hidden.extend(review.change(*id).map(key));
        }
        self.notes.insert(key(first), note);
    }

    pub(super) fn hides(&self, change: &ResourceChange) -> bool {
        !self.hidden.is_empty() && self.hidden.contains(&planned_key(change))
    }

    pub(super) fn note(&self, change: &ResourceChange) -> Option<&PrintableText> {
        if self.notes.is_empty() { None } else { self.notes.get(&planned_key(change)) }
    }
}

/// Whether the different values of the members fit into a note.
fn are_values_short(review: &Review, group: &ChangeGroup, variants: &[Vec<ChangeId>]) -> bool {
    let differing = group.differing();
    let is_short = |attribute: &AttributeChange| {
        [&attribute.before, &attribute.after].into_iter().flatten().all(|value| {
            let text = value_text(value);
            text.len() <= MAX_VALUE_LENGTH && !text.contains('\n')
        })
    };
    differing.len() <= MAX_DIFFERING
        && variants
            .iter()
            .filter_map(|variant| review.change(*variant.first()?))
            .all(|change| differing.iter().filter_map(|index| change.attributes.get(*index)).all(is_short))
}

/// Appends the values of members that are not equal to those of other members.
fn append_values(note: &mut PrintableText, review: &Review, group: &ChangeGroup, members: &[ChangeId]) {
    let Some(first) = members.first().and_then(|id| review.change(*id)) else { return };
    let differing = group.differing();
    let attributes = differing.iter().filter_map(|index| first.attributes.get(*index));
    for (index, attribute) in attributes.enumerate() {
        append!(note, "{} {}", if index == 0 { "" } else { "," }, isolated(attribute.path.as_str()));
        let [before, after] =
            [&attribute.before, &attribute.after].map(|value| value.as_ref().map(value_text));
        match (before, after) {
            (Some(before), Some(after)) => append!(note, " = {} -> {}", isolated(&before), isolated(&after)),
            (Some(before), None) => append!(note, " = {} -> null", isolated(&before)),
            (None, Some(after)) => append!(note, " = {}", isolated(&after)),
            (None, None) => {}
        }
    }
}

/// Appends the first addresses; all of them if objects are destroyed.
fn append_addresses(note: &mut PrintableText, review: &Review, group: &ChangeGroup, members: &[ChangeId]) {
    let limit = if group.class().destroys() { usize::MAX } else { MAX_ADDRESSES };
    for (index, change) in members.iter().filter_map(|id| review.change(*id)).take(limit).enumerate() {
        append!(note, "{} {}", if index == 0 { "" } else { "," }, isolated(&change.address));
        if let Some(key) = &change.deposed {
            append!(note, " (deposed object {})", isolated(key));
        }
        if let Some(from) = &change.moved_from {
            append!(note, " (moved from {})", isolated(from));
        }
        if let Some(id) = change.imported_id.as_deref().filter(|id| !id.is_empty()) {
            append!(note, " (imported from {})", isolated(&format!("\"{id}\"")));
        }
    }
    if members.len() > limit {
        append!(note, " and {} more", members.len() - limit);
    }
}

fn verb(count: usize) -> &'static str {
    if count == 1 { "object changes" } else { "objects change" }
}

fn key(change: &ReviewedChange) -> ChangeKey {
    (change.address.to_string(), change.deposed.as_deref().map(str::to_owned))
}

fn planned_key(change: &ResourceChange) -> ChangeKey {
    (change.address.to_string(), change.deposed.as_ref().map(ToString::to_string))
}

#[cfg(test)]
mod tests {
    use wardian_review::{ConfigurationFacts, testing};

    use super::*;

    fn folding(json: &str) -> Folding {
        Folding::new(&Review::from_json("p", json.as_bytes(), &ConfigurationFacts::default()).unwrap())
    }

    fn note<'a>(folding: &'a Folding, address: &str, deposed: Option<&str>) -> &'a str {
        folding.notes[&(address.to_owned(), deposed.map(str::to_owned))].as_str()
    }

    #[test]
    fn notes_contain_the_values_that_differ() {
        let folding = folding(&testing::plan_with_differing_members());
        let (address, value) = testing::ODD_RULE;
        assert_eq!(
            note(&folding, "aws_security_group_rule.rule[0]", None),
            format!(
                "  # 28 more objects change in the same way: aws_security_group_rule.rule[1], \
                 aws_security_group_rule.rule[2], aws_security_group_rule.rule[3] and 25 more\n  \
                 # the same, but with cidr = \"192.168.0.0/16\" -> \"{value}\": {address}"
            )
        );
        assert_eq!(
            note(&folding, "aws_instance.moved[0]", Some("00000000")),
            "  # 2 more objects change in the same way: aws_instance.moved[1] (deposed object 00000001), \
             aws_instance.moved[2] (deposed object 00000002)"
        );
        assert_eq!(
            note(&folding, "aws_instance.moved[0]", None),
            "  # 2 more objects change in the same way: aws_instance.moved[1] (moved from aws_instance.old[1]), \
             aws_instance.moved[2] (moved from aws_instance.old[2])"
        );
        assert_eq!(
            note(&folding, "aws_instance.imported[0]", None),
            "  # 2 more objects change in the same way: aws_instance.imported[1] (imported from \"i-1\"), \
             aws_instance.imported[2] (imported from \"i-2\")"
        );
        // The reasons of the users differ, so none is folded.
        assert!(!folding.hidden.iter().any(|(address, _)| address.starts_with("aws_iam_user")));
    }

    #[test]
    fn members_with_long_values_are_folded_only_if_they_are_equal() {
        let long = "x".repeat(500);
        let change = |index: usize, value: &str| {
            format!(
                "{{\"address\": \"a.b[{index}]\", \"change\": {{\"actions\": [\"create\"], \"before\": null, \
                 \"after\": {{\"v\": \"{long}{value}\"}}}}}}"
            )
        };
        let changes = [change(0, "1"), change(1, "2"), change(2, "1")].join(",");
        let folding = folding(&format!("{{\"format_version\": \"1.2\", \"resource_changes\": [{changes}]}}"));
        assert_eq!(note(&folding, "a.b[0]", None), "  # 1 more object changes in the same way: a.b[2]");
        assert_eq!(folding.hidden.len(), 1);
    }

    #[test]
    fn all_destroyed_objects_are_named() {
        let plan = testing::five_plans().into_iter().find(|plan| plan.name == "cascade").unwrap();
        let folding = folding(&plan.json);
        let note = note(&folding, "aws_instance.app[0]", None);
        for index in 1..24 {
            assert!(note.contains(&format!("aws_instance.app[{index}]")), "{note}");
        }
    }

    #[test]
    fn right_to_left_text_is_isolated() {
        let folding = folding(&testing::wide_plan());
        let notes: Vec<&str> = folding.notes.values().map(PrintableText::as_str).collect();
        for note in &notes {
            assert!(
                note.contains("with name = \u{2068}\"مرحبا بالعالم 123\"\u{2069} -> \"世界您好\""),
                "{note}"
            );
        }
    }
}
