//! Compares plans as text with Terraform 1.11.4's output for the same values
//! (`snapshots/terraform_data.json`), and checks the invariants that apply to all values.

use std::sync::Arc;

use serde_json::Value as Json;
use wardian_address::ProviderConfigAddress;
use wardian_engine::{ActionReason, Importing};
use wardian_plugin::{Attribute, AttributeType, Block, Deprecation, Description, Schema, Setting};
use wardian_state::State;
use wardian_value::{Marks, Path, PathStep, Type, Value, json};

use super::*;

mod always;
mod schemas;
mod sections;

fn attribute(ty: Type) -> Attribute {
    Attribute {
        ty: AttributeType::Value(ty),
        description: Description::default(),
        setting: Setting::OptionalComputed,
        sensitive: false,
        write_only: false,
        deprecation: Deprecation::None,
    }
}

fn schema_of<const N: usize>(attributes: [(&str, Type); N]) -> Schema {
    let attributes = attributes.into_iter().map(|(name, ty)| (name.into(), attribute(ty)));
    Schema::new(0, Block { attributes: attributes.collect(), ..Block::default() })
}

fn terraform_data() -> Arc<Schema> {
    Arc::new(schema_of([
        ("id", Type::String),
        ("input", Type::Dynamic),
        ("output", Type::Dynamic),
        ("triggers_replace", Type::Dynamic),
    ]))
}

fn provider() -> ProviderConfigAddress {
    r#"provider["terraform.io/builtin/terraform"]"#.parse().unwrap()
}

/// Returns a change without an action reason.
fn change(address: &str, action: Action, before: Value, after: Value, schema: Arc<Schema>) -> ResourceChange {
    ResourceChange::new(address.parse().unwrap(), provider(), action, (before, after), schema)
}

/// Returns a plan without changes.
fn empty_plan(mode: Mode) -> Plan {
    Plan {
        mode,
        variables: BTreeMap::new(),
        given_variables: BTreeMap::new(),
        ephemeral_variables: std::collections::BTreeSet::new(),
        function_results: BTreeMap::new(),
        targets: Vec::new(),
        excludes: Vec::new(),
        changes: Vec::new(),
        invocations: Vec::new(),
        drift: Vec::new(),
        outputs: BTreeMap::new(),
        checks: Vec::new(),
        relevant_attributes: Vec::new(),
        previous_state: State::default(),
        prior_state: State::default(),
        timestamp: String::new(),
        errored: false,
        secrets: wardian_engine::ObjectSecrets::Available,
    }
}

fn rendered(change: &ResourceChange) -> String {
    let mut page = Page::new(false);
    write_change(&mut page, change, Cause::Planned, Product::Wardian);
    page.finish().into_string()
}

/// Builds a value from JSON. In two other documents with the same structure, `true` marks the
/// unknown and the sensitive parts.
fn value_of(json: &Json, unknown: &Json, sensitive: &Json) -> Value {
    let value = if *unknown == Json::Bool(true) {
        Value::unknown(Type::Dynamic)
    } else {
        match (json, unknown) {
            (Json::Array(elements), _) => {
                Value::tuple(elements.iter().enumerate().map(|(index, element)| {
                    let at = |shape: &Json| shape.get(index).cloned().unwrap_or_default();
                    value_of(element, &at(unknown), &at(sensitive))
                }))
            }
            (Json::Null, Json::Object(none)) if none.is_empty() => Value::null(Type::Dynamic),
            (Json::Object(_), _) | (Json::Null, Json::Object(_)) => {
                let names = [json, unknown].into_iter().filter_map(Json::as_object).flat_map(|o| o.keys());
                Value::object(names.map(|name| {
                    let at = |shape: &Json| shape.get(name).cloned().unwrap_or_default();
                    (&**name, value_of(&at(json), &at(unknown), &at(sensitive)))
                }))
            }
            _ => json::decode_simple(json.to_string()).unwrap(),
        }
    };
    if *sensitive == Json::Bool(true) { value.with_marks(Marks::SENSITIVE) } else { value }
}

#[test]
fn changes_are_rendered_as_in_terraform() {
    compare(include_str!("../snapshots/terraform_data.json"), |_| terraform_data());
}

/// Renders recorded changes and compares the texts.
fn compare(recorded: &str, schema: impl Fn(&str) -> Arc<Schema>) {
    let cases: Vec<Json> = serde_json::from_str(recorded).unwrap();
    let mut different = Vec::new();
    for case in &cases {
        let text = |name: &str| case.get(name).and_then(Json::as_str);
        let change = recorded_change(case, schema(text("name").unwrap()));
        let (expected, found) = (text("text").unwrap(), rendered(&change));
        if without_sentences(expected) != without_sentences(&found) {
            different.push(format!("--- terraform\n{expected}--- wardian\n{found}"));
        }
    }
    assert!(different.is_empty(), "{} of {}:\n{}", different.len(), cases.len(), different.join("\n"));
}

fn recorded_change(case: &Json, schema: Arc<Schema>) -> ResourceChange {
    let at = |name: &str| case.get(name).cloned().unwrap_or_default();
    let text = |name: &str| case.get(name).and_then(Json::as_str);
    let action = match text("action").unwrap() {
        "no-op" => Action::NoOp,
        "create" => Action::Create,
        "update" => Action::Update,
        "delete" => Action::Delete,
        "delete,create" => Action::DeleteThenCreate,
        "create,delete" => Action::CreateThenDelete,
        other => panic!("{other}"),
    };
    let step = |step: &Json| match step {
        Json::String(name) => PathStep::Attribute(name.into()),
        other => PathStep::Index(other.as_u64().unwrap()),
    };
    let paths = at("replace").as_array().cloned().unwrap_or_default();
    let path = |path: &Json| Path::from(path.as_array().unwrap().iter().map(step).collect::<Vec<_>>());
    ResourceChange {
        previous_address: text("previous_address").map(|address| address.parse().unwrap()),
        reason: text("reason").and_then(|name| ActionReason::ALL.into_iter().find(|r| r.name() == name)),
        required_replace: paths.iter().map(path).collect(),
        ..change(
            text("name").unwrap(),
            action,
            value_of(&at("before"), &Json::Null, &at("before_sensitive")),
            value_of(&at("after"), &at("after_unknown"), &at("after_sensitive")),
            schema,
        )
    }
}

/// Replaces the sentences about sensitive blocks, because they differ between Wardian and
/// Terraform.
fn without_sentences(text: &str) -> String {
    let mut lines = text.lines();
    let mut kept = String::new();
    while let Some(line) = lines.next() {
        if line.trim_start().starts_with("# Warning: ") {
            let ends = lines.next().unwrap_or_default();
            let stays = ends.contains("unchanged") || ends.contains("stays the same");
            kept.push_str(if stays { "# Warning, no change\n" } else { "# Warning\n" });
            continue;
        }
        if line.contains("# At least one attribute in") || line.contains("# Part of this block") {
            lines.next();
            kept.push_str("# Sensitive block\n");
            continue;
        }
        kept.push_str(line);
        kept.push('\n');
    }
    kept
}
