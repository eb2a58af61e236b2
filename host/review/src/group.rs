//! Groups of instances that change in the same way, and the attributes that change most often.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::sync::Arc;

use crate::cause::ReviewCause;
use crate::change::{ChangeClass, ChangeId, ChangeKind, ReviewedChange};
use crate::invocation::{ActionEvent, ReviewedInvocation, TriggeredInvocations};
use crate::value::{AttributeChange, AttributePath, ReviewedValue};

/// Instances of one resource type with the same provider, kind of change, reason, causes, changed
/// attributes, shapes of the values, and triggered actions. Their values can differ: see
/// [`Review::variants`](crate::Review::variants).
#[derive(Clone, Debug)]
pub struct ChangeGroup {
    pub kind: ChangeKind,
    pub type_name: Arc<str>,
    pub is_data: bool,
    /// The members in the order of the plan; at least one.
    pub members: Vec<ChangeId>,
    pub attributes: Vec<GroupAttribute>,
    /// The actions that each member triggers, in their order.
    pub actions: Vec<GroupAction>,
    /// Whether other changes in the plan cause the members.
    pub is_consequence: bool,
    /// Whether all members have the same position in the configuration.
    pub has_one_source: bool,
    /// Whether the causes of all members refer to the same changes.
    pub has_equal_causes: bool,
}

impl ChangeGroup {
    pub fn class(&self) -> ChangeClass {
        self.kind.class()
    }

    /// Whether all members change in the same way: see [`GroupAttribute::differs`].
    pub fn is_uniform(&self) -> bool {
        !self.attributes.iter().any(GroupAttribute::differs)
    }

    /// Returns the indexes of the attributes whose values are not equal in all members. The attributes of
    /// each member have the same indexes.
    pub fn varying(&self) -> Vec<usize> {
        let attributes = self.attributes.iter().enumerate();
        attributes.filter(|(_, attribute)| attribute.varies()).map(|(index, _)| index).collect()
    }

    /// Returns the indexes of the attributes that do not change in the same way in all members.
    pub fn differing(&self) -> Vec<usize> {
        let attributes = self.attributes.iter().enumerate();
        attributes.filter(|(_, attribute)| attribute.differs()).map(|(index, _)| index).collect()
    }

    /// Returns the members by the values of the differing attributes, the rarest values first.
    pub(crate) fn variants(&self, changes: &[ReviewedChange]) -> Vec<Vec<ChangeId>> {
        let differing = self.differing();
        if differing.is_empty() {
            return vec![self.members.clone()];
        }
        let mut variants: Vec<Vec<ChangeId>> = Vec::new();
        let mut known: HashMap<Vec<Values<'_>>, usize> = HashMap::new();
        for id in &self.members {
            let Some(change) = changes.get(id.index()) else { continue };
            let values = differing.iter().filter_map(|index| change.attributes.get(*index));
            let values = values.map(|one| (one.before.as_ref(), one.after.as_ref())).collect();
            let index = *known.entry(values).or_insert(variants.len());
            match variants.get_mut(index) {
                Some(variant) => variant.push(*id),
                None => variants.push(vec![*id]),
            }
        }
        variants.sort_by_key(Vec::len);
        variants
    }
}

/// The values of an attribute before and after a change.
type Values<'a> = (Option<&'a ReviewedValue>, Option<&'a ReviewedValue>);

/// An attribute that changes in all members of a group.
#[derive(Clone, Debug)]
pub struct GroupAttribute {
    pub path: AttributePath,
    pub before: GroupValue,
    pub after: GroupValue,
    pub forces_replacement: bool,
}

impl GroupAttribute {
    /// Returns the difference that all members have in common; `None` if their values differ.
    pub fn shared(&self) -> Option<AttributeChange> {
        let (GroupValue::Same(before), GroupValue::Same(after)) = (&self.before, &self.after) else {
            return None;
        };
        Some(AttributeChange {
            path: self.path.clone(),
            before: before.clone(),
            after: after.clone(),
            forces_replacement: self.forces_replacement,
        })
    }

    /// Whether the values of the members differ.
    pub fn varies(&self) -> bool {
        self.before == GroupValue::Varies || self.after == GroupValue::Varies
    }

