//! The causes of changes.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::change::{ChangeClass, ChangeId, ReviewedChange};
use crate::configuration::{ConfigurationFacts, Origin, References, ResourceReferences, SourcePosition};
use crate::dependencies::{DependencyGraph, modules_of};
use crate::text_pool::TextPool;
use crate::value::{AttributePath, ReviewedValue};

/// Maximum number of attributes that a cause lists.
const MAX_ATTRIBUTES: usize = 16;

/// The reason for an action that the plan states.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PlannedReason {
    Tainted,
    /// An attribute cannot be changed in place.
    CannotUpdate,
    /// The user requested the replacement with `-replace`.
    Requested,
    /// `replace_triggered_by` requires the replacement.
    Triggered,
    NotInConfiguration,
    ModuleNotInConfiguration,
    /// `count` or `for_each` was added, removed, or replaced by the other one.
    WrongRepetition,
    /// The index is not less than `count`.
    CountIndex,
    /// The key is not in `for_each`.
    EachKey,
    /// The target of a `moved` block is not in the configuration.
    NoMoveTarget,
    /// The configuration of the data source is not known yet.
    ConfigurationUnknown,
    /// The data source depends on an object with a pending change.
    DependencyPending,
    /// The data source is nested in a `check` block.
    NestedInCheck,
    /// A reason that this version does not know.
    Other(Arc<str>),
}

impl PlannedReason {
    pub(crate) fn from_name(name: &str, pool: &mut TextPool) -> Self {
        match name {
            "replace_because_tainted" => Self::Tainted,
            "replace_because_cannot_update" => Self::CannotUpdate,
            "replace_by_request" => Self::Requested,
            "replace_by_triggers" => Self::Triggered,
            "delete_because_no_resource_config" => Self::NotInConfiguration,
            "delete_because_no_module" => Self::ModuleNotInConfiguration,
            "delete_because_wrong_repetition" => Self::WrongRepetition,
            "delete_because_count_index" => Self::CountIndex,
            "delete_because_each_key" => Self::EachKey,
            "delete_because_no_move_target" => Self::NoMoveTarget,
            "read_because_config_unknown" => Self::ConfigurationUnknown,
            "read_because_dependency_pending" => Self::DependencyPending,
            "read_because_check_nested" => Self::NestedInCheck,
            other => Self::Other(pool.text(other)),
        }
    }

    /// Returns the reason as a clause: `it is tainted`; `None` if this version does not know the reason.
    pub fn clause(&self) -> Option<&'static str> {
        Some(match self {
            Self::Tainted => "it is tainted",
            Self::CannotUpdate => "an attribute cannot be changed in place",
            Self::Requested => "-replace requests it",
            Self::Triggered => "replace_triggered_by requires it",
            Self::NotInConfiguration => "the resource is not in the configuration",
            Self::ModuleNotInConfiguration => "the module is not in the configuration",
            Self::WrongRepetition => "count or for_each was added or removed",
            Self::CountIndex => "the index is not less than count",
            Self::EachKey => "the key is not in for_each",
            Self::NoMoveTarget => "the target of a moved block is not in the configuration",
            Self::ConfigurationUnknown => "its configuration is known only after the apply",
            Self::DependencyPending => "it depends on an object with a pending change",
            Self::NestedInCheck => "its check block is evaluated after the apply",
            Self::Other(_) => return None,
        })
    }

    /// Returns the reason as a clause, or the name of a reason that this version does not know.
    pub fn description(&self) -> &str {
        match self {
            Self::Other(name) => name,
            known => known.clause().unwrap_or_default(),
        }
    }
}

/// A cause of a change.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ReviewCause {
    /// The object was changed outside of the configuration's runs.
    Drift {
        /// The attributes with drift; empty if the object was destroyed.
        attributes: Box<[AttributePath]>,
    },
    /// The object refers to another resource that changes, or to a module with such resources.
    Upstream {
        /// The address of the other resource or of the module in the configuration.
        resource: Arc<str>,
        /// The change of the instance with the same key or of the only instance, if there is one.
        change: Option<ChangeId>,
        through: ReferencePlace,
    },
    /// The object refers to a variable of the root module.
    Variable {
        name: Arc<str>,
        /// The variable's block. JSON documents contain no positions.
        source: Option<SourcePosition>,
        through: ReferencePlace,
    },
}

impl ReviewCause {
    /// Returns the parts that are equal in similar causes: all except the change of the other object.
    pub(crate) fn similarity(&self) -> (Option<(&Arc<str>, &ReferencePlace)>, Option<&Self>) {
        match self {
            Self::Upstream { resource, through, change: _ } => (Some((resource, through)), None),
            other => (None, Some(other)),
        }
    }
}

/// The part of a resource's block that contains a reference.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ReferencePlace {
    /// The attributes, without duplicates.
    Attributes(Box<[Arc<str>]>),
    /// `count` or `for_each`, of the resource or of a call of its module.
    Repetition,
    /// `depends_on`, of the resource or of a call of its module.
    DependsOn,
    /// `replace_triggered_by`.
    Trigger,
}

