//! Results and errors of the provider's functions.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use wardian_state::State;
use wardian_value::{Type, Value, json};

use crate::fixture;
use crate::terraform::{self, Fault};

const FILE: &str = "functions.json";

/// Declarations of the names that the expressions use.
const WORLD: &str = r#"
terraform {
  required_providers {
    terraform = { source = "terraform.io/builtin/terraform" }
  }
}

variable "secret" {
  default   = "s3cret"
  sensitive = true
}

variable "nothing" {
  default = null
  type    = string
}

resource "terraform_data" "new" {
  input = "x"
}
"#;

#[derive(Debug, Serialize, Deserialize)]
struct Row {
    expression: String,
    #[serde(default)]
    answer: Answer,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    #[default]
    NotRecorded,
    Known {
        ty: Json,
        value: Json,
        sensitive: bool,
    },
    Unknown {
        sensitive: bool,
    },
    Errors(Vec<Fault>),
}

/// Returns the files of a configuration, in which the expression starts on the second line.
fn files(expression: &str) -> [(&'static str, String); 3] {
    [
        ("world.tf", WORLD.to_owned()),
        ("main.tf", format!("output \"value\" {{\n  value = nonsensitive({expression})\n}}\n")),
        ("sensitive.tf", format!("output \"sensitive\" {{\n  value = issensitive({expression})\n}}\n")),
    ]
}

fn of_terraform(expression: &str) -> Answer {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in files(expression) {
        std::fs::write(directory.path().join(name), text).unwrap();
    }
    terraform::ask(directory.path(), &["init"]);
    let plan = match terraform::plan(directory.path()) {
        Ok(plan) => plan,
        // Each error occurs in both files.
        Err(mut faults) => {
            faults.sort();
            faults.dedup();
            return Answer::Errors(faults);
        }
    };
    let change = &plan["output_changes"]["value"];
    let sensitive = plan["output_changes"]["sensitive"]["after"] == Json::Bool(true);
    if change["after_unknown"] != Json::Bool(false) {
        return Answer::Unknown { sensitive };
    }
    let planned = &plan["planned_values"]["outputs"]["value"];
    Answer::Known { ty: planned["type"].clone(), value: planned["value"].clone(), sensitive }
}

fn of_ours(expression: &str) -> Answer {
    let files = files(expression);
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let directory = tempfile::tempdir().unwrap();
    let plan = match fixture::plan(&files, directory.path(), State::with_new_lineage()) {
        Ok(plan) => plan,
        Err(diagnostics) => {
            let mut faults = terraform::ours(&diagnostics);
            faults.sort();
            faults.dedup();
            return Answer::Errors(faults);
        }
    };
    let value = &plan.outputs["value"].after;
    let sensitive = plan.outputs["sensitive"].after == Value::bool(true);
    if !value.is_wholly_known() {
        return Answer::Unknown { sensitive };
    }
    let parsed = |text: String| serde_json::from_str::<Json>(&text).unwrap();
    let ty: Type = value.ty().clone();
    let value = parsed(json::encode(value, &ty).unwrap());
    Answer::Known { ty: parsed(ty.to_json()), value, sensitive }
}

#[test]
fn functions_match_terraform() {
    let mut rows: Vec<Row> = terraform::load(FILE);
    if terraform::is_recording() {
        for row in &mut rows {
            row.answer = of_terraform(&row.expression);
        }
        terraform::save(FILE, &rows);
    }
    assert!(rows.len() >= 60, "{} rows", rows.len());
    let mut different = Vec::new();
    for row in &rows {
        let ours = of_ours(&row.expression);
        if ours != row.answer {
            different.push(format!("{}\n  recorded {:?}\n  ours     {ours:?}", row.expression, row.answer));
        }
    }
    assert!(different.is_empty(), "{} differ:\n{}", different.len(), different.join("\n"));
}
