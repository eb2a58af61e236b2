//! The plan or the state of a run, for `-verbose`.

use serde_json::{Map, Value};
use wardian_app::compatibility::TERRAFORM_VERSION;
use wardian_diagnostic::{Diagnostic, Diagnostics};
use wardian_printable::{PrintableText, printable};
use wardian_testing::RunDetails;

use crate::commands::show::state_objects;
use crate::failure::Failure;
use crate::render::RenderOptions;
use crate::render::json::{PlanDocument, PlanJson, StateJson, schemas_json};
use crate::render::plan::{PlanNote, render_plan};
use crate::render::state::render_state;

/// The JSON document of a run.
pub(super) enum Document {
    Plan(Value),
    State(Value),
}

/// Returns the plan or the state as text.
pub(super) fn text(details: &RunDetails, options: RenderOptions) -> PrintableText {
    let Some(state) = &details.state else {
        return printable!("{}\n", render_plan(&details.plan, PlanNote::None, options));
    };
    match state_objects(state, &details.schemas) {
        Ok(objects) => printable!("\n{}\n", render_state(objects, &state.outputs, options)),
        Err(_) => PrintableText::new(),
    }
}

/// Returns the plan or the state as a JSON document.
///
/// # Errors
/// Returns an error if a stored object does not fit its schema.
pub(super) fn document(details: &RunDetails) -> Result<Document, Diagnostics> {
    let mut parts = Map::new();
    let schemas: Value =
        parse(&schemas_json(details.schemas.iter().map(|(address, schema)| (address.clone(), &**schema))));
    parts.insert("provider_format_version".to_owned(), schemas["format_version"].clone());
    if let Some(known) = schemas.get("provider_schemas") {
        parts.insert("provider_schemas".to_owned(), known.clone());
    }
    let Some(state) = &details.state else {
        let plan = &details.plan;
        let document = PlanDocument::new(
            TERRAFORM_VERSION,
            PlanJson {
                plan,
                configuration: &details.configuration,
                schemas: &details.schemas,
                prior_objects: state_objects(&plan.prior_state, &details.schemas).map_err(problems)?,
            },
        );
        let Value::Object(document) = to_value(&document)? else { return Ok(Document::Plan(Value::Null)) };
        for (name, value) in document {
            match name.as_str() {
                "format_version" => parts.insert("plan_format_version".to_owned(), value),
                "output_changes" | "resource_changes" | "resource_drift" | "relevant_attributes" => {
                    parts.insert(name, value)
                }
                _ => None,
            };
        }
        return Ok(Document::Plan(Value::Object(parts)));
    };
    let objects = state_objects(state, &details.schemas).map_err(problems)?;
    let document = to_value(&StateJson::new(TERRAFORM_VERSION, objects, &state.outputs, None))?;
    parts.insert("state_format_version".to_owned(), document["format_version"].clone());
    let empty = Value::Object(Map::new());
    let root = document["values"].get("root_module").unwrap_or(&empty);
    parts.insert("root_module".to_owned(), root.clone());
    if let Some(outputs) = document["values"].get("outputs") {
        parts.insert("outputs".to_owned(), outputs.clone());
    }
    Ok(Document::State(Value::Object(parts)))
}

fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

fn to_value(document: &impl serde::Serialize) -> Result<Value, Diagnostics> {
    serde_json::to_value(document)
        .map_err(|error| Diagnostic::bug("Invalid document", format!("{error}.")).into())
}

fn problems(failure: Failure) -> Diagnostics {
    match failure {
        Failure::Diagnostics(problems) | Failure::ConsentNeeded(problems) => problems,
        Failure::Usage(usage) => Diagnostic::error(usage.summary, usage.detail).into(),
    }
}