/// The origins of values, by resource and attribute.
type AttributeOrigins = HashMap<(Arc<str>, Arc<str>), Arc<[Origin]>>;

/// Finds the causes of changes. The origins of each attribute are resolved once for all instances of a
/// resource.
pub(crate) struct Causes<'a> {
    references: &'a References,
    facts: &'a ConfigurationFacts,
    dependencies: &'a DependencyGraph,
    /// Changes by resource and instance key.
    by_key: HashMap<(&'a str, &'a str), ChangeId>,
    drift: HashMap<&'a str, &'a ReviewedChange>,
    /// The resources and modules with changes that can cause others.
    changing: HashSet<&'a str>,
    /// The attributes whose changes can cause others, by their resources.
    changing_attributes: HashSet<(&'a str, &'a str)>,
    origins: AttributeOrigins,
    pool: TextPool,
}

impl<'a> Causes<'a> {
    pub(crate) fn new(
        references: &'a References,
        facts: &'a ConfigurationFacts,
        dependencies: &'a DependencyGraph,
        changes: &'a [ReviewedChange],
        drift: &'a [ReviewedChange],
    ) -> Self {
        let mut causes = Self {
            references,
            facts,
            dependencies,
            by_key: HashMap::new(),
            drift: drift.iter().map(|change| (&*change.address, change)).collect(),
            changing: HashSet::new(),
            changing_attributes: HashSet::new(),
            origins: HashMap::new(),
            pool: TextPool::default(),
        };
        for (change, index) in changes.iter().zip(0..) {
            let key = instance_key(change);
            if !key.is_empty() {
                causes.by_key.insert((&*change.resource, key), ChangeId(index));
            }
            let class = change.class();
            if matches!(class, ChangeClass::Move | ChangeClass::Import | ChangeClass::Forget) {
                continue;
            }
            if causes.changing.insert(&change.resource) {
                causes.changing.extend(modules_of(&change.resource));
            }
            // A created object has no values before; only unknown values cause changes.
            let changed = change.attributes.iter().filter(|changed| {
                class != ChangeClass::Create || changed.after == Some(ReviewedValue::Unknown)
            });
            let roots = changed.map(|changed| (&*change.resource, changed.path.root()));
            causes.changing_attributes.extend(roots);
        }
        causes
    }

    /// Returns the causes of a change, the most specific one first.
    pub(crate) fn of_change(&mut self, change: &ReviewedChange) -> Box<[ReviewCause]> {
        let mut causes = Vec::new();
        self.add_drift(change, &mut causes);
        let mut upstream: Vec<(Arc<str>, Vec<Arc<str>>)> = Vec::new();
        let mut variables: Vec<(Arc<str>, Vec<Arc<str>>)> = Vec::new();
        let class = change.class();
        if matches!(class, ChangeClass::Replace | ChangeClass::Update | ChangeClass::Read) {
            for root in self.changed_roots(change) {
                for origin in self.attribute_origins(&change.resource, &root).iter() {
                    match origin {
                        Origin::Variable(name) => add(&mut variables, name, &root),
                        origin => {
                            if let Some(other) = self.changing_origin(change, origin) {
                                add(&mut upstream, other, &root);
                            }
                        }
                    }
                }
            }
        }
        causes.extend(upstream.into_iter().map(|(resource, attributes)| ReviewCause::Upstream {
            change: self.related(change, &resource),
            resource,
            through: ReferencePlace::Attributes(attributes.into()),
        }));
        causes.extend(variables.into_iter().map(|(name, attributes)| ReviewCause::Variable {
            source: self.source_of(&name),
            name,
            through: ReferencePlace::Attributes(attributes.into()),
        }));
        if let Some(resource) = self.references.resource(&change.resource) {
            let is_pending = change.reason == Some(PlannedReason::DependencyPending);
            let is_triggered = change.reason == Some(PlannedReason::Triggered);
            for (place, is_cause) in [
                (ReferencePlace::Trigger, is_triggered),
                (ReferencePlace::Repetition, class == ChangeClass::Destroy),
                (ReferencePlace::DependsOn, class == ChangeClass::Read && is_pending),
            ] {
                if is_cause {
                    self.add_references(change, resource, place, &mut causes);
                }
            }
        }
        causes.into()
    }

    /// Adds the references in a part of a resource's block.
    fn add_references(
        &self,
        change: &ReviewedChange,
        resource: &ResourceReferences,
        place: ReferencePlace,
        causes: &mut Vec<ReviewCause>,
    ) {
        let origins = match place {
            ReferencePlace::Attributes(_) => Vec::new(),
            ReferencePlace::Repetition => self.references.repetition_origins(resource),
            ReferencePlace::DependsOn => self.references.ordering_origins(resource),
            ReferencePlace::Trigger => self.references.trigger_origins(resource),
        };
        for origin in origins.iter().take(MAX_ATTRIBUTES) {
            if let Origin::Variable(name) = origin {
                causes.push(ReviewCause::Variable {
                    name: Arc::clone(name),
                    source: self.source_of(name),
                    through: place.clone(),
                });
            } else if let Some(other) = self.changing_origin(change, origin) {
                causes.push(ReviewCause::Upstream {
                    resource: Arc::clone(other),
                    change: self.related(change, other),
                    through: place.clone(),
                });
            }
        }
    }

