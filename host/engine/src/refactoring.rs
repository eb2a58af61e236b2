//! What happens to the state before anything is planned, and why some of its objects
//! are forgotten.
//!
//! Objects are found by their addresses, so that an address that changes in the
//! configuration would have the object destroyed and another one made. `moved` blocks
//! say what an address was before; where `count` comes or goes, the only object and the
//! first one are the same without a block. Both are [statements](statement), and all of
//! them are carried out on the state before the walk of the plan begins: the walk finds
//! each object at its present address, and what it was before is only told.
//!
//! 1. Statements are [put in order](order): one that moves an object to where another
//!    one moves it from comes before that one, so that a chain of renamings leads to its
//!    end in one run; what is inside a module moves by the names that it had there when
//!    the statement was written.
//! 2. Each is [carried out](carry_out) on the objects that it matches, which an index of
//!    the state finds without looking at the others. An object never takes the place of
//!    another: such a move is blocked, and told as a warning.
//! 3. Where the type of a resource changes, the new type's provider
//!    [takes the object over](across_types).
//! 4. Whether the statements make sense depends on which instances the configuration
//!    declares, which is known when the plan has been walked: they are
//!    [checked](check) then. Nothing is lost by that, as a plan with an error is
//!    none.
//!
//! `removed` blocks change nothing in the state: they say that the objects of a resource
//! that is gone are [forgotten](removed), not destroyed.
//!
//! Cost: the state once, and each statement what it matches. Statements are never
//! compared with all others, nor with all objects.

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

/// What was moved.
#[derive(Debug, Default)]
pub struct Moves {
    /// What each object that was moved was called at first, by what it is called now.
    pub moved: HashMap<ResourceInstanceAddress, ResourceInstanceAddress>,
    /// Where something could not move to, as there was an object already; by its
    /// present address.
    blocked: BTreeMap<String, String>,
    statements: Vec<Statement>,
}

/// Gives the objects of a state the addresses that the configuration has for them.
///
/// # Errors
/// A provider that cannot take over an object of another type. Statements that make no
/// sense are found by [`Moves::check`], when it is known which instances there are.
pub async fn apply(evaluator: &Evaluator, state: &mut State) -> Result<Moves, Diagnostics> {
    let configuration = &evaluator.configuration;
    let mut statements = statement::written(configuration);
    statements.extend(statement::implied(configuration, state, &statements));
    let mut moves = Moves { statements, ..Moves::default() };
    if moves.statements.is_empty() || state.resources().len() == 0 {
        return Ok(moves);
    }
    // Statements in a circle lead nowhere: nothing is moved, and the check tells.
    if let Ok(order) = order::order(&moves.statements) {
        let carried_out = carry_out::carry_out(evaluator, state, &moves.statements, &order).await?;
        moves.moved = carried_out.moved;
        moves.blocked = carried_out.blocked;
    }
    Ok(moves)
}
