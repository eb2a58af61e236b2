//! Completes a planned object: sets a new identifier and the values of computed attributes.

use wardian_sdk::{Nesting, Type, Value, View};

use crate::definition::{Attribute, Attributes, Contents, Kind};

/// The host did not return random bytes for an identifier.
#[derive(Debug, thiserror::Error)]
#[error("failed to obtain randomness for an identifier")]
pub(crate) struct EntropyError(#[from] getrandom::Error);

/// Returns the planned object without unknown values.
pub(crate) fn complete(planned: &Value, contents: &Contents) -> Result<Value, EntropyError> {
    let planned = complete_contents(planned, contents);
    if planned.get("id").is_some_and(Value::is_known) {
        return Ok(planned);
    }
    Ok(planned.with_attribute("id", Value::string(new_identifier()?)))
}

fn new_identifier() -> Result<String, EntropyError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)?;
    Ok(uuid::Builder::from_random_bytes(bytes).into_uuid().to_string())
}

fn complete_contents(object: &Value, contents: &Contents) -> Value {
    let members = object.as_mapping().into_iter().flatten().map(|(name, value)| {
        let value = if let Some(attribute) = contents.attributes.get(&**name) {
            complete_attribute(value, attribute)
        } else if let Some(block) = contents.blocks.get(&**name) {
            each(value, &|one| complete_contents(one, &block.contents))
        } else {
            value.clone()
        };
        (name.clone(), value)
    });
    Value::object(members)
}

fn complete_attribute(value: &Value, attribute: &Attribute) -> Value {
    if !value.is_known() {
        return attribute.computed_value.clone().unwrap_or_else(|| Value::null(attribute.ty()));
    }
    match &attribute.kind {
        Kind::Nested(nesting, inner) if !value.is_wholly_known() => {
            let complete = |one: &Value| complete_object(one, inner);
            if *nesting == Nesting::Single { complete(value) } else { each(value, &complete) }
        }
        _ => value.clone(),
    }
}

fn complete_object(object: &Value, attributes: &Attributes) -> Value {
    let Some(members) = object.as_mapping() else { return object.clone() };
    Value::object(members.iter().map(|(name, value)| {
        let attribute = attributes.get(&**name);
        let value = attribute.map_or_else(|| value.clone(), |one| complete_attribute(value, one));
        (name.clone(), value)
    }))
}

fn each(collection: &Value, complete: &dyn Fn(&Value) -> Value) -> Value {
    let element = || collection.ty().element().cloned().unwrap_or(Type::Dynamic);
    match collection.view() {
        View::List(all) => Value::list(element(), all.iter().map(complete)),
        View::Set(all) => Value::set(element(), all.iter().map(complete)),
        View::Map(all) => Value::map(element(), all.iter().map(|(key, one)| (key.clone(), complete(one)))),
        _ => collection.clone(),
    }
}
