//! The function `direxists`.

use std::path::Path;

use wardian_sdk::{Function, FunctionError, Parameter, Type};

use crate::disk::{self, PathKind};

pub(crate) fn function() -> Function {
    Function::new("direxists", Type::Bool)
        .summary("Checks whether a directory exists")
        .description(
            "Returns true if the path is a directory and false if nothing exists there. Any other kind of \
             file is an error. A leading `~` is not expanded: use `pathexpand`.",
        )
        .parameter(Parameter::string("path").description("An absolute or relative path."))
        .run(|(path,): (String,)| direxists(&path))
}

fn direxists(path: &str) -> Result<bool, FunctionError> {
    // An empty path means the directory against which relative paths are resolved.
    let directory = if path.is_empty() { "." } else { path };
    match disk::path_kind(Path::new(directory)) {
        Ok(PathKind::Directory) => Ok(true),
        Ok(PathKind::Absent) => Ok(false),
        Ok(PathKind::Other) => Err(FunctionError::argument(0, format!("{path:?} is not a directory"))),
        Err(error) => Err(FunctionError::argument(0, error)),
    }
}