    /// Whether the members do not change in the same way. Old values that become unknown, such as IDs of
    /// replaced objects, make no difference.
    pub fn differs(&self) -> bool {
        self.varies() && self.after != GroupValue::Same(Some(ReviewedValue::Unknown))
    }
}

/// An action that the changes of a group trigger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupAction {
    /// The address of the action in the configuration, without instance keys.
    pub action: Arc<str>,
    pub event: ActionEvent,
}

/// The values of an attribute in the members of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupValue {
    /// The values are equal; `None` if the attribute is absent.
    Same(Option<ReviewedValue>),
    Varies,
}

/// The number of changes in which an attribute changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttributeFrequency {
    /// The path with `[*]` instead of list indexes.
    pub pattern: Arc<str>,
    pub changes: usize,
}

/// Returns the groups, the most severe and then the rarest change first, and consequences of other
/// changes after their causes.
pub(crate) fn groups(
    changes: &[ReviewedChange],
    invocations: &[ReviewedInvocation],
    triggered: &TriggeredInvocations,
) -> Vec<ChangeGroup> {
    let triggered_by = |id: ChangeId| triggered_by(id, invocations, triggered);
    let mut groups: Vec<ChangeGroup> = Vec::new();
    let mut by_hash: HashMap<u64, Vec<usize>> = HashMap::new();
    for (change, index) in changes.iter().zip(0..) {
        let id = ChangeId(index);
        let mut hasher = DefaultHasher::new();
        hash_shape(change, &mut hasher);
        triggered_by(id).for_each(|triggered| triggered.hash(&mut hasher));
        let candidates = by_hash.entry(hasher.finish()).or_default();
        let found = candidates.iter().copied().find(|candidate| {
            let first = groups.get(*candidate).and_then(|group| group.members.first()).copied();
            first.is_some_and(|first| {
                changes.get(first.index()).is_some_and(|first| has_same_shape(first, change))
                    && triggered_by(first).eq(triggered_by(id))
            })
        });
        if let Some(group) = found.and_then(|found| groups.get_mut(found)) {
            let first = group.members.first().and_then(|first| changes.get(first.index()));
            group.has_one_source &= first.is_some_and(|first| first.source == change.source);
            group.has_equal_causes &= first.is_some_and(|first| first.causes == change.causes);
            group.members.push(id);
            for (attribute, changed) in group.attributes.iter_mut().zip(&change.attributes) {
                merge(&mut attribute.before, changed.before.as_ref());
                merge(&mut attribute.after, changed.after.as_ref());
            }
        } else {
            candidates.push(groups.len());
            let actions = triggered_by(id)
                .map(|(action, event)| GroupAction { action: Arc::clone(action), event: event.clone() });
            groups.push(new_group(change, id, actions.collect()));
        }
    }
    groups.sort_by_key(|group| {
        (group.class(), group.is_consequence, group.members.len(), group.members.first().copied())
    });
    groups
}

/// Returns the actions that a change triggers, with the events.
fn triggered_by<'a>(
    id: ChangeId,
    invocations: &'a [ReviewedInvocation],
    triggered: &'a TriggeredInvocations,
) -> impl Iterator<Item = (&'a Arc<str>, &'a ActionEvent)> {
    triggered.by(id).iter().filter_map(|id| {
        let invocation = invocations.get(id.index())?;
        Some((&invocation.action, &invocation.trigger.as_ref()?.event))
    })
}

fn new_group(change: &ReviewedChange, id: ChangeId, actions: Vec<GroupAction>) -> ChangeGroup {
    let attribute = |changed: &AttributeChange| GroupAttribute {
        path: changed.path.clone(),
        before: GroupValue::Same(changed.before.clone()),
        after: GroupValue::Same(changed.after.clone()),
        forces_replacement: changed.forces_replacement,
    };
    ChangeGroup {
        kind: change.kind,
        type_name: Arc::clone(&change.type_name),
        is_data: change.is_data,
        members: vec![id],
        attributes: change.attributes.iter().map(attribute).collect(),
        actions,
        is_consequence: change.is_consequence(),
        has_one_source: true,
        has_equal_causes: true,
    }
}

