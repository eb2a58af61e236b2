//! Override files, whose content replaces content of the other files in the directory.
//!
//! A block of an override file is merged argument by argument into the block that it overrides, and
//! the result is read as if it had been written in that form. Some arguments and blocks cannot be
//! overridden: like Terraform, Wardian reports an error for some of them and ignores the others.

use std::collections::BTreeMap;

use wardian_address::ResourceMode;
use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_lang::{Block, Body, Expected};
use wardian_value::Str;

use super::file_blocks::{file_body, title};
use crate::blocks::{ActionBlock, Local, ModuleCall, Output, ProviderConfig, Resource, Settings, Variable};
use crate::content::label_count;
use crate::module::Module;
use crate::names::{block_kind, duplicate};

/// The block type, the labels and, for a provider, the alias. An override has the same name as the
/// block that it overrides.
type Name = (Str, Vec<Str>, Option<Str>);

/// The blocks that can be overridden, as written.
#[derive(Default)]
pub(super) struct Originals {
    blocks: BTreeMap<Name, Block>,
}

/// Returns true if the file is an override file.
pub(super) fn is_override(name: &str) -> bool {
    let stem = name.strip_suffix(".json").unwrap_or(name);
    let stem = stem.strip_suffix(".tf").unwrap_or(stem);
    stem == "override" || stem.ends_with("_override")
}

impl Originals {
    /// Records the blocks of a file that is not an override file.
    pub(super) fn add_file(&mut self, body: &Body) {
        let body = file_body(body, &mut Diagnostics::new());
        for block in &body.blocks {
            if may_be_overridden(&block.kind) {
                self.blocks.entry(name_of(block)).or_insert_with(|| block.clone());
            }
        }
    }

    /// Merges an override file into the module.
    pub(super) fn override_with(&mut self, module: &mut Module, body: &Body, problems: &mut Diagnostics) {
        let mut found = Diagnostics::new();
        let body = file_body(body, &mut found);
        problems.extend(found);
        let mut backend = None;
        for block in &body.blocks {
            let mut found = Diagnostics::new();
            match &*block.kind {
                "locals" => override_locals(module, block, &mut found),
                "terraform" => override_settings(module, block, &mut backend, &mut found),
                "check" => found.push(cannot_override("check", block)),
                "moved" | "import" => {
                    let detail = format!("A {} block belongs in an ordinary file.", block.kind);
                    found.push(
                        Diagnostic::error(format!("Cannot override '{}' blocks", block.kind), detail)
                            .at(block.header_span.clone()),
                    );
                }
                "removed" | "ephemeral" => found.push(without_effect(block)),
                kind if may_be_overridden(kind) => {
                    self.override_block(module, block, problems, &mut found);
                }
                _ => module.add_block(block, &mut found),
            }
            problems.extend(found.in_block(&title(block)));
        }
    }

    fn override_block(
        &mut self,
        module: &mut Module,
        block: &Block,
        known: &Diagnostics,
        problems: &mut Diagnostics,
    ) {
        if block.labels.len() != label_count(&block.kind) {
            // The errors are reported when the block is read.
            read(module, block, problems);
            return;
        }
        let over = overriding_part(block, problems);
        let name = name_of(block);
        let Some(original) = self.blocks.get_mut(&name) else {
            if &*block.kind == "provider" && name.2.is_none() {
                read(module, block, problems);
                self.blocks.insert(name, block.clone());
            } else {
                problems.push(nothing_to_override(block, &name));
            }
            return;
        };
        original.body = match &*block.kind {
            "resource" | "data" | "module" => merged(&original.body, over, "lifecycle"),
            "action" => merged(&original.body, over, "config"),
            _ => original.body.clone().overridden_by(over),
        };
        let mut found = Diagnostics::new();
        read(module, original, &mut found);
        let mut alone = Diagnostics::new();
        if &*block.kind == "variable" {
            Variable::read(block, &mut alone);
        }
        for mut problem in found.in_block(&title(original)) {
            if known.iter().any(|earlier| *earlier == problem) {
                continue;
            }
            // An override may cause errors in other files; they are reported at the override.
            let elsewhere = |place: &wardian_diagnostic::Span| place.file.name() != block.span.file.name();
            let is_of_both = &*block.kind == "variable"
                && !alone.iter().any(|own| own.summary == problem.summary && own.subject == problem.subject);
            if is_of_both || problem.subject.as_ref().is_some_and(elsewhere) {
                problem.subject = Some(block.header_span.clone());
            }
            problems.push(problem);
        }
    }
}

