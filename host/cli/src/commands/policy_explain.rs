//! `wardian policy explain`

use wardian_policy::load;

use crate::arguments::PolicyExplainArguments;
use crate::catalogue;
use crate::failure::{Outcome, Status};
use crate::render::json::{PolicyDocument, pretty};
use crate::render::policy::explanation_text;
use crate::session::Session;

/// Says what policies let a plugin do.
pub(crate) fn run(session: &Session, arguments: &PolicyExplainArguments) -> Outcome {
    let places = session.environment.policy_places(&session.directory, &session.started_in);
    let policy = load(&places)?;
    // What the host grants by itself, it grants to the code that it carries.
    let policy = if catalogue::is_embedded(&arguments.plugin) {
        policy.of_trusted_code(&arguments.plugin)
    } else {
        policy.of(&arguments.plugin)
    };
    let explanation = policy.explain();
    if arguments.json {
        session.shell.say(pretty(&PolicyDocument::new(&explanation)));
    } else {
        session.shell.print(&explanation_text(&explanation, session.shell.render_options()));
    }
    Ok(Status::Success)
}
