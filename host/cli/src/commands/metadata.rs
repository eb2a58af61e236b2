//! `wardian metadata`

use wardian_lang::function_signatures;

use crate::arguments::MetadataCommand;
use crate::failure::Status;
use crate::render::json::functions_json;
use crate::session::Session;

/// Tells about the program itself.
pub(crate) fn run(session: &Session, command: &MetadataCommand) -> Status {
    match command {
        MetadataCommand::Functions(_) => session.shell.say(functions_json(function_signatures())),
    }
    Status::Success
}
