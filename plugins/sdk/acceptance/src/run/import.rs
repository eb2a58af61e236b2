//! Imports an object that is in the state, and compares the result with the state.

use serde_json::Value as Json;
use wardian_address::ResourceInstanceAddress;
use wardian_engine::{PlanOptions, TargetAddress};
use wardian_lang::quote_string;
use wardian_value::{Marks, Str, Value};

use super::{Loaded, Outcome, Run, StepFailure};
use crate::step::{ImportKey, ImportStep};
use wardian_sdk::testing::value_path::differences;

impl Run<'_> {
    /// Plans the import of an object on a state without it. The imported object must be equal to the
    /// object in the state, and must match its configuration.
    pub(super) async fn import(&self, loaded: &Loaded, import: &ImportStep) -> Result<Outcome, StepFailure> {
        let failed = |problem: String| StepFailure::new("the object cannot be imported", problem);
        let address: ResourceInstanceAddress =
            import.address.parse().map_err(|error| failed(format!("{:?}: {error}", import.address)))?;
        let stored = &self.tested.object(&import.address).map_err(failed)?.value;
        let block = self.block(import).map_err(failed)?;
        let mut state = self.state.clone();
        state.remove_instance(&address);
        let options =
            PlanOptions { targets: vec![TargetAddress::Instance(address.clone())], ..PlanOptions::default() };
        let outcome = self.plan(loaded, Some(("import.tf", block.as_str())), state, &options).await;
        if outcome.diagnostics.has_errors() {
            return Ok(outcome);
        }
        let change =
            outcome.plan.as_ref().and_then(|plan| plan.changes.iter().find(|one| one.address == address));
        let Some(change) = change else {
            return Err(failed(format!("the plan has no change for {address}")));
        };
        let without = |value: &Value| without(value, &import.ignored);
        compare("differs from the object in the state", &without(stored), &without(&change.before))?;
        compare("does not match its configuration", &without(&change.before), &without(&change.after))?;
        Ok(outcome)
    }

    fn block(&self, import: &ImportStep) -> Result<String, String> {
        let address = &import.address;
        let key = match &import.key {
            ImportKey::Id(id) => format!("id = {}", quote_string(id)),
            ImportKey::Attribute(path) => {
                let id = match self.tested.json(address, path)? {
                    Json::String(id) => id,
                    Json::Null => return Err(format!("{address}.{path} is null, so it cannot be the ID")),
                    other => other.to_string(),
                };
                format!("id = {}", quote_string(&id))
            }
            ImportKey::Identity => match &self.tested.object(address)?.identity {
                Some(identity) => format!("identity = {}", expression(identity)),
                None => return Err(format!("{address} has no identity")),
            },
        };
        Ok(format!("import {{\n  to = {address}\n  {key}\n}}\n"))
    }
}

/// Returns JSON as an expression.
fn expression(json: &Json) -> String {
    match json {
        Json::String(text) => quote_string(text),
        Json::Array(all) => format!("[{}]", all.iter().map(expression).collect::<Vec<_>>().join(", ")),
        Json::Object(all) => {
            let parts =
                all.iter().map(|(key, value)| format!("{} = {}", quote_string(key), expression(value)));
            format!("{{ {} }}", parts.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// Returns the object without some of its attributes.
fn without(value: &Value, ignored: &[String]) -> Value {
    let Some(parts) = value.as_mapping() else { return value.clone() };
    let kept = parts.iter().filter(|(name, _)| !ignored.iter().any(|one| one == name.as_str()));
    Value::object(kept.map(|(name, part)| {
        let marks = if value.marks() == Marks::NONE { part.marks() } else { Marks::SENSITIVE };
        (Str::clone(name), part.clone().with_marks(marks))
    }))
}

fn compare(problem: &str, one: &Value, other: &Value) -> Result<(), StepFailure> {
    let found = differences(one, other);
    if found.is_empty() {
        return Ok(());
    }
    Err(StepFailure::new(
        format!("the imported object {problem}"),
        format!(
            "{}\n\nIf the import cannot know an attribute, ignore it with Step::ignore.",
            found.join("\n")
        ),
    ))
}
