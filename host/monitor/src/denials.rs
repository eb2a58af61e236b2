//! Collects the denials of a run for the report at its end.

use std::collections::BTreeMap;

use wardian_policy::Remedy;

use crate::record::Record;

/// Maximum number of different denials, since a plugin may try millions of names.
const MAX_DENIALS: usize = 1_000;

/// A denied access, and the number of times that it was denied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeniedUse {
    /// The first record.
    pub record: Record,
    /// The change of a policy that would allow the access, if there is one.
    pub remedy: Option<Remedy>,
    pub count: u64,
}

#[derive(Default)]
pub(crate) struct Denials {
    by_use: BTreeMap<Key, DeniedUse>,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    plugin: String,
    resource: Option<String>,
    capability: crate::record::Capability,
    target: String,
    access: Option<String>,
    arguments: Option<Vec<String>>,
}

impl Denials {
    pub(crate) fn add(&mut self, record: &Record, remedy: impl FnOnce() -> Option<Remedy>) {
        let key = Key {
            plugin: record.plugin.clone(),
            resource: record.resource.clone(),
            capability: record.capability,
            target: record.target.clone(),
            access: record.access.clone(),
            arguments: record.arguments.clone(),
        };
        let is_full = self.by_use.len() >= MAX_DENIALS;
        match self.by_use.get_mut(&key) {
            Some(known) => known.count += 1,
            None if is_full => {}
            None => {
                let new = DeniedUse { record: record.clone(), remedy: remedy(), count: 1 };
                self.by_use.insert(key, new);
            }
        }
    }

    /// Returns the denials, sorted by plugin, resource and target.
    pub(crate) fn all(&self) -> Vec<DeniedUse> {
        self.by_use.values().cloned().collect()
    }
}
