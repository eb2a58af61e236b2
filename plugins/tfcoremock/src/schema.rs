//! Builds the schemas of definitions. In a data source, all attributes are computed, except for
//! `id`.

use wardian_sdk::{Attribute, Block, Nesting, Schema, Value, validate};

use crate::definition::{self, BlockCollection, Contents, Definition, Kind, OnChange, Presence, Visibility};

/// The kind of type to which a schema belongs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    Resource,
    DataSource,
}

/// Returns the schema of a resource type.
pub(crate) fn resource_schema(definition: &Definition) -> Schema {
    let id = Attribute::string("id")
        .optional()
        .computed()
        .use_state_for_unknown()
        .force_new()
        .description("The name of the object and its file. Default: a new UUID.");
    schema(definition, Owner::Resource, id)
}

/// Returns the schema of a data source type.
pub(crate) fn data_source_schema(definition: &Definition) -> Schema {
    let id = Attribute::string("id").required().description("The name of the file to read.");
    schema(definition, Owner::DataSource, id)
}

fn schema(definition: &Definition, owner: Owner, id: Attribute) -> Schema {
    let contents = &definition.contents;
    let schema = Schema::new().description(definition.description).attribute(id);
    let schema = schema.attributes(attributes(&contents.attributes, owner));
    blocks(contents, owner).fold(schema, Schema::block)
}

fn attributes(all: &definition::Attributes, owner: Owner) -> impl Iterator<Item = Attribute> {
    all.iter().map(move |(name, one)| attribute(name, one, owner))
}

fn blocks(contents: &Contents, owner: Owner) -> impl Iterator<Item = Block> {
    contents.blocks.iter().map(move |(name, one)| {
        let block = match one.nesting {
            BlockCollection::List => Block::list(name),
            BlockCollection::Set => Block::set(name),
        };
        let block = block.attributes(attributes(&one.contents.attributes, owner));
        blocks(&one.contents, owner).fold(block, Block::block)
    })
}

fn attribute(name: &str, definition: &definition::Attribute, owner: Owner) -> Attribute {
    let is_configured = owner == Owner::Resource && definition.presence != Presence::Computed;
    let attribute = match &definition.kind {
        Kind::Integer if is_configured => {
            Attribute::integer(name).validate(validate::custom(fits_an_integer))
        }
        Kind::Float if is_configured => Attribute::number(name).validate(validate::custom(fits_a_double)),
        Kind::Integer | Kind::Float => Attribute::number(name),
        Kind::Plain(ty) => Attribute::new(name, ty.clone()),
        Kind::Nested(nesting, inner) => nested(name, *nesting, attributes(inner, owner)),
    };
    let attribute = attribute.description(definition.description);
    let attribute = match definition.visibility {
        Visibility::Shown => attribute,
        Visibility::Sensitive => attribute.sensitive(),
    };
    if owner == Owner::DataSource {
        return attribute.computed();
    }
    let attribute = match definition.presence {
        Presence::Required => attribute.required(),
        Presence::Optional => attribute.optional(),
        Presence::Computed => attribute.computed().use_state_for_unknown(),
        Presence::OptionalComputed => attribute.optional().computed().use_state_for_unknown(),
    };
    match definition.on_change {
        OnChange::Update => attribute,
        OnChange::Replace => attribute.force_new(),
    }
}

fn nested(name: &str, nesting: Nesting, inner: impl Iterator<Item = Attribute>) -> Attribute {
    match nesting {
        Nesting::Single => Attribute::nested(name, inner),
        Nesting::List => Attribute::nested_list(name, inner),
        Nesting::Set => Attribute::nested_set(name, inner),
        Nesting::Map => Attribute::nested_map(name, inner),
    }
}

fn fits_an_integer(value: &Value) -> Result<(), &'static str> {
    match value.as_number() {
        Some(number) if number.is_integer() && number.as_i64().is_none() => Err("must be a 64-bit integer"),
        _ => Ok(()),
    }
}

fn fits_a_double(value: &Value) -> Result<(), &'static str> {
    match value.as_number() {
        Some(number) if !number.to_f64().is_finite() || (number.to_f64() == 0.0 && !number.is_zero()) => {
            Err("must be a number that a double can represent")
        }
        _ => Ok(()),
    }
}
