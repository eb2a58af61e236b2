//! What `import` blocks ask for: which objects, for which instances.

use std::collections::HashMap;

use wardian_address::{InstanceKey, ModuleInstance, ResourceAddress, ResourceInstanceAddress, ResourceMode};
use wardian_config::{Configuration, Import, Target, resource_mode};
use wardian_diagnostic::{Diagnostic, Diagnostics, Span};
use wardian_lang::{Cause, Expression, Subject};
use wardian_plugin::{IdentitySchema, ImportTarget};
use wardian_value::convert::convert;
use wardian_value::{Number, PathStep, Str, Type, Value};

use crate::evaluator::{Evaluator, Phase};
use crate::values::{RepetitionData, instance_key};

const INVALID_ID: &str = "Invalid import id argument";
const INVALID_IDENTITY: &str = "Invalid import identity argument";
const INVALID_TO: &str = "Invalid import 'to' expression";
const INVALID_FOR_EACH: &str = "Invalid for_each argument";

/// The blocks of a configuration by the resource that they import to.
#[derive(Debug, Default)]
pub struct ImportBlocks<'a> {
    by_resource: HashMap<ResourceAddress, Vec<&'a Import>>,
}

/// An object that is to become a resource's instance.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The instance.
    pub address: ResourceInstanceAddress,
    /// What the provider finds it by.
    pub target: ImportTarget,
    /// Where the block names the instance.
    pub place: Span,
}

impl<'a> ImportBlocks<'a> {
    /// Those of a configuration's root module.
    pub fn of(configuration: &'a Configuration) -> Self {
        let mut by_resource: HashMap<ResourceAddress, Vec<&'a Import>> = HashMap::new();
        for import in &configuration.root().module.imports {
            if let Some(resource) = import.resource() {
                by_resource.entry(resource).or_default().push(import);
            }
        }
        Self { by_resource }
    }

    /// Those that import to a resource.
    pub fn to(&self, resource: &ResourceAddress) -> &[&'a Import] {
        self.by_resource.get(resource).map_or(&[], Vec::as_slice)
    }
}

/// All objects that the blocks of one resource ask for, by instance. Everything that
/// the blocks refer to is known by now.
///
/// # Errors
/// The first block of which it cannot be told, or one that names an instance again.
pub fn wanted(
    evaluator: &Evaluator,
    blocks: &[&Import],
    identity: Option<&IdentitySchema>,
) -> Result<HashMap<ResourceInstanceAddress, Wanted>, Diagnostics> {
    let mut known: HashMap<ResourceInstanceAddress, Wanted> = HashMap::new();
    for import in blocks {
        for repetition in repetitions(evaluator, import)? {
            let address = address_of(evaluator, import, &repetition)?;
            let target = target_of(evaluator, import, &repetition, identity)?;
            let place = import.to.span().clone();
            let wanted = Wanted { address: address.clone(), target, place };
            if let Some(first) = known.insert(address, wanted.clone())
                && (first.place != wanted.place || !is_same(&first.target, &wanted.target))
            {
                let detail = format!(
                    "Two objects are imported to {}, the other one by the block at {}. An instance is one \
                     object: leave one of them out, or give it another address.",
                    wanted.address, first.place
                );
                let summary = format!("Duplicate import configuration for \"{}\"", wanted.address);
                return Err(Diagnostic::error(summary, detail).at(wanted.place).into());
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

/// What is wrong with a block, as far as that can be told without values.
pub fn validate(evaluator: &Evaluator, import: &Import) -> Diagnostics {
    let mut diagnostics = Diagnostics::new();
    let elements = match repetitions(evaluator, import) {
        Ok(elements) => elements,
        Err(found) => return found,
    };
    if let Some(own) = own_reference(import) {
        let detail = "What identifies the object must be known before it is imported, so that it cannot \
                      come from the resource itself.";
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
            // One element is like the other.
            diagnostics.extend(found);
            break;
        }
    }
    diagnostics
}

/// Where a block says what identifies the object by means of the resource that it
/// becomes, if it does.
fn own_reference(import: &Import) -> Option<Span> {
    let subject = &import.to.references().first()?.subject;
    let is_resource = matches!(
        subject,
        Subject::Resource { mode, .. } if resource_mode(*mode) == ResourceMode::Managed
    );
    let own = import.id.as_ref()?.references().iter().find(|reference| reference.subject == *subject)?;
    is_resource.then(|| own.span.clone())
}

/// What `each` stands for by element. An import block takes lists, too.
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
        let detail = "An ephemeral value cannot say what is imported: the instances are stored, and the value is \
                      not.";
        return refuse(detail, Cause::Ephemeral);
    }
    let value = value.unmark_deep();
    if evaluator.phase != Phase::Validate && !value.is_wholly_known() {
        let detail = "It holds values that are known only after an apply, so that it cannot be told what is \
                      imported. Apply first what they depend on, with -target, or use values that are known.";
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
        None => refuse("A collection is needed: a map, a set, a list, or an object.", Cause::Value),
    }
}

/// Whether the key that is computed for an element is one that the resource's
/// instances have.
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
            problem(INVALID_TO, "The key comes out as a number, and the resource has no count.")
        }
        Type::String if declared.for_each.is_none() => {
            problem(INVALID_TO, "The key comes out as a text, and the resource has no for_each.")
        }
        Type::Number | Type::String => Ok(()),
        _ => problem("Invalid address", "The key of an instance is a text or a whole number."),
    }
}

