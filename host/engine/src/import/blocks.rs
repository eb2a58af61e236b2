//! The objects and instances in `import` blocks.

use std::collections::HashMap;

use wardian_address::{InstanceKey, ModuleInstance, ResourceAddress, ResourceInstanceAddress, ResourceMode};
use wardian_config::{Configuration, Import, Target, resource_mode};
use wardian_diagnostic::{Diagnostic, Diagnostics, Span};
use wardian_lang::{Cause, Expression, ReferenceSubject};
use wardian_plugin::{IdentitySchema, ImportTarget};
use wardian_value::convert::convert;
use wardian_value::{Number, PathStep, Str, Type, Value};

use crate::evaluator::{Evaluator, Phase};
use crate::values::{RepetitionData, instance_key};

const INVALID_ID: &str = "Invalid import id argument";
const INVALID_IDENTITY: &str = "Invalid import identity argument";
const INVALID_TO: &str = "Invalid import 'to' expression";
const INVALID_FOR_EACH: &str = "Invalid for_each argument";

/// The `import` blocks of a configuration, by the resource for which they import objects.
#[derive(Debug, Default)]
pub struct ImportBlocks<'a> {
    by_resource: HashMap<ResourceAddress, Vec<&'a Import>>,
}

/// An object to import, and its resource instance.
#[derive(Clone, Debug)]
pub struct PlannedImport {
    pub address: ResourceInstanceAddress,
    /// The identification of the object for the provider.
    pub target: ImportTarget,
    /// The span of the address in the block.
    pub place: Span,
}

impl<'a> ImportBlocks<'a> {
    /// Collects the blocks of the root module.
    pub fn from_configuration(configuration: &'a Configuration) -> Self {
        let mut by_resource: HashMap<ResourceAddress, Vec<&'a Import>> = HashMap::new();
        for import in &configuration.root().module.imports {
            if let Some(resource) = import.resource() {
                by_resource.entry(resource).or_default().push(import);
            }
        }
        Self { by_resource }
    }

    /// Returns the blocks that import objects for a resource.
    pub fn to(&self, resource: &ResourceAddress) -> &[&'a Import] {
        self.by_resource.get(resource).map_or(&[], Vec::as_slice)
    }
}

/// Returns all objects in the blocks of one resource, by instance. All values to which the blocks
/// refer have been evaluated.
///
/// # Errors
/// Returns an error if a block cannot be evaluated, or if two blocks import to the same instance.
pub fn planned_imports(
    evaluator: &Evaluator,
    blocks: &[&Import],
    identity: Option<&IdentitySchema>,
) -> Result<HashMap<ResourceInstanceAddress, PlannedImport>, Diagnostics> {
    let mut known: HashMap<ResourceInstanceAddress, PlannedImport> = HashMap::new();
    for import in blocks {
        for repetition in repetitions(evaluator, import)? {
            let address = address_of(evaluator, import, &repetition)?;
            let target = target_of(evaluator, import, &repetition, identity)?;
            let place = import.to.span().clone();
            let import = PlannedImport { address: address.clone(), target, place };
            if let Some(first) = known.insert(address, import.clone())
                && (first.place != import.place || !is_same(&first.target, &import.target))
            {
                let detail = format!(
                    "Two blocks import an object to {}; the other block is at {}. An instance has only one \
                     object: remove one of the blocks, or change its address.",
                    import.address, first.place
                );
                let summary = format!("Duplicate import configuration for \"{}\"", import.address);
                return Err(Diagnostic::error(summary, detail).at(import.place).into());
            }
        }
    }
    Ok(known)
}

fn is_same(one: &ImportTarget, other: &ImportTarget) -> bool {
    match (one, other) {
        (ImportTarget::Id(one), ImportTarget::Id(other)) => one == other,
        (ImportTarget::Identity(one), ImportTarget::Identity(other)) => one == other,
        _ => false,
    }
}

/// Returns the errors of a block that do not depend on values.
pub fn validate(evaluator: &Evaluator, import: &Import) -> Diagnostics {
    let mut diagnostics = Diagnostics::new();
    let elements = match repetitions(evaluator, import) {
        Ok(elements) => elements,
        Err(found) => return found,
    };
    if let Some(own) = own_reference(import) {
        let detail = "The ID of the object must be known before the import, so it cannot come from the \
            resource itself.";
        diagnostics.push(Diagnostic::error(INVALID_ID, detail).at(own));
        return diagnostics;
    }
    let root = ModuleInstance::root();
    for repetition in elements {
        if let Err(found) = check_key(evaluator, import, &repetition) {
            diagnostics.extend(found);
            break;
        }
        let Some(id) = &import.id else { continue };
        let value = id.evaluate(&evaluator.scope(&root, repetition));
        if let Err(found) = value.and_then(|value| id_text(id, &value).map(|_| ())) {
            // The remaining elements would cause the same errors.
            diagnostics.extend(found);
            break;
        }
    }
    diagnostics
}

