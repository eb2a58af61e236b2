//! Renders a state as text, for `show` and `state show`.

use std::collections::BTreeMap;
use std::sync::Arc;

use wardian_address::{ProviderConfigAddress, ResourceAddress, ResourceInstanceAddress, ResourceMode};
use wardian_plugin::Schema;
use wardian_printable::{PrintableText, append};
use wardian_state::OutputValue;
use wardian_value::{Str, Value};

use super::RenderOptions;
use super::difference::{Forcing, Sides, schema};
use super::layout::{self, Context};
use super::style::Page;

pub(super) mod module_tree;

use module_tree::ModuleTree;

/// An object of a state with the data that is required to show it.
#[derive(Clone, Debug)]
pub(crate) struct StateObject<'a> {
    /// The address, with mode, type, name, key and module.
    pub(crate) address: ResourceInstanceAddress,
    /// The key of a deposed object; `None` for the current object.
    pub(crate) deposed: Option<&'a str>,
    /// The provider configuration that manages the object.
    pub(crate) provider: &'a ProviderConfigAddress,
    pub(crate) schema: &'a Schema,
    /// The schema version with which the object was stored.
    pub(crate) schema_version: u64,
    /// The object's value; sensitive attributes are marked.
    pub(crate) value: Value,
    /// Whether the object is tainted. The next plan replaces a tainted object.
    pub(crate) tainted: bool,
    /// The resources on which the object depends.
    pub(crate) dependencies: &'a [Arc<ResourceAddress>],
}

/// Returns all objects, module by module, and the outputs. Ends with a line break.
pub(crate) fn render_state<'a>(
    objects: impl IntoIterator<Item = StateObject<'a>>,
    outputs: &BTreeMap<Str, OutputValue>,
    options: RenderOptions,
) -> PrintableText {
    let tree = ModuleTree::new(objects);
    let mut page = Page::new(options.color);
    if tree.is_empty() && outputs.is_empty() {
        page.push("The state file is empty. No resources are represented.\n");
        return page.finish();
    }
    write_modules(&mut page, &tree);
    write_outputs(&mut page, outputs);
    page.finish()
}

/// Returns one object. Ends with a line break.
pub(crate) fn render_object(object: &StateObject<'_>, options: RenderOptions) -> PrintableText {
    let mut page = Page::new(options.color);
    write_object(&mut page, object);
    page.finish()
}

fn write_modules(page: &mut Page, tree: &ModuleTree<'_>) {
    for (place, object) in tree.objects().iter().enumerate() {
        if !page.text().is_empty() {
            page.push(if place == 0 { "\n\n" } else { "\n" });
        }
        write_object(page, object);
    }
    for child in tree.children() {
        write_modules(page, child);
    }
}

fn write_object(page: &mut Page, object: &StateObject<'_>) {
    let address = &object.address;
    append!(page, "# {address}:");
    if let Some(key) = object.deposed {
        append!(page, " (deposed object {key})");
    } else if object.tainted {
        page.push(" (tainted)");
    }
    let keyword = if address.mode() == ResourceMode::Data { "data" } else { "resource" };
    append!(page, "\n{keyword} \"{}\" \"{}\" ", address.type_name(), address.name());
    let sides = Sides::new(Some(&object.value), Some(&object.value));
    let shown = schema::of_block(sides, &object.schema.block, &Forcing::default());
    layout::write(page, &shown, 0, Context::of_state());
    page.push("\n");
}

fn write_outputs(page: &mut Page, outputs: &BTreeMap<Str, OutputValue>) {
    if outputs.is_empty() {
        return;
    }
    page.push("\n\nOutputs:\n\n");
    for (name, output) in outputs {
        append!(page, "{name} = ");
        if output.sensitive {
            page.push("(sensitive value)");
        } else {
            let sides = Sides::new(Some(&output.value), Some(&output.value));
            let shown = schema::of_type(sides, output.value.ty(), &Forcing::default());
            layout::write(page, &shown, 0, Context::of_state());
        }
        page.push("\n");
    }
}

#[cfg(test)]
pub(super) mod tests;
