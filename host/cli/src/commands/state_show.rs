//! `wardian state show`

use wardian_state::Object;

use crate::arguments::StateShowArguments;
use crate::commands::show;
use crate::commands::state_list::existing_state;
use crate::failure::{Failure, Outcome, Status};
use crate::render::state::render_object;
use crate::session::Session;

/// Shows one instance.
pub(crate) async fn run(session: &Session, arguments: &StateShowArguments) -> Outcome {
    let look = existing_state(session, arguments.state.as_deref())?;
    let address = &arguments.address;
    let missing = || {
        Failure::error(
            "No such instance",
            format!(
                "The state has no instance {address}. `wardian state list` lists them; those of count and for_each \
                 are named with their key."
            ),
        )
    };
    let instance = look.state.instance(address).ok_or_else(missing)?;
    let resource = look.state.resource(&address.resource).ok_or_else(missing)?;
    let schemas = show::schemas(session, &look.state).await?;
    let provider = &resource.provider;
    let object: &Object = instance.current.as_deref().ok_or_else(missing)?;
    let shown = show::state_object(address.clone(), None, provider, object, &schemas)?;
    session.shell.print(&render_object(&shown, session.shell.render_options()));
    Ok(Status::Success)
}
