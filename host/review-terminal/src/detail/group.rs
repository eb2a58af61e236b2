//! The details of a group of changes.

use wardian_printable::{PrintableText, append, printable};
use wardian_review::{ChangeGroup, ChangeId, ReviewedChange};

use super::{MAX_ATTRIBUTES, MAX_LINKS, Writer, action};
use crate::list::event;
use crate::palette::Tone;
use crate::text::{StyledLine, line};

/// Maximum number of different values that are shown. The rarest ones are.
const MAX_VARIANTS: usize = 50;

impl Writer<'_> {
    /// Writes what the members have in common, their different values, and the first members.
    pub(super) fn group(&mut self, group: &ChangeGroup) {
        let title = printable!("{} × {}", group.members.len(), line(&group.type_name));
        self.push(StyledLine::new(title, Tone::Bold), 2);
        let review = self.review;
        let Some((_, first)) = review.members(group).next() else { return };
        let mut about = action(group.kind);
        if let Some(reason) = &first.reason {
            about.push(printable!(": {}", line(reason.description())), Tone::Plain);
        }
        self.push(about, 2);
        let mut origin = line(&first.provider);
        if let Some(source) = first.source.as_ref().filter(|_| group.has_one_source) {
            append!(origin, ", {}:{}", line(&source.file), source.line);
            self.detail.source = Some(source.clone());
        }
        self.dim(origin);
        if group.is_consequence {
            self.text("All of them are consequences of other changes.");
        }
        self.causes(&first.causes, group.has_equal_causes);
        self.shared_attributes(group);
        if !group.actions.is_empty() {
            self.heading("Actions of each member");
        }
        for action in group.actions.iter().take(MAX_ATTRIBUTES) {
            self.text(printable!("{}, {}", line(&action.action), event(Some(&action.event))));
        }
        self.variants(group);
        self.heading("Members");
        for (id, change) in review.members(group).take(MAX_LINKS) {
            self.member(group, id, change, PrintableText::new());
        }
        let more = group.members.len().saturating_sub(MAX_LINKS);
        if more > 0 {
            self.dim(printable!("  and {more} more; Enter lists them"));
        }
    }

    fn shared_attributes(&mut self, group: &ChangeGroup) {
        if !group.attributes.is_empty() {
            self.heading("Attributes");
        }
        let mut hidden = 0;
        for attribute in group.attributes.iter().take(MAX_ATTRIBUTES) {
            if self.hidden.contains(attribute.path.pattern()) {
                hidden += 1;
                continue;
            }
            if let Some(shared) = attribute.shared() {
                self.attribute(&shared);
                continue;
            }
            let mut text = StyledLine::new("~ ", Tone::Plain)
                .with(line(attribute.path.as_str()), Tone::Plain)
                .with(": different values", if attribute.differs() { Tone::Warning } else { Tone::Dim });
            if !attribute.differs() {
                text.push(" → (known after apply)", Tone::Plain);
            }
            if attribute.forces_replacement {
                text.push("  # forces replacement", Tone::Bold);
            }
            self.push(text, 4);
        }
        if hidden > 0 {
            self.dim(printable!("  ({hidden} hidden)"));
        }
        let more = group.attributes.len().saturating_sub(MAX_ATTRIBUTES);
        if more > 0 {
            self.dim(printable!("  and {more} more attributes"));
        }
    }

    /// Writes the different values of the members, the rarest ones first.
    fn variants(&mut self, group: &ChangeGroup) {
        let differing = group.differing();
        let is_shown = |index: &usize| {
            let attribute = group.attributes.get(*index);
            attribute.is_some_and(|one| !self.hidden.contains(one.path.pattern()))
        };
        let differing: Vec<usize> = differing.into_iter().filter(is_shown).collect();
        if differing.is_empty() {
            return;
        }
        let variants = self.review.variants(group);
        self.heading("Different values");
        for variant in variants.iter().take(MAX_VARIANTS) {
            let review = self.review;
            let first = variant.first().and_then(|id| Some((*id, review.change(*id)?)));
            let Some((id, first)) = first else { continue };
            let more = match variant.len() - 1 {
                0 => PrintableText::new(),
                count => printable!(" and {count} more"),
            };
            self.member(group, id, first, more);
            for attribute in differing.iter().filter_map(|index| first.attributes.get(*index)) {
                self.attribute(attribute);
            }
        }
        let more = variants.len().saturating_sub(MAX_VARIANTS);
        if more > 0 {
            self.dim(printable!("  and {more} more; Enter lists the members"));
        }
    }

    /// Writes a reference to a member, and what only this member has.
    fn member(&mut self, group: &ChangeGroup, id: ChangeId, change: &ReviewedChange, more: PrintableText) {
        let mut text = printable!("{}{more}", line(&change.address));
        if let Some(key) = &change.deposed {
            append!(text, ", deposed object {}", line(key));
        }
        if let Some(from) = &change.moved_from {
            append!(text, ", moved from {}", line(from));
        }
        match change.imported_id.as_deref() {
            None | Some("") => {}
            Some(id) => append!(text, ", imported with the ID {}", line(id)),
        }
        if let Some(source) = change.source.as_ref().filter(|_| !group.has_one_source) {
            append!(text, ", {}:{}", line(&source.file), source.line);
        }
        self.link(id, "", text);
    }
}
