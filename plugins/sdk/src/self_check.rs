//! Finds the mistakes in a provider's definition that would otherwise show at
//! run time, to somebody else.

use std::collections::BTreeSet;

use wardian_value::Type;

use crate::Schema;
use crate::modifier::Modifier;
use crate::provider::{Parts, Schemed};
use crate::resource::AnyResource;
use crate::schema::{Attribute, Block, BlockNesting, Nesting, Root, Shape};
use crate::service::Service;

const RESERVED: [&str; 7] =
    ["connection", "count", "depends_on", "for_each", "lifecycle", "provider", "provisioner"];
const RESERVED_IN_PROVIDER: [&str; 2] = ["alias", "version"];

/// The whole self-check as one line of a test. Prints all mistakes and fails.
///
/// # Panics
///
/// If there are mistakes.
pub fn assert_provider_is_sound(provider: impl Into<Service>) {
    let mistakes = self_check(provider);
    assert!(mistakes.is_empty(), "the provider has mistakes:\n  {}", mistakes.join("\n  "));
}

/// All mistakes in a provider's definition, each with its place.
pub fn self_check(provider: impl Into<Service>) -> Vec<String> {
    let service = provider.into();
    let mut report = Report::default();
    report.provider(&service.parts);
    report.mistakes
}

#[derive(Default)]
struct Report {
    mistakes: Vec<String>,
}

/// What a schema is of, as far as rules depend on it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    Provider,
    Resource,
    Other,
}

/// Around an attribute.
#[derive(Clone, Copy)]
struct Around {
    owner: Owner,
    in_set: bool,
    write_only: bool,
    computed: bool,
}

impl Report {
    fn mistake(&mut self, place: &str, what: &str) {
        self.mistakes.push(format!("{place}: {what}"));
    }

    fn provider(&mut self, parts: &Parts) {
        for name in &parts.duplicates {
            self.mistake(name, "registered twice");
        }
        for problem in &parts.problems {
            self.mistake("provider", &format!("{}: {}", problem.summary, problem.detail));
        }
        self.schema("provider", parts.schema.schema(), Owner::Provider);
        if let Some(meta) = &parts.meta {
            self.schema("provider_meta", meta.schema(), Owner::Other);
        }
        for (name, resource) in &parts.resources {
            self.type_name(parts, name);
            self.schema(name, resource.schema(), Owner::Resource);
            self.resource(name, resource);
        }
        for (name, source) in &parts.data_sources {
            let place = format!("data.{name}");
            self.type_name(parts, name);
            self.schema(&place, source.schema(), Owner::Other);
            self.fields(&place, source.schema(), source.part.state_fields());
        }
        for (name, resource) in &parts.ephemeral_resources {
            let place = format!("ephemeral.{name}");
            self.type_name(parts, name);
            self.schema(&place, resource.schema(), Owner::Other);
            self.fields(&place, resource.schema(), resource.part.state_fields());
        }
        for (name, list) in &parts.list_resources {
            self.schema(&format!("list.{name}"), list.schema(), Owner::Other);
            if parts.resources.get(name).is_none_or(|resource| resource.part.identity().is_none()) {
                self.mistake(&format!("list.{name}"), "there is no resource of that name with an identity");
            }
        }
        for (name, action) in &parts.actions {
            self.type_name(parts, name);
            self.schema(&format!("action.{name}"), action.schema(), Owner::Other);
        }
        self.functions(parts);
    }

