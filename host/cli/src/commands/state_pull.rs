//! `wardian state pull`

use wardian_state::encode_state;

use crate::failure::{Failure, Outcome, Status};
use crate::session::Session;
use crate::state_access;

/// Prints the state file; nothing where there is none.
pub(crate) fn run(session: &Session) -> Outcome {
    let configuration = session.configuration()?;
    let look = state_access::look(session, Some(&configuration), None)?;
    if look.exists {
        let text = encode_state(&look.state)
            .map_err(|problem| Failure::error("State cannot be written", format!("{problem}.")))?;
        session.shell.print(&text);
    }
    Ok(Status::Success)
}
