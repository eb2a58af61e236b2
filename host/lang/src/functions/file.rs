//! The file and path functions. All file access goes through the scope.

use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use wardian_diagnostic::system_reason;
use wardian_value::{Type, Value};

use super::{Body, Failure, Function, Outcome, Parameter, ResultType};
use super::{glob, string, text};
use crate::Scope;

const PATH: &[Parameter] = &[string("path")];

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("abspath", PATH, ResultType::String, Body::Scoped(abspath)),
    Function::new("basename", PATH, ResultType::String, Body::Pure(basename)),
    Function::new("dirname", PATH, ResultType::String, Body::Pure(dirname)),
    Function::new("file", PATH, ResultType::String, Body::Scoped(file)),
    Function::new("filebase64", PATH, ResultType::String, Body::Scoped(filebase64)),
    Function::new("fileexists", PATH, ResultType::Bool, Body::Scoped(fileexists)),
    Function::new(
        "fileset",
        &[string("path"), string("pattern")],
        ResultType::SetOfString,
        Body::Scoped(fileset),
    ),
    Function::new("pathexpand", PATH, ResultType::String, Body::Scoped(pathexpand)),
];

/// Expands `~` and `~/...` to the home directory.
fn expanded(path: &str, scope: &dyn Scope) -> Result<String, Failure> {
    let Some(rest) = path.strip_prefix('~') else { return Ok(path.to_owned()) };
    if !rest.is_empty() && !rest.starts_with('/') {
        return Err(Failure::argument(0, "~ is supported only for the user's own home directory"));
    }
    match scope.home_directory() {
        Some(home) => Ok(clean(&format!("{home}{rest}"))),
        None => Err(Failure::argument(0, "the home directory is not known")),
    }
}

pub(super) fn read(path: &str, position: usize, scope: &dyn Scope) -> Result<Vec<u8>, Failure> {
    let full = expanded(path, scope)?;
    scope.read_file(&full).map_err(|error| {
        let advice = if error.kind() == io::ErrorKind::NotFound {
            ". Relative paths are relative to the directory of the root module. If a resource creates the \
             file, use an attribute of that resource instead, because functions are evaluated before it is \
             created"
        } else {
            ""
        };
        Failure::argument(position, format!("cannot read {path:?}: {}{advice}", system_reason(&error)))
    })
}

pub(super) fn read_text(path: &str, position: usize, scope: &dyn Scope) -> Result<String, Failure> {
    String::from_utf8(read(path, position, scope)?).map_err(|_| {
        Failure::argument(
            position,
            format!(
                "the content of {path:?} is not UTF-8 text; filebase64 and the hash functions \
                 for files can read it"
            ),
        )
    })
}

fn file(arguments: &[Value], scope: &dyn Scope) -> Outcome {
    Ok(Value::string(read_text(text(arguments, 0), 0, scope)?))
}

fn filebase64(arguments: &[Value], scope: &dyn Scope) -> Outcome {
    Ok(Value::string(STANDARD.encode(read(text(arguments, 0), 0, scope)?)))
}

fn fileexists(arguments: &[Value], scope: &dyn Scope) -> Outcome {
    let path = text(arguments, 0);
    scope
        .file_exists(&expanded(path, scope)?)
        .map(Value::bool)
        .map_err(|reason| Failure::call(format!("{path:?}: {reason}")))
}

fn fileset(arguments: &[Value], scope: &dyn Scope) -> Outcome {
    let (directory, mut pattern) = (text(arguments, 0), text(arguments, 1));
    let mut listed = expanded(directory, scope)?;
    // A pattern may match files outside the directory; the results are relative to the directory.
    let mut parents = String::new();
    loop {
        if let Some(rest) = pattern.strip_prefix("./") {
            pattern = rest;
        } else if let Some(rest) = pattern.strip_prefix("../") {
            pattern = rest;
            parents.push_str("../");
            listed = clean(&format!("{listed}/.."));
        } else {
            break;
        }
    }
    let files = scope
        .list_files(&listed)
        .map_err(|reason| Failure::call(format!("cannot list {directory:?}: {reason}")))?;
    // As in Terraform, the pattern is not examined if there is no directory.
    let Some(files) = files else { return Ok(Value::set(Type::String, [])) };
    let pattern = glob::Pattern::new(pattern)
        .ok_or_else(|| Failure::call("a bracket or brace of the pattern is not closed"))?;
    let matching = files.iter().filter(|file| pattern.matches(file));
    Ok(Value::set(Type::String, matching.map(|file| Value::string(format!("{parents}{file}")))))
}

fn pathexpand(arguments: &[Value], scope: &dyn Scope) -> Outcome {
    Ok(Value::string(expanded(text(arguments, 0), scope)?))
}

fn abspath(arguments: &[Value], scope: &dyn Scope) -> Outcome {
    let path = text(arguments, 0);
    if path.starts_with('/') {
        return Ok(Value::string(clean(path)));
    }
    match scope.working_directory() {
        Some(directory) => Ok(Value::string(clean(&format!("{directory}/{path}")))),
        None => Err(Failure::call("the working directory is not known")),
    }
}

fn basename(arguments: &[Value]) -> Outcome {
    let path = text(arguments, 0);
    let trimmed = path.trim_end_matches('/');
    let name = match trimmed.rsplit_once('/') {
        _ if path.is_empty() => ".",
        _ if trimmed.is_empty() => "/",
        Some((_, name)) => name,
        None => trimmed,
    };
    Ok(Value::string(name))
}

fn dirname(arguments: &[Value]) -> Outcome {
    let path = text(arguments, 0);
    let directory = match path.rfind('/') {
        Some(slash) => clean(&path[..=slash]),
        None => ".".to_owned(),
    };
    Ok(Value::string(directory))
}

/// Returns the shortest equivalent path, without resolving symbolic links.
fn clean(path: &str) -> String {
    let rooted = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if rooted => {}
            part => parts.push(part),
        }
    }
    let joined = parts.join("/");
    match (rooted, joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_owned(),
        (false, false) => joined,
    }
}
