//! The order in which moves are carried out.
//!
//! One statement waits for another one
//!
//! - where it takes on from where that one arrives: chains lead to their end;
//! - where it is about something in a module that the other one moves there;
//! - where it moves a module, and the other one is about something in it as long as it
//!   is still there.
//!
//! A module of which only the keys change has the same name before and after: what
//! stands in it about its own objects then holds afterwards, and the module does not
//! wait for that.
//!
//! Statements that are about the same are found by an index of their addresses: by
//! names first, then by the keys that both sides say.

use std::collections::HashMap;

use wardian_address::InstanceKey;
use wardian_value::Str;

use super::endpoint::{Endpoint, Keys, ResourceName};
use super::statement::Statement;
use crate::graph::Graph;

/// The statements, each after those that it waits for.
///
/// # Errors
/// Statements that wait for each other in a circle.
pub fn order(statements: &[Statement]) -> Result<Vec<usize>, Vec<usize>> {
    let mut graph = Graph::default();
    let ids: Vec<_> = statements.iter().map(|_| graph.add()).collect();
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
        for other in arrivals.meeting(&Address::of(&statement.from)) {
            graph.depend(ids[number], ids[other]);
        }
        for around in [&statement.from, &statement.to].into_iter().flat_map(enclosing_modules) {
            for other in modules_to.meeting(&around) {
                if waits_for_nested(statement, &statements[other]) {
                    graph.depend(ids[number], ids[other]);
                }
            }
            for other in modules_from.meeting(&around) {
                if waits_for_nested(&statements[other], statement) {
                    graph.depend(ids[other], ids[number]);
                }
            }
        }
    }
    let numbers =
        |nodes: Vec<crate::graph::NodeId>| nodes.into_iter().map(crate::graph::NodeId::index).collect();
    graph.order().map(numbers).map_err(numbers)
}

fn waits_for_nested(waiting: &Statement, other: &Statement) -> bool {
    waiting.depth() >= other.depth() || !waiting.changes_module_keys_only()
}

/// The modules that an address lies in.
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

/// An address, taken apart into what must be equal and what must go together.
struct Address<'a> {
    names: Vec<&'a Str>,
    resource: Option<&'a ResourceName>,
    keys: Vec<&'a Keys>,
}

impl<'a> Address<'a> {
    fn of(endpoint: &'a Endpoint) -> Self {
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

    /// The keys at the places where `mask` says so.
    fn keys_at(&self, mask: &[bool]) -> Vec<&'a InstanceKey> {
        let at = |(keys, is_wanted): (&&'a Keys, &bool)| match keys {
            Keys::One(key) if *is_wanted => Some(key),
            _ => None,
        };
        self.keys.iter().zip(mask).filter_map(at).collect()
    }
}

/// At which places an address says a key.
type Shape = Vec<bool>;
type ByKeys<'a> = HashMap<Vec<&'a InstanceKey>, Vec<usize>>;
type Name<'a> = (Vec<&'a Str>, Option<&'a ResourceName>);

/// Statements by one of their ends.
#[derive(Default)]
struct Index<'a> {
    by_name: HashMap<Name<'a>, SameName<'a>>,
}

/// Ends of the same names.
#[derive(Default)]
struct SameName<'a> {
    by_shape: HashMap<Shape, Vec<(usize, Vec<&'a Keys>)>>,
    /// For a shape and the places that are compared: who says which keys there.
    compared: HashMap<(Shape, Shape), ByKeys<'a>>,
}

impl<'a> Index<'a> {
    fn insert(&mut self, endpoint: &'a Endpoint, statement: usize) {
        let address = Address::of(endpoint);
        let shape = address.shape();
        let same_name = self.by_name.entry((address.names, address.resource)).or_default();
        same_name.by_shape.entry(shape).or_default().push((statement, address.keys));
    }

    /// The statements whose end may name something that the address names, too.
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
