//! Prints the schemas of a provider, for snapshot tests.

use std::fmt::Write as _;

use crate::bindings::wardian::plugin::types as wire;
use crate::schema::schema_record;
use crate::service::Service;

/// Returns all schemas of a provider as text: every property that a host receives, with one
/// attribute or block on each line, in the order of the definition.
///
/// A test that compares the text with a stored copy finds unintended changes of schemas.
///
/// ```
/// use wardian_sdk::Provider;
///
/// assert_eq!(wardian_sdk::testing::schema_text(Provider::new("cloud")), "provider version 0\n");
/// ```
pub fn schema_text(provider: impl Into<Service>) -> String {
    let service = provider.into();
    let parts = &service.parts;
    let mut all = vec![("provider".to_owned(), schema_record(parts.schema.schema()))];
    all.extend(parts.meta.iter().map(|meta| ("provider_meta".to_owned(), schema_record(meta.schema()))));
    let named = |kind: &str, name: &str| format!("{kind} {name}");
    all.extend(parts.resources.iter().map(|(n, p)| (named("resource", n), schema_record(p.schema()))));
    all.extend(parts.data_sources.iter().map(|(n, p)| (named("data", n), schema_record(p.schema()))));
    all.extend(
        parts.ephemeral_resources.iter().map(|(n, p)| (named("ephemeral", n), schema_record(p.schema()))),
    );
    all.extend(parts.list_resources.iter().map(|(n, p)| (named("list", n), schema_record(p.schema()))));
    all.extend(parts.actions.iter().map(|(n, p)| (named("action", n), schema_record(p.schema()))));
    let mut text = String::new();
    for (name, schema) in &all {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name} version {}", schema.version);
        block(&mut text, schema, 0, 1);
    }
    text
}

/// Prints a block. Blocks and objects refer only to later entries of the schema, so this ends.
fn block(text: &mut String, schema: &wire::Schema, index: u32, level: usize) {
    let Some(block) = schema.blocks.get(index as usize) else { return };
    if !block.description.text.is_empty() || !matches!(block.deprecation, wire::Deprecation::None) {
        line(text, level, &format!("{:?} {:?}", block.description, block.deprecation));
    }
    attributes(text, schema, &block.attributes, level);
    for nested in &block.block_types {
        let header = format!(
            "block {} {:?} {}..{}",
            nested.type_name, nested.nesting, nested.min_items, nested.max_items
        );
        line(text, level, &header);
        self::block(text, schema, nested.block, level + 1);
    }
}

fn attributes(text: &mut String, schema: &wire::Schema, attributes: &[wire::Attribute], level: usize) {
    for attribute in attributes {
        let nested = match &attribute.type_ {
            wire::AttributeType::Value(_) => None,
            wire::AttributeType::Nested(index) => schema.objects.get(*index as usize),
        };
        let ty = match (&attribute.type_, nested) {
            (wire::AttributeType::Value(ty), _) => ty.clone(),
            (_, Some(object)) => format!("{:?}", object.nesting),
            (_, None) => "missing".to_owned(),
        };
        let flags: Vec<&str> = [
            ("required", attribute.required),
            ("optional", attribute.optional),
            ("computed", attribute.computed),
            ("sensitive", attribute.sensitive),
            ("write-only", attribute.write_only),
        ]
        .into_iter()
        .filter_map(|(name, is_set)| is_set.then_some(name))
        .collect();
        let (description, deprecation) = (&attribute.description, &attribute.deprecation);
        let flags = flags.join(" ");
        line(text, level, &format!("{} {ty} {flags} {description:?} {deprecation:?}", attribute.name));
        if let Some(object) = nested {
            self::attributes(text, schema, &object.attributes, level + 1);
        }
    }
}

fn line(text: &mut String, level: usize, content: &str) {
    let _ = writeln!(text, "{:indent$}{content}", "", indent = level * 2);
}
