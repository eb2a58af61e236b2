//! The meta-argument that determines the instances of a resource or a module call: `count` or `for_each`.

use wardian_config::{ModuleCall, Resource};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeats {
    /// No meta-argument: the block has one instance.
    No,
    /// `count`
    Count,
    /// `for_each`
    ForEach,
}

/// Returns the meta-argument that determines the instances of a resource.
pub fn resource_repeats(resource: &Resource) -> Repeats {
    match (&resource.count, &resource.for_each) {
        (Some(_), _) => Repeats::Count,
        (None, Some(_)) => Repeats::ForEach,
        (None, None) => Repeats::No,
    }
}

/// Returns the meta-argument that determines the instances of a module call.
pub fn call_repeats(call: &ModuleCall) -> Repeats {
    match (&call.count, &call.for_each) {
        (Some(_), _) => Repeats::Count,
        (None, Some(_)) => Repeats::ForEach,
        (None, None) => Repeats::No,
    }
}
