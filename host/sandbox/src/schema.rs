//! Schemas out of what a component answers.
//!
//! WIT has no recursive types: blocks and nested objects lie in flat lists and
//! refer to each other by index. An index must lead forward, so that no cycle can
//! be written; and since an entry may be referred to more than once, what a short
//! list stands for can still be exponentially large. So sizes are counted as they
//! unfold, and bounded.

use std::collections::BTreeMap;
use std::sync::Arc;

use wardian_plugin::{
    Attribute, AttributeType, Block, BlockNesting, Deprecation, Description, Function, IdentityAttribute,
    IdentitySchema, NestedBlock, NestedObject, ObjectNesting, Parameter, ProviderSchema, Schema,
    ServerCapabilities, Setting,
};
use wardian_value::{Str, Type};

use crate::bindings::exports::wardian::plugin::provider as wit;
use crate::bindings::wardian::plugin::types as wit_types;
use crate::failure::Failure;
use crate::output::printable;

/// Attributes and blocks of one schema, unfolded. The largest of the AWS
/// provider has some tens of thousands.
const LARGEST_SCHEMA: usize = 1 << 20;
/// Blocks and objects inside each other.
const DEEPEST_SCHEMA: usize = 64;

/// A provider's schema with what is derived from it once.
pub(crate) struct DecodedSchema {
    pub(crate) schema: Arc<ProviderSchema>,
    pub(crate) identity_types: BTreeMap<Str, Type>,
}

/// Decodes all schemas. The error says where something is wrong and what.
pub(crate) fn provider_schema(
    answer: wit::ProviderSchema,
    identities: Vec<(String, wit::IdentitySchema)>,
) -> Result<DecodedSchema, String> {
    let capabilities = answer.server_capabilities;
    let schema = ProviderSchema {
        capabilities: ServerCapabilities {
            plan_destroy: capabilities.plan_destroy,
            get_provider_schema_optional: capabilities.get_provider_schema_optional,
            move_resource_state: capabilities.move_resource_state,
            generate_resource_config: capabilities.generate_resource_config,
        },
        provider: schema("the provider's configuration", answer.provider)?,
        provider_meta: answer
            .provider_meta
            .map(|meta| schema("the provider's metadata", meta))
            .transpose()?,
        resources: schemas("resource", answer.resources)?,
        data_sources: schemas("data source", answer.data_sources)?,
        ephemeral_resources: schemas("ephemeral resource", answer.ephemeral_resources)?,
        list_resources: schemas("list resource", answer.list_resources)?,
        actions: schemas("action", answer.actions)?,
        functions: by_name("function", answer.functions, function)?,
        identities: by_name("identity of resource", identities, identity)?,
    };
    let identity_types = schema.identities.iter().map(|(name, s)| (name.clone(), s.implied_type())).collect();
    Ok(DecodedSchema { schema: Arc::new(schema), identity_types })
}

fn schemas(
    kind: &str,
    named: Vec<(String, wit_types::Schema)>,
) -> Result<BTreeMap<Str, Arc<Schema>>, String> {
    by_name(kind, named, |place, answer| schema(place, answer).map(Arc::new))
}

