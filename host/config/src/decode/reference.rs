//! What a body refers to.

use wardian_lang::{Body, Reference, ResourceMode, Subject};
use wardian_plugin::Block;
use wardian_value::Str;

/// Everything that a body refers to, in the order of the text. What is bound
/// inside the body itself (the iterators of `dynamic` blocks) is left out. Where
/// the schema is known, a block that it calls `dynamic` is an ordinary one.
pub fn references(body: &Body, schema: Option<&Block>) -> Vec<Reference> {
    let mut found = Vec::new();
    collect(body, schema, &mut Vec::new(), &mut found);
    found
}

fn collect(body: &Body, schema: Option<&Block>, bound: &mut Vec<Str>, found: &mut Vec<Reference>) {
    for attribute in &body.attributes {
        add(attribute.expression.references(), bound, found);
    }
    for block in &body.blocks {
        let ordinary = schema.is_some_and(|schema| schema.block_types.contains_key("dynamic"));
        match block.labels.first() {
            Some(label) if &*block.kind == "dynamic" && !ordinary => {
                collect_dynamic(&block.body, &label.text, schema, bound, found);
            }
            _ => collect(&block.body, inner(schema, &block.kind), bound, found),
        }
    }
}

fn collect_dynamic(
    body: &Body,
    name: &Str,
    schema: Option<&Block>,
    bound: &mut Vec<Str>,
    found: &mut Vec<Reference>,
) {
    let iterator = body
        .attribute("iterator")
        .and_then(|attribute| attribute.expression.as_keyword())
        .map_or_else(|| name.clone(), Str::new);
    if let Some(for_each) = body.attribute("for_each") {
        add(for_each.expression.references(), bound, found);
    }
    bound.push(iterator);
    if let Some(labels) = body.attribute("labels") {
        add(labels.expression.references(), bound, found);
    }
    for content in body.blocks_of("content") {
        collect(&content.body, inner(schema, name), bound, found);
    }
    bound.pop();
}

fn inner<'a>(schema: Option<&'a Block>, name: &str) -> Option<&'a Block> {
    schema.and_then(|schema| schema.block_types.get(name)).map(|nested| &nested.block)
}

fn add(references: &[Reference], bound: &[Str], found: &mut Vec<Reference>) {
    let is_bound = |reference: &&Reference| match &reference.subject {
        Subject::Resource { mode: ResourceMode::Managed, kind, name } => {
            bound.contains(kind) && matches!(&**name, "key" | "value")
        }
        Subject::EachKey | Subject::EachValue => bound.iter().any(|iterator| &**iterator == "each"),
        _ => false,
    };
    found.extend(references.iter().filter(|reference| !is_bound(reference)).cloned());
}
