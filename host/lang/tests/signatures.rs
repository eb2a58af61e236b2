//! Checks that the signatures of functions match Terraform's.
//!
//! `tests/data/functions.jsonl` contains the output of `terraform metadata functions -json`
//! without its descriptions. To record again with the `terraform` on PATH:
//!
//! ```text
//! WARDIAN_RECORD=1 cargo test -p wardian-lang --test signatures
//! ```

#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Map, Value, json};
use wardian_lang::{FunctionOrigin, NullArgument, ParameterSignature, function_signatures};
use wardian_value::Type;

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/functions.jsonl")
}

fn type_json(ty: &Type) -> Value {
    serde_json::from_str(&ty.to_json()).unwrap()
}

fn parameter(parameter: &ParameterSignature) -> Value {
    let mut described = json!({ "name": parameter.name, "type": type_json(&parameter.ty) });
    if parameter.null == NullArgument::Accepted {
        described["is_nullable"] = Value::Bool(true);
    }
    described
}

#[test]
fn signatures_match_terraform() {
    if std::env::var_os("WARDIAN_RECORD").is_some() {
        record();
    }
    let recorded = std::fs::read_to_string(data()).unwrap();
    let mut expected: BTreeMap<String, Value> = recorded
        .lines()
        .map(|line| {
            let mut signature: Value = serde_json::from_str(line).unwrap();
            let name = signature.as_object_mut().unwrap().remove("name").unwrap();
            (name.as_str().unwrap().to_owned(), signature)
        })
        .collect();
    assert_eq!(expected.len(), 118);
    let mut wrong = Vec::new();
    for function in function_signatures() {
        if function.origin == FunctionOrigin::Later {
            assert!(!expected.contains_key(function.name), "{}", function.name);
            continue;
        }
        let parameters: Vec<Value> = function.parameters.iter().map(parameter).collect();
        let mut found = json!({ "parameters": parameters, "return_type": type_json(&function.result) });
        if let Some(variadic) = &function.variadic {
            found["variadic_parameter"] = parameter(variadic);
        }
        let expected = expected.remove(function.name);
        if expected.as_ref() != Some(&found) {
            wrong.push(format!("{}\n  expected {expected:?}\n  found    {found}", function.name));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(expected.is_empty(), "missing: {:?}", expected.keys());
}

#[test]
fn every_function_has_a_description() {
    for function in function_signatures() {
        assert!(function.description.ends_with('.'), "{}", function.name);
    }
}

fn record() {
    let output = Command::new("terraform").args(["metadata", "functions", "-json"]).output().unwrap();
    let all: Value = serde_json::from_slice(&output.stdout).unwrap();
    let undescribed = |parameter: &Value| {
        let mut parameter = parameter.clone();
        parameter.as_object_mut().unwrap().remove("description");
        parameter
    };
    let mut recorded = String::new();
    for (name, signature) in all["function_signatures"].as_object().unwrap() {
        if name.starts_with("core::") {
            continue;
        }
        let parameters = signature["parameters"].as_array().into_iter().flatten();
        let mut line = Map::new();
        line.insert("name".into(), json!(name));
        line.insert("parameters".into(), parameters.map(undescribed).collect());
        line.insert("return_type".into(), signature["return_type"].clone());
        if let Some(variadic) = signature.get("variadic_parameter") {
            line.insert("variadic_parameter".into(), undescribed(variadic));
        }
        recorded.push_str(&Value::Object(line).to_string());
        recorded.push('\n');
    }
    std::fs::write(data(), recorded).unwrap();
}
