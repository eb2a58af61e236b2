//! Orders move statements.
//!
//! A statement waits for another statement
//!
//! - if it moves objects away from the other statement's target, which completes chains of moves;
//! - if its addresses are inside a module to which the other statement moves objects;
//! - if it moves a module, and the other statement's addresses are inside that module before the
//!   move.
//!
//! A move that changes only a module's keys keeps the module's name. In this case, statements
//! inside the module that move its own objects apply after the module's move, which does not wait
//! for them.
//!
//! Statements with matching addresses are found with an index: first by names, then by the keys
//! that are present in both addresses.

use std::collections::HashMap;

use wardian_address::InstanceKey;
use wardian_value::Str;

use super::endpoint::{Endpoint, Keys, ResourceName};
use super::statement::Statement;
use crate::graph::{self, Graph, NodeId};

/// Returns the statements, each after the statements that it waits for.
///
/// # Errors
/// Returns the statements of each cycle.
pub fn order(statements: &[Statement]) -> Result<Vec<usize>, Vec<Vec<usize>>> {
    let mut graph = Graph::<usize>::default();
    let ids: Vec<NodeId> = (0..statements.len()).map(|number| graph.add_node(number)).collect();
    let mut arrivals = Index::default();
    let mut modules_from = Index::default();
    let mut modules_to = Index::default();
    for (number, statement) in statements.iter().enumerate() {
        arrivals.insert(&statement.to, number);
        if statement.from.resource.is_none() {
            modules_from.insert(&statement.from, number);
            modules_to.insert(&statement.to, number);
        }
    }
    for (number, statement) in statements.iter().enumerate() {
        for other in arrivals.meeting(&Address::from_endpoint(&statement.from)) {
            graph::add_dependency(&mut graph, ids[number], ids[other]);
        }
        for around in [&statement.from, &statement.to].into_iter().flat_map(enclosing_modules) {
            for other in modules_to.meeting(&around) {
                if waits_for_nested(statement, &statements[other]) {
                    graph::add_dependency(&mut graph, ids[number], ids[other]);
                }
            }
            for other in modules_from.meeting(&around) {
                if waits_for_nested(&statements[other], statement) {
                    graph::add_dependency(&mut graph, ids[other], ids[number]);
                }
            }
        }
    }
    let numbers = |nodes: Vec<NodeId>| nodes.into_iter().map(|node| graph[node]).collect();
    graph::order(&graph).map(numbers).map_err(|cycles| cycles.into_iter().map(numbers).collect())
}

fn waits_for_nested(waiting: &Statement, other: &Statement) -> bool {
    waiting.depth() >= other.depth() || !waiting.changes_module_keys_only()
}

/// Returns the modules that enclose an address.
fn enclosing_modules(endpoint: &Endpoint) -> impl Iterator<Item = Address<'_>> {
    let deepest =
        endpoint.modules.len() - usize::from(endpoint.resource.is_none() && !endpoint.modules.is_empty());
    (1..=deepest).map(|depth| {
        let steps = &endpoint.modules[..depth];
        Address {
            names: steps.iter().map(|step| &step.name).collect(),
            resource: None,
            keys: steps.iter().map(|step| &step.keys).collect(),
        }
    })
}

/// An address, split into components that must be equal and components that must be compatible.
struct Address<'a> {
    names: Vec<&'a Str>,
    resource: Option<&'a ResourceName>,
    keys: Vec<&'a Keys>,
}

impl<'a> Address<'a> {
    fn from_endpoint(endpoint: &'a Endpoint) -> Self {
        let keys = endpoint.modules.iter().map(|step| &step.keys);
        Self {
            names: endpoint.modules.iter().map(|step| &step.name).collect(),
            resource: endpoint.resource.as_ref().map(|(name, _)| name),
            keys: keys.chain(endpoint.resource.as_ref().map(|(_, keys)| keys)).collect(),
        }
    }

    fn shape(&self) -> Shape {
        self.keys.iter().map(|keys| matches!(keys, Keys::One(_))).collect()
    }

    /// Returns the keys at the positions in `mask`.
    fn keys_at(&self, mask: &[bool]) -> Vec<&'a InstanceKey> {
        let at = |(keys, is_wanted): (&&'a Keys, &bool)| match keys {
            Keys::One(key) if *is_wanted => Some(key),
            _ => None,
        };
        self.keys.iter().zip(mask).filter_map(at).collect()
    }
}

/// The positions at which an address has a key.
type Shape = Vec<bool>;
type ByKeys<'a> = HashMap<Vec<&'a InstanceKey>, Vec<usize>>;
type Name<'a> = (Vec<&'a Str>, Option<&'a ResourceName>);

/// Statements, indexed by one of their two ends.
#[derive(Default)]
struct Index<'a> {
    by_name: HashMap<Name<'a>, SameName<'a>>,
}

/// Ends with the same names.
#[derive(Default)]
struct SameName<'a> {
    by_shape: HashMap<Shape, Vec<(usize, Vec<&'a Keys>)>>,
    /// The statements by their keys, for each pair of a shape and the positions that are compared.
    compared: HashMap<(Shape, Shape), ByKeys<'a>>,
}

impl<'a> Index<'a> {
    fn insert(&mut self, endpoint: &'a Endpoint, statement: usize) {
        let address = Address::from_endpoint(endpoint);
        let shape = address.shape();
        let same_name = self.by_name.entry((address.names, address.resource)).or_default();
        same_name.by_shape.entry(shape).or_default().push((statement, address.keys));
    }

    /// Returns the statements whose end may match the same objects as the address.
    fn meeting(&mut self, address: &Address<'a>) -> Vec<usize> {
        let mut found = Vec::new();
        let Some(same_name) = self.by_name.get_mut(&(address.names.clone(), address.resource)) else {
            return found;
        };
        let shape = address.shape();
        let SameName { by_shape, compared } = same_name;
        for (other, ends) in by_shape {
            let mask: Shape = shape.iter().zip(other).map(|(a, b)| *a && *b).collect();
            let by_keys = compared.entry((other.clone(), mask.clone())).or_insert_with(|| {
                let mut by_keys = ByKeys::new();
                for (statement, keys) in ends.iter() {
                    let end = Address { names: Vec::new(), resource: None, keys: keys.clone() };
                    by_keys.entry(end.keys_at(&mask)).or_default().push(*statement);
                }
                by_keys
            });
            found.extend(by_keys.get(&address.keys_at(&mask)).into_iter().flatten());
        }
        found.sort_unstable();
        found
    }
}
