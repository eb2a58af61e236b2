//! Groups of equal changes, of which a plan shows only the first.

use std::collections::{HashMap, HashSet};

use wardian_engine::ResourceChange;
use wardian_printable::{PrintableText, append, printable};
use wardian_review::{Review, ReviewedChange};

/// Maximum number of addresses that the note about a group contains.
const MAX_ADDRESSES: usize = 3;

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
            let mut members = review.members(group).map(|(_, change)| change);
            let Some(first) = members.next() else { continue };
            let others = group.members.len() - 1;
            let mut note = printable!("  # {others} more {} in the same way:", verb(others));
            for (index, change) in members.enumerate() {
                if index < MAX_ADDRESSES {
                    append!(note, "{} {}", if index == 0 { "" } else { "," }, &*change.address);
                }
                folding.hidden.insert(key(change));
            }
            if others > MAX_ADDRESSES {
                append!(note, " and {} more", others - MAX_ADDRESSES);
            }
            for (index, action) in group.actions.iter().take(MAX_ADDRESSES).enumerate() {
                let verb = if index == 0 { "; each of them invokes" } else { "," };
                append!(note, "{verb} {} {}", &*action.action, action.event.description());
            }
            if group.actions.len() > MAX_ADDRESSES {
                append!(note, " and {} more actions", group.actions.len() - MAX_ADDRESSES);
            }
            folding.notes.insert(key(first), note);
        }
        folding
    }

    pub(super) fn hides(&self, change: &ResourceChange) -> bool {
        !self.hidden.is_empty() && self.hidden.contains(&planned_key(change))
    }

    pub(super) fn note(&self, change: &ResourceChange) -> Option<&PrintableText> {
        if self.notes.is_empty() { None } else { self.notes.get(&planned_key(change)) }
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
