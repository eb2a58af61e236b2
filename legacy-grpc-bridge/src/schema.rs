//! Decodes schemas from a plugin's response in either protocol version.
//!
//! Protocol 5 has no nested attributes; otherwise its schemas differ only in field numbers.
//! Therefore, they are first converted to schemas of protocol 6.
//!
//! A large plugin has more than a thousand types, but a run uses only a few of them. Therefore, the
//! schema of a type is decoded only when it is requested. A plugin's response is first checked
//! completely; a cached response was checked before it was stored.
//!
//! The nesting of messages is limited to the depth that prost can decode (100 levels), and the size
//! of decoded schemas is proportional to the size of the messages.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use bytes::Bytes;
use prost::Message;
use wardian_plugin::transport::DecodedSchema;
use wardian_plugin::{
    Attribute, AttributeType, Block, BlockNesting, Deprecation, Description, Function, IdentityAttribute,
    IdentitySchema, NestedBlock, NestedObject, ObjectNesting, Parameter, ProviderSchema, Schema,
    SchemaSource, SchemaTable, ServerCapabilities, Setting, printable,
};
use wardian_value::{Str, Type};

use crate::ProtocolVersion;
use crate::handshake::shown;
use crate::protocol::{tfplugin as m, tfplugin5 as five, tfplugin6 as six};

/// A plugin's response with its schemas, and its protocol version.
pub(crate) struct Answered {
    pub(crate) version: ProtocolVersion,
    pub(crate) schema: m::UndecodedProviderSchema,
    pub(crate) identities: HashMap<String, m::ResourceIdentitySchema>,
}

/// Decodes the schemas that are always needed. The schemas of types are decoded when they are used.
/// The error describes the fault and its location.
pub(crate) fn provider_schema(answered: Answered) -> Result<DecodedSchema, String> {
    let Answered { version, schema: answer, identities } = answered;
    let capabilities = answer.server_capabilities.unwrap_or_default();
    let table = |kind: Kind, schemas: HashMap<String, Bytes>| {
        if schemas.contains_key("") {
            return Err(format!("{}: the name is empty", kind.place("")));
        }
        let names: Vec<Str> = schemas.keys().map(|name| Str::new(name)).collect();
        Ok(SchemaTable::new(names, Arc::new(Undecoded { kind, version, schemas })))
    };
    let schema = ProviderSchema {
        capabilities: ServerCapabilities {
            plan_destroy: capabilities.plan_destroy,
            get_provider_schema_optional: capabilities.get_provider_schema_optional,
            move_resource_state: capabilities.move_resource_state,
            generate_resource_config: capabilities.generate_resource_config,
        },
        provider: decode("the provider's configuration", version, answer.provider)?,
        provider_meta: answer
            .provider_meta
            .map(|meta| decode("the provider's metadata", version, meta))
            .transpose()?,
        resources: table(Kind::Resource, answer.resource_schemas)?,
        data_sources: table(Kind::DataSource, answer.data_source_schemas)?,
        ephemeral_resources: table(Kind::EphemeralResource, answer.ephemeral_resource_schemas)?,
        list_resources: table(Kind::ListResource, answer.list_resource_schemas)?,
        actions: table(Kind::Action, answer.action_schemas)?,
        functions: by_name("function", answer.functions, function)?,
        identities: by_name("identity of resource", identities, identity)?,
    };
    let state_stores = match version {
        ProtocolVersion::Five => SchemaTable::default(),
        ProtocolVersion::Six => table(Kind::StateStore, answer.state_store_schemas)?,
    };
    Ok(DecodedSchema::new(schema).with_state_stores(state_stores))
}

/// Checks that every schema of a response can be decoded. A plugin's response is checked once,
/// before the response is used or stored.
pub(crate) fn check(version: ProtocolVersion, answer: &m::UndecodedProviderSchema) -> Result<(), String> {
    let tables = [
        (Kind::Resource, &answer.resource_schemas),
        (Kind::DataSource, &answer.data_source_schemas),
        (Kind::EphemeralResource, &answer.ephemeral_resource_schemas),
        (Kind::ListResource, &answer.list_resource_schemas),
        (Kind::Action, &answer.action_schemas),
        (Kind::StateStore, &answer.state_store_schemas),
    ];
    let in_use = tables.into_iter().filter(|(kind, _)| {
        // Protocol 5 has no state stores.
        !matches!((kind, version), (Kind::StateStore, ProtocolVersion::Five))
    });
    for (kind, schemas) in in_use {
        for (name, bytes) in schemas {
            kind.decode(version, name, bytes.clone())?;
        }
    }
    Ok(())
}

#[derive(Clone, Copy)]
enum Kind {
    Resource,
    DataSource,
    EphemeralResource,
    ListResource,
    Action,
    StateStore,
}

