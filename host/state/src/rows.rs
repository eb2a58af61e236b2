//! The rows of a state: one for each instance, each output and the results of each block's
//! conditions. A storage that keeps rows separately can lock and write those of different objects at
//! the same time.
//!
//! The text of a row is the one that the state file has for it, without white space, so the state
//! file that consists of the rows is the same byte for byte.

use std::collections::BTreeMap;
use std::sync::Arc;

use rayon::prelude::*;
use wardian_address::{AbsoluteResourceAddress, ResourceInstanceAddress};
use wardian_value::Str;

use crate::checks::CheckResult;
use crate::error::StateProblem;
use crate::format::{
    KnownResources, Parts, check_writer, decode_check_text, decode_instance_with, decode_output_text,
    encode_check, encode_instance, encode_output,
};
use crate::model::{Instance, OutputValue, ResourceState, State};

/// The kind of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RowKind {
    /// All objects of one instance.
    Instance,
    /// An output of the root module.
    Output,
    /// The results of the conditions of one block.
    Check,
}

impl RowKind {
    /// Returns the name of the kind in a storage.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Instance => "instance",
            Self::Output => "output",
            Self::Check => "check",
        }
    }

    /// Returns the kind with a name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Instance, Self::Output, Self::Check].into_iter().find(|kind| kind.as_str() == name)
    }
}

/// Identifies a row of a state.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowKey {
    pub kind: RowKind,
    /// The address of the instance or of the block with conditions, or the name of the output.
    pub name: String,
    /// The address of the resource in the configuration, which has rows in all instances of its module; for
    /// other kinds, the same as `name`.
    pub resource: String,
}

impl RowKey {
    /// Returns the key of an instance's row.
    pub fn for_instance(address: &ResourceInstanceAddress) -> Self {
        Self { kind: RowKind::Instance, name: address.to_string(), resource: address.resource.to_string() }
    }

    /// Returns the key of an output's row.
    pub fn for_output(name: &str) -> Self {
        Self { kind: RowKind::Output, name: name.to_owned(), resource: name.to_owned() }
    }

    fn for_check(result: &CheckResult) -> Self {
        let name = result.config_address.to_string();
        Self { kind: RowKind::Check, resource: name.clone(), name }
    }
}

impl std::fmt::Display for RowKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.kind {
            RowKind::Instance => f.write_str(&self.name),
            RowKind::Output => write!(f, "output.{}", self.name),
            RowKind::Check => write!(f, "the checks of {}", self.name),
        }
    }
}

/// A row of a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateRow {
    pub key: RowKey,
    /// The provider configuration of an instance; empty for other kinds.
    pub provider: String,
    /// The text of the state file for the row, without white space.
    pub text: String,
}

/// All rows of a state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateRows {
    pub lineage: String,
    pub serial: u64,
    /// The version of Wardian that wrote the state.
    pub terraform_version: String,
    pub rows: Vec<StateRow>,
}

/// The changes between two states.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowChanges {
    /// The rows that are added or replaced.
    pub set: Vec<StateRow>,
    pub removed: Vec<RowKey>,
}

impl StateRow {
    /// Returns the row of an instance that has objects.
    pub fn for_instance(address: &ResourceInstanceAddress, provider: &str, instance: &Instance) -> Self {
        let mut text = String::new();
        let mut objects = Parts::array(&mut text);
        encode_instance(&mut objects, &address.key, instance);
        objects.end();
        Self { key: RowKey::for_instance(address), provider: provider.to_owned(), text }
    }

    fn for_output(name: &str, output: &OutputValue) -> Result<Self, StateProblem> {
        let mut text = String::new();
        encode_output(&mut text, name, output)?;
        Ok(Self { key: RowKey::for_output(name), provider: String::new(), text })
    }

    fn for_check(result: &CheckResult) -> Self {
        let mut text = String::new();
        encode_check(&mut text, result);
        Self { key: RowKey::for_check(result), provider: String::new(), text }
    }
}

