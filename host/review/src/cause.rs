//! The causes of changes.

use std::collections::HashMap;
use std::sync::Arc;

use crate::change::{ChangeClass, ChangeId, ReviewedChange};
use crate::configuration::{Origin, References};
use crate::dependencies::DependencyGraph;
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
    /// Attributes have values from another resource that changes.
    Upstream {
        /// The address of the other resource in the configuration.
        resource: Arc<str>,
        /// The change of the instance with the same key or of the only instance, if there is one.
        change: Option<ChangeId>,
        /// The attributes of this object, without duplicates.
        attributes: Box<[Arc<str>]>,
    },
    /// Attributes, `count` or `for_each` have values from a variable of the root module.
    Variable {
        name: Arc<str>,
        /// The attributes of this object; empty for `count` and `for_each`.
        attributes: Box<[Arc<str>]>,
    },
}

/// The origins of values, by resource and attribute.
type AttributeOrigins = HashMap<(Arc<str>, Arc<str>), Arc<[Origin]>>;

/// Finds the causes of changes. The origins of each attribute are resolved once for all instances of a
/// resource.
pub(crate) struct Causes<'a> {
    references: &'a References,
    dependencies: &'a DependencyGraph,
    changes: &'a [ReviewedChange],
    /// Changes by resource and instance key.
    by_key: HashMap<(&'a str, &'a str), ChangeId>,
    drift: HashMap<&'a str, &'a ReviewedChange>,
    origins: AttributeOrigins,
    pool: TextPool,
}

impl<'a> Causes<'a> {
    pub(crate) fn new(
        references: &'a References,
        dependencies: &'a DependencyGraph,
        changes: &'a [ReviewedChange],
        drift: &'a [ReviewedChange],
    ) -> Self {
        let drift = drift.iter().map(|change| (&*change.address, change)).collect();
        let mut by_key = HashMap::new();
        for (change, index) in changes.iter().zip(0..) {
            let key = instance_key(change);
            if !key.is_empty() {
                by_key.insert((&*change.resource, key), ChangeId(index));
            }
        }
        let origins = HashMap::new();
        Self { references, dependencies, changes, by_key, drift, origins, pool: TextPool::default() }
    }

    /// Returns the causes of a change, the most specific one first.
    pub(crate) fn of_change(&mut self, change: &ReviewedChange) -> Box<[ReviewCause]> {
        let mut causes = Vec::new();
        self.add_drift(change, &mut causes);
        let mut upstream: Vec<(Arc<str>, Vec<Arc<str>>)> = Vec::new();
        let mut variables: Vec<(Arc<str>, Vec<Arc<str>>)> = Vec::new();
        let class = change.class();
        if matches!(class, ChangeClass::Replace | ChangeClass::Update | ChangeClass::Read) {
            let roots = self.changed_roots(change);
            for root in roots {
                for origin in self.attribute_origins(&change.resource, &root).iter() {
                    match origin {
                        Origin::Variable(name) => add(&mut variables, name, &root),
                        Origin::Resource { resource, attribute } => {
                            if *resource != change.resource
                                && self.changes_attribute(resource, attribute.as_deref())
                            {
                                add(&mut upstream, resource, &root);
                            }
                        }
                    }
                }
            }
        }
        if class == ChangeClass::Destroy
            && let Some(resource) = self.references.resource(&change.resource)
        {
            for origin in self.references.repetition_origins(resource) {
                if let Origin::Variable(name) = origin {
                    variables.push((name, Vec::new()));
                }
            }
        }
        causes.extend(upstream.into_iter().map(|(resource, attributes)| ReviewCause::Upstream {
            change: self.related(change, &resource),
            resource,
            attributes: attributes.into(),
        }));
        causes.extend(
            variables
                .into_iter()
                .map(|(name, attributes)| ReviewCause::Variable { name, attributes: attributes.into() }),
        );
        causes.into()
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

    /// Whether any instance of a resource changes in a way that affects an attribute. Only the first
    /// instances are considered, because instances of one resource rarely differ.
    fn changes_attribute(&self, resource: &str, attribute: Option<&str>) -> bool {
        let Some(node) = self.dependencies.find(resource).and_then(|id| self.dependencies.node(id)) else {
            return false;
        };
        node.changes.iter().take(MAX_ATTRIBUTES).filter_map(|id| self.changes.get(id.index())).any(|change| {
            match (change.class(), attribute) {
                (ChangeClass::Move | ChangeClass::Import | ChangeClass::Forget, _) => false,
                (_, None) => true,
                (_, Some(name)) => change.attributes.iter().any(|changed| {
                    changed.path.root() == name
                        // A created object has no values before; only unknown values cause changes.
                        && (change.class() != ChangeClass::Create
                            || changed.after == Some(ReviewedValue::Unknown))
                }),
            }
        })
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
