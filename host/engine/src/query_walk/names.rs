//! The names of generated resources: the name of the list, followed by numbers.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;

use wardian_address::InstanceKey;
use wardian_config::Resource;
use wardian_value::Str;

use crate::query::ListInstance;

/// The prefixes of names, each of which only one query uses.
pub(super) struct ResourceNames {
    /// The type of a resource, and its name without the number at the end.
    used: HashSet<(Str, String)>,
    known: BTreeMap<ListInstance, String>,
}

impl ResourceNames {
    /// Reserves the names of declared resources.
    pub(super) fn new<'a>(declared: impl Iterator<Item = &'a Resource>) -> Self {
        let prefix = |resource: &Resource| {
            let (prefix, number) = resource.name.rsplit_once('_')?;
            let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then(|| (resource.type_name.clone(), prefix.to_owned()))
        };
        Self { used: declared.filter_map(prefix).collect(), known: BTreeMap::new() }
    }

    /// Returns the prefix of the names for the objects of a query. `keys` contains the keys of all
    /// queries of the list block. Appending `_` and a number yields a unique name.
    pub(super) fn prefix(&mut self, address: &ListInstance, keys: &[InstanceKey]) -> String {
        if let Some(known) = self.known.get(address) {
            return known.clone();
        }
        let mut prefix = address.name.to_string();
        if !address.key.is_none()
            && let Some(position) = keys.iter().position(|key| *key == address.key)
        {
            let _ = write!(prefix, "_{position}");
        }
        while !self.used.insert((address.type_name.clone(), prefix.clone())) {
            prefix.push_str("_list");
        }
        self.known.insert(address.clone(), prefix.clone());
        prefix
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_do_not_share_prefixes() {
        let mut names = ResourceNames::new(std::iter::empty());
        let list =
            |name: &str, key: InstanceKey| ListInstance { type_name: "t".into(), name: name.into(), key };
        let keys = [InstanceKey::String("x".into()), InstanceKey::String("y".into())];
        assert_eq!(names.prefix(&list("a", keys[1].clone()), &keys), "a_1");
        assert_eq!(names.prefix(&list("a_1", InstanceKey::None), &[InstanceKey::None]), "a_1_list");
        assert_eq!(names.prefix(&list("a", keys[1].clone()), &keys), "a_1");
    }
}