/// Returns the source position of a reference to the block's own target resource in the block's
/// `id` or `identity`.
fn own_reference(import: &Import) -> Option<Span> {
    let subject = &import.to.references().first()?.subject;
    let is_resource = matches!(
        subject,
        ReferenceSubject::Resource { mode, .. } if resource_mode(*mode) == ResourceMode::Managed
    );
    let own = import.id.as_ref()?.references().iter().find(|reference| reference.subject == *subject)?;
    is_resource.then(|| own.span.clone())
}

/// Returns the values of `each`. The `for_each` of an import block can also be a list.
fn repetitions(evaluator: &Evaluator, import: &Import) -> Result<Vec<RepetitionData>, Diagnostics> {
    let Some(for_each) = &import.for_each else { return Ok(vec![RepetitionData::None]) };
    let root = ModuleInstance::root();
    let scope = evaluator.scope(&root, RepetitionData::None);
    let value = for_each.evaluate(&scope)?;
    let refuse = |detail: &str, cause: Cause| {
        let mut problem = Diagnostic::error(INVALID_FOR_EACH, detail).at(for_each.span().clone());
        problem.values = for_each.value_notes(&scope, cause);
        Err(problem.into())
    };
    if value.inside_marks().is_ephemeral() {
        let detail = "An ephemeral value cannot be used here: the plan stores the imported instances, but it \
            must not store ephemeral values.";
        return refuse(detail, Cause::Ephemeral);
    }
    let value = value.unmark_deep();
    if evaluator.phase != Phase::Validate && !value.is_wholly_known() {
        let detail = "The value contains parts that are known only after apply, so the imported objects \
            cannot be determined. Apply the objects that they depend on first, with -target, or use \
            values that are known.";
        return refuse(detail, Cause::Unknown);
    }
    if value.is_null() {
        return Ok(Vec::new());
    }
    if let Some(elements) = value.as_mapping() {
        let each = |(key, value): (&Str, &Value)| RepetitionData::Each {
            key: Value::string(key.clone()),
            value: value.clone(),
        };
        return Ok(elements.iter().map(each).collect());
    }
    let is_set = matches!(value.ty(), Type::Set(_));
    let each = |(index, element): (usize, &Value)| RepetitionData::Each {
        key: if is_set { element.clone() } else { Value::number(Number::from(index)) },
        value: element.clone(),
    };
    match value.as_elements() {
        Some(elements) => Ok(elements.iter().enumerate().map(each).collect()),
        None if !value.is_known() => Ok(vec![RepetitionData::UnknownEach]),
        None => refuse("A collection is required: a map, a set, a list, or an object.", Cause::Value),
    }
}

/// Checks that the kind of the computed key matches the resource's `count` or `for_each`.
fn check_key(evaluator: &Evaluator, import: &Import, repetition: &RepetitionData) -> Result<(), Diagnostics> {
    let Some(computed) = import.to.computed_key() else { return Ok(()) };
    let Some(address) = import.resource() else { return Ok(()) };
    let Some(declared) = evaluator.configuration.resource(&address) else { return Ok(()) };
    let root = ModuleInstance::root();
    let key = computed.evaluate(&evaluator.scope(&root, repetition.clone()))?.unmark_deep();
    let problem = |summary: &str, detail: &str| -> Result<(), Diagnostics> {
        Err(Diagnostic::error(summary, detail).at(import.to.span().clone()).into())
    };
    if *key.ty() == Type::Dynamic && !key.is_known() {
        return Ok(());
    }
    match key.ty() {
        Type::Number if declared.count.is_none() => {
            problem(INVALID_TO, "The key is a number, but the resource has no count.")
        }
        Type::String if declared.for_each.is_none() => {
            problem(INVALID_TO, "The key is a string, but the resource has no for_each.")
        }
        Type::Number | Type::String => Ok(()),
        _ => problem("Invalid address", "The key of an instance must be a string or a whole number."),
    }
}

/// Returns the resource instance for which a block imports an object.
fn address_of(
    evaluator: &Evaluator,
    import: &Import,
    repetition: &RepetitionData,
) -> Result<ResourceInstanceAddress, Diagnostics> {
    check_key(evaluator, import, repetition)?;
    let keys = import.to.address_keys();
    let key = |position: usize, constant: Option<&PathStep>| match keys.get(position).and_then(Option::as_ref)
    {
        Some(key) => evaluated_key(evaluator, key, repetition),
        None => Ok(constant.map_or(InstanceKey::None, constant_key)),
    };
    let Target { modules, resource } = &import.target;
    let mut module = ModuleInstance::root();
    for (index, (name, constant)) in modules.iter().enumerate() {
        // `module` and the name of the call are two steps of the address.
        module = module.child(name.clone(), key(2 * index + 1, constant.as_ref())?);
    }
    let (Some(resource), Some(address)) = (resource, import.resource()) else {
        let detail = "A resource address with a type and a name is required.";
        return Err(Diagnostic::error("Invalid address", detail).at(import.to.span().clone()).into());
    };
    let last = keys.len().saturating_sub(1);
    Ok(address.in_module(&module).instance(key(last, resource.key.as_ref())?))
}

