//! Describes why an object changes.

use std::borrow::Cow;

use wardian_review::{ChangeId, PlannedReason, ReviewCause, ReviewedChange};

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
    for cause in &change.causes {
        found.push(match cause {
            ReviewCause::Drift { attributes } if attributes.is_empty() => {
                vec![Words("it was destroyed outside of the configuration")]
            }
            ReviewCause::Drift { attributes } => {
                let mut clause = names(attributes.iter().map(|path| path.as_str()));
                clause.push(Words(" was changed outside of the configuration"));
                clause
            }
            ReviewCause::Upstream { resource, change, attributes } => {
                let mut clause = names(attributes.iter().map(|name| &**name));
                clause.push(Words(" depends on "));
                clause.push(match change {
                    Some(id) => Change(*id, resource),
                    None => Name(Cow::Borrowed(&**resource)),
                });
                clause
            }
            ReviewCause::Variable { name, attributes } => {
                let mut clause = if attributes.is_empty() {
                    vec![Words("count or for_each")]
                } else {
                    names(attributes.iter().map(|name| &**name))
                };
                clause.push(Words(" depends on "));
                clause.push(Name(Cow::Owned(format!("var.{name}"))));
                clause
            }
        });
    }
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
