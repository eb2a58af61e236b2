//! Checks targets against moves: targets that include one address of a moved object must also
//! include the other.

use std::collections::BTreeSet;

use wardian_address::{AbsoluteResourceAddress, ResourceInstanceAddress};
use wardian_diagnostic::Diagnostic;

use super::Moves;
use crate::plan::TargetAddress;

/// Returns an error if targets include only one of the two addresses of a moved object.
pub fn check(moves: &Moves, targets: &[TargetAddress]) -> Option<Diagnostic> {
    if targets.is_empty() {
        return None;
    }
    let is_left_out =
        |address: &&ResourceInstanceAddress| !targets.iter().any(|target| target.includes(address));
    let left_out: BTreeSet<&AbsoluteResourceAddress> = moves
        .moved
        .iter()
        .flat_map(|(to, from)| [to, from])
        .filter(is_left_out)
        .map(|address| &address.resource)
        .collect();
    if left_out.is_empty() {
        return None;
    }
    let options: Vec<String> = left_out.iter().map(|address| format!("\n  -target='{address}'")).collect();
    Some(Diagnostic::error(
        "Moved resource instances excluded by targeting",
        format!(
            "The configuration has new addresses for objects in the state, and the targets do not include \
             all of the old and new addresses. Plan without targets, or add these:{}\n\nTheir \
             dependencies are then planned as well.",
            options.concat()
        ),
    ))
}