    fn type_name(&mut self, parts: &Parts, name: &str) {
        self.name(name, name);
        let rest = name.strip_prefix(&parts.name);
        if !rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('_')) {
            self.mistake(name, &format!("the name has to start with \"{}_\"", parts.name));
        }
    }

    fn name(&mut self, place: &str, name: &str) {
        let mut bytes = name.bytes();
        let first = bytes.next().is_some_and(|byte| byte.is_ascii_lowercase() || byte == b'_');
        if !first || !bytes.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_') {
            self.mistake(place, "the name has to be of lower-case letters, digits and underscores");
        }
    }

    fn schema(&mut self, place: &str, schema: &Schema, owner: Owner) {
        if schema.version_number() < 0 {
            self.mistake(place, "the version is negative");
        }
        if schema.version_number() != 0 && owner != Owner::Resource {
            self.mistake(place, "only resources have versions");
        }
        let reserved: &[&str] = if owner == Owner::Provider { &RESERVED_IN_PROVIDER } else { &RESERVED };
        let names =
            schema.root.attributes.iter().map(|a| &a.name).chain(schema.root.blocks.iter().map(|b| &b.name));
        for name in names.filter(|name| reserved.contains(&name.as_str())) {
            self.mistake(&format!("{place}.{name}"), "the name is reserved by the language");
        }
        let around = Around { owner, in_set: false, write_only: false, computed: false };
        self.contents(place, &schema.root, around);
    }

    fn contents(&mut self, place: &str, contents: &Root, around: Around) {
        self.attributes(place, &contents.attributes, around);
        let mut names: BTreeSet<&str> = contents.attributes.iter().map(|a| a.name.as_str()).collect();
        for block in &contents.blocks {
            let place = format!("{place}.{}", block.name);
            self.name(&place, &block.name);
            if !names.insert(&block.name) {
                self.mistake(&place, "the name is used twice");
            }
            self.block(&place, block, around);
        }
    }

    fn block(&mut self, place: &str, block: &Block, around: Around) {
        match block.nesting {
            BlockNesting::Single if block.min > 1 || block.max > 1 => {
                self.mistake(place, "a single block is there once or not at all");
            }
            BlockNesting::Group | BlockNesting::Map if block.min > 0 || block.max > 0 => {
                self.mistake(place, "the number of these blocks cannot be limited");
            }
            BlockNesting::List | BlockNesting::Set if block.max > 0 && block.min > block.max => {
                self.mistake(place, "more blocks are required than allowed");
            }
            _ => {}
        }
        if block.force_new && around.owner != Owner::Resource {
            self.mistake(place, "force_new has a meaning only in resources");
        }
        let in_set = around.in_set || block.nesting == BlockNesting::Set;
        if in_set && block.contents.ty().has_dynamic() {
            self.mistake(place, "a set cannot have parts of any type");
        }
        self.contents(place, &block.contents, Around { in_set, ..around });
    }

    fn attributes(&mut self, place: &str, attributes: &[Attribute], around: Around) {
        let mut names = BTreeSet::new();
        for attribute in attributes {
            let place = format!("{place}.{}", attribute.name);
            self.name(&place, &attribute.name);
            if !names.insert(&attribute.name) {
                self.mistake(&place, "the name is used twice");
            }
            self.attribute(&place, attribute, around);
        }
    }

    fn attribute(&mut self, place: &str, attribute: &Attribute, around: Around) {
        if attribute.required && (attribute.optional || attribute.computed) {
            self.mistake(place, "required excludes optional, computed and a default");
        }
        let is_provider_only = !attribute.is_configurable();
        if is_provider_only && !attribute.validators.is_empty() && !is_bare_integer(attribute) {
            self.mistake(place, "a validator has no meaning where no configuration sets the attribute");
        }
        self.default_value(place, attribute, around);
        self.modifiers(place, attribute, around);
        self.write_only(place, attribute, around);
        if around.computed && attribute.required {
            self.mistake(place, "an attribute of what only the provider sets cannot be required");
        }
        match &attribute.shape {
            Shape::Value(ty) => self.value_type(place, ty),
            Shape::Nested(nesting, inner) => {
                if inner.is_empty() {
                    self.mistake(place, "a nested attribute has to have attributes");
                }
                let in_set = around.in_set || *nesting == Nesting::Set;
                if *nesting != Nesting::Single && attribute.ty().has_dynamic() {
                    self.mistake(place, "a collection cannot have parts of any type");
                }
                let around =
                    Around { in_set, write_only: attribute.write_only, computed: is_provider_only, ..around };
                self.attributes(place, inner, around);
            }
        }
    }

    fn value_type(&mut self, place: &str, ty: &Type) {
        let open_collection = match ty {
            Type::List(element) | Type::Set(element) | Type::Map(element) => element.has_dynamic(),
            _ => false,
        };
        if open_collection {
            self.mistake(
                place,
                "a collection cannot have parts of any type: make the whole attribute dynamic",
            );
        }
        if ty.has_optional() {
            self.mistake(place, "an attribute's type cannot have optional parts: use a nested attribute");
        }
    }

    fn default_value(&mut self, place: &str, attribute: &Attribute, around: Around) {
        let Some(default) = &attribute.default else { return };
        if around.owner != Owner::Resource {
            self.mistake(place, "a default has a meaning only in resources");
        }
        if around.in_set {
            self.mistake(place, "a default below a set makes elements that cannot be told apart");
        }
        if attribute.write_only {
            self.mistake(place, "a write-only attribute cannot have a default");
        }
        let ty = attribute.ty();
        if *default.ty() != ty && ty != Type::Dynamic {
            self.mistake(place, &format!("the default is {}, not {}", default.ty(), ty));
        }
        if !default.is_wholly_known() || default.is_null() {
            self.mistake(place, "the default has to be a known value");
        }
    }

    fn modifiers(&mut self, place: &str, attribute: &Attribute, around: Around) {
        if around.owner != Owner::Resource && !attribute.modifiers.is_empty() {
            self.mistake(place, "force_new and plan modifiers have a meaning only in resources");
            return;
        }
        if attribute.modifiers.iter().any(Modifier::is_force_new) {
            if !attribute.is_configurable() && !has_custom(attribute) {
                self.mistake(place, "force_new has no meaning where no configuration sets the attribute");
            }
            if attribute.write_only {
                self.mistake(
                    place,
                    "force_new has no meaning on a write-only attribute, which has no prior value",
                );
            }
        }
        let keeps_state = attribute.modifiers.iter().any(|m| matches!(m, Modifier::UseStateForUnknown));
        if keeps_state && !attribute.computed {
            self.mistake(place, "use_state_for_unknown has no meaning on an attribute that is never unknown");
        }
    }

    fn write_only(&mut self, place: &str, attribute: &Attribute, around: Around) {
        if around.write_only && !attribute.write_only {
            self.mistake(place, "all attributes of a write-only attribute have to be write-only");
        }
        if !attribute.write_only {
            return;
        }
        if around.owner != Owner::Resource {
            self.mistake(place, "only resources have write-only attributes");
        }
        if attribute.computed {
            self.mistake(place, "a write-only attribute cannot be computed");
        }
        if around.in_set {
            self.mistake(place, "a write-only attribute cannot be below a set");
        }
    }

    fn resource(&mut self, name: &str, resource: &Schemed<dyn AnyResource>) {
        let schema = resource.schema();
        self.fields(name, schema, resource.part.state_fields());
        if !resource.part.can_update() {
            self.replaced(name, &schema.root);
        }
        let mut from: Vec<i64> = resource.part.upgraders().iter().map(|upgrader| upgrader.from).collect();
        from.sort_unstable();
        if from != (0..schema.version_number()).collect::<Vec<_>>() {
            let current = schema.version_number();
            let what = format!(
                "each version before {current} needs one upgrader; there are upgraders from {from:?}"
            );
            self.mistake(name, &what);
        }
        if let Some(identity) = resource.part.identity() {
            for attribute in &identity.attributes {
                let place = format!("{name} (identity).{}", attribute.name);
                self.name(&place, &attribute.name);
                let is_list = matches!(&attribute.ty, Type::List(element) if element.is_primitive());
                if !attribute.ty.is_primitive() && !is_list {
                    self.mistake(&place, "has to be a primitive or a list of primitives");
                }
            }
        }
    }

    /// Everything that a configuration may change replaces the object.
    fn replaced(&mut self, place: &str, contents: &Root) {
        self.replaced_attributes(place, &contents.attributes);
        for block in contents.blocks.iter().filter(|block| !block.force_new) {
            self.replaced(&format!("{place}.{}", block.name), &block.contents);
        }
    }

    fn replaced_attributes(&mut self, place: &str, attributes: &[Attribute]) {
        for attribute in attributes {
            let place = format!("{place}.{}", attribute.name);
            let always = attribute.modifiers.iter().any(|modifier| match modifier {
                Modifier::ForceNew => true,
                Modifier::ForceNewIfConfigured => attribute.computed,
                _ => false,
            });
            if always || attribute.write_only || !attribute.is_configurable() {
                continue;
            }
            match &attribute.shape {
                Shape::Nested(_, inner) if inner.iter().any(Attribute::is_configurable) => {
                    self.replaced_attributes(&place, inner);
                }
                _ => self.mistake(
                    &place,
                    "can change in place, but the resource has no update: make it force_new, or implement \
                     Update and register the resource as updatable",
                ),
            }
        }
    }

    fn fields(&mut self, place: &str, schema: &Schema, fields: Option<&'static [&'static str]>) {
        let Some(fields) = fields else { return };
        let root = &schema.root;
        for attribute in root.attributes.iter().filter(|attribute| !attribute.write_only) {
            if !fields.contains(&attribute.name.as_str()) {
                self.mistake(
                    &format!("{place}.{}", attribute.name),
                    "the Rust type of the state has no such field",
                );
            }
        }
        for block in &root.blocks {
            if !fields.contains(&block.name.as_str()) {
                self.mistake(
                    &format!("{place}.{}", block.name),
                    "the Rust type of the state has no such field",
                );
            }
        }
        for field in fields {
            let known = root.attributes.iter().any(|a| a.name == *field)
                || root.blocks.iter().any(|b| b.name == *field);
            if !known {
                self.mistake(
                    &format!("{place}.{field}"),
                    "a field of the state, but not an attribute of the schema",
                );
            }
        }
    }

    fn functions(&mut self, parts: &Parts) {
        for (name, function) in &parts.functions {
            let place = format!("function {name}");
            self.name(&place, name);
            let mut names = BTreeSet::new();
            for parameter in function.signature.parameters.iter().chain(&function.signature.variadic) {
                let place = format!("{place}({})", parameter.name);
                self.name(&place, &parameter.name);
                if !names.insert(&parameter.name) {
                    self.mistake(&place, "the name is used twice");
                }
            }
        }
    }
}

fn has_custom(attribute: &Attribute) -> bool {
    attribute.modifiers.iter().any(|modifier| matches!(modifier, Modifier::Custom(_)))
}

/// [`Attribute::integer`] brings a validator of its own.
fn is_bare_integer(attribute: &Attribute) -> bool {
    matches!(attribute.shape, Shape::Value(Type::Number)) && attribute.validators.len() == 1
}