impl StateRows {
    /// Returns the state that consists of these rows. Cost: O(n log n) in the number of rows; objects
    /// are decoded on several threads.
    ///
    /// # Errors
    /// Returns an error if a row cannot be read.
    pub fn into_state(self) -> Result<State, StateProblem> {
        check_writer(&self.terraform_version)?;
        let decoded: Vec<Decoded> = self
            .rows
            .into_par_iter()
            .with_min_len(MIN_ROWS_PER_PART)
            .map_init(KnownResources::default, |known, row| Decoded::from_row(row, known))
            .collect::<Result<_, _>>()?;
        let mut resources: BTreeMap<AbsoluteResourceAddress, ResourceState> = BTreeMap::new();
        let mut state = State {
            lineage: self.lineage,
            serial: self.serial,
            terraform_version: self.terraform_version,
            ..State::default()
        };
        let mut checks: Vec<CheckResult> = Vec::new();
        for row in decoded {
            match row {
                Decoded::Instance { address, provider, instance } => {
                    let provider = provider.parse().map_err(|error| StateProblem::Address {
                        place: format!("resource {address}"),
                        error,
                    });
                    let provider = provider?;
                    let resource = resources
                        .entry(address.resource)
                        .or_insert_with(|| ResourceState { provider, instances: BTreeMap::new() });
                    resource.instances.insert(address.key, instance);
                }
                Decoded::Output { name, output } => {
                    state.outputs.insert(Str::new(&name), output);
                }
                Decoded::Check(result) => checks.push(result),
            }
        }
        checks.sort_by(|a, b| a.config_address.cmp(&b.config_address));
        state.check_results = (!checks.is_empty()).then_some(checks);
        for (address, resource) in resources {
            state.set_resource(address, resource);
        }
        Ok(state)
    }
}

/// The minimum number of rows that a thread decodes as one unit of work.
const MIN_ROWS_PER_PART: usize = 256;

/// A decoded row.
enum Decoded {
    Instance { address: ResourceInstanceAddress, provider: String, instance: Instance },
    Output { name: String, output: OutputValue },
    Check(CheckResult),
}

impl Decoded {
    fn from_row(row: StateRow, known: &mut KnownResources) -> Result<Self, StateProblem> {
        let StateRow { key, provider, text } = row;
        Ok(match key.kind {
            RowKind::Instance => {
                let address: ResourceInstanceAddress = key.name.parse().map_err(|error| {
                    StateProblem::Address { place: format!("resource {}", key.name), error }
                })?;
                let instance = decode_instance_with(&text, &key.name, known)?;
                Self::Instance { address, provider, instance }
            }
            RowKind::Output => {
                let output = decode_output_text(&key.name, &text)?;
                Self::Output { name: key.name, output }
            }
            RowKind::Check => Self::Check(decode_check_text(&text)?),
        })
    }
}

impl RowChanges {
    /// Returns the changes that lead from one state to another. Objects that both states share are not
    /// compared. Cost: O(n) in the number of instances, and the encoding of those that differ.
    ///
    /// # Errors
    /// Returns an error if an output cannot be stored.
    pub fn between(before: &State, after: &State) -> Result<Self, StateProblem> {
        let mut changes = Self::default();
        if !Arc::ptr_eq(&before.resources, &after.resources) {
            changes.add_resources(before, after);
        }
        for (name, output) in &after.outputs {
            if before.outputs.get(name) != Some(output) {
                changes.set.push(StateRow::for_output(name, output)?);
            }
        }
        let removed = before.outputs.keys().filter(|name| !after.outputs.contains_key(*name));
        changes.removed.extend(removed.map(|name| RowKey::for_output(name)));
        let of = |state: &State| -> BTreeMap<Str, CheckResult> {
            let results = state.check_results.iter().flatten();
            results.map(|result| (result.config_address.clone(), result.clone())).collect()
        };
        let (old, new) = (of(before), of(after));
        changes.set.extend(
            new.iter()
                .filter(|(address, result)| old.get(*address) != Some(result))
                .map(|(_, result)| StateRow::for_check(result)),
        );
        let removed = old.iter().filter(|(address, _)| !new.contains_key(*address));
        changes.removed.extend(removed.map(|(_, result)| RowKey::for_check(result)));
        Ok(changes)
    }

    pub fn is_empty(&self) -> bool {
        self.set.is_empty() && self.removed.is_empty()
    }

    /// Returns the keys of all rows that change.
    pub fn keys(&self) -> impl Iterator<Item = &RowKey> {
        self.set.iter().map(|row| &row.key).chain(&self.removed)
    }

    fn add_resources(&mut self, before: &State, after: &State) {
        for (address, new) in after.resources.iter() {
            let old = before.resources.get(address);
            if old.is_some_and(|old| Arc::ptr_eq(old, new)) {
                continue;
            }
            let same_provider = old.is_some_and(|old| old.provider == new.provider);
            let provider = new.provider.to_string();
            for (key, instance) in &new.instances {
                let earlier = old.filter(|_| same_provider).and_then(|old| old.instances.get(key));
                if earlier.is_none_or(|earlier| !earlier.is_same(instance)) {
                    let address = address.instance(key.clone());
                    self.set.push(StateRow::for_instance(&address, &provider, instance));
                }
            }
        }
        for (address, old) in before.resources.iter() {
            let new = after.resources.get(address);
            if new.is_some_and(|new| Arc::ptr_eq(old, new)) {
                continue;
            }
            let gone =
                old.instances.keys().filter(|key| new.is_none_or(|new| !new.instances.contains_key(key)));
            self.removed.extend(gone.map(|key| RowKey::for_instance(&address.instance(key.clone()))));
        }
    }
}