fn may_be_overridden(kind: &str) -> bool {
    matches!(kind, "variable" | "output" | "module" | "provider" | "resource" | "data" | "action")
}

fn name_of(block: &Block) -> Name {
    let labels = block.labels.iter().map(|label| label.text.clone()).collect();
    let alias = (&*block.kind == "provider").then(|| alias_of(&block.body)).flatten();
    (block.kind.clone(), labels, alias)
}

fn alias_of(body: &Body) -> Option<Str> {
    let expected = |name: &str| (name == "alias").then_some(Expected::Argument);
    let body = body.interpreted(&expected, &mut Diagnostics::new());
    let alias = body.attribute("alias")?.expression.evaluate_constant().ok()?;
    alias.as_str().map(Str::new)
}

/// Reads a block and replaces the module's declaration of the same name.
fn read(module: &mut Module, block: &Block, problems: &mut Diagnostics) {
    match &*block.kind {
        "variable" => {
            if let Some(variable) = Variable::read(block, problems) {
                module.variables.insert(variable.name.clone(), variable);
            }
        }
        "output" => {
            if let Some(output) = Output::read(block, problems) {
                module.outputs.insert(output.name.clone(), output);
            }
        }
        "module" => {
            if let Some(call) = ModuleCall::read(block, problems) {
                module.module_calls.insert(call.name.clone(), call);
            }
        }
        "provider" => {
            if let Some(config) = ProviderConfig::read(block, problems) {
                let key = (config.local_name.clone(), config.alias.clone());
                module.provider_configs.insert(key, config);
            }
        }
        "action" => {
            if let Some(action) = ActionBlock::read(block, problems) {
                module.actions.insert(action.key(), action);
            }
        }
        _ => {
            if let Some(resource) = Resource::read(block, problems) {
                module.resources.insert(resource.key(), resource);
            }
        }
    }
}

/// Returns the arguments and blocks of a block that can override others. All other content is
/// reported or ignored.
fn overriding_part(block: &Block, problems: &mut Diagnostics) -> Body {
    let (dropped, conditions): (&[&str], &[&str]) = match &*block.kind {
        "variable" => (&[], &["validation"]),
        "output" => (&["depends_on"], &["precondition"]),
        "module" | "resource" | "data" => (&["depends_on"], &[]),
        _ => return block.body.clone(),
    };
    let mut body = without(&block.body, dropped, conditions, problems);
    let lifecycle = matches!(&*block.kind, "resource" | "data");
    for inner in body.blocks.iter_mut().filter(|inner| lifecycle && &*inner.kind == "lifecycle") {
        let conditions = ["precondition", "postcondition"];
        inner.body = without(&inner.body, &["replace_triggered_by"], &conditions, problems);
    }
    body
}

/// Returns a body without the given arguments and blocks. Reports the arguments and blocks that
/// must not be overridden.
fn without(body: &Body, arguments: &[&str], blocks: &[&str], problems: &mut Diagnostics) -> Body {
    let expected = |name: &str| {
        if arguments.contains(&name) {
            Some(Expected::Argument)
        } else if blocks.contains(&name) || name == "lifecycle" {
            Some(Expected::Block { labels: 0 })
        } else {
            None
        }
    };
    let mut body = body.interpreted(&expected, problems).into_owned();
    for attribute in body.attributes.iter().filter(|attribute| &*attribute.name == "depends_on") {
        let items = attribute.expression.as_tuple_items();
        let first = match &items {
            Some(items) => items.first(),
            None => Some(&attribute.expression),
        };
        if let Some(first) = first {
            let detail = "An override file cannot change dependencies: set depends_on in the block itself.";
            problems.push(Diagnostic::error("Unsupported override", detail).at(first.span().clone()));
        }
    }
    for block in body.blocks.iter().filter(|block| blocks.contains(&&*block.kind)) {
        problems.push(cannot_override(&block.kind, block));
    }
    body.attributes.retain(|attribute| !arguments.contains(&&*attribute.name));
    body.blocks.retain(|block| !blocks.contains(&&*block.kind));
    body
}

