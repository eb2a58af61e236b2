//! The review of one plan.

use std::collections::HashSet;
use std::sync::Arc;

use crate::cause::Causes;
use crate::change::ChangeKind;
use crate::change::{ChangeClass, ChangeId, ReplaceOrder, ReviewedChange, ReviewedOutput};
use crate::configuration::{ConfigurationFacts, References};
use crate::dependencies::DependencyGraph;
use crate::document::{PlanContents, ReviewError};
use crate::finding::{CheckCounts, PluginAccess, ReviewFinding, ReviewWarning};
use crate::group::{AttributeFrequency, ChangeGroup, frequent_attributes, groups};
use crate::invocation::{
    GroupedInvocations, InvocationId, ReviewedInvocation, TriggeredInvocations, invocation_groups,
};

/// The numbers of changes by class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReviewCounts([usize; ChangeClass::ALL.len()]);

impl ReviewCounts {
    fn new(changes: &[ReviewedChange]) -> Self {
        let mut counts = Self::default();
        for change in changes {
            if let Some(count) = counts.0.get_mut(change.class() as usize) {
                *count += 1;
            }
        }
        counts
    }

    /// Returns the number of changes of a class.
    pub fn count(&self, class: ChangeClass) -> usize {
        self.0.get(class as usize).copied().unwrap_or_default()
    }

    pub fn total(&self) -> usize {
        self.0.iter().sum()
    }
}

/// The review of one plan.
#[derive(Clone, Debug)]
pub struct Review {
    /// The name under which the plan is shown, such as its file name.
    pub title: Arc<str>,
    /// The version of the program that created the plan.
    pub terraform_version: Option<Arc<str>>,
    /// The time of the plan, RFC 3339.
    pub timestamp: Option<Arc<str>>,
    /// Whether an error ended planning early.
    pub errored: bool,
    /// Whether the plan covers the whole configuration.
    pub complete: bool,
    /// Whether an apply of the plan would change anything.
    pub applyable: bool,
    /// The changes in the order of the plan. Objects that do not change are omitted.
    pub changes: Vec<ReviewedChange>,
    /// The number of objects that do not change.
    pub unchanged: usize,
    pub counts: ReviewCounts,
    /// The changes by the way in which they change, the most severe and then the rarest one first.
    /// Each change is in exactly one group.
    pub groups: Vec<ChangeGroup>,
    /// The changes that were made outside of the configuration's runs. Changes that the plan does not
    /// depend on are included.
    pub drift: Vec<ReviewedChange>,
    /// The changes of the root module's outputs.
    pub outputs: Vec<ReviewedOutput>,
    /// The invocations of actions in the order of the plan.
    pub invocations: Vec<ReviewedInvocation>,
    /// The invocations by action and event. Each invocation is in exactly one group.
    pub invocation_groups: Vec<GroupedInvocations>,
    /// The checks that failed or could not be evaluated.
    pub findings: Vec<ReviewFinding>,
    pub checks: CheckCounts,
    /// The warnings of the run, if the caller provides them.
    pub warnings: Vec<ReviewWarning>,
    /// The accesses of plugins, if the caller provides them; denied ones first.
    pub accesses: Vec<PluginAccess>,
    /// The attributes of updates and replacements, the most frequent one first.
    pub frequent_attributes: Vec<AttributeFrequency>,
    pub dependencies: DependencyGraph,
    relevant: HashSet<(Arc<str>, Arc<str>)>,
    triggered: TriggeredInvocations,
}

