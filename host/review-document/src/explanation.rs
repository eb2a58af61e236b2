//! Describes why an object changes.

use std::borrow::Cow;

use wardian_review::{
    ChangeGroup, ChangeId, PlannedReason, ReferencePlace, ReviewCause, ReviewedChange, SourcePosition,
};

/// Maximum number of attributes that an explanation names.
const MAX_NAMES: usize = 4;

/// A part of an explanation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fragment<'a> {
    Words(&'static str),
    /// A name from the plan, which is not escaped.
    Name(Cow<'a, str>),
    /// The address of another change.
    Change(ChangeId, &'a str),
}

use Fragment::{Change, Name, Words};

/// Returns the explanations of a change, the most specific one first. Each is a clause:
/// `ami forces the replacement`.
pub fn explanations(change: &ReviewedChange) -> Vec<Vec<Fragment<'_>>> {
    let mut found = shared(change, true);
    found.extend(own(change));
    found
}

/// Returns the explanations that all members of a group have in common. `first` is one of the members.
pub fn group_explanations<'a>(group: &ChangeGroup, first: &'a ReviewedChange) -> Vec<Vec<Fragment<'a>>> {
    if group.members.len() == 1 { explanations(first) } else { shared(first, group.has_equal_causes) }
}

/// Returns the explanations of a group's member that the other members do not have in common with it.
pub fn member_explanations<'a>(group: &ChangeGroup, member: &'a ReviewedChange) -> Vec<Vec<Fragment<'a>>> {
    let mut found = Vec::new();
    if !group.has_equal_causes {
        let upstream = |cause: &&ReviewCause| matches!(cause, ReviewCause::Upstream { .. });
        found.extend(member.causes.iter().filter(upstream).map(|cause| cause_clause(cause, true)));
    }
    found.extend(own(member));
    found
}

/// Returns the explanations that can be the same for several changes. If `has_links` is false, they do not
/// refer to other changes.
fn shared(change: &ReviewedChange, has_links: bool) -> Vec<Vec<Fragment<'_>>> {
    let mut found = Vec::new();
    if !change.forced_by.is_empty() {
        let mut clause = names(change.forced_by.iter().map(|path| path.as_str()));
        clause.push(Words(if change.forced_by.len() == 1 {
            " forces the replacement"
        } else {
            " force the replacement"
        }));
        found.push(clause);
    }
    match &change.reason {
        None => {}
        Some(PlannedReason::CannotUpdate) if !change.forced_by.is_empty() => {}
        Some(reason) => found.push(match reason.clause() {
            Some(clause) => vec![Words(clause)],
            None => vec![Words("the plan states the reason "), Name(Cow::Borrowed(reason.description()))],
        }),
    }
    found.extend(change.causes.iter().map(|cause| cause_clause(cause, has_links)));
    found
}

/// Returns the explanations that only one change has.
fn own(change: &ReviewedChange) -> Vec<Vec<Fragment<'_>>> {
    let mut found = Vec::new();
    if let Some(from) = &change.moved_from {
        found.push(vec![Words("it was moved from "), Name(Cow::Borrowed(&**from))]);
    }
    match change.imported_id.as_deref() {
        None => {}
        Some("") => found.push(vec![Words("it is imported")]),
        Some(id) => found.push(vec![Words("it is imported with the ID "), Name(Cow::Borrowed(id))]),
    }
    if let Some(key) = &change.deposed {
        found.push(vec![Words("it is the deposed object "), Name(Cow::Borrowed(&**key))]);
    }
    found
}

fn cause_clause(cause: &ReviewCause, has_links: bool) -> Vec<Fragment<'_>> {
    match cause {
        ReviewCause::Drift { attributes } if attributes.is_empty() => {
            vec![Words("it was destroyed outside of the configuration")]
        }
        ReviewCause::Drift { attributes } => {
            let mut clause = names(attributes.iter().map(|path| path.as_str()));
            clause.push(Words(" was changed outside of the configuration"));
            clause
        }
        ReviewCause::Upstream { resource, change, through } => {
            let mut clause = place(through);
            clause.push(Words(match through {
                ReferencePlace::DependsOn | ReferencePlace::Trigger => " contains ",
                ReferencePlace::Attributes(_) | ReferencePlace::Repetition => " depends on ",
            }));
            clause.push(match change {
                Some(id) if has_links => Change(*id, resource),
                _ => Name(Cow::Borrowed(&**resource)),
            });
            clause
        }
        ReviewCause::Variable { name, source, through } => {
            let mut clause = place(through);
            clause.push(Words(" depends on "));
            clause.push(Name(Cow::Owned(format!("var.{name}"))));
            if let Some(SourcePosition { file, line }) = source {
                clause.push(Words(", declared in "));
                clause.push(Name(Cow::Owned(format!("{file}:{line}"))));
            }
            clause
        }
    }
}

fn place(place: &ReferencePlace) -> Vec<Fragment<'_>> {
    match place {
        ReferencePlace::Attributes(attributes) => names(attributes.iter().map(|name| &**name)),
        ReferencePlace::Repetition => vec![Words("count or for_each")],
        ReferencePlace::DependsOn => vec![Words("depends_on")],
        ReferencePlace::Trigger => vec![Words("replace_triggered_by")],
    }
}

fn names<'a>(all: impl ExactSizeIterator<Item = &'a str>) -> Vec<Fragment<'a>> {
    let mut fragments = Vec::new();
    let count = all.len();
    for (index, name) in all.take(MAX_NAMES).enumerate() {
        if index > 0 {
            fragments.push(Words(", "));
        }
        fragments.push(Name(Cow::Borrowed(name)));
    }
    if count > MAX_NAMES {
        fragments.push(Words(", ..."));
    }
    fragments
}
