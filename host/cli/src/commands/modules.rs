//! `wardian modules`: lists the modules that the configuration calls.

use async_trait::async_trait;
use serde::Serialize;
use wardian_address::ModulePath;
use wardian_app::module_manifest::{self, source_address};
use wardian_config::{Configuration, InstalledModules, module_key};

use crate::arguments::ModulesArguments;
use crate::command_context::CommandContext;
use crate::command_spec::CommandSpec;
use crate::failure::{Outcome, Status};
use crate::render::json::compact;
use crate::shell::ViewOptions;
use wardian_printable::{PrintableText, append_line, printable};

/// The output of `modules -json`.
#[derive(Serialize)]
struct Report<'a> {
    format_version: &'static str,
    modules: Option<Vec<Module<'a>>>,
}

#[derive(Serialize)]
struct Module<'a> {
    key: &'a str,
    source: String,
    version: String,
}

#[async_trait(?Send)]
impl CommandSpec for ModulesArguments {
    fn view(&self) -> ViewOptions {
        self.view.into()
    }

    fn needs_workspace(&self) -> bool {
        false
    }

    async fn run(&self, context: &CommandContext) -> Outcome {
        run(context, self)
    }
}

fn run(context: &CommandContext, arguments: &ModulesArguments) -> Outcome {
    let configuration = context.app.configuration()?;
    let has_modules = !configuration.root().module.module_calls.is_empty();
    if arguments.json {
        let installed = module_manifest::read_installed_modules(&context.app.data_directory());
        let modules = has_modules.then(|| all(&configuration, &installed));
        let report = Report { format_version: "1.0", modules };
        context.shell.print_json(&compact(&report));
    } else if has_modules {
        let mut text = PrintableText::from("\nModules declared by configuration:\n.\n");
        branch(&configuration, &ModulePath::root(), &"".into(), &mut text);
        context.shell.say(text);
    } else {
        context.shell.say("The configuration calls no modules.");
    }
    Ok(Status::Success)
}

fn all<'a>(configuration: &'a Configuration, installed: &InstalledModules) -> Vec<Module<'a>> {
    configuration
        .modules()
        .filter_map(|node| {
            let (caller, name) = node.path.parent()?;
            let (key, call) = configuration.module(&caller)?.module.module_calls.get_key_value(name)?;
            let version = installed.get(&module_key(&node.path)).and_then(|module| module.version.as_ref());
            let version = version.map(ToString::to_string).unwrap_or_default();
            Some(Module { key: key.as_str(), source: source_address(&call.source), version })
        })
        .collect()
}

fn branch(
    configuration: &Configuration,
    path: &ModulePath,
    indent: &PrintableText,
    text: &mut PrintableText,
) {
    let Some(node) = configuration.module(path) else { return };
    let calls = &node.module.module_calls;
    for (position, (name, call)) in calls.iter().enumerate() {
        let is_last = position + 1 == calls.len();
        let (twig, below) = if is_last { ("└── ", "    ") } else { ("├── ", "│   ") };
        append_line!(text, "{indent}{twig}\"{name}\"[{}]", source_address(&call.source));
        branch(configuration, &path.child(name.clone()), &printable!("{indent}{below}"), text);
    }
}