fn by_name<A, B>(
    kind: &str,
    named: Vec<(String, A)>,
    decode: impl Fn(&str, A) -> Result<B, String>,
) -> Result<BTreeMap<Str, B>, String> {
    let mut decoded = BTreeMap::new();
    for (name, answer) in named {
        let place = format!("{kind} {:?}", printable(&name));
        let value = decode(&place, answer)?;
        insert(&place, "", &mut decoded, name, value)?;
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
    let shown = printable(&name);
    if name.is_empty() {
        return Err(format!("{place}: {kind} without a name"));
    }
    match into.insert(name.into(), value) {
        None => Ok(()),
        Some(_) if kind.is_empty() => Err(format!("{place}: stated twice")),
        Some(_) => Err(format!("{place}: {kind} {shown:?} is stated twice")),
    }
}

fn schema(place: &str, answer: wit_types::Schema) -> Result<Schema, String> {
    let objects = Objects::decode(place, answer.objects)?;
    let root = blocks(place, answer.blocks, &objects)?;
    Ok(Schema::new(answer.version, root))
}

/// What an entry of a list stands for when it is unfolded.
#[derive(Clone, Copy, Default)]
struct Extent {
    size: usize,
    depth: usize,
}

impl Extent {
    fn leaf(&mut self) {
        self.size = self.size.saturating_add(1);
    }

    fn contain(&mut self, inner: Self) {
        self.size = self.size.saturating_add(inner.size).saturating_add(1);
        self.depth = self.depth.max(inner.depth + 1);
    }

    fn check(self, place: &str) -> Result<Self, String> {
        if self.depth > DEEPEST_SCHEMA {
            return Err(format!("{place}: nested deeper than {DEEPEST_SCHEMA} levels"));
        }
        if self.size > LARGEST_SCHEMA {
            return Err(format!("{place}: larger than {LARGEST_SCHEMA} attributes"));
        }
        Ok(self)
    }
}

/// The nested objects of a schema. Entries lead forward only, so the last is
/// decoded first, and each finds what it refers to.
struct Objects(Vec<Option<(Arc<NestedObject>, Extent)>>);

impl Objects {
    fn decode(place: &str, answer: Vec<wit_types::NestedObject>) -> Result<Self, String> {
        let mut objects = Self(vec![None; answer.len()]);
        for (index, object) in answer.into_iter().enumerate().rev() {
            let here = format!("{place}, object {index}");
            let mut extent = Extent::default();
            let attributes = attributes(&here, object.attributes, &objects, Some(index), &mut extent)?;
            let nesting = match object.nesting {
                wit_types::ObjectNesting::Single => ObjectNesting::Single,
                wit_types::ObjectNesting::List => ObjectNesting::List,
                wit_types::ObjectNesting::Set => ObjectNesting::Set,
                wit_types::ObjectNesting::Map => ObjectNesting::Map,
            };
            let extent = extent.check(&here)?;
            objects.0[index] = Some((Arc::new(NestedObject { attributes, nesting }), extent));
        }
        Ok(objects)
    }

    /// `from` is the object that refers, where it is one.
    fn get(&self, index: u32, from: Option<usize>) -> Result<(Arc<NestedObject>, Extent), String> {
        let index = index as usize;
        if index >= self.0.len() {
            return Err(format!("there is no object {index}"));
        }
        if from.is_some_and(|from| index <= from) {
            return Err(format!("it refers back to object {index}"));
        }
        self.0[index].clone().ok_or_else(|| format!("object {index} is not decoded"))
    }
}

fn blocks(place: &str, answer: Vec<wit_types::Block>, objects: &Objects) -> Result<Block, String> {
    let count = answer.len();
    let mut uses = vec![0_usize; count];
    for inner in answer.iter().flat_map(|block| &block.block_types) {
        if let Some(uses) = uses.get_mut(inner.block as usize) {
            *uses += 1;
        }
    }
    let mut decoded: Vec<Option<(Block, Extent)>> = (0..count).map(|_| None).collect();
    for (index, block) in answer.into_iter().enumerate().rev() {
        let here = format!("{place}, block {index}");
        let mut extent = Extent::default();
        let attributes = attributes(&here, block.attributes, objects, None, &mut extent)?;
        let mut block_types = BTreeMap::new();
        for inner in block.block_types {
            let name = printable(&inner.type_name);
            let at = inner.block as usize;
            if at >= count {
                return Err(format!("{here}, nested block {name:?}: there is no block {at}"));
            }
            if at <= index {
                return Err(format!("{here}, nested block {name:?}: it refers back to block {at}"));
            }
            if inner.max_items > 0 && inner.min_items > inner.max_items {
                return Err(format!(
                    "{here}, nested block {name:?}: at least {} and at most {}",
                    inner.min_items, inner.max_items
                ));
            }
            uses[at] -= 1;
            // The last use takes the block, so that a tree is never copied.
            let found = if uses[at] == 0 { decoded[at].take() } else { decoded[at].clone() };
            let Some((content, inner_extent)) = found else {
                return Err(format!("{here}, nested block {name:?}: block {at} is not decoded"));
            };
            extent.contain(inner_extent);
            extent.check(&here)?;
            let nested = NestedBlock {
                block: content,
                nesting: block_nesting(inner.nesting),
                min_items: inner.min_items,
                max_items: inner.max_items,
            };
            if attributes.contains_key(inner.type_name.as_str()) {
                return Err(format!("{here}: {name:?} is both an attribute and a block"));
            }
            insert(&here, "nested block", &mut block_types, inner.type_name, nested)?;
        }
        let block = Block {
            attributes,
            block_types,
            description: description(block.description),
            deprecation: deprecation(block.deprecation),
        };
        decoded[index] = Some((block, extent.check(&here)?));
    }
    match decoded.into_iter().next().flatten() {
        Some((root, _)) => Ok(root),
        None => Err(format!("{place}: there is no root block")),
    }
}

fn block_nesting(nesting: wit_types::BlockNesting) -> BlockNesting {
    match nesting {
        wit_types::BlockNesting::Single => BlockNesting::Single,
        wit_types::BlockNesting::Group => BlockNesting::Group,
        wit_types::BlockNesting::List => BlockNesting::List,
        wit_types::BlockNesting::Set => BlockNesting::Set,
        wit_types::BlockNesting::Map => BlockNesting::Map,
    }
}

fn attributes(
    place: &str,
    answer: Vec<wit_types::Attribute>,
    objects: &Objects,
    from: Option<usize>,
    extent: &mut Extent,
) -> Result<BTreeMap<Str, Attribute>, String> {
    let mut decoded = BTreeMap::new();
    for attribute in answer {
        let here = format!("{place}, attribute {:?}", printable(&attribute.name));
        let ty = match attribute.type_ {
            wit_types::AttributeType::Value(json) => {
                extent.leaf();
                AttributeType::Value(type_of_json(&here, &json)?)
            }
            wit_types::AttributeType::Nested(index) => {
                let (object, inner) =
                    objects.get(index, from).map_err(|problem| format!("{here}: {problem}"))?;
                extent.contain(inner);
                AttributeType::Nested(object)
            }
        };
        extent.check(&here)?;
        let setting = Setting::from_flags(attribute.required, attribute.optional, attribute.computed)
            .ok_or_else(|| format!("{here}: required, optional and computed contradict each other"))?;
        let value = Attribute {
            ty,
            description: description(attribute.description),
            setting,
            sensitive: attribute.sensitive,
            write_only: attribute.write_only,
            deprecation: deprecation(attribute.deprecation),
        };
        insert(place, "attribute", &mut decoded, attribute.name, value)?;
    }
    Ok(decoded)
}

fn type_of_json(place: &str, json: &str) -> Result<Type, String> {
    Type::from_json(json).map_err(|error| format!("{place}: {error}"))
}

fn description(answer: wit_types::Description) -> Description {
    Description { text: answer.text, markdown: matches!(answer.kind, wit_types::StringKind::Markdown) }
}

fn deprecation(answer: wit_types::Deprecation) -> Deprecation {
    match answer {
        wit_types::Deprecation::None => Deprecation::None,
        wit_types::Deprecation::Deprecated => Deprecation::Deprecated,
        wit_types::Deprecation::Message(message) => Deprecation::Message(printable(&message)),
    }
}

fn function(place: &str, answer: wit::Function) -> Result<Function, String> {
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
        return_type: type_of_json(&format!("{place}, result"), &answer.return_type)?,
        summary: printable(&answer.summary),
        description: description(answer.description),
        deprecation: deprecation(answer.deprecation),
    })
}

