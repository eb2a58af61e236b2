//! Moves objects in the state before planning, and determines forgotten objects.
//!
//! Objects are identified by their addresses, so without further information, changing an address
//! in the configuration would destroy the object and create another object. A `moved` block states
//! the previous address. If `count` is added or removed, the single object and the object with
//! index 0 are the same even without a block. Both cases are [statements](statement), which are
//! applied to the state before the plan's walk begins: the walk finds each object at its current
//! address, and the previous address is only reported.
//!
//! 1. Statements are [ordered](order): a statement that moves an object to an address precedes a
//!    statement that moves the object from that address, so a chain of moves is completed in one
//!    run. Statements inside a module refer to the addresses that its objects had when the
//!    statements were written.
//! 2. Each statement is [applied](carry_out) to the objects that it matches; an index of the state
//!    finds these objects without visiting all others. A move to the address of another object is
//!    blocked and reported in a warning.
//! 3. If the type of a resource changes, the new type's provider [converts the
//!    object](across_types).
//! 4. Whether statements are valid depends on the instances that the configuration declares. These
//!    are known only after the walk, so statements are [checked](check) then. This late check is
//!    sufficient, because a plan with an error cannot be applied.
//!
//! `removed` blocks do not change the state: objects of the removed resource are
//! [forgotten](removed) instead of destroyed.
//!
//! Cost: one pass over the state, and for each statement the objects that it matches. Statements
//! are never compared with all other statements or all objects.

mod across_types;
mod address;
mod carry_out;
mod check;
mod endpoint;
mod order;
mod removed;
mod state_tree;
mod statement;
mod targeting;

use std::collections::{BTreeMap, HashMap};

use wardian_address::ResourceInstanceAddress;
use wardian_diagnostic::Diagnostics;
use wardian_state::State;

pub use removed::{Forgotten, warning as forgotten_warning, with_provisioners as removed_with_provisioners};
pub use targeting::check as check_targets;

use crate::evaluator::Evaluator;
use statement::Statement;

/// The moves of a plan.
#[derive(Debug, Default)]
pub struct Moves {
    /// The original address of each moved object, by its current address.
    pub moved: HashMap<ResourceInstanceAddress, ResourceInstanceAddress>,
    /// The addresses to which objects could not move because another object has that address, by
    /// the objects' current addresses.
    blocked: BTreeMap<String, String>,
    statements: Vec<Statement>,
}

/// Moves the objects of a state to their addresses in the configuration.
///
/// # Errors
/// Returns an error if a provider cannot convert an object of another type. [`Moves::check`]
/// reports invalid statements after the instances are known.
pub async fn apply(evaluator: &Evaluator, state: &mut State) -> Result<Moves, Diagnostics> {
    let configuration = &evaluator.configuration;
    let mut statements = statement::explicit(configuration);
    statements.extend(statement::implied(configuration, state, &statements));
    let mut moves = Moves { statements, ..Moves::default() };
    if moves.statements.is_empty() || state.resources().len() == 0 {
        return Ok(moves);
    }
    // Statements that form a cycle move no objects; the check reports the cycle.
    if let Ok(order) = order::order(&moves.statements) {
        let carried_out = carry_out::carry_out(evaluator, state, &moves.statements, &order).await?;
        moves.moved = carried_out.moved;
        moves.blocked = carried_out.blocked;
    }
    Ok(moves)
}
