//! The meta-argument that determines the instances of a resource or a module call: `count` or `for_each`.

use wardian_config::{ActionBlock, ModuleCall, Resource};
use wardian_lang::Expression;

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
    repeats(resource.count.as_ref(), resource.for_each.as_ref())
}

/// Returns the meta-argument that determines the instances of an action.
pub fn action_repeats(action: &ActionBlock) -> Repeats {
    repeats(action.count.as_ref(), action.for_each.as_ref())
}

/// Returns the meta-argument that determines the instances of a module call.
pub fn call_repeats(call: &ModuleCall) -> Repeats {
    repeats(call.count.as_ref(), call.for_each.as_ref())
}

pub fn repeats(count: Option<&Expression>, for_each: Option<&Expression>) -> Repeats {
    match (count, for_each) {
        (Some(_), _) => Repeats::Count,
        (None, Some(_)) => Repeats::ForEach,
        (None, None) => Repeats::No,
    }
}
