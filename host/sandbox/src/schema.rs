//! Decodes schemas from a component's response.
//!
//! WIT has no recursive types, so blocks and nested objects are stored in flat lists and refer to
//! each other by index. An index must refer forward, which makes cycles impossible. Since an entry
//! may be referenced more than once, a short list can still expand to an exponential size.
//! Therefore, elements and text are counted during expansion, and all schemas of a provider share
//! one [`Budget`].

use std::collections::BTreeMap;
use std::sync::Arc;

use wardian_plugin::transport::DecodedSchema;
use wardian_plugin::{
    Attribute, AttributeType, Block, BlockNesting, Deprecation, Description, Function, IdentityAttribute,
    IdentitySchema, NestedBlock, NestedObject, ObjectNesting, Parameter, ProviderSchema, Schema,
    ServerCapabilities, Setting,
};
use wardian_value::{Str, Type};

use crate::bindings::exports::wardian::plugin::provider as wit;
use crate::bindings::wardian::plugin::types as wit_types;
use crate::output::printable;

/// Maximum number of attributes and blocks of all schemas together, expanded. The AWS provider has
/// several hundred thousand.
const MAX_ELEMENTS: usize = 1 << 21;
/// Maximum number of bytes of the names, types and descriptions in all schemas together, expanded.
const MAX_TEXT: usize = 128 << 20;
/// Maximum nesting of blocks and objects.
const MAX_SCHEMA_DEPTH: usize = 64;
/// Maximum number of characters of a name that a message contains.
const SHOWN_NAME: usize = 200;

/// Decodes all schemas. The error describes the fault and its location.
pub(crate) fn provider_schema(
    answer: wit::ProviderSchema,
    identities: Vec<(String, wit::IdentitySchema)>,
) -> Result<DecodedSchema, String> {
    let capabilities = answer.server_capabilities;
    let budget = &mut Budget::whole();
    let schema = ProviderSchema {
        capabilities: ServerCapabilities {
            plan_destroy: capabilities.plan_destroy,
            get_provider_schema_optional: capabilities.get_provider_schema_optional,
            move_resource_state: capabilities.move_resource_state,
            generate_resource_config: capabilities.generate_resource_config,
        },
        provider: schema("the provider's configuration", answer.provider, budget)?,
        provider_meta: answer
            .provider_meta
            .map(|meta| schema("the provider's metadata", meta, budget))
            .transpose()?,
        resources: schemas("resource", answer.resources, budget)?.into(),
        data_sources: schemas("data source", answer.data_sources, budget)?.into(),
        ephemeral_resources: schemas("ephemeral resource", answer.ephemeral_resources, budget)?.into(),
        list_resources: schemas("list resource", answer.list_resources, budget)?.into(),
        actions: schemas("action", answer.actions, budget)?.into(),
        functions: by_name("function", answer.functions, budget, function)?,
        identities: by_name("identity of resource", identities, budget, identity)?,
    };
    Ok(DecodedSchema::new(schema))
}

/// Decodes the schemas of state stores.
pub(crate) fn state_store_schemas(
    named: Vec<(String, wit_types::Schema)>,
) -> Result<BTreeMap<Str, Arc<Schema>>, String> {
    schemas("state store", named, &mut Budget::whole())
}

fn schemas(
    kind: &str,
    named: Vec<(String, wit_types::Schema)>,
    budget: &mut Budget,
) -> Result<BTreeMap<Str, Arc<Schema>>, String> {
    by_name(kind, named, budget, |place, answer, budget| schema(place, answer, budget).map(Arc::new))
}