    /// Returns the address of the resource or the module of an origin that changes.
    fn changing_origin<'b>(&self, change: &ReviewedChange, origin: &'b Origin) -> Option<&'b Arc<str>> {
        match origin {
            Origin::Variable(_) => None,
            Origin::Module(module) => self.changing.contains(&**module).then_some(module),
            Origin::Resource { resource, attribute } => {
                let changes = match attribute {
                    None => self.changing.contains(&**resource),
                    Some(name) => self.changing_attributes.contains(&(&**resource, &**name)),
                };
                (changes && *resource != change.resource).then_some(resource)
            }
        }
    }

    fn source_of(&self, variable: &str) -> Option<SourcePosition> {
        self.facts.positions.get(&format!("var.{variable}")).cloned()
    }

    fn add_drift(&self, change: &ReviewedChange, causes: &mut Vec<ReviewCause>) {
        let Some(drift) = self.drift.get(&*change.address) else { return };
        match (drift.class(), change.class()) {
            (ChangeClass::Destroy, ChangeClass::Create) => {
                causes.push(ReviewCause::Drift { attributes: Box::default() });
            }
            (ChangeClass::Update, ChangeClass::Update | ChangeClass::Replace) => {
                let is_changed = |path: &AttributePath| {
                    change.attributes.iter().any(|attribute| attribute.path.root() == path.root())
                };
                let attributes: Box<[AttributePath]> = drift
                    .attributes
                    .iter()
                    .map(|attribute| &attribute.path)
                    .filter(|path| is_changed(path))
                    .take(MAX_ATTRIBUTES)
                    .cloned()
                    .collect();
                if !attributes.is_empty() {
                    causes.push(ReviewCause::Drift { attributes });
                }
            }
            _ => {}
        }
    }

    /// Returns the attributes whose expressions can cause the change. For a replacement, these are the
    /// attributes that force it, if the plan names them.
    fn changed_roots(&mut self, change: &ReviewedChange) -> Vec<Arc<str>> {
        let is_forced = !change.forced_by.is_empty();
        let mut roots: Vec<Arc<str>> = Vec::new();
        let forced = change.forced_by.iter().map(AttributePath::root);
        let changed = change.attributes.iter().map(|attribute| attribute.path.root()).filter(|_| !is_forced);
        for root in forced.chain(changed) {
            if roots.last().is_none_or(|last| **last != *root) && !roots.iter().any(|known| **known == *root)
            {
                roots.push(self.pool.text(root));
            }
        }
        roots
    }

    fn attribute_origins(&mut self, resource: &Arc<str>, attribute: &Arc<str>) -> Arc<[Origin]> {
        let references = self.references;
        let found = self.origins.entry((Arc::clone(resource), Arc::clone(attribute))).or_insert_with(|| {
            let resource = references.resource(resource);
            resource
                .map(|resource| references.attribute_origins(resource, attribute))
                .unwrap_or_default()
                .into()
        });
        Arc::clone(found)
    }

    /// Returns the change of the other resource's instance with the same key, or of its only instance.
    fn related(&self, change: &ReviewedChange, other: &str) -> Option<ChangeId> {
        let node = self.dependencies.find(other).and_then(|id| self.dependencies.node(id))?;
        if let [only] = node.changes.as_slice() {
            return Some(*only);
        }
        self.by_key.get(&(other, instance_key(change))).copied()
    }
}

/// Returns the instance key of a change with its brackets; empty if there is none.
fn instance_key(change: &ReviewedChange) -> &str {
    let address = &*change.address;
    if !address.ends_with(']') {
        return "";
    }
    // The name of the resource precedes the key, and contains no brackets.
    let name = change.resource.rsplit('.').next().unwrap_or_default();
    let after_module = address.get(change.module.len()..).unwrap_or_default();
    let start = after_module.find(&*format!(".{name}[")).map(|at| at + name.len() + 1);
    start.and_then(|start| after_module.get(start..)).unwrap_or_default()
}

fn add(causes: &mut Vec<(Arc<str>, Vec<Arc<str>>)>, name: &Arc<str>, attribute: &Arc<str>) {
    let attributes = match causes.iter_mut().find(|(known, _)| known == name) {
        Some((_, attributes)) => attributes,
        None => {
            causes.push((Arc::clone(name), Vec::new()));
            match causes.last_mut() {
                Some((_, attributes)) => attributes,
                None => return,
            }
        }
    };
    if attributes.len() < MAX_ATTRIBUTES && !attributes.contains(attribute) {
        attributes.push(Arc::clone(attribute));
    }
}