/// The instance that a block imports to, its keys evaluated.
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
        // `module` and the call's name: two names each.
        module = module.child(name.clone(), key(2 * index + 1, constant.as_ref())?);
    }
    let (Some(resource), Some(address)) = (resource, import.resource()) else {
        let detail = "A resource is imported: its type and its name are needed.";
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
        let detail = "The key of an instance must be known by now, and be a text or a whole number.";
        Diagnostic::error(INVALID_TO, detail).at(key.span().clone()).into()
    })
}

/// What identifies the object.
fn target_of(
    evaluator: &Evaluator,
    import: &Import,
    repetition: &RepetitionData,
    schema: Option<&IdentitySchema>,
) -> Result<ImportTarget, Diagnostics> {
    let root = ModuleInstance::root();
    let scope = evaluator.scope(&root, repetition.clone());
    let not_known = |summary: &str, place: &Expression| -> Diagnostics {
        let detail = "What identifies the object follows from something that only an apply makes known, and it \
                      has to be found now. Apply first what this depends on, with -target, or use a value that is \
                      known.";
        let mut problem = Diagnostic::error(summary, detail).at(place.span().clone());
        problem.values = place.value_notes(&scope, Cause::Unknown);
        problem.into()
    };
    if let Some(id) = &import.id {
        let text = id_text(id, &id.evaluate(&scope)?)?;
        return text.map(ImportTarget::Id).ok_or_else(|| not_known(INVALID_ID, id));
    }
    let Some(identity) = &import.identity else {
        let detail = "Either id or identity says which object is imported.";
        return Err(Diagnostic::error("Invalid import block", detail).at(import.span.clone()).into());
    };
    let refuse = |detail: String| -> Diagnostics {
        Diagnostic::error(INVALID_IDENTITY, detail).at(identity.span().clone()).into()
    };
    let Some(schema) = schema else {
        return Err(refuse(
            "Objects of this type have no identity for this version of the provider. Say which one is meant by \
             its id."
                .to_owned(),
        ));
    };
    let value = identity.evaluate(&scope)?.unmark_deep();
    if !value.is_wholly_known() {
        return Err(not_known(INVALID_IDENTITY, identity));
    }
    identity_value(schema, &value).map(ImportTarget::Identity).map_err(refuse)
}

/// An identity as its schema has it; what is left out is null.
fn identity_value(schema: &IdentitySchema, given: &Value) -> Result<Value, String> {
    let Some(attributes) = given.as_mapping() else {
        return Err("An identity is an object with the attributes that identify the imported one.".to_owned());
    };
    if let Some(name) = attributes.keys().find(|name| !schema.attributes.contains_key(*name)) {
        let known: Vec<&str> = schema.attributes.keys().map(|name| &**name).collect();
        return Err(format!("There is no attribute \"{name}\"; an identity has: {}.", known.join(", ")));
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
            return Err(format!("The attribute \"{name}\" is needed to find the object."));
        }
        value.push((name.clone(), part));
    }
    Ok(Value::object(value))
}

/// The text that an id is; `None` where it is not known. It goes to the provider and
/// is shown, whatever marks it bears: what a person wrote to be found is no secret.
fn id_text(id: &Expression, value: &Value) -> Result<Option<String>, Diagnostics> {
    let problem = |summary: &str, detail: String| -> Result<Option<String>, Diagnostics> {
        Err(Diagnostic::error(summary, detail).at(id.span().clone()).into())
    };
    let text = match convert(&value.unmark_deep(), &Type::String) {
        Ok(text) => text,
        Err(error) => return problem("Incorrect value type", format!("The id must be a text: {error}.")),
    };
    if text.is_null() {
        return problem(INVALID_ID, "The id is null, and a text is needed.".to_owned());
    }
    if text.as_str() == Some("") {
        return problem(INVALID_ID, "The id is empty, and identifies nothing.".to_owned());
    }
    Ok(text.as_str().map(str::to_owned))
}
