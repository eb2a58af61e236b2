//! `wardian get`

use crate::arguments::GetArguments;
use crate::failure::{Outcome, Status};
use crate::module_manifest::{self, ModuleRecord};
use crate::session::Session;

/// Records where the modules of the configuration are.
pub(crate) fn run(session: &Session, arguments: &GetArguments) -> Outcome {
    let configuration = session.configuration()?;
    let records = module_manifest::records(&configuration);
    let all = if arguments.update { records.clone() } else { Vec::new() };
    let new = module_manifest::save(records, &session.data_directory())?;
    tell(session, if arguments.update { &all } else { &new });
    Ok(Status::Success)
}

/// `- name in directory` for each module but the root.
pub(crate) fn tell(session: &Session, records: &[ModuleRecord]) {
    for record in records.iter().filter(|record| !record.key.is_empty()) {
        session.shell.say(format_args!("- {} in {}", record.key, record.directory));
    }
}
