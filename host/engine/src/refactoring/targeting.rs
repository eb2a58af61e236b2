//! `-target` and moves: who looks at an object must look at both its addresses.

use std::collections::BTreeSet;

use wardian_address::{AbsoluteResourceAddress, ResourceInstanceAddress};
use wardian_diagnostic::Diagnostic;

use super::Moves;
use crate::plan::Target;

/// An error where objects have moved and the targets leave out an old or a new address.
pub fn check(moves: &Moves, targets: &[Target]) -> Option<Diagnostic> {
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
            "Objects in the state have new addresses in the configuration, and the targets do not cover all of \
             the old and new ones. Such an object can only be planned as a whole: plan without targets, or add \
             these:{}\n\nWhat these depend on is then looked at as well.",
            options.concat()
        ),
    ))
}
