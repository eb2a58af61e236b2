//! `wardian modules`

use std::fmt::Write as _;

use serde::Serialize;
use wardian_address::ModulePath;
use wardian_config::Configuration;

use crate::arguments::ModulesArguments;
use crate::failure::{Outcome, Status};
use crate::module_manifest::source_address;
use crate::render::json::compact;
use crate::session::Session;

/// `modules -json`.
#[derive(Serialize)]
struct Report<'a> {
    format_version: &'static str,
    modules: Option<Vec<Module<'a>>>,
}

#[derive(Serialize)]
struct Module<'a> {
    key: &'a str,
    source: String,
    version: &'static str,
}

/// Lists the modules that are called.
pub(crate) fn run(session: &Session, arguments: &ModulesArguments) -> Outcome {
    let configuration = session.configuration()?;
    let has_modules = !configuration.root().module.module_calls.is_empty();
    if arguments.json {
        let modules = has_modules.then(|| all(&configuration));
        let report = Report { format_version: "1.0", modules };
        session.shell.say(compact(&report));
    } else if has_modules {
        let mut text = String::from("\nModules declared by configuration:\n.\n");
        branch(&configuration, &ModulePath::root(), "", &mut text);
        session.shell.say(text);
    } else {
        session.shell.say("The configuration calls no modules.");
    }
    Ok(Status::Success)
}

fn all(configuration: &Configuration) -> Vec<Module<'_>> {
    configuration
        .modules()
        .filter_map(|node| {
            let (caller, name) = node.path.parent()?;
            let (key, call) = configuration.module(&caller)?.module.module_calls.get_key_value(name)?;
            Some(Module { key: key.as_str(), source: source_address(&call.source), version: "" })
        })
        .collect()
}

fn branch(configuration: &Configuration, path: &ModulePath, indent: &str, text: &mut String) {
    let Some(node) = configuration.module(path) else { return };
    let calls = &node.module.module_calls;
    for (position, (name, call)) in calls.iter().enumerate() {
        let is_last = position + 1 == calls.len();
        let (twig, below) = if is_last { ("└── ", "    ") } else { ("├── ", "│   ") };
        let _ = writeln!(text, "{indent}{twig}\"{name}\"[{}]", source_address(&call.source));
        branch(configuration, &path.child(name.clone()), &format!("{indent}{below}"), text);
    }
}
