//! The function `direxists`.

use std::path::Path;

use wardian_sdk::{Function, FunctionError, Parameter, Type};

use crate::disk::{self, Existence};

/// The function.
pub(crate) fn function() -> Function {
    Function::new("direxists", Type::Bool)
        .summary("Whether there is a directory")
        .description(
            "True where the path leads to a directory, false where it leads nowhere, an error where it leads \
             to something else. A leading `~` has no meaning: use `pathexpand`.",
        )
        .parameter(Parameter::string("path").description("A path, absolute or relative."))
        .run(|(path,): (String,)| direxists(&path))
}

fn direxists(path: &str) -> Result<bool, FunctionError> {
    // No path at all is the directory that relative paths start from.
    let directory = if path.is_empty() { "." } else { path };
    match disk::directory_exists(Path::new(directory)) {
        Ok(Existence::Directory) => Ok(true),
        Ok(Existence::Nothing) => Ok(false),
        Ok(Existence::Other) => Err(FunctionError::argument(0, format!("{path:?} is not a directory"))),
        Err(error) => Err(FunctionError::argument(0, error)),
    }
}