/// Merges a block's body with an overriding body. `inner` is the type of the block that is merged argument
/// by argument; all other blocks are replaced by type. If the result has both `count` and `for_each`,
/// `count` has precedence.
fn merged(original: &Body, over: Body, inner: &str) -> Body {
    let expected = |name: &str| match name {
        "count" | "for_each" => Some(Expected::Argument),
        name => (name == inner).then_some(Expected::Block { labels: 0 }),
    };
    let mut original = original.interpreted(&expected, &mut Diagnostics::new()).into_owned();
    let mut over = over.interpreted(&expected, &mut Diagnostics::new()).into_owned();
    let has = |body: &Body, name: &str| body.attribute(name).is_some();
    if has(&original, "count") && !has(&over, "count") {
        over.attributes.retain(|attribute| &*attribute.name != "for_each");
    } else if has(&over, "count") && !has(&over, "for_each") {
        original.attributes.retain(|attribute| &*attribute.name != "for_each");
    }
    let Some(position) = over.blocks.iter().position(|block| &*block.kind == inner) else {
        return original.overridden_by(over);
    };
    if let Some(base) = original.blocks_of(inner).next()
        && let Some(top) = over.blocks.get_mut(position)
    {
        top.body = base.body.clone().overridden_by(top.body.clone());
    }
    original.overridden_by(over)
}

fn override_locals(module: &mut Module, block: &Block, problems: &mut Diagnostics) {
    for local in Local::read_all(block, problems) {
        match module.locals.get_mut(&local.name) {
            Some(known) => *known = local,
            None => problems.push(
                missing_original("local value definition", &format!("local value named \"{}\"", local.name))
                    .at(local.span),
            ),
        }
    }
}

fn override_settings(
    module: &mut Module,
    block: &Block,
    backend: &mut Option<wardian_diagnostic::Span>,
    problems: &mut Diagnostics,
) {
    let settings = Settings::read(block, problems);
    module.required_versions.extend(settings.required_version);
    for over in settings.backends {
        if let Some(first) = backend {
            let summary = "Duplicate backend configuration".to_owned();
            problems.push(duplicate(summary, "A backend", first, &over.span));
            continue;
        }
        *backend = Some(over.span.clone());
        module.backend = Some(over);
        (module.cloud, module.state_store) = (None, None);
    }
    for over in settings.clouds {
        module.cloud = Some(over);
        (module.backend, module.state_store) = (None, None);
    }
    for over in settings.state_stores {
        module.state_store = Some(over);
        (module.backend, module.cloud) = (None, None);
    }
    for (_, over) in settings.encryptions {
        let known = module.encryption.take().unwrap_or_default();
        module.encryption = Some(known.overridden_by(over));
    }
    for (_, entries) in settings.required_providers {
        module.required_providers.extend(entries);
    }
}

fn cannot_override(kind: &str, block: &Block) -> Diagnostic {
    let detail = format!("A {kind} block is not allowed in an override file. Change the original block.");
    Diagnostic::error(format!("Can't override {kind} blocks"), detail).at(block.header_span.clone())
}

fn without_effect(block: &Block) -> Diagnostic {
    let detail =
        format!("A {} block in an override file has no effect. Move it to an ordinary file.", block.kind);
    Diagnostic::warning("Block without effect", detail).at(block.header_span.clone())
}

fn nothing_to_override(block: &Block, name: &Name) -> Diagnostic {
    let label = |index: usize| name.1.get(index).map_or("", |label| &**label);
    let (what, called) = match &*block.kind {
        "variable" => ("variable declaration", format!("variable named \"{}\"", label(0))),
        "output" => ("output definition", format!("output named \"{}\"", label(0))),
        "module" => {
            let detail = format!("module call named \"{}\"", label(0));
            return missing("Missing module call to override", &detail).at(block.header_span.clone());
        }
        "provider" => {
            let alias = name.2.as_deref().unwrap_or_default();
            let called = format!("configuration of the provider \"{}\" with alias = \"{alias}\"", label(0));
            return missing("Missing base provider configuration for override", &called)
                .at(block.header_span.clone());
        }
        "action" => {
            let called = format!("action \"{}\" \"{}\"", label(0), label(1));
            return missing("Missing action to override", &called).at(block.header_span.clone());
        }
        _ => {
            let data = &*block.kind == "data";
            let mode = if data { ResourceMode::Data } else { ResourceMode::Managed };
            let summary =
                if data { "Missing data resource to override" } else { "Missing resource to override" };
            let called = format!("{} \"{}\" \"{}\"", block_kind(mode), label(0), label(1));
            return missing(summary, &called).at(block.header_span.clone());
        }
    };
    missing_original(what, &called).at(block.header_span.clone())
}

fn missing_original(what: &str, called: &str) -> Diagnostic {
    missing(&format!("Missing base {what} to override"), called)
}

fn missing(summary: &str, called: &str) -> Diagnostic {
    let detail = format!(
        "There is no {called} in the other files of this directory. An override file only changes what is \
         declared there."
    );
    Diagnostic::error(summary, detail)
}
