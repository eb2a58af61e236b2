//! Finds mistakes in a provider's definition that would otherwise cause errors at run time.

mod rust_types;

use std::collections::BTreeSet;

use wardian_value::{Type, Value};

use crate::modifier::Modifier;
use crate::provider::{Parts, WithSchema};
use crate::resource::AnyResource;
use crate::schema::{Attribute, Block, BlockNesting, DefaultValue, Nesting, Root, Shape};
use crate::service::Service;
use crate::validate::{Reference, Validator};
use crate::{ModelError, Schema};

const RESERVED: [&str; 7] =
    ["connection", "count", "depends_on", "for_each", "lifecycle", "provider", "provisioner"];
const RESERVED_IN_PROVIDER: [&str; 2] = ["alias", "version"];

/// Checks a provider's definition in a test. Prints all mistakes and panics.
///
/// ```
/// wardian_sdk::assert_valid_provider(wardian_sdk::Provider::new("cloud"));
/// ```
///
/// # Panics
///
/// Panics if the definition has mistakes.
pub fn assert_valid_provider(provider: impl Into<Service>) {
    let mistakes = definition_errors(provider);
    assert!(mistakes.is_empty(), "the provider definition has errors:\n  {}", mistakes.join("\n  "));
}

/// Returns all mistakes in a provider's definition, each with its location.
///
/// ```
/// use wardian_sdk::{Attribute, Provider, Schema, definition_errors};
///
/// let schema = Schema::new().attribute(Attribute::string("Token").required());
/// let provider = Provider::with_config("cloud", schema, |_: ()| Ok(()));
/// assert!(definition_errors(provider)[0].starts_with("provider.Token: the name must consist of"));
/// ```
pub fn definition_errors(provider: impl Into<Service>) -> Vec<String> {
    let service = provider.into();
    let mut report = Report::default();
    report.provider(&service.parts);
    report.mistakes
}

#[derive(Default)]
struct Report {
    mistakes: Vec<String>,
}

/// The kind of object to which a schema belongs, for rules that depend on it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    Provider,
    Resource,
    Other,
}

/// The properties of the blocks and attributes that enclose an attribute.
#[derive(Clone, Copy)]
struct Enclosing {
    owner: Owner,
    in_set: bool,
    write_only: bool,
    computed: bool,
}

impl Report {
    fn mistake(&mut self, location: &str, what: &str) {
        self.mistakes.push(format!("{location}: {what}"));
    }

    fn provider(&mut self, parts: &Parts) {
        for name in &parts.duplicates {
            self.mistake(name, "registered twice");
        }
        for problem in &parts.problems {
            self.mistake("provider", &format!("{}: {}", problem.summary, problem.detail));
        }
        self.schema("provider", parts.schema.schema(), Owner::Provider);
        self.rust_type("provider", parts.schema.schema(), &*parts.config_error);
        if let Some(meta) = &parts.meta {
            self.schema("provider_meta", meta.schema(), Owner::Other);
        }
        for (name, resource) in &parts.resources {
            self.type_name(parts, name);
            self.schema(name, resource.schema(), Owner::Resource);
            self.resource(name, resource);
        }
        for (name, source) in &parts.data_sources {
            let location = format!("data.{name}");
            self.type_name(parts, name);
            self.schema(&location, source.schema(), Owner::Other);
            self.fields(&location, source.schema(), source.part.state_fields());
            if !source.part.is_untyped() {
                self.rust_type(&location, source.schema(), &|value| {
                    source.part.decode_error(value, source.ty())
                });
            }
        }
        for (name, resource) in &parts.ephemeral_resources {
            let location = format!("ephemeral.{name}");
            self.type_name(parts, name);
            self.schema(&location, resource.schema(), Owner::Other);
            self.fields(&location, resource.schema(), resource.part.state_fields());
            if !resource.part.is_untyped() {
                self.rust_type(&location, resource.schema(), &|value| {
                    resource.part.decode_error(value, resource.ty())
                });
            }
        }
        for (name, list) in &parts.list_resources {
            self.schema(&format!("list.{name}"), list.schema(), Owner::Other);
            self.rust_type(&format!("list.{name}"), list.schema(), &|value| list.part.decode_error(value));
            if parts.resources.get(name).is_none_or(|resource| resource.part.identity().is_none()) {
                self.mistake(
                    &format!("list.{name}"),
                    "the provider has no resource of that name with an \
                    identity",
                );
            }
        }
        for (name, action) in &parts.actions {
            self.type_name(parts, name);
            let location = format!("action.{name}");
            self.schema(&location, action.schema(), Owner::Other);
            self.rust_type(&location, action.schema(), &|value| action.part.decode_error(value));
        }
        self.functions(parts);
    }