fn merge(value: &mut GroupValue, other: Option<&ReviewedValue>) {
    // Sensitive values are equal only in the model.
    let is_same = matches!(value, GroupValue::Same(value) if value.as_ref() == other);
    if !is_same {
        *value = GroupValue::Varies;
    }
}

fn shape(value: Option<&ReviewedValue>) -> u8 {
    value.map_or(u8::MAX, ReviewedValue::shape)
}

fn hash_shape(change: &ReviewedChange, hasher: &mut DefaultHasher) {
    (change.kind, &change.type_name, change.is_data, change.deposed.is_some()).hash(hasher);
    (&change.provider, &change.reason, &change.forced_by).hash(hasher);
    change.causes.iter().for_each(|cause| cause.similarity().hash(hasher));
    for attribute in &change.attributes {
        let shapes = (shape(attribute.before.as_ref()), shape(attribute.after.as_ref()));
        (&attribute.path.text, shapes, attribute.forces_replacement).hash(hasher);
    }
}

fn has_same_shape(one: &ReviewedChange, other: &ReviewedChange) -> bool {
    one.kind == other.kind
        && one.type_name == other.type_name
        && one.is_data == other.is_data
        && one.deposed.is_some() == other.deposed.is_some()
        && one.moved_from.is_some() == other.moved_from.is_some()
        && one.imported_id.is_some() == other.imported_id.is_some()
        && one.provider == other.provider
        && one.reason == other.reason
        && one.forced_by == other.forced_by
        && one.causes.iter().map(ReviewCause::similarity).eq(other.causes.iter().map(ReviewCause::similarity))
        && one.attributes.len() == other.attributes.len()
        && one.attributes.iter().zip(&other.attributes).all(|(one, other)| {
            one.path == other.path
                && one.forces_replacement == other.forces_replacement
                && shape(one.before.as_ref()) == shape(other.before.as_ref())
                && shape(one.after.as_ref()) == shape(other.after.as_ref())
        })
}

/// Returns the attributes of updates and replacements, the most frequent one first.
pub(crate) fn frequent_attributes(changes: &[ReviewedChange]) -> Vec<AttributeFrequency> {
    // For each pattern, the number of changes, and the last change that was counted.
    let mut counts: HashMap<&Arc<str>, (usize, usize)> = HashMap::new();
    let is_counted =
        |change: &&ReviewedChange| matches!(change.class(), ChangeClass::Update | ChangeClass::Replace);
    for (change, number) in changes.iter().filter(is_counted).zip(1..) {
        for attribute in &change.attributes {
            let (count, last) = counts.entry(&attribute.path.pattern).or_default();
            if *last != number {
                *count += 1;
                *last = number;
            }
        }
    }
    let mut found: Vec<AttributeFrequency> = counts
        .into_iter()
        .map(|(pattern, (changes, _))| AttributeFrequency { pattern: Arc::clone(pattern), changes })
        .collect();
    found.sort_unstable_by(|one, other| (other.changes, &one.pattern).cmp(&(one.changes, &other.pattern)));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cause::ReferencePlace;
    use crate::{ConfigurationFacts, Review, testing};

    fn hash(change: &ReviewedChange) -> u64 {
        let mut hasher = DefaultHasher::new();
        hash_shape(change, &mut hasher);
        hasher.finish()
    }

    /// If the hashes were equal, changes with different causes would be compared with each other.
    #[test]
    fn hash_contains_the_causes_except_for_the_other_change() {
        let plan = testing::five_plans().into_iter().find(|plan| plan.name == "cascade").unwrap();
        let review = Review::from_json("p", plan.json.as_bytes(), &ConfigurationFacts::default()).unwrap();
        let caused = |resource: &str, change: u32| {
            let mut caused = review.changes[0].clone();
            let through = ReferencePlace::Repetition;
            let cause =
                ReviewCause::Upstream { resource: resource.into(), change: Some(ChangeId(change)), through };
            caused.causes = Box::new([cause]);
            caused
        };
        let (one, same, other) = (caused("a.a", 1), caused("a.a", 2), caused("a.b", 1));
        assert!(has_same_shape(&one, &same) && hash(&one) == hash(&same));
        assert!(!has_same_shape(&one, &other) && hash(&one) != hash(&other));
    }
}