impl Review {
    /// Creates a review from the JSON document of a plan. `title` is the name under which the plan is
    /// shown.
    ///
    /// # Errors
    /// Returns an error if the document is not a plan in a supported version of the format.
    pub fn from_json(title: &str, json: &[u8], facts: &ConfigurationFacts) -> Result<Self, ReviewError> {
        let contents = PlanContents::parse(json)?;
        let largest = contents.changes.len().max(contents.drift.len()).max(contents.invocations.len());
        if u32::try_from(largest).is_err() {
            return Err(ReviewError::TooManyChanges);
        }
        let references = References::new(contents.configuration, facts);
        let mut changes = contents.changes;
        for change in &mut changes {
            change.source = facts.positions.get(&*change.resource).cloned();
        }
        let dependencies = DependencyGraph::new(&changes, &references);
        let mut causes = Causes::new(&references, facts, &dependencies, &changes, &contents.drift);
        let found: Vec<_> = changes.iter().map(|change| causes.of_change(change)).collect();
        drop(causes);
        for (change, found) in changes.iter_mut().zip(found) {
            change.causes = found;
        }
        let mut invocations = contents.invocations;
        let triggered = TriggeredInvocations::new(&mut invocations, &changes);
        Ok(Self {
            title: title.into(),
            terraform_version: contents.terraform_version,
            timestamp: contents.timestamp,
            errored: contents.errored,
            complete: contents.complete,
            applyable: contents.applyable,
            unchanged: contents.unchanged,
            counts: ReviewCounts::new(&changes),
            groups: groups(&changes, &invocations, &triggered),
            drift: contents.drift,
            outputs: contents.outputs,
            invocation_groups: invocation_groups(&invocations),
            invocations,
            findings: contents.findings,
            checks: contents.checks,
            warnings: Vec::new(),
            accesses: Vec::new(),
            frequent_attributes: frequent_attributes(&changes),
            dependencies,
            relevant: contents.relevant.into_iter().collect(),
            triggered,
            changes,
        })
    }

    /// Sets the accesses of plugins.
    #[must_use]
    pub fn with_accesses(mut self, mut accesses: Vec<PluginAccess>) -> Self {
        accesses.sort_by(|one, other| other.is_denied.cmp(&one.is_denied).then_with(|| one.cmp(other)));
        self.accesses = accesses;
        self
    }

    /// Returns the accesses that policies denied.
    pub fn denied_accesses(&self) -> &[PluginAccess] {
        let count = self.accesses.partition_point(|access| access.is_denied);
        self.accesses.get(..count).unwrap_or_default()
    }

    /// Sets the warnings of the run that created the plan.
    #[must_use]
    pub fn with_warnings(mut self, warnings: Vec<ReviewWarning>) -> Self {
        self.warnings = warnings;
        self
    }

    pub fn change(&self, id: ChangeId) -> Option<&ReviewedChange> {
        self.changes.get(id.index())
    }

    /// Returns the changes of a group.
    pub fn members<'a>(
        &'a self,
        group: &'a ChangeGroup,
    ) -> impl Iterator<Item = (ChangeId, &'a ReviewedChange)> {
        group.members.iter().filter_map(|id| Some((*id, self.change(*id)?)))
    }

    /// Returns the members of a group by the values of their attributes, the rarest values first: a
    /// reviewer must not miss the member that differs from all others.
    pub fn variants(&self, group: &ChangeGroup) -> Vec<Vec<ChangeId>> {
        group.variants(&self.changes)
    }

    pub fn invocation(&self, id: InvocationId) -> Option<&ReviewedInvocation> {
        self.invocations.get(id.index())
    }

    /// Returns the invocations that a change triggers, in their order.
    pub fn invocations_by(&self, change: ChangeId) -> impl Iterator<Item = &ReviewedInvocation> {
        self.triggered.by(change).iter().filter_map(|id| self.invocation(*id))
    }

    /// Whether planned values depend on an attribute with drift.
    pub fn is_relevant_drift(&self, drift: &ReviewedChange) -> bool {
        drift.attributes.iter().any(|attribute| {
            let root: Arc<str> = attribute.path.root().into();
            self.relevant.contains(&(Arc::clone(&drift.address), root))
        })
    }

    /// Returns the numbers of objects that the plan adds, changes and destroys, as in the summary of a
    /// plan. A replacement counts as one added and one destroyed.
    pub fn totals(&self) -> (usize, usize, usize) {
        let counts = &self.counts;
        let replaced = counts.count(ChangeClass::Replace);
        let forgotten =
            |change: &&ReviewedChange| change.kind == ChangeKind::Replace(ReplaceOrder::ForgetFirst);
        let destroyed = replaced - self.changes.iter().filter(forgotten).count();
        (
            counts.count(ChangeClass::Create) + replaced,
            counts.count(ChangeClass::Update),
            counts.count(ChangeClass::Destroy) + destroyed,
        )
    }

    /// Returns the number of objects that the plan imports. Other changes of imported objects are
    /// included.
    pub fn imports(&self) -> usize {
        self.changes.iter().filter(|change| change.imported_id.is_some()).count()
    }

    /// Whether the plan changes neither objects nor outputs, and invokes no actions.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.outputs.is_empty() && self.invocations.is_empty()
    }
}

#[cfg(test)]
mod tests;