impl Kind {
    fn place(self, name: &str) -> String {
        let kind = match self {
            Self::Resource => "resource",
            Self::DataSource => "data source",
            Self::EphemeralResource => "ephemeral resource",
            Self::ListResource => "list resource",
            Self::Action => "action",
            Self::StateStore => "state store",
        };
        format!("{kind} {:?}", shown(name))
    }

    fn decode(self, version: ProtocolVersion, name: &str, bytes: Bytes) -> Result<Schema, String> {
        let place = self.place(name);
        match (self, version) {
            (Self::Action, ProtocolVersion::Five) => {
                let action: five::ActionSchema = message(&place, bytes)?;
                schema(&place, action.schema.unwrap_or_default().into())
            }
            (Self::Action, ProtocolVersion::Six) => {
                let action: six::ActionSchema = message(&place, bytes)?;
                schema(&place, action.schema.unwrap_or_default())
            }
            _ => decode(&place, version, bytes),
        }
    }
}

/// The schemas of types, which are decoded on request.
struct Undecoded {
    kind: Kind,
    version: ProtocolVersion,
    schemas: HashMap<String, Bytes>,
}

impl SchemaSource for Undecoded {
    fn schema(&self, name: &str) -> Option<Arc<Schema>> {
        let bytes = self.schemas.get(name)?.clone();
        match self.kind.decode(self.version, name, bytes) {
            Ok(schema) => Some(Arc::new(schema)),
            // The schema was checked when the plugin responded.
            Err(problem) => {
                tracing::error!(target: "wardian::plugin", problem, "a schema cannot be decoded");
                None
            }
        }
    }
}

fn decode(place: &str, version: ProtocolVersion, bytes: Bytes) -> Result<Schema, String> {
    match version {
        ProtocolVersion::Five => schema(place, message::<five::Schema>(place, bytes)?.into()),
        ProtocolVersion::Six => schema(place, message::<six::Schema>(place, bytes)?),
    }
}

/// Decodes the schema of a provisioner, which only protocol 5 supports.
pub(crate) fn provisioner_schema(answer: five::Schema) -> Result<Schema, String> {
    schema("the provisioner", answer.into())
}

fn message<M: Message + Default>(place: &str, bytes: Bytes) -> Result<M, String> {
    M::decode(bytes).map_err(|error| format!("{place}: it is not a valid protocol message: {error}"))
}

fn by_name<A, B>(
    kind: &str,
    named: HashMap<String, A>,
    decode: impl Fn(&str, A) -> Result<B, String>,
) -> Result<BTreeMap<Str, B>, String> {
    let mut decoded = BTreeMap::new();
    for (name, answer) in named {
        let place = format!("{kind} {:?}", shown(&name));
        let value = decode(&place, answer)?;
        insert(&place, "the name", &mut decoded, name, value)?;
    }
    Ok(decoded)
}

fn insert<T>(
    place: &str,
    kind: &str,
    into: &mut BTreeMap<Str, T>,
    name: String,
    value: T,
) -> Result<(), String> {
    if name.is_empty() {
        return Err(format!("{place}: {kind} is empty"));
    }
    let name = Str::from(name);
    match into.insert(name.clone(), value) {
        None => Ok(()),
        Some(_) => Err(format!("{place}: {kind} {:?} is defined twice", shown(&name))),
    }
}

fn schema(place: &str, answer: six::Schema) -> Result<Schema, String> {
    Ok(Schema::new(answer.version, block(place, answer.block.unwrap_or_default())?))
}

fn block(place: &str, answer: six::schema::Block) -> Result<Block, String> {
    let (markdown, deprecation) =
        (is_markdown(answer.description_kind), deprecation(answer.deprecated, &answer.deprecation_message));
    let attributes = attributes(place, answer.attributes)?;
    let mut block_types = BTreeMap::new();
    for inner in answer.block_types {
        let name = shown(&inner.type_name);
        let here = format!("{place}, block {name:?}");
        if attributes.contains_key(inner.type_name.as_str()) {
            return Err(format!("{here}: there is an attribute with the same name"));
        }
        let nested = nested_block(&here, inner.nesting(), inner.min_items, inner.max_items, inner.block)?;
        insert(place, "the block", &mut block_types, inner.type_name, nested)?;
    }
    Ok(Block {
        attributes,
        block_types,
        description: Description { text: answer.description, markdown },
        deprecation,
    })
}