impl Instance {
    /// Returns whether both instances have the same objects. Shared objects are not compared.
    fn is_same(&self, other: &Self) -> bool {
        let is_same = |a: &Arc<_>, b: &Arc<_>| Arc::ptr_eq(a, b) || a == b;
        let current = match (&self.current, &other.current) {
            (Some(a), Some(b)) => is_same(a, b),
            (None, None) => true,
            _ => false,
        };
        current
            && self.deposed.len() == other.deposed.len()
            && self.deposed.iter().zip(&other.deposed).all(|((a, x), (b, y))| a == b && is_same(x, y))
    }
}

#[cfg(test)]
mod tests {
    use wardian_value::Value;

    use super::*;
    use crate::checks::{CheckKind, CheckStatus};
    use crate::format::encode_state;
    use crate::model::Object;

    fn with(state: &State, address: &str, attributes: &str) -> State {
        let mut state = state.clone();
        let provider = "provider[\"registry.terraform.io/hashicorp/random\"]".parse().unwrap();
        let instance = Instance::with_current(Object::new(0, attributes));
        state.set_instance(&address.parse().unwrap(), &provider, instance);
        state
    }

    /// Returns the rows of a state, from all changes since an empty state.
    fn rows(state: &State) -> StateRows {
        StateRows {
            lineage: state.lineage.clone(),
            serial: state.serial,
            terraform_version: state.terraform_version.clone(),
            rows: RowChanges::between(&State::default(), state).unwrap().set,
        }
    }

    fn sample() -> State {
        let mut state =
            State { terraform_version: "1.11.4".to_owned(), serial: 3, ..State::with_new_lineage() };
        state = with(&state, "random_id.a[0]", "{\"id\":\"x\"}");
        state = with(&state, "module.m[\"k\"].random_id.b[\"<&\"]", "{\"id\":\"y\",\"n\":1.50}");
        let mut deposed = state.instance(&"random_id.a[0]".parse().unwrap()).unwrap().clone();
        deposed.deposed.insert(Str::new("0a1b2c3d"), Arc::new(Object::new(1, "{}")));
        let provider = state.resources().next().unwrap().1.provider.clone();
        state.set_instance(&"random_id.a[0]".parse().unwrap(), &provider, deposed);
        let output = OutputValue { value: Value::string("secret"), sensitive: true };
        state.outputs.insert(Str::new("o"), output);
        let check = |address: &str, status| CheckResult {
            kind: CheckKind::Check,
            config_address: address.into(),
            status,
            objects: None,
        };
        state.check_results =
            Some(vec![check("check.a", CheckStatus::Pass), check("check.b", CheckStatus::Fail)]);
        state
    }

    #[test]
    fn rows_are_the_state_file_byte_for_byte() {
        let state = sample();
        let mut rows = rows(&state);
        rows.rows.reverse();
        let assembled = rows.into_state().unwrap();
        assert_eq!(encode_state(&assembled).unwrap(), encode_state(&state).unwrap());
    }

    #[test]
    fn changes_contain_only_rows_that_differ() {
        let before = sample();
        let mut after = with(&before, "random_id.a[1]", "{\"id\":\"z\"}");
        after.remove_instance(&"module.m[\"k\"].random_id.b[\"<&\"]".parse().unwrap());
        after.outputs.insert(Str::new("p"), OutputValue { value: Value::string("v"), sensitive: false });
        after.check_results.as_mut().unwrap().remove(0);
        after.check_results.as_mut().unwrap()[0].status = CheckStatus::Pass;
        let changes = RowChanges::between(&before, &after).unwrap();
        let set: Vec<String> = changes.set.iter().map(|row| row.key.to_string()).collect();
        assert_eq!(set, ["random_id.a[1]", "output.p", "the checks of check.b"]);
        let removed: Vec<String> = changes.removed.iter().map(ToString::to_string).collect();
        assert_eq!(removed, ["module.m[\"k\"].random_id.b[\"<&\"]", "the checks of check.a"]);
        assert!(RowChanges::between(&after, &after.clone()).unwrap().is_empty());
        // Content is compared if it is not shared.
        let copy = crate::format::decode_state(encode_state(&after).unwrap().as_bytes()).unwrap().unwrap();
        assert!(RowChanges::between(&after, &copy).unwrap().is_empty());
    }

    #[test]
    fn damaged_rows_are_errors() {
        let rows = rows(&sample());
        for position in 0..rows.rows.len() {
            for text in ["", "[", "{}", "[{\"attributes\":7}]"] {
                let mut damaged = rows.clone();
                text.clone_into(&mut damaged.rows[position].text);
                assert!(damaged.into_state().is_err(), "{}: {text}", rows.rows[position].key);
            }
        }
        let mut damaged = rows.clone();
        "a..b".clone_into(&mut damaged.rows[0].key.name);
        assert!(damaged.into_state().is_err());
    }
}