fn by_name<A, B>(
    kind: &str,
    named: Vec<(String, A)>,
    budget: &mut Budget,
    decode: impl Fn(&str, A, &mut Budget) -> Result<B, String>,
) -> Result<BTreeMap<Str, B>, String> {
    let mut decoded = BTreeMap::new();
    for (name, answer) in named {
        let place = format!("{kind} {:?}", shown(&name));
        budget.spend(&place, Extent::with_text(name.len()))?;
        let value = decode(&place, answer, budget)?;
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
    let shown = shown(&name);
    if name.is_empty() {
        return Err(format!("{place}: {kind} without a name"));
    }
    match into.insert(name.into(), value) {
        None => Ok(()),
        Some(_) if kind.is_empty() => Err(format!("{place}: defined twice")),
        Some(_) => Err(format!("{place}: {kind} {shown:?} is defined twice")),
    }
}

/// Truncates a name for a message. Locations are formatted for each attribute, so a name of
/// unlimited length would be costly.
fn shown(name: &str) -> String {
    let end = name.char_indices().nth(SHOWN_NAME).map_or(name.len(), |(end, _)| end);
    printable(name.get(..end).unwrap_or_default())
}

/// Decodes the schema of a provisioner's configuration.
pub(crate) fn provisioner_schema(answer: wit_types::Schema) -> Result<Schema, String> {
    schema("provisioner", answer, &mut Budget::whole())
}

fn schema(place: &str, answer: wit_types::Schema, budget: &mut Budget) -> Result<Schema, String> {
    let mut objects = Objects::decode(place, answer.objects, budget)?;
    let root = blocks(place, answer.blocks, &mut objects, budget)?;
    Ok(Schema::new(answer.version, root))
}

/// The expanded size of a list entry.
#[derive(Clone, Copy, Default)]
struct Extent {
    elements: usize,
    text: usize,
    depth: usize,
}

impl Extent {
    /// Returns the expanded size of one element with this many bytes of text.
    fn with_text(text: usize) -> Self {
        Self { elements: 1, text, depth: 0 }
    }

    fn add(&mut self, beside: Self) {
        self.elements = self.elements.saturating_add(beside.elements);
        self.text = self.text.saturating_add(beside.text);
        self.depth = self.depth.max(beside.depth);
    }

    fn contain(&mut self, place: &str, inner: Self) -> Result<(), String> {
        if inner.depth >= MAX_SCHEMA_DEPTH {
            return Err(format!("{place}: nested deeper than {MAX_SCHEMA_DEPTH} levels"));
        }
        self.add(Self { depth: inner.depth + 1, ..inner });
        Ok(())
    }
}

/// The remaining budget for a provider's schemas. Each element of the response is charged once, and
/// again for each additional reference to it.
struct Budget {
    elements: usize,
    text: usize,
}

impl Budget {
    fn whole() -> Self {
        Self { elements: MAX_ELEMENTS, text: MAX_TEXT }
    }

    fn spend(&mut self, place: &str, extent: Extent) -> Result<(), String> {
        let Some(elements) = self.elements.checked_sub(extent.elements) else {
            return Err(format!("{place}: the schemas exceed {MAX_ELEMENTS} attributes and blocks in total"));
        };
        let Some(text) = self.text.checked_sub(extent.text) else {
            return Err(format!("{place}: the schemas exceed {MAX_TEXT} bytes of text in total"));
        };
        *self = Self { elements, text };
        Ok(())
    }
}

/// A schema's nested objects. An entry refers only to later entries, so the last entry is decoded
/// first.
struct Objects(Vec<Option<DecodedObject>>);

#[derive(Clone)]
struct DecodedObject {
    object: Arc<NestedObject>,
    extent: Extent,
    /// Whether another entry already refers to this entry.
    used: bool,
}

impl Objects {
    fn decode(
        place: &str,
        answer: Vec<wit_types::NestedObject>,
        budget: &mut Budget,
    ) -> Result<Self, String> {
        let mut objects = Self(vec![None; answer.len()]);
        for (index, object) in answer.into_iter().enumerate().rev() {
            let here = format!("{place}, object {index}");
            let mut extent = Extent::default();
            let attributes =
                attributes(&here, object.attributes, &mut objects, Some(index), &mut extent, budget)?;
            let nesting = match object.nesting {
                wit_types::ObjectNesting::Single => ObjectNesting::Single,
                wit_types::ObjectNesting::List => ObjectNesting::List,
                wit_types::ObjectNesting::Set => ObjectNesting::Set,
                wit_types::ObjectNesting::Map => ObjectNesting::Map,
            };
            let object = Arc::new(NestedObject { attributes, nesting });
            objects.0[index] = Some(DecodedObject { object, extent, used: false });
        }
        Ok(objects)
    }

    /// Returns an object. `from` is the object that refers to it, if any. Objects are shared, but
    /// the types that they imply are not, so each additional reference is charged.
    fn get(
        &mut self,
        place: &str,
        index: u32,
        from: Option<usize>,
        budget: &mut Budget,
    ) -> Result<(Arc<NestedObject>, Extent), String> {
        let index = index as usize;
        if index >= self.0.len() {
            return Err(format!("{place}: there is no object {index}"));
        }
        if from.is_some_and(|from| index <= from) {
            return Err(format!("{place}: it refers back to object {index}"));
        }
        let Some(found) = &mut self.0[index] else {
            return Err(format!("{place}: object {index} is not decoded"));
        };
        if std::mem::replace(&mut found.used, true) {
            budget.spend(place, found.extent)?;
        }
        Ok((Arc::clone(&found.object), found.extent))
    }
}

fn blocks(
    place: &str,
    answer: Vec<wit_types::Block>,
    objects: &mut Objects,
    budget: &mut Budget,
) -> Result<Block, String> {
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
        let names: usize = block.block_types.iter().map(|inner| inner.type_name.len()).sum();
        let mut extent = Extent::with_text(names + remarks(&block.description, &block.deprecation));
        budget.spend(&here, extent)?;
        let attributes = attributes(&here, block.attributes, objects, None, &mut extent, budget)?;
        let mut block_types = BTreeMap::new();
        for inner in block.block_types {
            let name = shown(&inner.type_name);
            let at = inner.block as usize;
            if at >= count {
                return Err(format!("{here}, nested block {name:?}: there is no block {at}"));
            }
            if at <= index {
                return Err(format!("{here}, nested block {name:?}: it refers back to block {at}"));
            }
            if inner.max_items > 0 && inner.min_items > inner.max_items {
                return Err(format!(
                    "{here}, nested block {name:?}: the minimum number of blocks is {}, but the maximum is \
                     {}",
                    inner.min_items, inner.max_items
                ));
            }
            uses[at] -= 1;
            if let Some((_, inner_extent)) = &decoded[at] {
                extent.contain(&here, *inner_extent)?;
                if uses[at] > 0 {
                    budget.spend(&here, *inner_extent)?;
                }
            }
            // The last reference moves the block; a tree is therefore never copied.
            let found = if uses[at] == 0 { decoded[at].take() } else { decoded[at].clone() };
            let Some((content, _)) = found else {
                return Err(format!("{here}, nested block {name:?}: block {at} is not decoded"));
            };
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
        decoded[index] = Some((block, extent));
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
    objects: &mut Objects,
    from: Option<usize>,
    extent: &mut Extent,
    budget: &mut Budget,
) -> Result<BTreeMap<Str, Attribute>, String> {
    let mut decoded = BTreeMap::new();
    for attribute in answer {
        let here = format!("{place}, attribute {:?}", shown(&attribute.name));
        let type_text = match &attribute.type_ {
            wit_types::AttributeType::Value(json) => json.len(),
            wit_types::AttributeType::Nested(_) => 0,
        };
        let remarks = remarks(&attribute.description, &attribute.deprecation);
        let own = Extent::with_text(attribute.name.len() + type_text + remarks);
        budget.spend(&here, own)?;
        extent.add(own);
        let ty = match attribute.type_ {
            wit_types::AttributeType::Value(json) => AttributeType::Value(type_of_json(&here, &json)?),
            wit_types::AttributeType::Nested(index) => {
                let (object, inner) = objects.get(&here, index, from, budget)?;
                extent.contain(&here, inner)?;
                AttributeType::Nested(object)
            }
        };
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

/// Returns the size of an element's description and deprecation message, in bytes.
fn remarks(description: &wit_types::Description, deprecation: &wit_types::Deprecation) -> usize {
    let deprecation = match deprecation {
        wit_types::Deprecation::Message(message) => message.len(),
        wit_types::Deprecation::None | wit_types::Deprecation::Deprecated => 0,
    };
    description.text.len() + deprecation
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

fn function(place: &str, answer: wit::Function, budget: &mut Budget) -> Result<Function, String> {
    let remarks = remarks(&answer.description, &answer.deprecation);
    budget.spend(place, Extent::with_text(answer.return_type.len() + answer.summary.len() + remarks))?;
    for parameter in answer.parameters.iter().chain(&answer.variadic_parameter) {
        let text = parameter.name.len() + parameter.type_.len() + parameter.description.text.len();
        budget.spend(place, Extent::with_text(text))?;
    }
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
    Ok(Parameter {
        ty: type_of_json(&format!("{place}, parameter {:?}", shown(&answer.name)), &answer.type_)?,
        name: printable(&answer.name),
        allow_null: answer.allow_null_value,
        allow_unknown: answer.allow_unknown_values,
        description: description(answer.description),
    })
}

fn identity(
    place: &str,
    answer: wit::IdentitySchema,
    budget: &mut Budget,
) -> Result<Arc<IdentitySchema>, String> {
    let mut attributes = BTreeMap::new();
    for attribute in answer.attributes {
        let here = format!("{place}, attribute {:?}", shown(&attribute.name));
        let text = attribute.name.len() + attribute.type_.len() + attribute.description.len();
        budget.spend(&here, Extent::with_text(text))?;
        let ty = type_of_json(&here, &attribute.type_)?;
        let primitives = match &ty {
            Type::List(element) => element.is_primitive(),
            ty => ty.is_primitive(),
        };
        if !primitives {
            return Err(format!("{here}: an identity attribute must be a primitive or a list of primitives"));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn text(length: usize) -> wit_types::Description {
        wit_types::Description { text: "x".repeat(length), kind: wit_types::StringKind::Plain }
    }

    fn attribute(name: &str, type_: wit_types::AttributeType, length: usize) -> wit_types::Attribute {
        wit_types::Attribute {
            name: name.into(),
            type_,
            description: text(length),
            required: false,
            optional: true,
            computed: false,
            sensitive: false,
            write_only: false,
            deprecation: wit_types::Deprecation::None,
        }
    }

    fn string(length: usize) -> wit_types::Attribute {
        attribute("a", wit_types::AttributeType::Value("\"string\"".into()), length)
    }

    fn block(
        attributes: Vec<wit_types::Attribute>,
        inner: &[(&str, u32)],
        description: wit_types::Description,
    ) -> wit_types::Block {
        let nested = |&(name, block): &(&str, u32)| wit_types::NestedBlock {
            type_name: name.into(),
            block,
            nesting: wit_types::BlockNesting::List,
            min_items: 0,
            max_items: 0,
        };
        let block_types = inner.iter().map(nested).collect();
        wit_types::Block { attributes, block_types, description, deprecation: wit_types::Deprecation::None }
    }

    fn decode(
        blocks: Vec<wit_types::Block>,
        objects: Vec<wit_types::NestedObject>,
    ) -> Result<Schema, String> {
        schema("it", wit_types::Schema { version: 0, blocks, objects }, &mut Budget::whole())
    }

    /// Returns blocks that each contain the next block twice; the last one has the text.
    fn doubling_blocks(levels: u32, length: usize) -> Vec<wit_types::Block> {
        let twice = |next| block(Vec::new(), &[("b", next), ("c", next)], text(0));
        let mut blocks: Vec<_> = (1..=levels).map(twice).collect();
        blocks.push(block(Vec::new(), &[], text(length)));
        blocks
    }

    #[test]
    fn text_is_counted_for_each_expansion() {
        assert!(decode(doubling_blocks(6, 1 << 20), Vec::new()).is_ok());
        let error = decode(doubling_blocks(7, 1 << 20), Vec::new()).unwrap_err();
        assert!(error.contains("bytes of text"), "{error}");
        let error = decode(doubling_blocks(63, 0), Vec::new()).unwrap_err();
        assert!(error.contains("attributes and blocks"), "{error}");

        let nested = |name: &str, next| attribute(name, wit_types::AttributeType::Nested(next), 0);
        let object =
            |attributes| wit_types::NestedObject { attributes, nesting: wit_types::ObjectNesting::Single };
        let mut objects: Vec<_> =
            (1..10).map(|next| object(vec![nested("b", next), nested("c", next)])).collect();
        objects.push(object(vec![string(1 << 20)]));
        let error = decode(vec![block(vec![nested("b", 0)], &[], text(0))], objects).unwrap_err();
        assert!(error.contains("bytes of text"), "{error}");
    }

    /// Checks that copies are counted even if the root block does not refer to any large block.
    #[test]
    fn unreferenced_blocks_are_counted() {
        let mut blocks = vec![block(Vec::new(), &[], text(0))];
        blocks.extend((0..200).map(|_| block(Vec::new(), &[("b", 201)], text(0))));
        blocks.push(block(vec![string(1 << 20)], &[], text(0)));
        assert!(decode(blocks, Vec::new()).unwrap_err().contains("bytes of text"));
    }

    #[test]
    fn all_schemas_share_one_budget() {
        let mut budget = Budget::whole();
        let half =
            || wit_types::Schema { version: 0, blocks: doubling_blocks(6, 1 << 20), objects: Vec::new() };
        assert!(schema("one", half(), &mut budget).is_ok());
        let error = schema("two", half(), &mut budget).err().unwrap_or_default();
        assert!(error.starts_with("two, block"), "{error}");
    }

    #[test]
    fn large_provider_schema_uses_less_than_half_the_budget() {
        let mut budget = Budget::whole();
        for _ in 0..2_000 {
            let names: Vec<String> = (0..40).map(|index| format!("attribute_{index}")).collect();
            let of = |name: &String| {
                attribute(name, wit_types::AttributeType::Value("[\"list\",\"string\"]".into()), 60)
            };
            let blocks = vec![block(names.iter().map(of).collect(), &[], text(100))];
            let one = wit_types::Schema { version: 0, blocks, objects: Vec::new() };
            assert!(schema("it", one, &mut budget).is_ok());
        }
        assert!(budget.elements > MAX_ELEMENTS / 2 && budget.text > MAX_TEXT / 2);
    }

    #[test]
    fn long_names_are_truncated_in_messages() {
        assert_eq!(shown(&"\u{e4}".repeat(1_000)).chars().count(), SHOWN_NAME);
        assert_eq!(shown("a"), "a");
    }
}