fn nested_block(
    place: &str,
    nesting: six::schema::nested_block::NestingMode,
    min_items: i64,
    max_items: i64,
    content: Option<six::schema::Block>,
) -> Result<NestedBlock, String> {
    use six::schema::nested_block::NestingMode;
    let nesting = match nesting {
        NestingMode::Single => BlockNesting::Single,
        NestingMode::List => BlockNesting::List,
        NestingMode::Set => BlockNesting::Set,
        NestingMode::Map => BlockNesting::Map,
        NestingMode::Group => BlockNesting::Group,
        NestingMode::Invalid => return Err(format!("{place}: unknown nesting mode")),
    };
    let (Ok(min), Ok(max)) = (u64::try_from(min_items), u64::try_from(max_items)) else {
        return Err(format!(
            "{place}: the minimum number of blocks is {min_items}, but the maximum is {max_items}"
        ));
    };
    if max > 0 && min > max {
        return Err(format!("{place}: the minimum number of blocks is {min}, but the maximum is {max}"));
    }
    Ok(NestedBlock {
        block: block(place, content.unwrap_or_default())?,
        nesting,
        min_items: min,
        max_items: max,
    })
}

fn attributes(place: &str, answer: Vec<six::schema::Attribute>) -> Result<BTreeMap<Str, Attribute>, String> {
    let mut decoded = BTreeMap::new();
    for attribute in answer {
        let here = || format!("{place}, attribute {:?}", shown(&attribute.name));
        let setting = Setting::from_flags(attribute.required, attribute.optional, attribute.computed)
            .ok_or_else(|| format!("{}: required, optional and computed contradict each other", here()))?;
        let markdown = is_markdown(attribute.description_kind);
        let deprecation = deprecation(attribute.deprecated, &attribute.deprecation_message);
        let ty = match attribute.nested_type {
            None => AttributeType::Value(type_of_json(here, &attribute.r#type)?),
            Some(_) if !attribute.r#type.is_empty() => {
                return Err(format!("{}: it has both a type and a nested type", here()));
            }
            Some(object) => AttributeType::Nested(Arc::new(nested_object(&here(), object)?)),
        };
        let value = Attribute {
            ty,
            description: Description { text: attribute.description, markdown },
            setting,
            sensitive: attribute.sensitive,
            write_only: attribute.write_only,
            deprecation,
        };
        insert(place, "the attribute", &mut decoded, attribute.name, value)?;
    }
    Ok(decoded)
}

fn nested_object(place: &str, answer: six::schema::Object) -> Result<NestedObject, String> {
    use six::schema::object::NestingMode;
    let nesting = match answer.nesting() {
        NestingMode::Single => ObjectNesting::Single,
        NestingMode::List => ObjectNesting::List,
        NestingMode::Set => ObjectNesting::Set,
        NestingMode::Map => ObjectNesting::Map,
        NestingMode::Invalid => return Err(format!("{place}: unknown nesting mode")),
    };
    Ok(NestedObject { attributes: attributes(place, answer.attributes)?, nesting })
}

fn type_of_json(place: impl Fn() -> String, json: &[u8]) -> Result<Type, String> {
    let text = std::str::from_utf8(json).map_err(|error| format!("{}: its type: {error}", place()))?;
    Type::from_json(text).map_err(|error| format!("{}: its type: {error}", place()))
}

fn is_markdown(kind: i32) -> bool {
    kind == i32::from(m::StringKind::Markdown)
}

fn deprecation(deprecated: bool, message: &str) -> Deprecation {
    match (deprecated, message) {
        (_, message) if !message.is_empty() => Deprecation::Message(printable(message)),
        (true, _) => Deprecation::Deprecated,
        (false, _) => Deprecation::None,
    }
}

fn function(place: &str, answer: m::Function) -> Result<Function, String> {
    let markdown = is_markdown(answer.description_kind);
    let result = answer.r#return.ok_or_else(|| format!("{place}: it has no result"))?;
    Ok(Function {
        parameters: answer
            .parameters
            .into_iter()
            .map(|parameter| self::parameter(place, parameter))
            .collect::<Result<_, _>>()?,
        variadic_parameter: answer
            .variadic_parameter
            .map(|parameter| self::parameter(place, parameter))
            .transpose()?,
        return_type: type_of_json(|| format!("{place}, result"), &result.r#type)?,
        summary: printable(&answer.summary),
        description: Description { text: answer.description, markdown },
        deprecation: deprecation(false, &answer.deprecation_message),
    })
}

fn parameter(place: &str, answer: m::function::Parameter) -> Result<Parameter, String> {
    let markdown = is_markdown(answer.description_kind);
    Ok(Parameter {
        ty: type_of_json(|| format!("{place}, parameter {:?}", shown(&answer.name)), &answer.r#type)?,
        name: printable(&answer.name),
        allow_null: answer.allow_null_value,
        allow_unknown: answer.allow_unknown_values,
        description: Description { text: answer.description, markdown },
    })
}

fn identity(place: &str, answer: m::ResourceIdentitySchema) -> Result<Arc<IdentitySchema>, String> {
    let mut attributes = BTreeMap::new();
    for attribute in answer.identity_attributes {
        let here = || format!("{place}, attribute {:?}", shown(&attribute.name));
        let ty = type_of_json(here, &attribute.r#type)?;
        let primitives = match &ty {
            Type::List(element) => element.is_primitive(),
            ty => ty.is_primitive(),
        };
        if !primitives {
            return Err(format!(
                "{}: an identity attribute must be a primitive or a list of primitives",
                here()
            ));
        }
        let value = IdentityAttribute {
            ty,
            required_for_import: attribute.required_for_import,
            optional_for_import: attribute.optional_for_import,
            description: attribute.description,
        };
        insert(place, "the attribute", &mut attributes, attribute.name, value)?;
    }
    Ok(Arc::new(IdentitySchema { version: answer.version, attributes }))
}

impl From<five::Schema> for six::Schema {
    fn from(schema: five::Schema) -> Self {
        Self { version: schema.version, block: schema.block.map(Into::into) }
    }
}

impl From<five::schema::Block> for six::schema::Block {
    fn from(block: five::schema::Block) -> Self {
        Self {
            version: block.version,
            attributes: block.attributes.into_iter().map(Into::into).collect(),
            block_types: block.block_types.into_iter().map(Into::into).collect(),
            description: block.description,
            description_kind: block.description_kind,
            deprecated: block.deprecated,
            deprecation_message: block.deprecation_message,
        }
    }
}

impl From<five::schema::Attribute> for six::schema::Attribute {
    fn from(attribute: five::schema::Attribute) -> Self {
        Self {
            name: attribute.name,
            r#type: attribute.r#type,
            description: attribute.description,
            required: attribute.required,
            optional: attribute.optional,
            computed: attribute.computed,
            sensitive: attribute.sensitive,
            description_kind: attribute.description_kind,
            deprecated: attribute.deprecated,
            nested_type: None,
            write_only: attribute.write_only,
            deprecation_message: attribute.deprecation_message,
        }
    }
}

impl From<five::schema::NestedBlock> for six::schema::NestedBlock {
    fn from(nested: five::schema::NestedBlock) -> Self {
        Self {
            type_name: nested.type_name,
            block: nested.block.map(Into::into),
            nesting: nested.nesting,
            min_items: nested.min_items,
            max_items: nested.max_items,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(name: &str, ty: &'static str) -> six::schema::Attribute {
        six::schema::Attribute {
            name: name.into(),
            r#type: ty.as_bytes().into(),
            optional: true,
            ..six::schema::Attribute::default()
        }
    }

    fn decode(attributes: Vec<six::schema::Attribute>) -> Result<Block, String> {
        block("it", six::schema::Block { attributes, ..six::schema::Block::default() })
    }

    #[test]
    fn contradictions_are_reported_with_their_location() {
        let error = |attributes| decode(attributes).err().unwrap_or_default();
        assert!(error(vec![attribute("a", "\"nothing\"")]).starts_with("it, attribute \"a\": its type"));
        assert!(error(vec![attribute("a", "\"bool\""), attribute("a", "\"bool\"")]).contains("twice"));
        let required = six::schema::Attribute { required: true, ..attribute("a", "\"bool\"") };
        assert!(error(vec![required]).contains("contradict"));
        let object = six::schema::Object { attributes: Vec::new(), nesting: 1 };
        let both = six::schema::Attribute { nested_type: Some(object.clone()), ..attribute("a", "\"bool\"") };
        assert!(error(vec![both]).contains("both a type and a nested type"));
        let unknown = six::schema::Object { nesting: 9, ..object };
        let nested = six::schema::Attribute { nested_type: Some(unknown), ..attribute("a", "") };
        assert!(error(vec![nested]).contains("nesting"));
    }

    #[test]
    fn invalid_min_and_max_items_of_block_are_rejected() {
        let nested =
            |min, max| nested_block("it", six::schema::nested_block::NestingMode::List, min, max, None);
        assert!(nested(0, 0).is_ok() && nested(2, 0).is_ok() && nested(1, 1).is_ok());
        assert!(nested(2, 1).is_err() && nested(-1, 0).is_err() && nested(0, -1).is_err());
    }

    #[test]
    fn protocol_5_field_numbers_are_converted() {
        let attribute = five::schema::Attribute {
            name: "secret".into(),
            r#type: "\"string\"".as_bytes().into(),
            optional: true,
            write_only: true,
            deprecation_message: "use another".into(),
            ..five::schema::Attribute::default()
        };
        let decoded = decode(vec![attribute.into()]).unwrap();
        let secret = &decoded.attributes["secret"];
        assert!(secret.write_only);
        assert_eq!(secret.deprecation, Deprecation::Message("use another".into()));
    }
}