fn parameter(place: &str, answer: wit::Parameter) -> Result<Parameter, String> {
    let name = printable(&answer.name);
    Ok(Parameter {
        ty: type_of_json(&format!("{place}, parameter {name:?}"), &answer.type_)?,
        name,
        allow_null: answer.allow_null_value,
        allow_unknown: answer.allow_unknown_values,
        description: description(answer.description),
    })
}

fn identity(place: &str, answer: wit::IdentitySchema) -> Result<Arc<IdentitySchema>, String> {
    let mut attributes = BTreeMap::new();
    for attribute in answer.attributes {
        let here = format!("{place}, attribute {:?}", printable(&attribute.name));
        let ty = type_of_json(&here, &attribute.type_)?;
        let primitives = match &ty {
            Type::List(element) => element.is_primitive(),
            ty => ty.is_primitive(),
        };
        if !primitives {
            return Err(format!("{here}: an identity holds primitives and lists of them only"));
        }
        let value = IdentityAttribute {
            ty,
            required_for_import: attribute.required_for_import,
            optional_for_import: attribute.optional_for_import,
            description: attribute.description,
        };
        insert(place, "attribute", &mut attributes, attribute.name, value)?;
    }
    Ok(Arc::new(IdentitySchema { version: answer.version, attributes }))
}

/// Types of values by what they are of. Asking for what the provider does not
/// have is the caller's mistake, not the component's.
impl DecodedSchema {
    pub(crate) fn resource(&self, name: &Str) -> Result<&Type, Failure> {
        implied(&self.schema.resources, name, "resource type")
    }

    pub(crate) fn data_source(&self, name: &Str) -> Result<&Type, Failure> {
        implied(&self.schema.data_sources, name, "data source")
    }

    pub(crate) fn ephemeral_resource(&self, name: &Str) -> Result<&Type, Failure> {
        implied(&self.schema.ephemeral_resources, name, "ephemeral resource type")
    }

    pub(crate) fn list_resource(&self, name: &Str) -> Result<&Type, Failure> {
        implied(&self.schema.list_resources, name, "resource type that can be listed")
    }

    pub(crate) fn action(&self, name: &Str) -> Result<&Type, Failure> {
        implied(&self.schema.actions, name, "action")
    }

    pub(crate) fn function(&self, name: &Str) -> Result<&Function, Failure> {
        self.schema.functions.get(name).ok_or_else(|| unknown("function", name))
    }

    pub(crate) fn identity(&self, name: &Str) -> Option<&Type> {
        self.identity_types.get(name)
    }

    pub(crate) fn meta(&self) -> Option<&Type> {
        self.schema.provider_meta.as_ref().map(Schema::implied_type)
    }
}

fn implied<'a>(schemas: &'a BTreeMap<Str, Arc<Schema>>, name: &Str, kind: &str) -> Result<&'a Type, Failure> {
    schemas.get(name).map(|schema| schema.implied_type()).ok_or_else(|| unknown(kind, name))
}

fn unknown(kind: &str, name: &Str) -> Failure {
    Failure::BadRequest(format!("the plugin has no {kind} {:?}", name.as_str()))
}