    fn type_name(&mut self, parts: &Parts, name: &str) {
        self.name(name, name);
        let rest = name.strip_prefix(&parts.name);
        if !rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('_')) {
            self.mistake(name, &format!("the name must start with \"{}_\"", parts.name));
        }
    }

    fn name(&mut self, location: &str, name: &str) {
        let mut bytes = name.bytes();
        let first = bytes.next().is_some_and(|byte| byte.is_ascii_lowercase() || byte == b'_');
        if !first || !bytes.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_') {
            self.mistake(location, "the name must consist of lower-case letters, digits and underscores");
        }
    }

    fn schema(&mut self, location: &str, schema: &Schema, owner: Owner) {
        if schema.version_number() < 0 {
            self.mistake(location, "the version is negative");
        }
        if schema.version_number() != 0 && owner != Owner::Resource {
            self.mistake(location, "only resources have versions");
        }
        let reserved: &[&str] = if owner == Owner::Provider { &RESERVED_IN_PROVIDER } else { &RESERVED };
        let names =
            schema.root.attributes.iter().map(|a| &a.name).chain(schema.root.blocks.iter().map(|b| &b.name));
        for name in names.filter(|name| reserved.contains(&name.as_str())) {
            self.mistake(&format!("{location}.{name}"), "Terraform reserves the name");
        }
        for mistake in &schema.mistakes {
            self.mistake(location, mistake);
        }
        let enclosing = Enclosing { owner, in_set: false, write_only: false, computed: false };
        self.contents(location, &schema.root, enclosing);
        self.references(location, &schema.root);
    }

    fn contents(&mut self, location: &str, contents: &Root, enclosing: Enclosing) {
        self.attributes(location, &contents.attributes, enclosing);
        let mut names: BTreeSet<&str> = contents.attributes.iter().map(|a| a.name.as_str()).collect();
        for block in &contents.blocks {
            let location = format!("{location}.{}", block.name);
            self.name(&location, &block.name);
            if !names.insert(&block.name) {
                self.mistake(&location, "the name is used twice");
            }
            self.block(&location, block, enclosing);
        }
    }

    fn block(&mut self, location: &str, block: &Block, enclosing: Enclosing) {
        match block.nesting {
            BlockNesting::Single if block.min > 1 || block.max > 1 => {
                self.mistake(location, "a single block occurs at most once");
            }
            BlockNesting::Group | BlockNesting::Map if block.min > 0 || block.max > 0 => {
                self.mistake(location, "the number of these blocks cannot be limited");
            }
            BlockNesting::List | BlockNesting::Set if block.max > 0 && block.min > block.max => {
                self.mistake(location, "more blocks are required than allowed");
            }
            _ => {}
        }
        if block.force_new && enclosing.owner != Owner::Resource {
            self.mistake(location, "force_new has an effect only in resources");
        }
        for mistake in &block.mistakes {
            self.mistake(location, mistake);
        }
        self.validators(location, &block.validators, &block.ty());
        let in_set = enclosing.in_set || block.nesting == BlockNesting::Set;
        if in_set && block.contents.ty().has_dynamic() {
            self.mistake(location, "a set cannot contain dynamic attributes");
        }
        self.contents(location, &block.contents, Enclosing { in_set, ..enclosing });
    }

    fn attributes(&mut self, location: &str, attributes: &[Attribute], enclosing: Enclosing) {
        let mut names = BTreeSet::new();
        for attribute in attributes {
            let location = format!("{location}.{}", attribute.name);
            self.name(&location, &attribute.name);
            if !names.insert(&attribute.name) {
                self.mistake(&location, "the name is used twice");
            }
            self.attribute(&location, attribute, enclosing);
        }
    }

    fn attribute(&mut self, location: &str, attribute: &Attribute, enclosing: Enclosing) {
        if attribute.required && (attribute.optional || attribute.computed) {
            self.mistake(location, "a required attribute cannot be optional or computed, or have a default");
        }
        let is_provider_only = !attribute.is_configurable();
        if is_provider_only && !attribute.validators.is_empty() && !has_implied_validators(attribute) {
            self.mistake(location, "a validator has no effect on an attribute that no configuration sets");
        }
        self.validators(location, &attribute.validators, &attribute.ty());
        self.default_value(location, attribute, enclosing);
        self.modifiers(location, attribute, enclosing);
        self.write_only(location, attribute, enclosing);
        if enclosing.computed && attribute.required {
            self.mistake(location, "an attribute inside a read-only attribute cannot be required");
        }
        match &attribute.shape {
            Shape::Value(ty) => self.value_type(location, ty),
            Shape::Nested(nesting, inner) => {
                if inner.is_empty() {
                    self.mistake(location, "a nested attribute must have attributes");
                }
                let in_set = enclosing.in_set || *nesting == Nesting::Set;
                if *nesting != Nesting::Single && attribute.ty().has_dynamic() {
                    self.mistake(location, "a collection cannot contain dynamic attributes");
                }
                let enclosing = Enclosing {
                    in_set,
                    write_only: attribute.write_only,
                    computed: is_provider_only,
                    ..enclosing
                };
                self.attributes(location, inner, enclosing);
            }
        }
    }

    fn validators(&mut self, location: &str, validators: &[Validator], ty: &Type) {
        for error in validators.iter().filter_map(|validator| validator.definition_error(ty)) {
            self.mistake(location, &error);
        }
    }

    /// Checks that validators refer to attributes that exist.
    fn references(&mut self, location: &str, root: &Root) {
        self.references_in(location, root, root);
    }

    fn references_in(&mut self, location: &str, contents: &Root, root: &Root) {
        self.named(location, &contents.validators, &contents.ty(), root);
        self.attribute_references(location, &contents.attributes, &contents.ty(), root);
        for block in &contents.blocks {
            let location = format!("{location}.{}", block.name);
            self.named(&location, &block.validators, &contents.ty(), root);
            self.references_in(&location, &block.contents, root);
        }
    }

    fn attribute_references(&mut self, location: &str, attributes: &[Attribute], parent: &Type, root: &Root) {
        for attribute in attributes {
            let location = format!("{location}.{}", attribute.name);
            self.named(&location, &attribute.validators, parent, root);
            if let Shape::Nested(_, inner) = &attribute.shape {
                let object = Type::object(inner.iter().map(|a| (a.name.as_str(), a.ty())));
                self.attribute_references(&location, inner, &object, root);
            }
        }
    }

    fn named(&mut self, location: &str, validators: &[Validator], parent: &Type, root: &Root) {
        for reference in validators.iter().flat_map(Validator::references) {
            let (ty, path) = match reference {
                Reference::Sibling(name) => (parent, name),
                Reference::Root(path) => (&root.ty(), path),
            };
            if !has_path(ty, path) {
                self.mistake(
                    location,
                    &format!("a validator refers to {path:?}, which is not an attribute or a block"),
                );
            }
        }
    }

    fn value_type(&mut self, location: &str, ty: &Type) {
        let open_collection = match ty {
            Type::List(element) | Type::Set(element) | Type::Map(element) => element.has_dynamic(),
            _ => false,
        };
        if open_collection {
            self.mistake(
                location,
                "a collection cannot have elements of a dynamic type: make the whole attribute dynamic",
            );
        }
        if ty.has_optional() {
            self.mistake(
                location,
                "an attribute's type cannot have optional attributes: use a nested \
                attribute",
            );
        }
    }

    fn default_value(&mut self, location: &str, attribute: &Attribute, enclosing: Enclosing) {
        let Some(default) = &attribute.default else { return };
        if enclosing.owner != Owner::Resource {
            self.mistake(location, "a default has an effect only in resources");
        }
        if enclosing.in_set {
            self.mistake(location, "a default inside a set can make elements equal");
        }
        if attribute.write_only {
            self.mistake(location, "a write-only attribute cannot have a default");
        }
        let DefaultValue::Static(default) = default else { return };
        let ty = attribute.ty();
        if *default.ty() != ty && ty != Type::Dynamic {
            self.mistake(location, &format!("the default is {}, not {}", default.ty(), ty));
        }
        if !default.is_wholly_known() || default.is_null() {
            self.mistake(location, "the default must be a known value");
        }
    }

    fn modifiers(&mut self, location: &str, attribute: &Attribute, enclosing: Enclosing) {
        if enclosing.owner != Owner::Resource && !attribute.modifiers.is_empty() {
            self.mistake(location, "force_new and plan modifiers have an effect only in resources");
            return;
        }
        if attribute.modifiers.iter().any(Modifier::is_force_new) {
            if !attribute.is_configurable() && !has_custom(attribute) {
                self.mistake(location, "force_new has no effect on an attribute that no configuration sets");
            }
            if attribute.write_only {
                self.mistake(
                    location,
                    "force_new has no effect on a write-only attribute, which has no prior value",
                );
            }
        }
        let keeps_state = attribute.modifiers.iter().any(|m| matches!(m, Modifier::UseStateForUnknown));
        if keeps_state && !attribute.computed {
            self.mistake(
                location,
                "use_state_for_unknown has no effect on an attribute that is never unknown",
            );
        }
    }

    fn write_only(&mut self, location: &str, attribute: &Attribute, enclosing: Enclosing) {
        if enclosing.write_only && !attribute.write_only {
            self.mistake(location, "all attributes inside a write-only attribute must be write-only");
        }
        if !attribute.write_only {
            return;
        }
        if enclosing.owner != Owner::Resource {
            self.mistake(location, "only resources have write-only attributes");
        }
        if attribute.computed {
            self.mistake(location, "a write-only attribute cannot be computed");
        }
        if enclosing.in_set {
            self.mistake(location, "a write-only attribute cannot be inside a set");
        }
    }

    fn resource(&mut self, name: &str, resource: &WithSchema<dyn AnyResource>) {
        let schema = resource.schema();
        self.fields(name, schema, resource.part.state_fields());
        if !resource.part.is_untyped() {
            self.rust_type(name, schema, &|value| resource.part.decode_error(value, resource.ty()));
        }
        if !resource.part.can_update() {
            self.replaced(name, &schema.root);
        }
        let mut from: Vec<i64> =
            resource.part.state_upgraders().iter().map(|upgrader| upgrader.from).collect();
        from.sort_unstable();
        if from != (0..schema.version_number()).collect::<Vec<_>>() {
            let current = schema.version_number();
            let what = format!(
                "each version before {current} needs one upgrader; the resource has upgraders from {from:?}"
            );
            self.mistake(name, &what);
        }
        if let Some(identity) = resource.part.identity() {
            for attribute in &identity.attributes {
                let location = format!("{name} (identity).{}", attribute.name);
                self.name(&location, &attribute.name);
                let is_list = matches!(&attribute.ty, Type::List(element) if element.is_primitive());
                if !attribute.ty.is_primitive() && !is_list {
                    self.mistake(&location, "must be a primitive or a list of primitives");
                }
            }
        }
    }

    /// Checks that a change to any configurable attribute replaces the object.
    fn replaced(&mut self, location: &str, contents: &Root) {
        self.replaced_attributes(location, &contents.attributes);
        for block in contents.blocks.iter().filter(|block| !block.force_new) {
            self.replaced(&format!("{location}.{}", block.name), &block.contents);
        }
    }

    fn replaced_attributes(&mut self, location: &str, attributes: &[Attribute]) {
        for attribute in attributes {
            let location = format!("{location}.{}", attribute.name);
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
                    self.replaced_attributes(&location, inner);
                }
                _ => self.mistake(
                    &location,
                    "can change in place, but the resource has no update: make it force_new, or implement \
                     Update and register the resource as updatable",
                ),
            }
        }
    }

    fn fields(&mut self, location: &str, schema: &Schema, fields: Option<&'static [&'static str]>) {
        let Some(fields) = fields else { return };
        let root = &schema.root;
        for attribute in root.attributes.iter().filter(|attribute| !attribute.write_only) {
            if !fields.contains(&attribute.name.as_str()) {
                self.mistake(
                    &format!("{location}.{}", attribute.name),
                    "the Rust type of the state has no such field",
                );
            }
        }
        for block in &root.blocks {
            if !fields.contains(&block.name.as_str()) {
                self.mistake(
                    &format!("{location}.{}", block.name),
                    "the Rust type of the state has no such field",
                );
            }
        }
        for field in fields {
            let known = root.attributes.iter().any(|a| a.name == *field)
                || root.blocks.iter().any(|b| b.name == *field);
            if !known {
                self.mistake(
                    &format!("{location}.{field}"),
                    "a field of the Rust type, but not an attribute of the schema",
                );
            }
        }
    }

    /// Checks that the Rust type can represent the values of the schema.
    fn rust_type(&mut self, location: &str, schema: &Schema, decode: &dyn Fn(&Value) -> Option<ModelError>) {
        for misfit in rust_types::misfits(&schema.root, decode) {
            self.mistake(&format!("{location}{}", misfit.path), &misfit.problem);
        }
    }

    fn functions(&mut self, parts: &Parts) {
        for (name, function) in &parts.functions {
            let location = format!("function {name}");
            self.name(&location, name);
            let mut names = BTreeSet::new();
            for parameter in function.signature.parameters.iter().chain(&function.signature.variadic) {
                let location = format!("{location}({})", parameter.name);
                self.name(&location, &parameter.name);
                if !names.insert(&parameter.name) {
                    self.mistake(&location, "the name is used twice");
                }
            }
        }
    }
}

/// Returns whether a type has attributes at a path, in which names are separated by dots and
/// collections have no name.
fn has_path(ty: &Type, path: &str) -> bool {
    let mut ty = ty;
    for name in path.split('.') {
        while let Some(element) = ty.element() {
            ty = element;
        }
        match ty {
            Type::Object(object) => match object.attribute(name) {
                Some(inner) => ty = inner,
                None => return false,
            },
            Type::Dynamic => return true,
            _ => return false,
        }
    }
    true
}

fn has_custom(attribute: &Attribute) -> bool {
    attribute.modifiers.iter().any(|modifier| matches!(modifier, Modifier::Custom(_)))
}

/// Returns whether the attribute may have only the validators that its Rust type or
/// [`Attribute::integer`] adds.
fn has_implied_validators(attribute: &Attribute) -> bool {
    match &attribute.shape {
        Shape::Value(ty) => innermost(ty) == &Type::Number || attribute.equality.is_some(),
        Shape::Nested(..) => false,
    }
}

fn innermost(ty: &Type) -> &Type {
    ty.element().map_or(ty, innermost)
}
