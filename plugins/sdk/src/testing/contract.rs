//! Checks the host's requirements for plans and new states.

use wardian_value::{Path, Type, Value, View};

use crate::schema::{Attribute, Shape};
use crate::{Diagnostics, Result, Schema};

/// Checks that a plan matches the configuration.
pub(super) fn plan_honours(schema: &Schema, config: &Value, prior: &Value, planned: &Value) -> Result<()> {
    for attribute in &schema.root.attributes {
        honours(attribute, config, prior, planned, &Path::root())?;
    }
    Ok(())
}

fn honours(attribute: &Attribute, config: &Value, prior: &Value, planned: &Value, path: &Path) -> Result<()> {
    let part =
        |value: &Value| value.get(&attribute.name).cloned().unwrap_or_else(|| Value::null(Type::Dynamic));
    let (config, prior, planned) = (part(config), part(prior), part(planned));
    let path = path.attribute(attribute.name.as_str());
    let invalid = |why: &str| {
        Err(Diagnostics::error(
            "Provider produced invalid plan",
            format!("{path}: planned {planned:?} {why}"),
        ))
    };
    if attribute.write_only {
        return if planned.is_null() { Ok(()) } else { invalid("for a write-only attribute") };
    }
    if config.is_null() {
        if attribute.computed || planned.is_null() {
            return Ok(());
        }
        return invalid("for a non-computed attribute");
    }
    if planned == config || (!prior.is_null() && planned == prior) {
        return Ok(());
    }
    if let Shape::Nested(nesting, inner) = &attribute.shape {
        let pairs: Vec<(Value, Value, Value)> = match (config.view(), planned.view()) {
            (View::Object(_), View::Object(_)) if *nesting == crate::Nesting::Single => {
                vec![(config.clone(), prior.clone(), planned.clone())]
            }
            (View::List(configs), View::List(planneds)) if configs.len() == planneds.len() => configs
                .iter()
                .zip(planneds)
                .enumerate()
                .map(|(index, (config, planned))| {
                    let prior = prior.as_elements().and_then(|all| all.get(index)).cloned();
                    (config.clone(), prior.unwrap_or_else(|| Value::null(Type::Dynamic)), planned.clone())
                })
                .collect(),
            (View::Map(configs), View::Map(planneds)) if configs.keys().eq(planneds.keys()) => configs
                .iter()
                .zip(planneds.values())
                .map(|((key, config), planned)| {
                    let prior = prior.get(key).cloned().unwrap_or_else(|| Value::null(Type::Dynamic));
                    (config.clone(), prior, planned.clone())
                })
                .collect(),
            (View::Set(configs), View::Set(planneds)) if configs.len() >= planneds.len() => return Ok(()),
            (View::Unknown, _) => return Ok(()),
            _ => return invalid("does not have the shape of the configuration"),
        };
        for (config, prior, planned) in &pairs {
            for attribute in inner {
                honours(attribute, config, prior, planned, &path)?;
            }
        }
        return Ok(());
    }
    invalid(&format!("does not match config value {config:?} nor prior value {prior:?}"))
}

/// Checks that the new state contains the planned values that were known.
pub(super) fn apply_honours(planned: &Value, new: &Value) -> Result<()> {
    compatible(planned, new, &mut Path::root())
}

/// Checks that the provider has set the attribute `id` if it had to be computed. Terraform accepts null, but then
/// nothing identifies the object.
pub(super) fn has_id(planned: &Value, new: &Value) -> Result<()> {
    let is_computed = planned.get("id").is_some_and(|id| !id.is_known());
    if is_computed && new.get("id").is_some_and(Value::is_null) {
        return Err(Diagnostics::error(
            "Provider returned no ID after apply",
            "id: was unknown in the plan, and is null in the new state. Set it when the object is created.",
        ));
    }
    Ok(())
}

fn compatible(planned: &Value, new: &Value, path: &mut Path) -> Result<()> {
    use wardian_value::PathStep;

    if planned.is_wholly_known() && planned == new {
        return Ok(());
    }
    match (planned.view(), new.view()) {
        (View::Unknown, _) => Ok(()),
        (View::Object(planneds), View::Object(news)) | (View::Map(planneds), View::Map(news))
            if planneds.keys().eq(news.keys()) =>
        {
            for ((key, planned), new) in planneds.iter().zip(news.values()) {
                path.push(PathStep::Attribute(key.clone()));
                compatible(planned, new, path)?;
                path.pop();
            }
            Ok(())
        }
        (View::List(planneds), View::List(news)) | (View::Tuple(planneds), View::Tuple(news))
            if planneds.len() == news.len() =>
        {
            for (index, (planned, new)) in (0u64..).zip(planneds.iter().zip(news)) {
                path.push(PathStep::Index(index));
                compatible(planned, new, path)?;
                path.pop();
            }
            Ok(())
        }
        (View::Set(planneds), View::Set(news))
            if !planned.is_wholly_known() && news.len() <= planneds.len() =>
        {
            Ok(())
        }
        _ => Err(Diagnostics::error(
            "Provider produced inconsistent result after apply",
            format!("{path}: was {planned:?}, but now {new:?}"),
        )),
    }
}