fn constant_key(step: &PathStep) -> InstanceKey {
    match step {
        PathStep::Key(key) | PathStep::Attribute(key) => InstanceKey::String(key.clone()),
        PathStep::Index(index) => InstanceKey::Int(*index),
    }
}

fn evaluated_key(
    evaluator: &Evaluator,
    key: &Expression,
    repetition: &RepetitionData,
) -> Result<InstanceKey, Diagnostics> {
    let root = ModuleInstance::root();
    let value = key.evaluate(&evaluator.scope(&root, repetition.clone()))?.unmark_deep();
    instance_key(&value).ok_or_else(|| {
        let detail = "The key of an instance must be known, and be a string or a whole number.";
        Diagnostic::error(INVALID_TO, detail).at(key.span().clone()).into()
    })
}

/// Returns the identification of the object.
fn target_of(
    evaluator: &Evaluator,
    import: &Import,
    repetition: &RepetitionData,
    schema: Option<&IdentitySchema>,
) -> Result<ImportTarget, Diagnostics> {
    let root = ModuleInstance::root();
    let scope = evaluator.scope(&root, repetition.clone());
    let not_known = |summary: &str, place: &Expression| -> Diagnostics {
        let detail = "The ID of the object depends on values that are known only after apply, but the plan \
            must read the object. Apply the objects that it depends on first, with -target, or use a value \
            that is known.";
        let mut problem = Diagnostic::error(summary, detail).at(place.span().clone());
        problem.values = place.value_notes(&scope, Cause::Unknown);
        problem.into()
    };
    if let Some(id) = &import.id {
        let text = id_text(id, &id.evaluate(&scope)?)?;
        return text.map(ImportTarget::Id).ok_or_else(|| not_known(INVALID_ID, id));
    }
    let Some(identity) = &import.identity else {
        let detail = "An import block must have either id or identity.";
        return Err(Diagnostic::error("Invalid import block", detail).at(import.span.clone()).into());
    };
    let refuse = |detail: String| -> Diagnostics {
        Diagnostic::error(INVALID_IDENTITY, detail).at(identity.span().clone()).into()
    };
    let Some(schema) = schema else {
        return Err(refuse(
            "Objects of this type have no identity in this version of the provider. Use the argument id."
                .to_owned(),
        ));
    };
    let value = identity.evaluate(&scope)?.unmark_deep();
    if !value.is_wholly_known() {
        return Err(not_known(INVALID_IDENTITY, identity));
    }
    identity_value(schema, &value).map(ImportTarget::Identity).map_err(refuse)
}

/// Returns an identity with the type of its schema. Omitted attributes are null.
fn identity_value(schema: &IdentitySchema, given: &Value) -> Result<Value, String> {
    let Some(attributes) = given.as_mapping() else {
        return Err(
            "An identity must be an object with the attributes that identify the imported object.".to_owned()
        );
    };
    if let Some(name) = attributes.keys().find(|name| !schema.attributes.contains_key(*name)) {
        let known: Vec<&str> = schema.attributes.keys().map(|name| &**name).collect();
        return Err(format!("There is no attribute \"{name}\"; the identity has: {}.", known.join(", ")));
    }
    let mut value = Vec::with_capacity(schema.attributes.len());
    for (name, attribute) in &schema.attributes {
        let part = match attributes.get(name) {
            Some(part) => {
                convert(part, &attribute.ty).map_err(|error| format!("The attribute \"{name}\": {error}."))?
            }
            None => Value::null(attribute.ty.clone()),
        };
        if part.is_null() && attribute.required_for_import {
            return Err(format!("The attribute \"{name}\" is required to find the object."));
        }
        value.push((name.clone(), part));
    }
    Ok(Value::object(value))
}

/// Returns the text of an ID; `None` if it is not known. The ID is passed to the provider and
/// displayed even if it is marked, because it identifies an object for the user.
fn id_text(id: &Expression, value: &Value) -> Result<Option<String>, Diagnostics> {
    let problem = |summary: &str, detail: String| -> Result<Option<String>, Diagnostics> {
        Err(Diagnostic::error(summary, detail).at(id.span().clone()).into())
    };
    let text = match convert(&value.unmark_deep(), &Type::String) {
        Ok(text) => text,
        Err(error) => return problem("Incorrect value type", format!("The ID must be a string: {error}.")),
    };
    if text.is_null() {
        return problem(INVALID_ID, "The ID is null; a string is required.".to_owned());
    }
    if text.as_str() == Some("") {
        return problem(INVALID_ID, "The ID must not be empty.".to_owned());
    }
    Ok(text.as_str().map(str::to_owned))
}
